//! V1-1 to V1-5: the text form.

use proxyunwrap_header::{Endpoints, Invalid, Progress, Rules, UnknownKind, parse};

use super::{accepts, between, complete, inet6, read, refuses, waits};

const UNKNOWN: Endpoints = Endpoints::Unknown(UnknownKind::V1Unknown);

#[test]
fn v1_1_tcp4_is_accepted() {
    let line = b"PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n";
    accepts(line, between("192.168.0.1:56324", "192.168.0.11:443"));
}

#[test]
fn v1_1_tcp6_is_accepted() {
    accepts(
        b"PROXY TCP6 2001:db8::7 2001:DB8:1:0:0::10 51006 8443\r\n",
        inet6(),
    );
}

#[test]
fn v1_1_only_the_three_names_in_their_case_are_protocols() {
    for name in [
        "tcp4", "Tcp4", "TCP", "TCP5", "TCP44", "UDP4", "unknown", "UNKNOW", "", "X",
    ] {
        let line = format!("PROXY {name} 203.0.113.7 192.0.2.10 51000 443\r\n");
        refuses(line.as_bytes(), Invalid::V1Protocol);
    }
    refuses(
        b"proxy TCP4 203.0.113.7 192.0.2.10 51000 443\r\n",
        Invalid::NotAHeader,
    );
}

#[test]
fn v1_1_a_wrong_name_is_refused_at_its_first_wrong_byte() {
    waits(b"PROXY TCP");
    assert_eq!(
        parse(b"PROXY TCP5", &Rules::default()),
        Err(Invalid::V1Protocol)
    );
    waits(b"PROXY UNKNOWN");
    assert_eq!(
        parse(b"PROXY UNKNOWNS", &Rules::default()),
        Err(Invalid::V1Protocol)
    );
}

#[test]
fn v1_1_fields_are_one_space_apart_and_nothing_else() {
    for line in [
        "PROXY TCP4  203.0.113.7 192.0.2.10 51000 443\r\n",
        "PROXY TCP4 203.0.113.7  192.0.2.10 51000 443\r\n",
        "PROXY TCP4 203.0.113.7 192.0.2.10 51000  443\r\n",
        "PROXY TCP4 203.0.113.7 192.0.2.10 51000 443 \r\n",
        "PROXY TCP4 203.0.113.7 192.0.2.10 51000 443 extra\r\n",
        "PROXY TCP4 203.0.113.7\t192.0.2.10 51000 443\r\n",
        "PROXY TCP4 203.0.113.7 192.0.2.10 51000\r\n",
        "PROXY TCP4 203.0.113.7 192.0.2.10 51000 \r\n",
        "PROXY TCP4 \r\n",
    ] {
        refuses(line.as_bytes(), Invalid::V1Fields);
    }
    refuses(
        b"PROXY  TCP4 203.0.113.7 192.0.2.10 51000 443\r\n",
        Invalid::V1Protocol,
    );
    refuses(
        b"PROXY\tTCP4 203.0.113.7 192.0.2.10 51000 443\r\n",
        Invalid::NotAHeader,
    );
    refuses(
        b" PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\n",
        Invalid::NotAHeader,
    );
    refuses(
        b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\t\r\n",
        Invalid::V1Port,
    );
}

#[test]
fn v1_2_unknown_ignores_everything_up_to_crlf() {
    accepts(b"PROXY UNKNOWN\r\n", UNKNOWN);
    accepts(b"PROXY UNKNOWN \r\n", UNKNOWN);
    accepts(
        b"PROXY UNKNOWN 203.0.113.7 192.0.2.10 51000 443\r\n",
        UNKNOWN,
    );
    accepts(b"PROXY UNKNOWN  a b c d e f g h i j k\t\0\xFF\r\n", UNKNOWN);
    let worst = b"PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
                  ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
    assert_eq!(worst.len(), 107);
    accepts(worst, UNKNOWN);
}

#[test]
fn v1_3_ipv4_is_four_plain_numbers_up_to_255() {
    accepts(
        b"PROXY TCP4 0.0.0.0 255.255.255.255 1 2\r\n",
        between("0.0.0.0:1", "255.255.255.255:2"),
    );
    for address in [
        "256.0.113.7",
        "203.0.113",
        "203.0.113.7.1",
        "203.0.113.",
        "203..113.7",
        ".0.113.7",
        "0xCB.0.113.7",
        "+203.0.113.7",
        "-1.0.113.7",
        "203.0.113.7/32",
        "3405803783",
        "203.0.113.7:80",
        "localhost",
        "2001:db8::7",
    ] {
        for line in [
            format!("PROXY TCP4 {address} 192.0.2.10 51000 443\r\n"),
            format!("PROXY TCP4 192.0.2.10 {address} 51000 443\r\n"),
        ] {
            refuses(line.as_bytes(), Invalid::V1Address);
        }
    }
}

#[test]
fn v1_3_ipv4_with_a_leading_zero_is_refused() {
    for address in ["0203.0.113.7", "203.00.113.7", "203.0.113.07", "010.0.0.1"] {
        let line = format!("PROXY TCP4 {address} 192.0.2.10 51000 443\r\n");
        refuses(line.as_bytes(), Invalid::V1Address);
    }
}

#[test]
fn v1_3_ipv6_is_exactly_128_bits_with_at_most_one_gap() {
    accepts(b"PROXY TCP6 :: ::1 1 2\r\n", between("[::]:1", "[::1]:2"));
    accepts(
        b"PROXY TCP6 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: 1 2\r\n",
        between("[1:2:3:4:5:6:7:8]:1", "[1:2:3:4:5:6:7:0]:2"),
    );
    for address in [
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1::2::3",
        "1:2:3:4:5:6:7::8",
        ":::",
        ":1:2:3:4:5:6:7",
        "12345::",
        "fe80::1%eth0",
        "[::1]",
        "g::",
        "::1/128",
        "1:2:3:4:5:6:7:",
        "+1::",
    ] {
        let line = format!("PROXY TCP6 {address} ::1 51000 443\r\n");
        refuses(line.as_bytes(), Invalid::V1Address);
    }
}

