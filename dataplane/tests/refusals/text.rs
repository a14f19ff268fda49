//! Version 1: what its grammar does not allow, one fault a line.

use super::bench::{Bench, Case};

const FAULTS: &[(&str, &str)] = &[
    ("GET / HTTP/1.1\r\n", "not_a_header"),
    ("\x16\x03\x01\x02\x00\x01", "not_a_header"),
    ("SSH-2.0-OpenSSH_9.2\r\n", "not_a_header"),
    (
        "proxy TCP4 203.0.113.7 192.0.2.1 51000 443\r\n",
        "not_a_header",
    ),
    (
        " PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\r\n",
        "not_a_header",
    ),
    (
        "PROXY\tTCP4 203.0.113.7 192.0.2.1 51000 443\r\n",
        "not_a_header",
    ),
    ("PROXY\r\n", "not_a_header"),
    (
        "PROXY  TCP4 203.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_protocol",
    ),
    (
        "PROXY tcp4 203.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_protocol",
    ),
    (
        "PROXY TCP5 203.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_protocol",
    ),
    (
        "PROXY TCP 203.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_protocol",
    ),
    (
        "PROXY UDP4 203.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_protocol",
    ),
    (
        "PROXY TCP4\t203.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_protocol",
    ),
    ("PROXY TCP4\r\n", "v1_protocol"),
    ("PROXY UNKNOWNED\r\n", "v1_protocol"),
    ("PROXY \r\n", "v1_protocol"),
    (
        "PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\n",
        "v1_line_end",
    ),
    (
        "PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\r.",
        "v1_line_end",
    ),
    (
        "PROXY TCP4 203.0.113.7\n192.0.2.1 51000 443\r\n",
        "v1_line_end",
    ),
    ("PROXY UNKNOWN\n", "v1_line_end"),
    ("PROXY TCP4 203.0.113.7 192.0.2.1 51000\r\n", "v1_fields"),
    (
        "PROXY TCP4 203.0.113.7 192.0.2.1 51000 443 1\r\n",
        "v1_fields",
    ),
    (
        "PROXY TCP4 203.0.113.7 192.0.2.1 51000 443 \r\n",
        "v1_fields",
    ),
    (
        "PROXY TCP4  203.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_fields",
    ),
    (
        "PROXY TCP4 203.0.113.7 192.0.2.1  51000 443\r\n",
        "v1_fields",
    ),
    ("PROXY TCP4 \r\n", "v1_fields"),
    (
        "PROXY TCP4 203.0.113.07 192.0.2.1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP4 203.0.113.256 192.0.2.1 51000 443\r\n",
        "v1_address",
    ),
    ("PROXY TCP4 203.0.113 192.0.2.1 51000 443\r\n", "v1_address"),
    (
        "PROXY TCP4 0xCB.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP4 3405803783 192.0.2.1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP4 +203.0.113.7 192.0.2.1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP4 203.0.113.7\0 192.0.2.1 51000 443\r\n",
        "v1_address",
    ),
    ("PROXY TCP4 203.0.113.7 192.0.2 51000 443\r\n", "v1_address"),
    (
        "PROXY TCP4 2001:db8::7 2001:db8::1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP4 client.example 192.0.2.1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP6 2001:db8::7::1 2001:db8::1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP6 2001:db8:0:0:0:0:7 2001:db8::1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP6 2001:db8::12345 2001:db8::1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP6 [2001:db8::7] 2001:db8::1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP6 fe80::1%eth0 2001:db8::1 51000 443\r\n",
        "v1_address",
    ),
    (
        "PROXY TCP6 203.0.113.7 2001:db8::1 51000 443\r\n",
        "v1_tcp6_v4_literal",
    ),
    (
        "PROXY TCP6 2001:db8::7 192.0.2.1 51000 443\r\n",
        "v1_tcp6_v4_literal",
    ),
    ("PROXY TCP4 203.0.113.7 192.0.2.1 +51000 443\r\n", "v1_port"),
    ("PROXY TCP4 203.0.113.7 192.0.2.1 051000 443\r\n", "v1_port"),
    ("PROXY TCP4 203.0.113.7 192.0.2.1 65536 443\r\n", "v1_port"),
    ("PROXY TCP4 203.0.113.7 192.0.2.1 -1 443\r\n", "v1_port"),
    ("PROXY TCP4 203.0.113.7 192.0.2.1 0xC738 443\r\n", "v1_port"),
    (
        "PROXY TCP4 203.0.113.7 192.0.2.1 51000 99999999999999999999\r\n",
        "v1_port",
    ),
    (
        "PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\0\r\n",
        "v1_port",
    ),
];

#[test]
fn a_v1_line_that_breaks_the_grammar_is_closed_and_counted_under_its_fault() {
    let mut cases: Vec<_> = FAULTS.iter().map(case).collect();
    cases.push(too_long("TCP4 203.0.113.7 192.0.2.1 51000 443"));
    cases.push(too_long("UNKNOWN"));
    cases.push(Case {
        name: "not UTF-8".to_owned(),
        bytes: b"PROXY TCP4 203.0.113.\xff 192.0.2.1 51000 443\r\n".to_vec(),
        reason: "v1_address",
    });
    let bench = Bench::new("v1-faults", "timeout: 60s");
    bench.refuses("header_errors_total", &cases);
}

#[test]
fn a_version_that_is_switched_off_is_refused_by_its_name() {
    let bench = Bench::new("v1-off", "versions: [v2], timeout: 60s");
    let v1 = Case {
        name: "v1".to_owned(),
        bytes: b"PROXY TCP4 203.0.113.7 192.0.2.1 51000 443\r\n".to_vec(),
        reason: "v1_off",
    };
    bench.refuses("header_errors_total", &[v1]);
}

fn case((line, reason): &(&'static str, &'static str)) -> Case {
    Case {
        name: line.escape_debug().to_string(),
        bytes: line.as_bytes().to_vec(),
        reason,
    }
}

/// 108 bytes with CRLF, one more than the specification allows.
fn too_long(fields: &str) -> Case {
    Case {
        name: format!("a line of 108 bytes: {fields}"),
        bytes: format!("PROXY {fields:<100}\r\n").into_bytes(),
        reason: "v1_too_long",
    }
}
