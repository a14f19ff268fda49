//! `http` probes of a real nginx, with and without TLS.

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::asker::{ask, ask6, counted, get, is_refused, stand};
use crate::support::namespace::Namespace;
use crate::support::nginx::Nginx;
use crate::support::process::Folder;
use crate::support::stand::Stand;
use crate::support::tls::Certificates;

/// As much as kubelet reads.
const BODY: usize = 10 * 1024;

#[track_caller]
fn app(namespace: &Namespace, listen: &[&str], locations: &str) -> Nginx {
    let lines = listen.iter().map(|address| format!("listen {address};"));
    let server = format!("server {{ {} {locations} }}", lines.collect::<String>());
    let plain = |address: &&str| {
        address
            .trim_end_matches(" ssl")
            .parse()
            .expect("an address")
    };
    let addresses: Vec<SocketAddr> = listen.iter().map(plain).collect();
    Nginx::http(namespace, &server, &addresses)
}

#[track_caller]
fn pod(label: &str, probes: &Value, locations: &str) -> (Stand, Nginx) {
    let stand = stand(label, probes);
    let app = app(&stand.lab.pod.namespace, &["127.0.0.1:8080"], locations);
    (stand, app)
}

#[test]
fn the_app_gets_kubelets_own_request_and_kubelet_the_apps_answer() {
    let mut named = get(8080, "/echo?x=1");
    named["http"]["host"] = "shop.example".into();
    named["http"]["headers"] = json!([["X-Token", "abc"], ["Accept", "text/plain"]]);
    let probes = json!({"web/readiness": get(8080, "/echo?x=1"), "web/startup": named});
    let echo = "location = /echo {
        return 200 '$request_uri $http_host $http_user_agent $http_accept $http_x_token.';
    }";
    let (stand, _app) = pod("own", &probes, echo);
    let kubelet = |probe: &str, pod: &str| {
        stand.lab.balancer.sh(&format!(
            "curl -sSg --fail -A kube-probe/1.36 -H 'Host: evil.example' \
             http://{pod}:15090/app-probe/{probe}?x=2"
        ))
    };
    assert_eq!(
        kubelet("web/readiness", "10.9.0.2"),
        "/echo?x=1 10.9.0.2:8080 kube-probe/1.36 */* ."
    );
    assert_eq!(
        kubelet("web/readiness", "[fd00:9::2]"),
        "/echo?x=1 [fd00:9::2]:8080 kube-probe/1.36 */* ."
    );
    assert_eq!(
        kubelet("web/startup", "10.9.0.2"),
        "/echo?x=1 shop.example kube-probe/1.36 text/plain abc."
    );
    assert_eq!(counted(&stand, "readiness", "success"), 2);
}

#[test]
fn the_apps_failure_is_kubelets_answer() {
    let probes = json!({"web/liveness": get(8080, "/db"), "web/readiness": get(8080, "/gone")});
    let locations = "location = /db { return 500 'no database'; }
                     location = /gone { return 404 'who?'; }";
    let (stand, _app) = pod("fails", &probes, locations);
    let answer = ask(&stand, "web/liveness");
    assert_eq!((answer.status, answer.body.as_str()), (500, "no database"));
    assert_eq!(ask(&stand, "web/readiness").status, 404);
    assert_eq!(counted(&stand, "liveness", "failure"), 1);
    assert_eq!(counted(&stand, "readiness", "failure"), 1);
    let output = stand.output();
    let said = output.contains("the app's probe fails") && output.contains("status 500");
    assert!(said, "{output}");
}

