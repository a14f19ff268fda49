use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::peers::{HeaderPolicy, PeerNodes, TrustedPeer};
use crate::ports::Version;

fn map(rows: &[(&str, &str)]) -> BTreeMap<String, String> {
    let rows = rows.iter();
    rows.map(|(key, text)| (format!("{GROUP}/{key}"), (*text).to_owned()))
        .collect()
}

fn spec(rows: &[(&str, &str)]) -> ProxyUnwrapSpec {
    let mut spec = ProxyUnwrapSpec::default();
    parse(&map(rows), Place::Pod).unwrap().lay_over(&mut spec);
    spec
}

#[track_caller]
fn refused(place: Place, rows: &[(&str, &str)], want: &str) {
    assert_eq!(parse(&map(rows), place).unwrap_err().to_string(), want);
}

/// One value for every key, each different from the default.
const EVERY: &[(&str, &str)] = &[
    ("inject", "true"),
    ("unwrap", "web.old"),
    ("ports", "http, 8443:9443"),
    ("trusted-peers", "10.0.0.0/8, 2001:db8::7, defaults, Nodes"),
    ("header-policy", "optional"),
    ("refuse-clients", "198.51.100.0/24"),
    ("port-zero", "ephemeral"),
    ("header-versions", "v2"),
    ("header-timeout", "3s"),
    ("max-header-bytes", "232"),
    ("tlvs", "skip"),
    ("without-client", "refuse"),
    ("tcp6-ipv4-literal", "true"),
    ("connect-timeout", "100ms"),
    ("idle-timeout", "1h30m"),
    ("missing-family", "unspoofed"),
    ("connections", "1000"),
    ("pending-headers", "100"),
    ("access-log", "all"),
    ("access-log-tlvs", "alpn,netns"),
    ("drain-wait", "0s"),
    ("drain-timeout", "1h"),
    ("image", "registry.example/dataplane:1@sha256:00"),
    ("image-pull-policy", "never"),
    ("cpu-request", "20m"),
    ("memory-request", "32Mi"),
    ("memory-limit", "128Mi"),
    ("log-level", "DEBUG"),
    ("workers", "2"),
    ("rewrite-probes", "false"),
    ("steering", "inet"),
    ("source-mode", "transparent"),
];

#[test]
fn every_key_sets_its_own_field_and_no_other() {
    let said: BTreeSet<_> = EVERY.iter().map(|(key, _)| *key).collect();
    assert_eq!(said, all().map(|row| row.key).collect());
    let before = serde_json::to_value(ProxyUnwrapSpec::default()).unwrap();
    for (key, text) in EVERY {
        let row = all().find(|row| row.key == *key).unwrap();
        let after = serde_json::to_value(spec(&[(key, text)])).unwrap();
        let mut changed = BTreeSet::new();
        differences("", &before, &after, &mut changed);
        let want = match row.set {
            Set::Choice(_) => BTreeSet::new(),
            Set::Field(_) => BTreeSet::from([row.field.replace("[].header", "")]),
        };
        assert_eq!(changed, want, "{key}");
    }
}

/// Paths of what is not an object and differs.
fn differences(path: &str, one: &Json, other: &Json, found: &mut BTreeSet<String>) {
    let of = |json: &Json| json.as_object().cloned();
    match (of(one), of(other)) {
        (None, None) if one == other => {}
        (None, None) => drop(found.insert(path.to_owned())),
        (one, other) => {
            let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
            let keys: BTreeSet<_> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let path = format!("{path}.{key}");
                let at = |map: &serde_json::Map<_, _>| map.get(key).cloned().unwrap_or_default();
                differences(path.trim_start_matches('.'), &at(&one), &at(&other), found);
            }
        }
    }
}

#[test]
fn values_mean_what_they_say() {
    let wishes = parse(&map(EVERY), Place::Pod).unwrap();
    assert_eq!(wishes.inject, Some(true));
    assert_eq!(wishes.unwrap.as_deref(), Some("web.old"));
    let port = |port, app| WishedPort { port, app };
    let ports = [
        port(PortRef::Name("http".to_owned()), None),
        port(PortRef::Number(8443), Some(9443)),
    ];
    assert_eq!(wishes.ports.as_deref(), Some(ports.as_slice()));
    let spec = spec(EVERY);
    assert_eq!(spec.header.versions, [Version::V2]);
    assert_eq!(spec.timeouts.idle.unwrap().to_string(), "1h30m");
    let resources = serde_json::to_value(&spec.dataplane.resources).unwrap();
    let want = serde_json::json!({
        "requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "128Mi"},
    });
    assert_eq!(resources, want);
}

