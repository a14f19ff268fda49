//! Who receives: apps that know nothing of the header, and what each of them makes of its client.
//! The sender is HAProxy with `send-proxy-v2` each time.

use std::net::SocketAddr;

use crate::haproxy::Haproxy;
use crate::postfix::Postfix;
use crate::redis::{self, PASSWORD};
use crate::sshd::Sshd;
use crate::support::lab::{CLIENT4, CLIENT6, FRONT4, FRONT6, Lab};
use crate::support::nginx::Nginx;
use crate::support::pod::enrolled;
use crate::wire::{self, Lines};

#[test]
fn nginx_logs_each_client_by_its_address_and_port() {
    let mut lab = Lab::new("nginx");
    let nginx = Nginx::app(&lab.pod.namespace, 80);
    let _haproxy = behind_haproxy(&mut lab, 80);
    for port in [42_000, 42_001] {
        for (client, front) in [(CLIENT4, FRONT4), (CLIENT6, FRONT6)] {
            let client = SocketAddr::new(client, port);
            wire::fetch(&lab.client, client, front, &[]);
            nginx.logged(client);
        }
    }
}

#[test]
fn sshd_logs_the_client_and_tells_the_session() {
    let mut lab = Lab::new("sshd");
    let sshd = Sshd::start(&lab.pod.namespace);
    let haproxy = behind_haproxy(&mut lab, 22);
    for (client, front) in [(CLIENT4, FRONT4), (CLIENT6, FRONT6)] {
        let connection = sshd.log_in(&lab.client, front);
        let words = connection.split_whitespace().collect::<Vec<_>>();
        let [address, port, _, "22"] = words[..] else {
            panic!("SSH_CONNECTION is {connection:?}");
        };
        assert_eq!(address, client.to_string());
        sshd.logged(&format!("Connection from {client} port {port} on "));
        // The balancer's own log is the second witness.
        haproxy.logged(&format!("{client}:{port} ["));
    }
}

#[test]
fn ssh_session_carries_a_large_stream_both_ways() {
    let mut lab = Lab::new("sshd-large");
    let sshd = Sshd::start(&lab.pod.namespace);
    let _haproxy = behind_haproxy(&mut lab, 22);
    let sent = (0..4_000_000_u32)
        .flat_map(u32::to_le_bytes)
        .collect::<Vec<_>>();
    let echoed = sshd.run(&lab.client, FRONT4, "cat", &sent);
    assert_eq!(echoed.len(), sent.len());
    assert!(echoed == sent, "as many bytes came back, but others");
}

#[test]
fn redis_lists_each_client_by_its_address_and_port() {
    let mut lab = Lab::new("redis");
    let _redis = redis::start(&lab.pod.namespace, &["--requirepass", PASSWORD]);
    let _haproxy = behind_haproxy(&mut lab, 6379);
    for front in [FRONT4, FRONT6] {
        let mut client = Lines::dial(&lab.client, SocketAddr::new(front, 6379));
        assert_eq!(client.ask(&format!("AUTH {PASSWORD}")), "+OK");
        let length = client.ask("CLIENT LIST");
        assert!(length.starts_with('$'), "{length}");
        // The one before may still be in the list, which is sorted by age.
        let own = format!(" addr={} ", client.local);
        let mut list = client.hear();
        if !list.contains(&own) {
            list += &client.hear();
        }
        assert!(list.contains(&own), "{}: {list}", client.local);
    }
}

/// Protected mode lets loopback in without a password; a spoofed client is not loopback.
#[test]
fn redis_in_protected_mode_refuses_a_client_from_outside() {
    let mut lab = Lab::new("redis-prot");
    let _redis = redis::start(&lab.pod.namespace, &[]);
    let _haproxy = behind_haproxy(&mut lab, 6379);
    let answer = Lines::dial(&lab.client, SocketAddr::new(FRONT4, 6379)).hear();
    assert!(
        answer.starts_with("-DENIED Redis is running in protected mode"),
        "{answer}"
    );
}

/// The server speaks first here: the header alone must bring its greeting.
#[test]
fn postfix_greets_and_logs_the_client() {
    let mut lab = Lab::new("postfix");
    let postfix = Postfix::start(&lab.pod.namespace);
    let _haproxy = behind_haproxy(&mut lab, 25);
    for front in [FRONT4, FRONT6] {
        let mut client = Lines::dial(&lab.client, SocketAddr::new(front, 25));
        assert_eq!(client.hear(), "220 mail.example ESMTP Postfix (Debian/GNU)");
        assert_eq!(client.ask("HELO client.example"), "250 mail.example");
        assert_eq!(client.ask("QUIT"), "221 2.0.0 Bye");
        postfix.logged_connect(client.local);
    }
}

/// `permit_mynetworks` relays for loopback: behind an ordinary proxy in the pod this is an open relay.
#[test]
fn postfix_does_not_relay_for_a_client_from_outside() {
    let mut lab = Lab::new("postfix-relay");
    let _postfix = Postfix::start(&lab.pod.namespace);
    let _haproxy = behind_haproxy(&mut lab, 25);
    let mut client = Lines::dial(&lab.client, SocketAddr::new(FRONT4, 25));
    assert!(client.hear().starts_with("220 "));
    assert_eq!(client.ask("HELO client.example"), "250 mail.example");
    assert_eq!(
        client.ask("MAIL FROM:<anna@client.example>"),
        "250 2.1.0 Ok"
    );
    let answer = client.ask("RCPT TO:<bob@elsewhere.example>");
    assert!(answer.contains("Relay access denied"), "{answer}");
}

/// Starts the dataplane for the app's port, and HAProxy in front of it.
#[track_caller]
fn behind_haproxy(lab: &mut Lab, port: u16) -> Haproxy {
    lab.pod.run(&enrolled(port));
    Haproxy::start(lab, port, "send-proxy-v2")
}
