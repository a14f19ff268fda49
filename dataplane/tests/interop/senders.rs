//! Who sends the header: the app is nginx each time, and its access log is the witness.

use std::net::{IpAddr, SocketAddr};

use crate::haproxy::{self, Haproxy};
use crate::support::lab::{
    BALANCER4, BALANCER6, CLIENT4, CLIENT6, FRONT4, FRONT6, Lab, POD4, POD6,
};
use crate::support::nginx::Nginx;
use crate::support::pod::enrolled;
use crate::support::tls::Certificates;
use crate::wire;

#[test]
fn haproxy_send_proxy_shows_the_app_its_client() {
    let site = Site::new("ha-v1");
    let _haproxy = Haproxy::start(&site.lab, 80, "send-proxy");
    site.both_families_are_seen("v1");
}

#[test]
fn haproxy_send_proxy_v2_shows_the_app_its_client() {
    let site = Site::new("ha-v2");
    let _haproxy = Haproxy::start(&site.lab, 80, "send-proxy-v2");
    site.both_families_are_seen("v2");
}

#[test]
fn ipv6_client_is_seen_though_the_balancer_dials_the_pod_over_ipv4() {
    let site = Site::new("ha-6over4");
    let section = haproxy::listen("six", &haproxy::bind(FRONT6, 80), POD4, 80, "send-proxy-v2");
    let _haproxy = Haproxy::with(&site.lab, &section, &[SocketAddr::new(FRONT6, 80)]);
    let client = SocketAddr::new(CLIENT6, 41_001);
    site.client_is_seen(client, FRONT6);
    let line = site.lab.pod.closed(client);
    assert!(
        line["peer"]
            .as_str()
            .is_some_and(|peer| peer.starts_with("10.9.0.1:")),
        "{line}"
    );
}

#[test]
fn ipv4_client_is_seen_though_the_balancer_dials_the_pod_over_ipv6() {
    let site = Site::new("ha-4over6");
    let section = haproxy::listen("four", &haproxy::bind(FRONT4, 80), POD6, 80, "send-proxy");
    let _haproxy = Haproxy::with(&site.lab, &section, &[SocketAddr::new(FRONT4, 80)]);
    let client = SocketAddr::new(CLIENT4, 41_002);
    site.client_is_seen(client, FRONT4);
    let line = site.lab.pod.closed(client);
    assert!(
        line["peer"]
            .as_str()
            .is_some_and(|peer| peer.starts_with("[fd00:9::1]:")),
        "{line}"
    );
}

/// HAProxy names an IPv4 client of such a listener `::ffff:192.0.2.7`, in an IPv6 header.
#[test]
fn haproxy_dual_stack_listener_shows_an_ipv4_client_as_ipv4() {
    let site = Site::new("ha-dual");
    let section = haproxy::listen("dual", "bind :::80 v4v6", POD4, 80, "send-proxy-v2");
    let everywhere = SocketAddr::from(([0; 8], 80));
    let _haproxy = Haproxy::with(&site.lab, &section, &[everywhere]);
    site.client_is_seen(SocketAddr::new(CLIENT4, 41_003), FRONT4);
    site.client_is_seen(SocketAddr::new(CLIENT6, 41_003), FRONT6);
}

#[test]
fn haproxy_tls_facts_reach_the_access_log() {
    let site = Site::new("ha-tls");
    let certificates = Certificates::new();
    let bind = format!(
        "{} ssl crt {} ca-file {} verify required alpn http/1.1\n    unique-id-format {}",
        haproxy::bind(FRONT4, 443),
        certificates.server().display(),
        certificates.authority().display(),
        "id-%ci-%cp",
    );
    let options = "send-proxy-v2 proxy-v2-options ssl,cert-cn,authority,crc32c,unique-id";
    let section = haproxy::listen("tls", &bind, POD4, 80, options);
    let _haproxy = Haproxy::with(&site.lab, &section, &[SocketAddr::new(FRONT4, 443)]);
    let client = SocketAddr::new(CLIENT4, 41_004);
    site.client_is_seen_over_tls(&certificates, client);
    let line = site.lab.pod.closed(client);
    let tlvs = &line["tlvs"];
    assert_eq!(tlvs["authority"], "shop.example", "{line}");
    assert_eq!(tlvs["ssl_cn"], "anna", "{line}");
    assert_eq!(tlvs["ssl_version"], "TLSv1.3", "{line}");
    assert_eq!(tlvs["alpn"], "http/1.1", "{line}");
    assert_eq!(tlvs["unique_id"], "id-192.0.2.7-41004", "{line}");
}