#[test]
fn the_header_policy_is_about_the_peers_that_are_named_beside_it() {
    let optional = |peer| TrustedPeer {
        header: HeaderPolicy::Optional,
        ..peer
    };
    let cidrs = TrustedPeer {
        cidrs: Some(vec![
            "10.0.0.0/8".parse().unwrap(),
            "2001:db8::7/128".parse().unwrap(),
        ]),
        defaults: None,
        ..TrustedPeer::defaults()
    };
    let nodes = TrustedPeer {
        nodes: Some(PeerNodes::default()),
        defaults: None,
        ..TrustedPeer::defaults()
    };
    let want = [cidrs, TrustedPeer::defaults(), nodes].map(optional);
    assert_eq!(spec(EVERY).trusted_peers.unwrap(), want);
}

#[test]
fn the_header_policy_alone_is_about_the_default_list() {
    let want = TrustedPeer {
        header: HeaderPolicy::Optional,
        ..TrustedPeer::defaults()
    };
    let spec = spec(&[("header-policy", "Optional")]);
    assert_eq!(spec.trusted_peers, Some(vec![want]));
}

#[test]
fn the_header_policy_leaves_those_alone_who_send_none() {
    let peer = |header| TrustedPeer {
        header,
        ..TrustedPeer::defaults()
    };
    let mut spec = ProxyUnwrapSpec {
        trusted_peers: Some(vec![peer(HeaderPolicy::Pass), peer(HeaderPolicy::Require)]),
        ..ProxyUnwrapSpec::default()
    };
    let wishes = parse(&map(&[("header-policy", "optional")]), Place::Pod).unwrap();
    wishes.lay_over(&mut spec);
    let want = [peer(HeaderPolicy::Pass), peer(HeaderPolicy::Optional)];
    assert_eq!(spec.trusted_peers.unwrap(), want);
}

#[test]
fn other_groups_and_our_own_answers_are_passed_over() {
    let mut annotations = map(&[
        ("status", "{}"),
        ("config", "version: 1"),
        ("refused", "UdpPort: no"),
        ("restarted-at", "now"),
    ]);
    for key in ["proxyunwrap.developer/x", "proxyunwrap.dev", "a/b", "zz"] {
        annotations.insert(key.to_owned(), "?".to_owned());
    }
    let wishes = parse(&annotations, Place::Service).unwrap();
    assert!(!wishes.sets_fields());
    assert_eq!(ours(&annotations).count(), 0);
}

#[test]
fn an_unknown_key_is_answered_by_the_nearest_known_one() {
    for (key, want) in [
        ("injct", "inject"),
        ("Inject", "inject"),
        ("injection", "inject"),
        ("port", "ports"),
        ("trusted-cidrs", "trusted-peers"),
        ("headertimeout", "header-timeout"),
        ("header-time-out", "header-timeout"),
        ("drain_timeout", "drain-timeout"),
        ("rewrite-probe", "rewrite-probes"),
        ("max-bytes-header", "max-header-bytes"),
    ] {
        let error = parse(&map(&[(key, "x")]), Place::Pod).unwrap_err();
        let nearest = Some(want);
        let key = key.to_owned();
        assert_eq!(error, Error::Unknown { key, nearest });
    }
    refused(
        Place::Pod,
        &[("header-timeuot", "5s")],
        "annotation proxyunwrap.dev/header-timeuot is not known; did you mean proxyunwrap.dev/header-timeout?",
    );
    refused(
        Place::Pod,
        &[("zzz", "5s")],
        "annotation proxyunwrap.dev/zzz is not known; docs/annotations.md lists the known keys",
    );
}

#[test]
fn a_pods_key_on_a_service_is_refused() {
    refused(
        Place::Service,
        &[("unwrap", "web")],
        "annotation proxyunwrap.dev/unwrap is for pods; on a Service it means nothing",
    );
}

