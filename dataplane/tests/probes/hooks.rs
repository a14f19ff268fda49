//! Hooks: kubelet takes any answer for done, so one that the app never had gets none.

use serde_json::{Value, json};

use super::asker::{ask, ask_at, counted, get, stand};
use crate::support::lab::POD4;
use crate::support::nginx::Nginx;

fn with_tls(mut probe: Value) -> Value {
    probe["http"]["scheme"] = "https".into();
    probe["http"]["headers"] = json!([["Authorization", "secret"], ["X-Token", "abc"]]);
    probe
}

#[test]
fn a_hook_that_the_app_never_had_gets_no_answer() {
    let probes = json!({"web/preStop": get(8080, "/bye"), "web/postStart": get(8081, "/hi")});
    let stand = stand("lost", &probes);
    let servers = "server { listen 127.0.0.1:8080; location / { return 500 'busy'; } }";
    let listens = [([127, 0, 0, 1], 8080).into()];
    let _app = Nginx::http(&stand.lab.pod.namespace, servers, &listens);
    // What the app says is its own business: kubelet takes it for done.
    let answer = ask(&stand, "web/preStop");
    assert_eq!((answer.status, answer.body.as_str()), (500, "busy"));
    assert!(ask_at(&stand, POD4, "web/postStart").is_err());
    assert_eq!(counted(&stand, "postStart", "unreachable"), 1);
    let output = stand.output();
    let said = output.contains("web/postStart: the app is not there: 127.0.0.1:8081");
    assert!(said, "{output}");
}

/// kubelet ignored the scheme of hooks for long, and still falls back.
#[test]
fn a_hook_by_tls_reaches_an_app_without_it() {
    let tls = with_tls(get(8080, "/"));
    let stand = stand(
        "fallback",
        &json!({"web/preStop": tls, "web/liveness": tls}),
    );
    let servers = "server { listen 127.0.0.1:8080; location / {
        return 200 '$scheme $http_x_token $http_authorization.'; } }";
    let listens = [([127, 0, 0, 1], 8080).into()];
    let _app = Nginx::http(&stand.lab.pod.namespace, servers, &listens);
    let answer = ask(&stand, "web/preStop");
    assert_eq!((answer.status, answer.body.as_str()), (200, "http abc ."));
    assert_eq!(ask(&stand, "web/liveness").status, 503);
}
