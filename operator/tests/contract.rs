//! What the operator writes, the dataplane reads: configuration, arguments and variables of every case
//! go through the dataplane's own parsers. Only these tests join the two programs.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]

mod support;

use std::ffi::OsString;

use proxyunwrap_api::names::{self, answers};
use proxyunwrap_api::{ProxyUnwrapSpec, crd};
use proxyunwrap_dataplane::args::{self, Cli, Command};
use proxyunwrap_dataplane::config::Config;
use proxyunwrap_dataplane::config::file::{self, File};
use proxyunwrap_operator::inject::{self, Status};
use proxyunwrap_operator::policy::Policy;
use serde_json::{Value, json};
use support::case::{self, Case};

/// Every case that is injected, with its pod afterwards.
fn injected() -> impl Iterator<Item = (&'static Case, Value)> {
    let cases = case::all().iter();
    cases.filter_map(|case| case.patched(&case.pod).ok().map(|pod| (case, pod)))
}

fn container<'a>(pod: &'a Value, name: &str) -> &'a Value {
    let mut all = pod["spec"]["initContainers"].as_array().unwrap().iter();
    all.find(|container| container["name"] == name).unwrap()
}

fn variable<'a>(container: &'a Value, name: &str) -> Option<&'a str> {
    let mut env = container["env"].as_array()?.iter();
    env.find(|entry| entry["name"] == name)?["value"].as_str()
}

/// A command line as the dataplane's `main` reads it.
#[track_caller]
fn command(words: &Value) -> Command {
    let words = words.as_array().unwrap().iter();
    let words = words.map(|word| OsString::from(word.as_str().unwrap()));
    let line = std::iter::once(OsString::from("proxyunwrap-dataplane")).chain(words);
    <Cli as clap::Parser>::try_parse_from(args::normalised(line))
        .unwrap()
        .command
}

