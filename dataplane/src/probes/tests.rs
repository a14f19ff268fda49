use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::*;

const POD: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2));

fn asked(ip: IpAddr) -> Asked {
    Asked::new(ip, Some("kube-probe/1.36"))
}

fn key() -> Key {
    "web/readiness".parse().unwrap()
}

fn probes(app: SocketAddr, action: &str) -> Arc<Probes> {
    let text = format!(
        "{{\"web/readiness\":{{\"app\":{{\"ipv4\":\"{app}\"}},\"timeout\":\"10s\",{action}}}}}"
    );
    Arc::new(Probes::new(spec::parse(&text).unwrap()))
}

/// An app that hands over each request and answers nothing until `go` is dropped or told.
fn slow_app(go: Receiver<()>) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, requests) = channel();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            tell.send(String::from_utf8(request).unwrap()).unwrap();
            let _ = go.recv();
            std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        }
    });
    (address, requests)
}

const GET: &str = r#""http":{"scheme":"http","path":"/ready"}"#;

#[tokio::test]
async fn who_asks_while_a_check_runs_shares_it() {
    let (go, wait) = channel();
    let (app, requests) = slow_app(wait);
    let probes = probes(app, GET);
    let ask = || {
        let probes = Arc::clone(&probes);
        tokio::spawn(async move { probes.ask(&key(), asked(POD)).await })
    };
    let first = ask();
    let request = tokio::task::spawn_blocking(move || (requests.recv(), requests));
    let (request, requests) = request.await.unwrap();
    assert!(request.is_ok());
    // The one that began it goes; the check does not.
    first.abort();
    let others: Vec<_> = (0..50).map(|_| ask()).collect();
    while Arc::strong_count(&probes) < 51 {
        tokio::task::yield_now().await;
    }
    go.send(()).unwrap();
    for other in others {
        let verdict = other.await.unwrap().unwrap();
        assert_eq!(verdict.result, ProbeResult::Success);
    }
    assert!(requests.try_recv().is_err(), "one request served all");
    let counts = probes.counts();
    assert_eq!(counts[Kind::Readiness as usize], [1, 0, 0, 0]);
    drop(go);
    assert_eq!(ask().await.unwrap().unwrap().status, 200);
    assert_eq!(probes.counts()[Kind::Readiness as usize], [2, 0, 0, 0]);
}

#[tokio::test]
async fn the_app_hears_of_the_asker_nothing_but_kubelets_version() {
    let (go, wait) = channel();
    drop(go);
    let (app, requests) = slow_app(wait);
    let probes = probes(app, GET);
    let request = async |ip: &str, agent: &str| {
        let asked = Asked::new(ip.parse().unwrap(), Some(agent));
        probes.ask(&key(), asked).await.unwrap();
        requests.try_recv().unwrap()
    };
    let port = app.port();
    let want = |host: &str, agent: &str| {
        format!(
            "GET /ready HTTP/1.1\r\nHost: {host}:{port}\r\nUser-Agent: {agent}\r\n\
             Accept: */*\r\nConnection: close\r\n\r\n"
        )
    };
    let pod = request("::ffff:10.9.0.2", "kube-probe/1.36").await;
    assert_eq!(pod, want("10.9.0.2", "kube-probe/1.36"));
    let six = request("fd00:9::2", "kube-lifecycle/1.36+").await;
    assert_eq!(six, want("[fd00:9::2]", "kube-lifecycle/1.36+"));
    for stranger in [
        "curl/8",
        "kube-probe/1.36 evil",
        "kube-probe/1.36.1",
        "kube-probe/+1.2",
    ] {
        let got = request("127.9.9.9", stranger).await;
        assert_eq!(got, want("127.0.0.1", "kube-probe"), "{stranger}");
    }
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_silence_is_a_timeout() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let verdict = probes(gone, "\"tcp\":{}").ask(&key(), asked(POD)).await;
    let verdict = verdict.unwrap();
    assert_eq!(verdict.result, ProbeResult::Unreachable);
    assert_eq!(verdict.status, 503);
    let says = format!("probe web/readiness: the app is not there: {gone}: connection refused");
    assert!(verdict.body.starts_with(&says), "{}", verdict.body);

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let text = format!(
        "{{\"web/readiness\":{{\"app\":{},\"timeout\":\"30ms\",{GET}}}}}",
        address.port()
    );
    let silent_probes = Arc::new(Probes::new(spec::parse(&text).unwrap()));
    let verdict = silent_probes.ask(&key(), asked(POD)).await.unwrap();
    assert_eq!(verdict.result, ProbeResult::Timeout);
    let says = format!("probe web/readiness: {address} gave no whole answer within 30ms\n");
    assert_eq!(verdict.body, says);
}

#[tokio::test]
async fn an_unknown_probe_has_no_verdict() {
    let probes = probes(([127, 0, 0, 1], 9).into(), GET);
    let other = "web/liveness".parse().unwrap();
    assert!(probes.ask(&other, asked(POD)).await.is_none());
    assert_eq!(probes.known(), "web/readiness");
    assert!(Probes::default().known().starts_with("none;"));
}

#[tokio::test]
async fn any_bytes_of_the_app_end_within_the_timeout() {
    // A stream of garbage without end, for each protocol that reads.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let app = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
                // Settings for ever: good HTTP/2 that never answers.
                while std::io::Write::write_all(&mut stream, &settings).is_ok() {}
            });
        }
    });
    for action in [GET, r#""grpc":{}"#] {
        let text = format!(
            "{{\"web/readiness\":{{\"app\":{},\"timeout\":\"200ms\",{action}}}}}",
            app.port()
        );
        let probes = Arc::new(Probes::new(spec::parse(&text).unwrap()));
        let key = key();
        let verdict = probes.ask(&key, asked(POD));
        let verdict = tokio::time::timeout(Duration::from_secs(10), verdict).await;
        assert_eq!(verdict.unwrap().unwrap().status, 503, "{action}");
    }
}
