//! `grpc` probes of a real gRPC server.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

use super::asker::{ask, counted, is_refused, stand};
use crate::support::namespace::Namespace;
use crate::support::nginx::Nginx;
use crate::support::process::{Folder, Process};
use crate::support::stand::PATIENCE;
use crate::support::wait;

const PORT: u16 = 50051;

#[track_caller]
fn server(namespace: &Namespace) -> (Process, Folder) {
    let folder = Folder::new();
    let script = folder.write("health.py", include_str!("health.py"));
    // Debian's own: its packages are not there for another Python.
    let mut command = namespace.command("/usr/bin/python3");
    let process = Process::start("health.py", command.arg(script).arg(PORT.to_string()));
    wait::until("health.py listens", PATIENCE, || {
        process.output().contains("listening").then_some(())
    });
    (process, folder)
}

fn health(port: u16, service: Option<&str>) -> Value {
    json!({"app": port, "timeout": "10s", "grpc": {"service": service}})
}

#[test]
fn a_health_service_is_asked_for_the_service() {
    let mut slow = health(PORT, Some("slow"));
    slow["timeout"] = "300ms".into();
    let probes = json!({
        "all/liveness": health(PORT, None),
        "well/readiness": health(PORT, Some("well")),
        "ill/readiness": health(PORT, Some("ill")),
        "long/readiness": health(PORT, Some("long")),
        "nobody/readiness": health(PORT, Some("nobody")),
        "slow/readiness": slow,
        "none/startup": health(PORT + 1, None),
    });
    let stand = stand("grpc", &probes);
    let (server, _folder) = server(&stand.lab.pod.namespace);
    for probe in ["all/liveness", "well/readiness", "long/readiness"] {
        let answer = ask(&stand, probe);
        assert_eq!((answer.status, answer.body.as_str()), (200, "SERVING\n"));
    }
    let asked = server.output();
    assert!(asked.contains("asked by kube-probe in 10"), "{asked}");
    assert_eq!(counted(&stand, "readiness", "success"), 2);
    let refused = |probe, says| is_refused(&stand, probe, "failure", says);
    refused("ill/readiness", "the service is NOT_SERVING");
    refused(
        "nobody/readiness",
        "gRPC status NOT_FOUND: \"no such service",
    );
    refused("none/startup", "does not implement grpc.health.v1.Health");
    let says = "did not complete within 300ms";
    is_refused(&stand, "slow/readiness", "timeout", says);
}

#[test]
fn what_speaks_no_grpc_is_told_apart() {
    let probes = json!({
        "web/liveness": health(8080, None),
        "web/readiness": health(8082, None),
        "web/startup": health(8081, None),
    });
    let stand = stand("nogrpc", &probes);
    let servers = "server { listen 127.0.0.1:8080; }
                   server { listen 127.0.0.1:8082 http2; location / { return 404; } }";
    let listens = [8080, 8082].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let _app = Nginx::http(&stand.lab.pod.namespace, servers, &listens);
    let refused = |probe, result, says| is_refused(&stand, probe, result, says);
    refused("web/liveness", "failure", "does not speak HTTP/2");
    refused(
        "web/readiness",
        "failure",
        "HTTP status \"404\", not with gRPC",
    );
    refused(
        "web/startup",
        "unreachable",
        "127.0.0.1:8081: connection refused",
    );
}
