use super::*;

fn apps(ipv4: Option<&str>, ipv6: Option<&str>) -> Apps {
    Apps {
        ipv4: ipv4.map(|a| a.parse().unwrap()),
        ipv6: ipv6.map(|a| a.parse().unwrap()),
    }
}

fn client(address: &str) -> Client {
    Client::new(address.parse().unwrap())
}

fn ladder(from: &str, apps: &Apps) -> Ladder {
    Ladder::new(client(from), apps, MissingFamily::Refuse).unwrap()
}

#[track_caller]
fn check(ladder: &Ladder, want: &str) {
    let attempt = ladder.attempt();
    let source = attempt
        .source
        .map_or_else(|| "-".to_owned(), |s| s.to_string());
    assert_eq!(
        format!("{source} {} {}", attempt.destination, attempt.step.label()),
        want
    );
}

#[test]
fn the_first_attempt_keeps_address_and_port() {
    let both = apps(Some("127.0.0.1:8080"), Some("[::1]:8080"));
    check(
        &ladder("203.0.113.7:51000", &both),
        "203.0.113.7:51000 127.0.0.1:8080 as_client",
    );
    check(
        &ladder("[2001:db8::7]:51000", &both),
        "[2001:db8::7]:51000 [::1]:8080 as_client",
    );
}

#[test]
fn a_taken_tuple_goes_over_other_loopback_addresses_to_an_ephemeral_port() {
    let mut ladder = ladder("203.0.113.7:51000", &apps(Some("127.0.0.1:8080"), None));
    for last in 2..=4 {
        ladder.failed(Call::Connect, Errno::EADDRNOTAVAIL).unwrap();
        check(
            &ladder,
            &format!("203.0.113.7:51000 127.0.0.{last}:8080 other_loopback"),
        );
    }
    ladder.failed(Call::Connect, Errno::EADDRNOTAVAIL).unwrap();
    check(&ladder, "203.0.113.7:0 127.0.0.1:8080 ephemeral_port");
    let end = ladder.failed(Call::Connect, Errno::EADDRNOTAVAIL);
    assert_eq!(end, Err(DialError::TupleTaken));
}

#[test]
fn an_app_bound_to_one_loopback_address_gets_the_ephemeral_port() {
    let mut ladder = ladder("203.0.113.7:51000", &apps(Some("127.0.0.1:8080"), None));
    ladder.failed(Call::Connect, Errno::EADDRNOTAVAIL).unwrap();
    ladder.failed(Call::Connect, Errno::ECONNREFUSED).unwrap();
    check(&ladder, "203.0.113.7:0 127.0.0.1:8080 ephemeral_port");
}

#[test]
fn ipv6_has_one_loopback_address_so_the_port_goes() {
    let mut ladder = ladder("[2001:db8::7]:51000", &apps(None, Some("[::1]:8080")));
    ladder.failed(Call::Connect, Errno::EADDRNOTAVAIL).unwrap();
    check(&ladder, "[2001:db8::7]:0 [::1]:8080 ephemeral_port");
}

#[test]
fn a_port_that_a_listener_owns_is_replaced_at_once() {
    let mut ladder = ladder("203.0.113.7:8080", &apps(Some("127.0.0.1:8080"), None));
    ladder.failed(Call::Bind, Errno::EADDRINUSE).unwrap();
    check(&ladder, "203.0.113.7:0 127.0.0.1:8080 ephemeral_port");
}

#[test]
fn a_privileged_port_is_replaced_where_we_may_not_bind_it() {
    let mut ladder = ladder("203.0.113.7:22", &apps(Some("127.0.0.1:8080"), None));
    ladder.failed(Call::Bind, Errno::EACCES).unwrap();
    check(&ladder, "203.0.113.7:0 127.0.0.1:8080 ephemeral_port");
}

#[test]
fn a_missing_route_never_leads_to_another_source() {
    let mut ladder = ladder("203.0.113.7:51000", &apps(Some("127.0.0.1:8080"), None));
    assert_eq!(
        ladder.failed(Call::Bind, Errno::EADDRNOTAVAIL),
        Err(DialError::NoRoute)
    );
}

#[test]
fn an_absent_app_is_not_tried_elsewhere() {
    let mut ladder = ladder("203.0.113.7:51000", &apps(Some("127.0.0.1:8080"), None));
    assert_eq!(
        ladder.failed(Call::Connect, Errno::ECONNREFUSED),
        Err(DialError::Refused)
    );
}

#[test]
fn an_ipv4_client_reaches_an_ipv6_app_over_ipv4_loopback() {
    let only_v6 = apps(None, Some("[::1]:8080"));
    check(
        &ladder("203.0.113.7:51000", &only_v6),
        "203.0.113.7:51000 127.0.0.1:8080 as_client",
    );
}

#[test]
fn an_ipv6_client_of_an_ipv4_app_is_refused_or_unspoofed() {
    let only_v4 = apps(Some("127.0.0.1:8080"), None);
    let v6 = client("[2001:db8::7]:51000");
    let refused = Ladder::new(v6, &only_v4, MissingFamily::Refuse);
    assert_eq!(refused.map(|l| l.attempt()), Err(DialError::NoFamily));
    let ladder = Ladder::new(v6, &only_v4, MissingFamily::Unspoofed).unwrap();
    check(&ladder, "- 127.0.0.1:8080 unspoofed");
}

#[test]
fn a_machine_without_ipv6_is_an_outcome() {
    let mut ladder = ladder("[2001:db8::7]:51000", &apps(None, Some("[::1]:8080")));
    assert_eq!(
        ladder.failed(Call::Socket, Errno::EAFNOSUPPORT),
        Err(DialError::NoFamily)
    );
}

#[test]
fn only_the_source_asked_for_is_accepted() {
    let first = ladder("203.0.113.7:51000", &apps(Some("127.0.0.1:8080"), None)).attempt();
    assert!(first.accepts("203.0.113.7:51000".parse().unwrap()));
    assert!(!first.accepts("203.0.113.7:51001".parse().unwrap()));
    assert!(!first.accepts("127.0.0.1:51000".parse().unwrap()));
}

#[test]
fn a_source_equal_to_the_destination_is_refused() {
    let own = Ladder::new(
        client("127.0.0.1:8080"),
        &apps(Some("127.0.0.1:8080"), None),
        MissingFamily::Refuse,
    );
    assert_eq!(own.map(|l| l.attempt()), Err(DialError::TupleTaken));
}