#[test]
fn redirects_are_followed_to_the_same_host_only() {
    let probes = json!({
        "same/readiness": get(8080, "/absolute"),
        "relative/readiness": get(8080, "/relative"),
        "tls/readiness": get(8080, "/tls"),
        "other/readiness": get(8080, "/other"),
        "loop/readiness": get(8080, "/loop"),
    });
    let certificate = Certificates::new();
    let pem = certificate.server();
    let locations = format!(
        "listen 127.0.0.1:8443 ssl; ssl_certificate {pem}; ssl_certificate_key {pem};
         location = /absolute {{ return 302 http://$http_host/well; }}
         location = /relative {{ absolute_redirect off; return 307 well; }}
         location = /tls {{ return 301 https://$host:8443/well; }}
         location = /other {{ return 302 http://192.0.2.99/well; }}
         location = /loop {{ return 302 /loop; }}
         location = /well {{ return 200 'well, $scheme'; }}",
        pem = pem.display()
    );
    let (stand, _app) = pod("redirects", &probes, &locations);
    for (probe, body) in [("same", "http"), ("relative", "http"), ("tls", "https")] {
        let answer = ask(&stand, &format!("{probe}/readiness"));
        let want = (200, format!("well, {body}"));
        assert_eq!((answer.status, answer.body), want, "{probe}");
    }
    // kubelet takes it for well, and must not follow it from us.
    let asked = "curl -sS -i http://10.9.0.2:15090/app-probe/other/readiness";
    let answer = stand.lab.balancer.sh(asked).to_lowercase();
    assert!(answer.starts_with("http/1.1 302 "), "{answer}");
    assert!(!answer.contains("location:"), "{answer}");
    is_refused(&stand, "loop/readiness", "failure", "redirects without end");
    assert_eq!(counted(&stand, "readiness", "success"), 4);
}

#[test]
fn a_certificate_that_nobody_knows_is_good_enough() {
    let tls = |port: u16| {
        let mut probe = get(port, "/");
        probe["http"]["scheme"] = "https".into();
        probe
    };
    let probes = json!({
        "two/liveness": tls(8080),
        "three/liveness": tls(8443),
        "forgotten/liveness": get(8443, "/"),
        "plain/liveness": tls(8081),
    });
    let certificate = Certificates::new();
    let server = |port: u16, protocol: &str| {
        let pem = certificate.server();
        let pem = pem.display();
        format!(
            "server {{ listen 127.0.0.1:{port} ssl; ssl_protocols {protocol};
             ssl_certificate {pem}; ssl_certificate_key {pem};
             location / {{ return 200 '$ssl_protocol $http_host'; }} }}"
        )
    };
    let servers = [
        server(8080, "TLSv1.2"),
        server(8443, "TLSv1.3"),
        "server { listen 127.0.0.1:8081; }".to_owned(),
    ];
    let stand = stand("tls", &probes);
    let listens = [8080, 8443, 8081].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let _app = Nginx::http(&stand.lab.pod.namespace, &servers.concat(), &listens);
    assert_eq!(ask(&stand, "two/liveness").body, "TLSv1.2 10.9.0.2:8080");
    assert_eq!(ask(&stand, "three/liveness").body, "TLSv1.3 10.9.0.2:8443");
    // As nginx answers everybody who forgets TLS.
    assert_eq!(ask(&stand, "forgotten/liveness").status, 400);
    is_refused(
        &stand,
        "plain/liveness",
        "failure",
        "could not agree on TLS",
    );
}

#[test]
fn no_more_of_a_body_is_passed_on_than_kubelet_reads() {
    let folder = Folder::new();
    fs::write(folder.path().join("big"), "x".repeat(3 * BODY)).expect("it is our folder");
    let locations = format!("root {};", folder.path().display());
    let probes = json!({"web/liveness": get(8080, "/big")});
    let (stand, _app) = pod("big", &probes, &locations);
    let answer = ask(&stand, "web/liveness");
    assert_eq!((answer.status, answer.body.len()), (200, BODY));
}

#[test]
fn an_app_on_one_family_is_found_whichever_it_is() {
    let only = |family: &str, address: &str| {
        let http = json!({"scheme": "http", "path": "/"});
        json!({"app": {family: address}, "timeout": "10s", "http": http})
    };
    let probes = json!({
        "six/liveness": get(8082, "/"),
        "four/liveness": get(8081, "/"),
        "six/readiness": only("ipv6", "[::1]:8083"),
        "four/readiness": only("ipv4", "127.0.0.1:8082"),
    });
    let stand = stand("families", &probes);
    let listen = ["127.0.0.1:8081", "[::1]:8082", "[::1]:8083"];
    let answers = "location / { return 200 '$server_addr $http_host'; }";
    let _app = app(&stand.lab.pod.namespace, &listen, answers);
    for (probe, want) in [
        ("six/liveness", "::1 10.9.0.2:8082"),
        ("four/liveness", "127.0.0.1 10.9.0.2:8081"),
        ("six/readiness", "::1 10.9.0.2:8083"),
    ] {
        assert_eq!(ask(&stand, probe).body, want, "{probe}");
    }
    let asked6 = ask6(&stand, "four/liveness").body;
    assert_eq!(asked6, "127.0.0.1 [fd00:9::2]:8081");
    let says = "127.0.0.1:8082: connection refused";
    is_refused(&stand, "four/readiness", "unreachable", says);
}