fn parsed(pod: &Value) -> Config {
    let text = pod["metadata"]["annotations"][answers::CONFIG]
        .as_str()
        .unwrap();
    Config::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_dataplane_reads_every_configuration_and_steers_the_ports_that_the_status_names() {
    for (case, pod) in injected() {
        let status = pod["metadata"]["annotations"][answers::STATUS]
            .as_str()
            .unwrap();
        let status: Status = serde_json::from_str(status).unwrap();
        let ports = status.ports.iter().map(|port| (port.port, port.listen));
        assert_eq!(
            parsed(&pod).redirects(),
            ports.collect::<Vec<_>>(),
            "{}",
            case.name
        );
    }
}

#[test]
fn the_dataplane_reads_every_command_line() {
    for (case, pod) in injected() {
        let path = format!("{}/{}", names::CONFIG_FOLDER, names::CONFIG_FILE);
        let init = container(&pod, names::INIT_CONTAINER);
        let sidecar = container(&pod, names::SIDECAR);
        match command(&init["args"]) {
            Command::Init(init) => {
                assert_eq!(init.config, Some(path.clone().into()), "{}", case.name);
            }
            other => panic!("{}: {other:?}", case.name),
        }
        match command(&sidecar["args"]) {
            Command::Serve(serve) => assert_eq!(serve.config, Some(path.into()), "{}", case.name),
            other => panic!("{}: {other:?}", case.name),
        }
        let hook = &sidecar["lifecycle"]["preStop"]["exec"]["command"];
        if let Some((program, words)) = hook.as_array().and_then(|words| words.split_first()) {
            assert_eq!(program, "/proxyunwrap-dataplane");
            match command(&json!(words)) {
                Command::Drain(drain) => assert_eq!(drain.admin, names::ADMIN_PORT),
                other => panic!("{}: {other:?}", case.name),
            }
        }
    }
}

#[test]
fn the_dataplane_reads_every_log_level() {
    for (case, pod) in injected() {
        let level = variable(container(&pod, names::SIDECAR), "PROXYUNWRAP_LOG").unwrap();
        assert!(
            level.parse::<tracing::level_filters::LevelFilter>().is_ok(),
            "{}",
            case.name
        );
    }
}

#[test]
fn both_sides_mean_the_same_admin_port() {
    assert_eq!(names::ADMIN_PORT, file::ADMIN_PORT);
}

#[test]
fn what_a_policy_says_is_what_the_dataplane_understands() {
    let case = case::named("settings-every-field");
    let pod = case.patched(&case.pod).unwrap();
    let want = "
version: 1
ports:
- name: http
  port: 8080
  listen: 15001
  app: {ipv4: 127.0.0.2:8080, ipv6: '[::1]:8082'}
  peers: {require: [10.0.0.0/8]}
  header: {versions: [v2], timeout: 10s, maxBytes: 1024, tlvs: skip, withoutClient: refuse, tcp6Ipv4Literal: true}
  claims: {refuse: [192.0.2.0/24, '2001:db8::7'], portZero: ephemeral}
  timeouts: {connect: 2s, idle: 1h}
  missingFamily: unspoofed
- name: '9090'
  port: 9090
  listen: 15002
  app: 9091
  peers: {require: [10.0.0.0/8]}
  header: {versions: [v1], timeout: 7s, maxBytes: 512, tlvs: skip, withoutClient: refuse, tcp6Ipv4Literal: true}
  claims: {refuse: [192.0.2.0/24, '2001:db8::7'], portZero: ephemeral}
  timeouts: {connect: 3500ms, idle: 2h 30m}
  missingFamily: unspoofed
limits: {connections: 1000, pendingHeaders: 100}
accessLog: {mode: all, tlvs: [netns, ssl_cipher, aws_vpce_id]}
drain: {timeout: 33s}
admin: {listen: 15090}
sourceMode: auto
workers: 3
";
    let want: File = serde_saphyr::from_str(want).unwrap();
    assert_eq!(parsed(&pod).file, want);
}

/// Fields of the resource that are none of the injection's: who is meant, who is trusted (references are
/// resolved before), when workloads are restarted; and the one protocol that there is.
const OF_OTHERS: [&str; 5] = [
    "selector",
    "targetRefs",
    "trustedPeers",
    "rollout",
    "protocol",
];

#[test]
fn every_field_of_the_resource_has_an_effect() {
    let case = case::named("settings-every-field");
    let policy = case.policy();
    let pod = |policy: &Policy| {
        let patch = inject::patch(&case.pod, policy, &case.settings);
        patch.map(|patch| json!(patch).to_string())
    };
    let whole = pod(&policy);
    let spec = json!(policy.spec);
    let schema = json!(crd());
    let schema = &schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut fields = Vec::new();
    leaves(schema, &spec, "", &mut fields);
    assert!(fields.len() > 35, "{fields:?}");
    for (field, places) in fields {
        assert!(
            !places.is_empty(),
            "{field} is not in the case settings-every-field"
        );
        for place in places {
            let mut spec = spec.clone();
            remove(&mut spec, &place);
            let spec: ProxyUnwrapSpec = serde_json::from_value(spec).unwrap();
            let without = Policy {
                spec,
                ..policy.clone()
            };
            assert_ne!(pod(&without), whole, "{place} has no effect");
        }
    }
}

/// Fields without fields of their own, and where in a value they stand.
fn leaves(schema: &Value, value: &Value, path: &str, found: &mut Vec<(String, Vec<String>)>) {
    let Some(properties) = schema["properties"].as_object() else {
        return found.push((path.to_owned(), places(value, path)));
    };
    for (name, schema) in properties {
        let path = format!("{path}/{name}");
        let items = &schema["items"];
        match (
            OF_OTHERS.contains(&name.as_str()),
            items["properties"].is_object(),
        ) {
            (true, _) => {}
            (false, true) => leaves(items, value, &format!("{path}/*"), found),
            (false, false) => leaves(schema, value, &path, found),
        }
    }
}

/// Places that fit a path in which `*` is each item of a list.
fn places(value: &Value, path: &str) -> Vec<String> {
    match path.split_once("/*") {
        None => value
            .pointer(path)
            .map(|_| path.to_owned())
            .into_iter()
            .collect(),
        Some((list, rest)) => {
            let count = value
                .pointer(list)
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            let each = (0..count).flat_map(|index| places(value, &format!("{list}/{index}{rest}")));
            each.collect()
        }
    }
}

fn remove(value: &mut Value, place: &str) {
    let (parent, name) = place.rsplit_once('/').unwrap();
    value
        .pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(name)
        .unwrap();
}
