use serde_json::{Value, json};

use super::written::MAX_SERVICE;
use super::*;

const HTTP: &str = r#"{"app":8080,"timeout":"1s","http":{"scheme":"http","path":"/healthz"}}"#;

fn one(key: &str, probe: &Value) -> Result<Probe, String> {
    let text = json!({ key: probe }).to_string();
    let parsed = parse(&text).map_err(|error| error.to_string())?;
    Ok(parsed.into_values().next().unwrap())
}

fn http(http: &Value) -> Result<Request, String> {
    let probe = one(
        "web/liveness",
        &json!({"app": 8080, "timeout": "1s", "http": http}),
    )?;
    match probe.action {
        Action::Http(request) => Ok(request),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(text: &str, want: &str) {
    let error = parse(text).expect_err("it is refused").to_string();
    assert!(error.starts_with("--probes: "), "{error}");
    assert!(error.contains(want), "{error:?} does not say {want:?}");
}

#[test]
fn every_kind_of_probe_is_read() {
    let text = json!({
        "web/liveness": {"app": 8080, "timeout": "1s", "http": {
            "scheme": "https", "path": "/healthz?x=1", "host": "example.com", "headers": [["X-A", "b"]]}},
        "db-1/startup": {"app": {"ipv4": "127.0.0.1:5432"}, "timeout": "500ms", "tcp": {}},
        "web/preStop": {"app": 8080, "timeout": "25s", "http": {"scheme": "http", "path": "/bye"}},
        "rpc/readiness": {"app": {"ipv4": "127.0.0.1:50051", "ipv6": "[::1]:50051"}, "timeout": "2s",
            "grpc": {"service": "orders"}},
    });
    let probes = parse(&text.to_string()).unwrap();
    let keys: Vec<_> = probes.keys().map(Key::to_string).collect();
    assert_eq!(
        keys,
        [
            "db-1/startup",
            "rpc/readiness",
            "web/liveness",
            "web/preStop"
        ]
    );
    let probe = |key: &str| &probes[&key.parse::<Key>().unwrap()];
    assert_eq!(probe("db-1/startup").action, Action::Tcp);
    assert_eq!(probe("db-1/startup").apps.ipv6, None);
    assert_eq!(probe("db-1/startup").timeout, Duration::from_millis(500));
    assert_eq!(
        probe("rpc/readiness").action,
        Action::Grpc("orders".to_owned())
    );
    let Action::Http(request) = &probe("web/liveness").action else {
        panic!("it is http")
    };
    assert!(request.tls);
    assert_eq!(request.target, "/healthz?x=1");
    assert_eq!(request.host.as_deref(), Some("example.com"));
    assert_eq!(
        request.headers,
        [("X-A", "b"), ("Accept", "*/*")].map(|(name, value)| (name.into(), value.into()))
    );
}

#[test]
fn no_probe_at_all_is_fine() {
    assert!(parse("{}").unwrap().is_empty());
}

#[test]
fn what_is_malformed_is_named_with_its_key() {
    refused("", "must be a JSON object");
    refused("[]", "must be a JSON object");
    refused("{} {}", "trailing characters");
    for (old, new, want) in [
        (
            "web/liveness",
            "web/live",
            "\"live\" is no kind of probe; write one of liveness, ",
        ),
        (
            "web/liveness",
            "liveness",
            "\"liveness\" is not CONTAINER/KIND",
        ),
        ("web/liveness", "a/b/liveness", "is no kind of probe"),
        ("web/liveness", "Web/liveness", "is not CONTAINER/KIND"),
        ("8080", "0", "web/liveness: app: port 0"),
        ("8080", "80800", "web/liveness.app: expected a port number"),
        ("8080", "{}", "web/liveness: app: give ipv4, ipv6 or both"),
        ("\"1s\"", "1", "web/liveness.timeout: "),
        ("\"1s\"", "\"soon\"", "is not a duration such as 5s"),
        ("\"1s\"", "\"0s\"", "web/liveness: timeout: "),
        (
            "\"http\":{",
            "\"https\":{",
            "web/liveness.https: unknown field",
        ),
        (
            "\"http\":{",
            "\"tcp\":{},\"http\":{",
            "keep one of http, tcp and grpc",
        ),
        (
            "\"http\":{\"scheme\":\"http\",\"path\":\"/healthz\"}",
            "\"tcp\":null",
            "give one of http, tcp and grpc",
        ),
        (
            "\"scheme\":\"http\"",
            "\"scheme\":\"HTTP\"",
            "web/liveness.http.scheme: unknown variant",
        ),
        (
            "\"path\"",
            "\"paths\"",
            "web/liveness.http.paths: unknown field",
        ),
    ] {
        let good = format!("{{\"web/liveness\":{HTTP}}}");
        assert!(good.contains(old), "{old}");
        refused(&good.replace(old, new), want);
    }
}

#[test]
fn what_kubelet_could_not_send_is_refused() {
    for (field, value, want) in [
        (
            "headers",
            json!([["X A", "b"]]),
            "\"X A\" is no name of a header",
        ),
        (
            "headers",
            json!([["X-A", "b\r\nX-B: c"]]),
            "http.headers: X-A: ",
        ),
        ("host", json!("a\nb"), "http.host: "),
        ("headers", json!([["X-A"]]), "web/liveness.http.headers[0]"),
    ] {
        let error = http(&json!({"path": "/", field: value})).unwrap_err();
        assert!(error.contains(want), "{error:?} does not say {want:?}");
    }
    let long = json!({"service": "x".repeat(MAX_SERVICE + 1)});
    let probe = json!({"app": 1, "timeout": "1s", "grpc": long});
    assert!(
        one("a/liveness", &probe)
            .unwrap_err()
            .contains("grpc.service")
    );
}

#[test]
fn headers_mean_what_they_mean_to_kubelet() {
    let request = http(&json!({"path": "/", "host": "a", "headers": [
        ["host", "b"], ["USER-agent", "me"], ["Accept", " "], ["accept", "x"],
        ["Connection", "keep-alive"], ["Content-Length", "3"], ["X-A", "1"], ["X-A", "2"]]}))
    .unwrap();
    assert_eq!(request.host.as_deref(), Some("b"), "Host outweighs host");
    assert_eq!(request.agent.as_deref(), Some("me"));
    assert_eq!(
        request.headers,
        [("X-A", "1"), ("X-A", "2")].map(|(name, value)| (name.into(), value.into()))
    );
    let plain = http(&json!({"headers": [["Host", ""], ["User-Agent", ""]]})).unwrap();
    assert_eq!((plain.host, plain.agent), (None, Some(String::new())));
    assert_eq!(plain.target, "/");
}

#[test]
fn the_documented_probes_are_probes() {
    let page = include_str!("../../../../docs/configuration.md");
    let json = page.split("```json").nth(1);
    let json = json.and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(parse(json).unwrap().len(), 4);
}
