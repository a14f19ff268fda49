//! Apps that are absent, slow or odd, and crowds that want to keep kubelet out.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use serde_json::json;

use super::asker::{ask, counted, get, is_refused, stand};
use crate::support::app::{self, App};
use crate::support::lab::{BALANCER4, POD4};
use crate::support::pod::ADMIN;
use crate::support::{http, wire};

#[test]
fn an_app_that_takes_connections_is_well_until_it_is_gone() {
    let probes = json!({"db/liveness": {"app": 5432, "timeout": "10s", "tcp": {}}});
    let stand = stand("tcp", &probes);
    let absent = "127.0.0.1:5432: connection refused, [::1]:5432: connection refused";
    is_refused(&stand, "db/liveness", "unreachable", absent);
    {
        let _app = App::start(&stand.lab.pod.namespace, "[::1]:5432", app::echo);
        let answer = ask(&stand, "db/liveness");
        let want = (200, "[::1]:5432 takes connections\n");
        assert_eq!((answer.status, answer.body.as_str()), want);
    }
    is_refused(&stand, "db/liveness", "unreachable", absent);
    is_refused(&stand, "db/liveness", "unreachable", absent);
    let output = stand.output();
    let lines = |text: &str| output.lines().filter(|line| line.contains(text)).count();
    assert_eq!(lines("the app's probe fails"), 2, "changes only:\n{output}");
    assert_eq!(lines("the app's probe succeeds"), 1, "{output}");
}

#[test]
fn an_app_that_is_slow_or_odd_fails_in_time() {
    let quick = |port: u16| {
        let mut probe = get(port, "/");
        probe["timeout"] = "300ms".into();
        probe
    };
    let probes = json!({
        "silent/liveness": quick(8081),
        "half/liveness": quick(8082),
        "other/liveness": quick(8083),
        "full/liveness": quick(8084),
        "closed/liveness": quick(8085),
    });
    let stand = stand("odd", &probes);
    let pod = &stand.lab.pod.namespace;
    let app = |port: u16, says: &'static [u8], stays: bool| {
        App::start(pod, &format!("127.0.0.1:{port}"), move |mut stream, _| {
            let _ = stream.write_all(says);
            if stays {
                wire::answer(&stream);
            }
        })
    };
    let _apps = [
        app(8081, b"", true),
        app(
            8082,
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            true,
        ),
        app(8083, b"SSH-2.0-OpenSSH_9.2\r\n", true),
        app(8085, b"HTTP/1.1 200 OK\r\nContent-Le", false),
    ];
    // Nobody accepts here, and the queue is full: connects are not even answered.
    let (full, _waiting) = pod.enter(full_queue);
    let refused = |probe, result, says| is_refused(&stand, probe, result, says);
    refused(
        "silent/liveness",
        "timeout",
        "127.0.0.1:8081 gave no whole answer within 300ms",
    );
    refused(
        "half/liveness",
        "timeout",
        "127.0.0.1:8082 gave no whole answer within 300ms",
    );
    refused("other/liveness", "failure", "the answer is not HTTP/1");
    refused(
        "full/liveness",
        "timeout",
        "127.0.0.1:8084 did not take the connection within 300ms",
    );
    refused("closed/liveness", "failure", "127.0.0.1:8085");
    drop(full);
}

/// A listener whose queue has no room: connects after these wait for a SYN-ACK that does not come.
fn full_queue() -> (TcpListener, Vec<std::io::Result<TcpStream>>) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 8084));
    let listener = TcpListener::bind(address).expect("nobody listens there");
    // A second listen(2) changes the backlog.
    let shrunk = nix::sys::socket::listen(
        &listener,
        nix::sys::socket::Backlog::new(0).expect("0 is a backlog"),
    );
    shrunk.expect("it listens already");
    let short = std::time::Duration::from_millis(100);
    let waiting = (0..4).map(|_| TcpStream::connect_timeout(&address, short));
    let waiting = waiting.collect();
    (listener, waiting)
}

/// A connection to a port that the kernel gives to clients can meet itself, where nobody listens.
#[test]
fn a_connection_that_meets_itself_is_no_app() {
    let probes =
        json!({"db/liveness": {"app": {"ipv4": "127.0.0.1:50051"}, "timeout": "5s", "tcp": {}}});
    let stand = stand("itself", &probes);
    let pod = &stand.lab.pod.namespace;
    pod.sh("sysctl -qw net.ipv4.ip_local_port_range='50051 50052'");
    for _ in 0..10 {
        assert_eq!(ask(&stand, "db/liveness").status, 503);
    }
    assert_eq!(counted(&stand, "liveness", "unreachable"), 10);
    // The app gets its port at once, and a test that could not fail is none.
    let port = ("127.0.0.1", 50051);
    let itself = |_| pod.enter(|| TcpStream::connect(port)).is_ok();
    assert!((0..10).any(itself), "no connection meets itself here");
}

#[test]
fn a_crowd_on_the_admin_port_does_not_keep_kubelet_out() {
    let stand = stand(
        "crowd",
        &json!({"db/liveness": {"app": 5432, "timeout": "10s", "tcp": {}}}),
    );
    let _app = App::start(&stand.lab.pod.namespace, "127.0.0.1:5432", app::echo);
    let balancer = &stand.lab.balancer;
    let stranger = IpAddr::from([10, 9, 0, 66]);
    balancer.address("back", &format!("{stranger}/24"));
    let admin = SocketAddr::from((POD4, ADMIN));
    let kubelet = http::ask(balancer, admin, "GET", "/livez");
    assert_eq!(kubelet.expect("it answers").status, 200);
    let crowd: Vec<_> = balancer.enter(|| {
        let dial = |_| wire::connect(stranger, admin);
        (0..300).map(dial).collect()
    });
    // Each is silent for as long as it may be; kubelet's connection comes last and is served.
    let first = wire::dial(balancer, BALANCER4, admin);
    let began = std::time::Instant::now();
    assert_eq!(ask(&stand, "db/liveness").status, 200);
    assert!(
        began.elapsed().as_secs() < 5,
        "it waited for the silent ones"
    );
    drop((crowd, first));
}