#[test]
fn a_malformed_value_is_answered_by_what_is_allowed() {
    for (key, text, allowed) in [
        ("inject", "yes", "true or false"),
        ("port-zero", "drop", "Refuse or Ephemeral"),
        ("header-timeout", "2s", "a duration from 3s to 1h"),
        ("max-header-bytes", "231", "a number from 232 to 65551"),
        ("header-versions", "v3", "some of v1 and v2, with commas"),
        ("memory-limit", "64MB", "a quantity such as 64Mi"),
    ] {
        let want = format!("annotation proxyunwrap.dev/{key} is {text:?}; it takes {allowed}");
        refused(Place::Pod, &[(key, text)], &want);
    }
}

#[test]
fn a_long_value_is_shortened_in_the_answer() {
    let text = "é".repeat(5_000);
    let error = parse(&map(&[("ports", &text)]), Place::Pod).unwrap_err();
    assert!(error.to_string().len() < 500, "{error}");
}

#[test]
fn what_is_no_value_is_refused() {
    let many: Vec<_> = (1..=33).map(|port: u16| port.to_string()).collect();
    let peers: Vec<_> = (0..=256).map(|host| format!("10.0.{host}.0/24")).collect();
    for (key, text) in [
        ("inject", ""),
        ("unwrap", "Web"),
        ("unwrap", "-web"),
        ("unwrap", "web."),
        ("ports", ""),
        ("ports", "http,"),
        ("ports", "http,http"),
        ("ports", "80,80:8080"),
        ("ports", "0"),
        ("ports", "080"),
        ("ports", "+80"),
        ("ports", "65536"),
        ("ports", "80:app"),
        ("ports", "80:"),
        ("ports", "80:81:82"),
        ("ports", "Http"),
        ("ports", &many.join(",")),
        ("trusted-peers", ""),
        ("trusted-peers", "10.0.0.0/33"),
        ("trusted-peers", "10.0.0.0/8 10.1.0.0/16"),
        ("trusted-peers", "everybody"),
        ("trusted-peers", "nodes, Nodes"),
        ("trusted-peers", &peers.join(",")),
        ("header-policy", "Pass"),
        ("header-versions", "v1,v1"),
        ("header-timeout", "5"),
        ("header-timeout", "5sec"),
        ("header-timeout", "-5s"),
        ("header-timeout", "3m 5s"),
        ("idle-timeout", "0s"),
        ("idle-timeout", "999ms"),
        ("idle-timeout", "99999999999999h"),
        ("drain-wait", "5m1s"),
        ("workers", "0"),
        ("workers", "257"),
        ("connections", "99999999999"),
        ("connections", "1e3"),
        ("cpu-request", "-1"),
        ("image", "a b"),
        ("image", &"a".repeat(513)),
    ] {
        let result = parse(&map(&[(key, text)]), Place::Pod);
        assert!(
            matches!(result, Err(Error::Malformed { .. })),
            "{key} {text}"
        );
    }
}

/// The schema of the field that a row sets.
fn schema(row: &Annotation) -> (Json, Json) {
    let crd = serde_json::to_value(crate::crd()).unwrap();
    let mut at =
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
    let mut parent = Json::Null;
    for step in row.field.split('.') {
        let name = step.trim_end_matches("[]");
        parent = at.clone();
        at = match at["properties"].get(name) {
            Some(field) => field.clone(),
            None => at["additionalProperties"].clone(),
        };
        assert!(!at.is_null(), "{}: no field {name}", row.key);
        if step.ends_with("[]") {
            at = at["items"].clone();
        }
    }
    (at, parent)
}

fn words(schema: &Json) -> Vec<&str> {
    let words = schema["enum"].as_array().unwrap().iter();
    words.filter_map(Json::as_str).collect()
}

/// `least` and `most` of a duration, as the CEL rules have them.
fn rule_bounds<'a>(parent: &'a Json, field: &str) -> [Option<&'a str>; 2] {
    let rules = parent["x-kubernetes-validations"].as_array().unwrap();
    let after = |sign: &str| {
        let start = format!("duration(self.{field}) {sign} duration('");
        let mut rules = rules.iter().filter_map(|rule| rule["rule"].as_str());
        let rest = rules.find_map(|rule| Some(rule.split_once(&start)?.1))?;
        rest.split_once('\'').map(|(bound, _)| bound)
    };
    [">=", "<="].map(after)
}

