//! The table of TLVs, and what is refused among them.

use proxyunwrap_header::tlv::{SslPart, Tlv};
use proxyunwrap_header::{Invalid, Rules};

use super::{SKIP, accepts, complete, inet, refuses, tlv_bytes, with_tlvs};

#[track_caller]
fn only_tlv(header: &[u8]) -> Tlv<'_> {
    let mut tlvs = complete(header, &Rules::default()).tlvs();
    let tlv = tlvs.next().expect("one TLV").unwrap();
    assert_eq!(tlvs.next(), None);
    tlv
}

#[test]
fn tlv_plain_values_are_read_by_their_kind() {
    assert_eq!(
        only_tlv(&with_tlvs(&tlv_bytes(0x01, b"h2"))).alpn(),
        Some(&b"h2"[..])
    );
    assert_eq!(
        only_tlv(&with_tlvs(&tlv_bytes(0x02, b"app.example"))).authority(),
        Some(&b"app.example"[..])
    );
    assert_eq!(
        only_tlv(&with_tlvs(&tlv_bytes(0x05, b"4711"))).unique_id(),
        Some(&b"4711"[..])
    );
    assert_eq!(
        only_tlv(&with_tlvs(&tlv_bytes(0x30, b"blue"))).netns(),
        Some(&b"blue"[..])
    );
    let header = with_tlvs(&tlv_bytes(0x04, b"h2"));
    let tlv = only_tlv(&header);
    assert_eq!(
        (
            tlv.alpn(),
            tlv.authority(),
            tlv.unique_id(),
            tlv.netns(),
            tlv.ssl()
        ),
        (None, None, None, None, None)
    );
}

#[test]
fn tlv_values_are_bytes_and_need_not_be_text() {
    let header = with_tlvs(&tlv_bytes(0x02, b"\xFF\0\r\n"));
    assert_eq!(only_tlv(&header).authority(), Some(&b"\xFF\0\r\n"[..]));
}

#[test]
fn tlv_order_and_repetition_are_kept() {
    let header = with_tlvs(
        &[
            tlv_bytes(0x01, b"h2"),
            tlv_bytes(0x04, b""),
            tlv_bytes(0x01, b"h3"),
        ]
        .concat(),
    );
    let tlvs: Vec<_> = complete(&header, &Rules::default())
        .tlvs()
        .map(Result::unwrap)
        .collect();
    let tlv = |kind, value| Tlv { kind, value };
    assert_eq!(tlvs, [tlv(1, &b"h2"[..]), tlv(4, b""), tlv(1, b"h3")]);
}

#[test]
fn tlv_noop_alone_pads_a_header() {
    accepts(&with_tlvs(&tlv_bytes(0x04, &[0; 300])), inet());
}

#[test]
fn tlv_unique_id_has_at_most_128_bytes() {
    accepts(&with_tlvs(&tlv_bytes(0x05, &[7; 128])), inet());
    let long = with_tlvs(&tlv_bytes(0x05, &[7; 129]));
    refuses(&long, Invalid::UniqueIdTooLong);
    assert_eq!(complete(&long, &SKIP).endpoints, inet());
}

#[test]
fn tlv_ssl_tells_flags_verification_and_each_part() {
    let parts: Vec<_> = (0x21..=0x29).map(|kind| tlv_bytes(kind, &[kind])).collect();
    let value = [&[0b101, 0, 0, 0, 0][..], &parts.concat()].concat();
    let header = with_tlvs(&tlv_bytes(0x20, &value));
    let ssl = only_tlv(&header).ssl().unwrap();
    assert!(
        ssl.over_tls()
            && !ssl.certificate_on_connection()
            && ssl.certificate_in_session()
            && ssl.verified()
    );
    let parts: Vec<_> = ssl.parts().map(Result::unwrap).collect();
    let want = [
        SslPart::Version(&[0x21]),
        SslPart::CommonName(&[0x22]),
        SslPart::Cipher(&[0x23]),
        SslPart::SignatureAlgorithm(&[0x24]),
        SslPart::KeyAlgorithm(&[0x25]),
        SslPart::Group(&[0x26]),
        SslPart::SignatureScheme(&[0x27]),
        SslPart::ClientCertificate(&[0x28]),
        SslPart::Other(Tlv {
            kind: 0x29,
            value: &[0x29],
        }),
    ];
    assert_eq!(parts, want);
}

#[test]
fn tlv_ssl_without_a_certificate_is_not_verified() {
    for (value, want) in [
        ([1, 0, 0, 0, 0], false),
        ([3, 0, 0, 0, 0], true),
        ([3, 0, 0, 0, 1], false),
    ] {
        let header = with_tlvs(&tlv_bytes(0x20, &value));
        assert_eq!(
            only_tlv(&header).ssl().unwrap().verified(),
            want,
            "{value:?}"
        );
    }
}

#[test]
fn tlv_ssl_flags_are_told_apart() {
    for bit in 0..3 {
        let header = with_tlvs(&tlv_bytes(0x20, &[1 << bit, 0, 0, 0, 0]));
        let ssl = only_tlv(&header).ssl().unwrap();
        let flags = [
            ssl.over_tls(),
            ssl.certificate_on_connection(),
            ssl.certificate_in_session(),
        ];
        assert_eq!(flags, [bit == 0, bit == 1, bit == 2]);
    }
}

#[test]
fn tlv_ssl_that_lies_about_its_parts_is_refused() {
    refuses(
        &with_tlvs(&tlv_bytes(0x20, &[1, 0, 0, 0])),
        Invalid::SslTooShort,
    );
    refuses(&with_tlvs(&tlv_bytes(0x20, &[])), Invalid::SslTooShort);
    refuses(
        &with_tlvs(&tlv_bytes(0x20, &[1, 0, 0, 0, 0, 0x21, 0, 1])),
        Invalid::TlvTruncated,
    );
    refuses(
        &with_tlvs(&tlv_bytes(0x20, &[1, 0, 0, 0, 0, 0x21, 0])),
        Invalid::TlvTrailing,
    );
}

#[test]
fn tlv_ssl_within_ssl_is_no_third_level() {
    let inner = tlv_bytes(0x20, &[0xFF; 3]);
    let header = with_tlvs(&tlv_bytes(0x20, &[&[1, 0, 0, 0, 0][..], &inner].concat()));
    let ssl = only_tlv(&header).ssl().unwrap();
    assert_eq!(
        ssl.parts().next(),
        Some(Ok(SslPart::Other(Tlv {
            kind: 0x20,
            value: &[0xFF; 3]
        })))
    );
}

#[test]
fn tlv_past_the_end_is_refused_or_skipped_by_length() {
    let bytes = with_tlvs(&[0x01, 0, 3, b'h', b'2']);
    refuses(&bytes, Invalid::TlvTruncated);
    let header = complete(&bytes, &SKIP);
    assert_eq!((header.endpoints, header.len), (inet(), bytes.len()));
    assert_eq!(
        header.tlvs().collect::<Vec<_>>(),
        [Err(Invalid::TlvTruncated)]
    );
}

#[test]
fn tlv_trailing_bytes_are_refused_or_skipped_by_length() {
    for trailing in [&[0][..], &[0, 0]] {
        let bytes = with_tlvs(&[&tlv_bytes(0x01, b"h2"), trailing].concat());
        refuses(&bytes, Invalid::TlvTrailing);
        assert_eq!(complete(&bytes, &SKIP).len, bytes.len());
    }
}
