use super::*;

const SMALL: &str = "
version: 1
ports:
- name: web
  port: 8080
  listen: 15001
  peers: {require: [10.0.0.0/8]}
";

/// The configuration above with one text replaced, or the error as a user sees it.
fn with(from: &str, to: &str) -> Result<Config, String> {
    assert!(SMALL.contains(from), "{from:?} is in the configuration");
    Config::parse(&SMALL.replace(from, to)).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{error}{}", source.unwrap_or_default())
    })
}

#[track_caller]
fn refused(from: &str, to: &str, want: &str) {
    match with(from, to) {
        Ok(_) => panic!("{to:?} is accepted"),
        Err(error) => assert!(error.contains(want), "{error:?} does not say {want:?}"),
    }
}

#[test]
fn the_documented_file_is_the_defaults_spelt_out() {
    let page = include_str!("../../../docs/configuration.md");
    let yaml = page
        .split("```yaml")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let documented = Config::parse(yaml).unwrap().file;
    let mut small = Config::parse(SMALL).unwrap().file;
    small.ports[0].app = Some(values::App::Port(8080));
    assert_eq!(documented, small);
}

#[test]
fn every_field_is_documented() {
    let page = include_str!("../../../docs/configuration.md");
    let file = serde_json::to_value(Config::parse(SMALL).unwrap().file).unwrap();
    let mut fields = vec![file];
    while let Some(value) = fields.pop() {
        match value {
            serde_json::Value::Object(map) => {
                for (name, value) in map {
                    assert!(page.contains(&format!("{name}:")), "{name} is documented");
                    fields.push(value);
                }
            }
            serde_json::Value::Array(values) => fields.extend(values),
            _ => {}
        }
    }
}

#[test]
fn an_unknown_field_is_an_error_with_its_path() {
    refused(
        "port: 8080",
        "prot: 8080",
        "ports[0].prot: unknown field `prot`",
    );
    refused(
        "version: 1",
        "version: 1\nlimit: {}",
        "limit: unknown field `limit`",
    );
}

#[test]
fn a_value_of_another_kind_is_an_error_with_its_path() {
    refused("15001", "yes please", "ports[0].listen");
    refused("10.0.0.0/8", "10.0.0/8", "ports[0].peers.require[0]");
    refused("port: 8080", "port: 80800", "ports[0].port");
}

#[test]
fn nobody_to_believe_is_refused() {
    refused("[10.0.0.0/8]", "[]", "no peer is listed");
    refused("{require: [10.0.0.0/8]}", "{}", "no peer is listed");
}

#[test]
fn a_list_that_names_nobody_is_a_configuration_all_the_same() {
    let nobody = with("10.0.0.0/8", "0.0.0.0/32").unwrap();
    assert_eq!(
        nobody.ports[0].trust.rule([10, 9, 0, 1].into()),
        None,
        "and it lets nobody in"
    );
}

#[test]
fn a_network_with_two_rules_is_refused() {
    refused(
        "[10.0.0.0/8]}",
        "[10.0.0.0/8], pass: [10.0.0.0/8]}",
        "ports[0].peers",
    );
}

#[test]
fn a_header_timeout_below_the_specifications_is_refused() {
    refused(
        "listen: 15001",
        "listen: 15001\n  header: {timeout: 2s}",
        "ports[0].header.timeout",
    );
    refused(
        "listen: 15001",
        "listen: 15001\n  header: {versions: []}",
        "ports[0].header.versions",
    );
    refused(
        "listen: 15001",
        "listen: 15001\n  header: {maxBytes: 99}",
        "ports[0].header.maxBytes",
    );
}

#[test]
fn an_address_that_is_the_apps_is_refused() {
    refused("15001", "8080", "takes the app's own address");
    let same = with("listen: 15001", "listen: ['10.9.0.2:8080']").unwrap();
    assert_eq!(
        same.redirects(),
        [],
        "the same port on another address needs no redirect"
    );
}

#[test]
fn two_ports_share_nothing() {
    let second = "  peers: {require: [10.0.0.0/8]}\n- name: NAME\n  port: PORT\n  listen: LISTEN\n";
    let two = |name: &str, port: &str, listen: &str| {
        let second = second
            .replace("NAME", name)
            .replace("PORT", port)
            .replace("LISTEN", listen);
        with("  peers: {require", &format!("{second}  peers: {{require"))
    };
    assert_eq!(
        two("ssh", "22", "15002").unwrap().redirects(),
        [(8080, 15001), (22, 15002)]
    );
    assert!(
        two("web", "22", "15002")
            .unwrap_err()
            .contains("ports[1].name")
    );
    assert!(
        two("ssh", "8080", "15002")
            .unwrap_err()
            .contains("ports[1].port")
    );
    assert!(
        two("ssh", "22", "15001")
            .unwrap_err()
            .contains("ports[1].listen")
    );
}

#[test]
fn another_version_says_which_we_read() {
    refused("version: 1", "version: 2", "this program reads version 1");
}

#[test]
fn go_mmproxys_subnets_may_have_comments_and_must_have_networks() {
    use compat::{BadSubnet, Flags};
    let flags = Flags {
        listen: "0.0.0.0:25577".parse().unwrap(),
        ipv4: "127.0.0.1:25578".parse().unwrap(),
        ipv6: "[::1]:25578".parse().unwrap(),
        mark: 0,
        listeners: 2,
        verbose: 2,
        source_mode: file::SourceMode::Auto,
        admin: None,
    };
    let file = compat::file(&flags, "# balancers\n10.0.0.0/8\n\n2001:db8::/32 # v6\n").unwrap();
    assert_eq!(file.ports[0].peers.require.len(), 2);
    assert_eq!(Config::new(file).unwrap().ports.len(), 1);
    let bad = compat::file(&flags, "10.0.0.0/8\nnonsense\n").unwrap_err();
    assert!(matches!(bad, BadSubnet { line: 2, .. }));
    let empty = Config::new(compat::file(&flags, "# nobody\n").unwrap()).unwrap_err();
    assert!(matches!(
        empty,
        Error::Peers {
            source: trust::Error::Empty,
            ..
        }
    ));
}