#[test]
fn bounds_and_words_are_those_of_the_resource() {
    for row in all().filter(|row| !row.field.is_empty()) {
        let (field, parent) = schema(row);
        let most = |schema: &Json| schema["maxItems"].as_u64().unwrap();
        match row.value {
            Value::Bool => assert_eq!(field["type"], "boolean", "{}", row.key),
            Value::Word(["Require", "Optional"]) => {
                assert_eq!(words(&field), ["Require", "Optional", "Forbid", "Pass"]);
            }
            Value::Word(some) => assert_eq!(words(&field), some, "{}", row.key),
            Value::Words(some) => assert_eq!(words(&field["items"]), some, "{}", row.key),
            Value::Count(least, most) => {
                let want = [Some(f64::from(least)), Some(f64::from(most))];
                let bounds = ["minimum", "maximum"].map(|bound| field[bound].as_f64());
                assert_eq!(bounds, want, "{}", row.key);
            }
            Value::Duration(least, most) => {
                let name = row.field.rsplit('.').next().unwrap();
                assert_eq!(rule_bounds(&parent, name), [least, most], "{}", row.key);
            }
            Value::Networks(want) => assert_eq!(most(&field), want as u64, "{}", row.key),
            Value::Ports => assert_eq!(most(&field), 32),
            Value::Peers => assert_eq!(most(&field["items"]["properties"]["cidrs"]), 256),
            Value::Image => assert_eq!(field["maxLength"], 512),
            Value::Quantity(example) => {
                assert_eq!(field["x-kubernetes-int-or-string"], true);
                assert!(row.value.read(example).is_some());
            }
            Value::Name => assert_eq!(row.key, "unwrap"),
        }
    }
}

/// What only a resource can say: whom it is about, what is set for single ports, restarts.
const RESOURCE_ONLY: &[&str] = &["selector", "targetRefs", "rollout"];

#[test]
fn every_field_of_the_resource_has_a_key_or_is_named_as_one_without() {
    let crd = serde_json::to_value(crate::crd()).unwrap();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let fields: Vec<_> = all().map(|row| row.field.replace("[]", "")).collect();
    for (name, schema) in spec["properties"].as_object().unwrap() {
        let leaves: Vec<_> = match schema["properties"].as_object() {
            Some(inner) => inner.keys().map(|leaf| format!("{name}.{leaf}")).collect(),
            None => vec![name.clone()],
        };
        for leaf in leaves {
            let said = |field: &String| *field == leaf || field.starts_with(&format!("{leaf}."));
            let known = fields.iter().any(said) || RESOURCE_ONLY.contains(&name.as_str());
            assert!(known, "{leaf} has no annotation");
        }
    }
}

#[test]
fn the_page_is_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/annotations.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert!(
        written == page(),
        "docs/annotations.md differs from the table; UPDATE=1 cargo test -p proxyunwrap-api --lib"
    );
}

#[test]
fn nothing_on_the_page_breaks_its_tables() {
    for row in all() {
        let text = format!("{}{}", row.meaning, row.value.allowed());
        assert!(!text.contains(['|', '\n']), "{}", row.key);
    }
}

fn any_key() -> impl Strategy<Value = String> {
    let known = prop::sample::select(all().map(|row| row.key).collect::<Vec<_>>());
    prop_oneof![
        4 => known.prop_map(|key| format!("{GROUP}/{key}")),
        1 => "proxyunwrap.dev/[a-z-]{0,12}",
        1 => ".{0,20}",
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    let known = prop::sample::select(EVERY.iter().map(|(_, text)| *text).collect::<Vec<_>>());
    prop_oneof![
        4 => known.prop_map(str::to_owned),
        1 => "[0-9a-zA-Z:,./ -]{0,20}",
        1 => "[0-9]{1,6}[a-zA-Z]{0,3}",
        1 => ".{0,200}",
    ]
}

proptest! {
    #[test]
    fn no_annotations_panic_and_what_is_taken_is_a_spec_that_reads_back(
        annotations in prop::collection::btree_map(any_key(), any_text(), 0..6),
        on_pod: bool,
    ) {
        let place = if on_pod { Place::Pod } else { Place::Service };
        match parse(&annotations, place) {
            Err(error) => prop_assert!(error.to_string().len() < 2_000),
            Ok(wishes) => {
                let mut spec = ProxyUnwrapSpec::default();
                wishes.lay_over(&mut spec);
                let text = serde_json::to_string(&spec).unwrap();
                prop_assert_eq!(serde_json::from_str::<ProxyUnwrapSpec>(&text).unwrap(), spec);
            }
        }
    }
}
