//! V2-1 to V2-8: the binary form.

use proxyunwrap_header::{
    Endpoints, Invalid, Progress, Rules, Transport, UnknownKind, V2_MAX_LEN, parse,
};

use super::{
    INET, INET6, LOCAL, PROXY, SIGNATURE, accepts, complete, inet, inet6, read, refuses, tlv_bytes,
    v2_bytes, waits,
};

const UNSPEC: Endpoints = Endpoints::Unknown(UnknownKind::Unspec);
const UNIX: Endpoints = Endpoints::Unknown(UnknownKind::Unix);
const OTHER_TRANSPORT: Endpoints = Endpoints::Unknown(UnknownKind::OtherTransport);

#[test]
fn v2_1_signature_wrong_in_any_byte_is_not_a_header() {
    for at in 0..SIGNATURE.len() {
        let mut bytes = v2_bytes(PROXY, 0x11, &[INET]);
        bytes[at] ^= 0x20;
        refuses(&bytes, Invalid::NotAHeader);
    }
}

#[test]
fn v2_1_version_nibble_must_be_2() {
    for version in (0..16).filter(|version| *version != 2) {
        refuses(
            &v2_bytes(version << 4 | 1, 0x11, &[INET]),
            Invalid::V2Version,
        );
    }
}

#[test]
fn v2_2_proxy_uses_the_addresses() {
    accepts(&v2_bytes(PROXY, 0x11, &[INET]), inet());
    accepts(&v2_bytes(PROXY, 0x21, &[INET6]), inet6());
}

#[test]
fn v2_2_local_keeps_the_real_endpoints_whatever_the_family() {
    for family in 0..=0xFF {
        accepts(&v2_bytes(LOCAL, family, &[]), Endpoints::Local);
        accepts(&v2_bytes(LOCAL, family, &[INET]), Endpoints::Local);
        accepts(&v2_bytes(LOCAL, family, &[&[0xFF; 7]]), Endpoints::Local);
    }
}

#[test]
fn v2_2_other_commands_are_refused() {
    for command in 2..16 {
        refuses(&v2_bytes(0x20 | command, 0x11, &[INET]), Invalid::V2Command);
    }
}

#[test]
fn v2_3_undefined_family_with_proxy_is_refused() {
    for family in 4..16 {
        refuses(
            &v2_bytes(PROXY, family << 4 | 1, &[INET6]),
            Invalid::V2Family,
        );
    }
}

#[test]
fn v2_3_undefined_transport_with_proxy_is_refused() {
    for (family, transport) in
        (0..4).flat_map(|family| (3..16).map(move |transport| (family, transport)))
    {
        refuses(
            &v2_bytes(PROXY, family << 4 | transport, &[&[0; 216]]),
            Invalid::V2Transport,
        );
    }
}

#[test]
fn v2_3_unspec_with_local_is_accepted() {
    accepts(&v2_bytes(LOCAL, 0x00, &[]), Endpoints::Local);
}

#[test]
fn v2_3_unspec_with_proxy_leaves_the_choice_to_the_caller() {
    for transport in 0..3 {
        accepts(&v2_bytes(PROXY, transport, &[]), UNSPEC);
    }
    accepts(&v2_bytes(PROXY, 0x00, &[&tlv_bytes(0x04, b"12")]), UNSPEC);
}

/// "May or may not decide to log the address information if present": so it may be present.
#[test]
fn v2_3_addresses_in_an_unspec_block_are_ignored() {
    for block in [INET, INET6, &[0xFF; 7]] {
        let bytes = v2_bytes(PROXY, 0x00, &[block]);
        accepts(&bytes, UNSPEC);
        assert_eq!(complete(&bytes, &Rules::default()).tlvs().next(), None);
    }
}

#[test]
fn v2_4_unix_names_nobody() {
    for family in [0x30, 0x31, 0x32] {
        accepts(&v2_bytes(PROXY, family, &[&[b'/'; 216]]), UNIX);
    }
}

#[test]
fn v2_4_addresses_of_another_transport_are_not_used() {
    accepts(&v2_bytes(PROXY, 0x12, &[INET]), OTHER_TRANSPORT);
    accepts(&v2_bytes(PROXY, 0x22, &[INET6]), OTHER_TRANSPORT);
    accepts(&v2_bytes(PROXY, 0x10, &[INET]), OTHER_TRANSPORT);
    let datagrams = Rules {
        transport: Transport::Dgram,
        ..Rules::default()
    };
    for (family, block, want) in [
        (0x12, INET, inet()),
        (0x22, INET6, inet6()),
        (0x11, INET, OTHER_TRANSPORT),
        (0x21, INET6, OTHER_TRANSPORT),
        (0x20, INET6, OTHER_TRANSPORT),
    ] {
        assert_eq!(
            complete(&v2_bytes(PROXY, family, &[block]), &datagrams).endpoints,
            want
        );
    }
}