#[test]
fn v1_3_a_v4_address_under_tcp6_is_refused_unless_allowed() {
    let line = b"PROXY TCP6 2001:db8::7 192.0.2.10 51006 443\r\n";
    refuses(line, Invalid::V1Tcp6V4Literal);
    let rules = Rules {
        tcp6_v4_literal: true,
        ..Rules::default()
    };
    assert_eq!(
        complete(line, &rules).endpoints,
        between("[2001:db8::7]:51006", "192.0.2.10:443")
    );
    assert_eq!(
        read(b"PROXY TCP6 2001:db8::7 192.0.2.010 1 2\r\n", &rules),
        Err(Invalid::V1Address)
    );
    assert_eq!(
        read(b"PROXY TCP4 2001:db8::7 192.0.2.10 1 2\r\n", &rules),
        Err(Invalid::V1Address)
    );
}

/// The specification's grammar has hex groups only, but its own reference sender prints these
/// with `inet_ntop`.
#[test]
fn v1_3_a_mapped_address_in_dotted_form_is_ipv6() {
    accepts(
        b"PROXY TCP6 ::ffff:203.0.113.7 ::ffff:192.0.2.10 51000 443\r\n",
        between("[::ffff:203.0.113.7]:51000", "[::ffff:192.0.2.10]:443"),
    );
    refuses(
        b"PROXY TCP6 ::ffff:203.0.113.07 ::1 51000 443\r\n",
        Invalid::V1Address,
    );
}

#[test]
fn v1_4_ports_from_0_to_65535_are_accepted() {
    accepts(
        b"PROXY TCP4 203.0.113.7 192.0.2.10 0 65535\r\n",
        between("203.0.113.7:0", "192.0.2.10:65535"),
    );
}

#[test]
fn v1_4_port_with_a_leading_zero_is_refused() {
    for port in ["00", "0443", "000000443"] {
        refuses(
            format!("PROXY TCP4 203.0.113.7 192.0.2.10 51000 {port}\r\n").as_bytes(),
            Invalid::V1Port,
        );
        refuses(
            format!("PROXY TCP4 203.0.113.7 192.0.2.10 {port} 443\r\n").as_bytes(),
            Invalid::V1Port,
        );
    }
}

#[test]
fn v1_4_port_that_is_no_plain_number_is_refused() {
    for port in [
        "+443",
        "-1",
        "65536",
        "99999999999",
        "0x1bb",
        "443.",
        "4 43",
        "http",
        "\u{664}",
        "44\0",
    ] {
        let line = format!("PROXY TCP4 203.0.113.7 192.0.2.10 51000 {port}\r\n");
        let want = if port.contains(' ') {
            Invalid::V1Fields
        } else {
            Invalid::V1Port
        };
        refuses(line.as_bytes(), want);
    }
}

#[test]
fn v1_5_crlf_at_byte_107_is_in_time_and_later_is_not() {
    let line = |len: usize| [&b"PROXY UNKNOWN "[..], &vec![b'x'; len - 16], b"\r\n"].concat();
    accepts(&line(107), UNKNOWN);
    refuses(&line(108), Invalid::V1TooLong);
    refuses(&line(109), Invalid::V1TooLong);
    refuses(&line(4000), Invalid::V1TooLong);
    refuses(&line(108)[..107], Invalid::V1TooLong);
    waits(&line(108)[..106]);
}

#[test]
fn v1_5_a_lone_cr_or_lf_is_refused_when_seen() {
    refuses(
        b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\n",
        Invalid::V1LineEnd,
    );
    refuses(
        b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\rX",
        Invalid::V1LineEnd,
    );
    refuses(
        b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\r\n",
        Invalid::V1LineEnd,
    );
    refuses(
        b"PROXY TCP4 203.0.113.7\n192.0.2.10 51000 443\r\n",
        Invalid::V1LineEnd,
    );
    refuses(b"PROXY UNKNOWN\n", Invalid::V1LineEnd);
    refuses(b"PROXY UNKNOWN a\rb\r\n", Invalid::V1LineEnd);
    waits(b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r");
}

#[test]
fn v1_5_nothing_is_decoded_before_the_line_is_whole() {
    waits(b"PROXY TCP4 999.999.999.999  x");
    refuses(b"PROXY TCP4 999.999.999.999  x\r\n", Invalid::V1Fields);
}

#[test]
fn a_second_line_is_payload() {
    let stacked = b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\nPROXY UNKNOWN\r\n";
    let header = complete(stacked, &Rules::default());
    assert_eq!(&stacked[header.len..], b"PROXY UNKNOWN\r\n");
    assert_eq!(header.tlvs().next(), None);
}

#[test]
fn the_bytes_asked_for_are_the_least_a_line_can_lack() {
    let missing = |bytes: &[u8]| match parse(bytes, &Rules::default()) {
        Ok(Progress::NeedMore(missing)) => missing,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing(b""), b"PROXY UNKNOWN\r\n".len());
    assert_eq!(missing(b"PROXY "), b"UNKNOWN\r\n".len());
    assert_eq!(missing(b"PROXY TCP4 "), b"0.0.0.0 0.0.0.0 0 0\r\n".len());
    assert_eq!(missing(b"PROXY TCP6 "), b":: :: 0 0\r\n".len());
    assert_eq!(missing(b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 4"), 2);
    assert_eq!(missing(b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r"), 1);
}