/// Its checks carry a `LOCAL` header: they name no client, so the app sees the balancer itself.
#[test]
fn haproxy_health_check_reaches_the_app_and_passes() {
    let site = Site::new("ha-check");
    let binds =
        haproxy::bind(FRONT4, 80) + "\n    option httpchk GET /\n    option log-health-checks";
    let options = "send-proxy-v2 check check-send-proxy inter 100ms";
    let section = haproxy::listen("four", &binds, POD4, 80, options);
    let haproxy = Haproxy::with(&site.lab, &section, &[SocketAddr::new(FRONT4, 80)]);
    haproxy.logged("succeeded, reason: Layer7 check passed, code: 200");
    site.nginx.logged_address(BALANCER4);
    site.client_is_seen(SocketAddr::new(CLIENT4, 41_007), FRONT4);
}

/// Whichever side closes first: HAProxy's two letters for "somebody broke off" stay `--`.
#[test]
fn haproxy_sees_connections_end_cleanly() {
    let site = Site::new("ha-end");
    let haproxy = Haproxy::start(&site.lab, 80, "send-proxy-v2");
    for (port, header) in [
        (41_008, "Connection: keep-alive"),
        (41_009, "Connection: close"),
    ] {
        let client = SocketAddr::new(CLIENT4, port);
        wire::fetch(&site.lab.client, client, FRONT4, &["-H", header]);
        let line = haproxy.logged(&format!("{client} ["));
        assert!(line.contains(" -- "), "{header}: {line}");
    }
}

#[test]
fn nginx_stream_shows_the_app_its_client() {
    let site = Site::new("nginx-v1");
    let servers = stream(&format!("listen {FRONT4}:80"), POD4)
        + &stream(&format!("listen [{FRONT6}]:80"), POD6);
    let fronts = [FRONT4, FRONT6].map(|address| SocketAddr::new(address, 80));
    let _nginx = Nginx::stream(&site.lab.balancer, &servers, &fronts);
    site.both_families_are_seen("v1");
}

/// nginx writes an IPv4 client of such a listener into a `TCP6` line.
#[test]
fn nginx_dual_stack_listener_shows_an_ipv4_client_as_ipv4() {
    let site = Site::new("nginx-dual");
    let server = stream("listen [::]:80 ipv6only=off", POD4);
    let everywhere = SocketAddr::from(([0; 8], 80));
    let _nginx = Nginx::stream(&site.lab.balancer, &server, &[everywhere]);
    site.client_is_seen(SocketAddr::new(CLIENT4, 41_005), FRONT4);
    site.client_is_seen(SocketAddr::new(CLIENT6, 41_005), FRONT6);
}

/// curl's header names curl's own end of the connection, so peer and client are one.
#[test]
fn curl_haproxy_protocol_is_understood() {
    let site = Site::new("curl");
    for (own, pod) in [(BALANCER4, POD4), (BALANCER6, POD6)] {
        let own = SocketAddr::new(own, 41_006);
        wire::fetch(&site.lab.balancer, own, pod, &["--haproxy-protocol"]);
        site.nginx.logged(own);
    }
}

/// A pod whose app is nginx on port 80, behind the dataplane.
struct Site {
    nginx: Nginx,
    lab: Lab,
}

impl Site {
    #[track_caller]
    fn new(label: &str) -> Self {
        let mut lab = Lab::new(label);
        let nginx = Nginx::app(&lab.pod.namespace, 80);
        lab.pod.run(&enrolled(80));
        Self { nginx, lab }
    }

    #[track_caller]
    fn both_families_are_seen(&self, version: &str) {
        for (client, front) in [(CLIENT4, FRONT4), (CLIENT6, FRONT6)] {
            let client = SocketAddr::new(client, 41_000);
            self.client_is_seen(client, front);
            let line = self.lab.pod.closed(client);
            assert_eq!(line["version"], version, "{line}");
            assert_eq!(line["outcome"], "ok", "{line}");
        }
    }

    /// The client fetches from `front`, and nginx logs the client's own address and port.
    #[track_caller]
    fn client_is_seen(&self, client: SocketAddr, front: IpAddr) {
        wire::fetch(&self.lab.client, client, front, &[]);
        self.nginx.logged(client);
    }

    #[track_caller]
    fn client_is_seen_over_tls(&self, certificates: &Certificates, client: SocketAddr) {
        let host = format!("shop.example:443:{FRONT4}");
        let authority = certificates.authority().display().to_string();
        let own = certificates.client().display().to_string();
        let arguments = ["--cacert", &authority, "--cert", &own, "--resolve", &host];
        let url = ["https://shop.example/"];
        let output = wire::curl(&self.lab.client, client, &[&arguments[..], &url].concat());
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        self.nginx.logged(client);
    }
}

/// A server of nginx's stream module that passes connections on with a header.
fn stream(listen: &str, pod: IpAddr) -> String {
    let pod = SocketAddr::new(pod, 80);
    format!("server {{ {listen}; proxy_pass {pod}; proxy_protocol on; }}\n")
}