#[test]
fn v2_5_length_always_says_where_the_payload_starts() {
    let block = [INET, &tlv_bytes(0x04, &[0; 40])].concat();
    for (command, family) in [(PROXY, 0x11), (LOCAL, 0x11), (LOCAL, 0x00), (LOCAL, 0xFF)] {
        let bytes = [&v2_bytes(command, family, &[&block])[..], b"payload"].concat();
        assert_eq!(complete(&bytes, &Rules::default()).len, 16 + block.len());
    }
}

#[test]
fn v2_5_address_block_that_does_not_fit_the_length_is_refused() {
    for (family, len) in [(0x11, 12), (0x21, 36), (0x31, 216), (0x12, 12), (0x10, 12)] {
        for short in 0..len {
            let mut bytes = v2_bytes(PROXY, family, &[&vec![1; short]]);
            refuses(&bytes, Invalid::TooShort);
            bytes.extend([1; 216]);
            refuses(&bytes, Invalid::TooShort);
        }
    }
}

#[test]
fn v2_6_no_address_is_read_before_the_block_is_whole() {
    let bytes = v2_bytes(PROXY, 0x21, &[INET6, &tlv_bytes(0x05, b"id")]);
    for cut in 16..bytes.len() {
        let answer = parse(&bytes[..cut], &Rules::default());
        assert_eq!(answer, Ok(Progress::NeedMore(bytes.len() - cut)));
    }
}

#[test]
fn v2_7_detection_needs_signature_and_version() {
    waits(SIGNATURE);
    refuses(&[SIGNATURE, &[0x11]].concat(), Invalid::V2Version);
    refuses(b"PROXY\r\n", Invalid::NotAHeader);
    refuses(b"QUIT\r\n", Invalid::NotAHeader);
}

#[test]
fn v2_8_unknown_extensions_are_walked_over() {
    let bytes = v2_bytes(
        PROXY,
        0x11,
        &[
            INET,
            &tlv_bytes(0xD0, b"spiffe://a/b"),
            &tlv_bytes(0xF7, b""),
        ],
    );
    let header = complete(&bytes, &Rules::default());
    let kinds: Vec<_> = header.tlvs().map(|tlv| tlv.unwrap().kind).collect();
    assert_eq!((header.endpoints, kinds), (inet(), vec![0xD0, 0xF7]));
}

#[test]
fn fixed_bytes_are_asked_for_before_the_block() {
    let bytes = v2_bytes(PROXY, 0x11, &[INET]);
    for cut in 1..16 {
        assert_eq!(
            parse(&bytes[..cut], &Rules::default()),
            Ok(Progress::NeedMore(16 - cut))
        );
    }
}

#[test]
fn a_length_over_the_limit_is_refused_at_byte_16() {
    let rules = Rules {
        max_len: 100,
        ..Rules::default()
    };
    let of_len = |len: usize| {
        v2_bytes(
            PROXY,
            0x11,
            &[INET, &tlv_bytes(0x04, &vec![0; len - 16 - 12 - 3])],
        )
    };
    assert_eq!(complete(&of_len(100), &rules).len, 100);
    assert_eq!(read(&of_len(101), &rules), Err(Invalid::TooLong));
    assert_eq!(parse(&of_len(101)[..16], &rules), Err(Invalid::TooLong));
    let local = v2_bytes(LOCAL, 0x00, &[&[0; 90]]);
    assert_eq!(parse(&local[..16], &rules), Err(Invalid::TooLong));
}

#[test]
fn the_longest_header_there_is_can_be_allowed() {
    let rules = Rules {
        max_len: V2_MAX_LEN,
        ..Rules::default()
    };
    let bytes = v2_bytes(PROXY, 0x11, &[INET, &tlv_bytes(0x28, &vec![0xAB; 65_520])]);
    assert_eq!(bytes.len(), V2_MAX_LEN);
    let Ok(Progress::Complete(header)) = parse(&bytes, &rules) else {
        panic!("refused")
    };
    assert_eq!((header.endpoints, header.len), (inet(), V2_MAX_LEN));
    assert_eq!(
        parse(&bytes[..V2_MAX_LEN - 1], &rules),
        Ok(Progress::NeedMore(1))
    );
    assert_eq!(parse(&bytes, &Rules::default()), Err(Invalid::TooLong));
}

#[test]
fn a_second_header_is_payload() {
    let one = v2_bytes(PROXY, 0x11, &[INET]);
    let two = [&one[..], &v2_bytes(LOCAL, 0x00, &[])].concat();
    assert_eq!(complete(&two, &Rules::default()).len, one.len());
}
