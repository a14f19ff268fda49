//! What we write we can read.

use std::net::{IpAddr, SocketAddr};

use proptest::prelude::*;
use proxyunwrap_header::build::{self, Error, V2};
use proxyunwrap_header::tlv::{Tlv, kind};
use proxyunwrap_header::{Endpoints, Rules, Transport, UnknownKind, V1_MAX_LEN, V2_MAX_LEN};

use super::{complete, crc32c, inet};

/// Two addresses of one family.
pub(crate) fn pair() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let ports = any::<(u16, u16)>();
    let v4 = any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b)));
    let v6 = (ipv6(), ipv6());
    (prop_oneof![v4, v6], ports)
        .prop_map(|((a, b), (c, d))| (SocketAddr::new(a, c), SocketAddr::new(b, d)))
}

/// With runs of zeros, and v4-mapped, which print differently.
fn ipv6() -> impl Strategy<Value = IpAddr> {
    let sparse =
        prop::array::uniform8(prop_oneof![Just(0_u16), any::<u16>()]).prop_map(IpAddr::from);
    let mapped =
        any::<[u8; 4]>().prop_map(|v4| IpAddr::V6(std::net::Ipv4Addr::from(v4).to_ipv6_mapped()));
    prop_oneof![sparse, mapped]
}

/// Types and values that no rule refuses.
pub(crate) fn tlvs() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    let kind = any::<u8>().prop_filter("have rules of their own", |kind| {
        ![kind::CRC32C, kind::SSL].contains(kind)
    });
    prop::collection::vec((kind, prop::collection::vec(any::<u8>(), 0..100)), 0..6)
}

pub(crate) fn as_tlvs(tlvs: &[(u8, Vec<u8>)]) -> Vec<Tlv<'_>> {
    tlvs.iter()
        .map(|(kind, value)| Tlv { kind: *kind, value })
        .collect()
}

const STREAM: Rules = Rules {
    max_len: V2_MAX_LEN,
    ..Rules::DEFAULT
};

proptest! {
    #[test]
    fn v1_addresses_read_back((client, destination) in pair()) {
        let mut buffer = [0; V1_MAX_LEN];
        let len = build::v1(&mut buffer, client, destination).unwrap();
        let header = complete(&buffer[..len], &STREAM);
        prop_assert_eq!((header.endpoints, header.len), (Endpoints::Addresses { client, destination }, len));
    }

    #[test]
    fn v2_addresses_and_extensions_read_back(
        (client, destination) in pair(),
        tlvs in tlvs(),
        parts in tlvs(),
        (flags, verify) in any::<(u8, u32)>(),
        dgram in any::<bool>(),
    ) {
        let transport = if dgram { Transport::Dgram } else { Transport::Stream };
        let mut buffer = [0; 4096];
        let mut built = V2::addresses(&mut buffer, transport, client, destination).unwrap().crc32c().unwrap();
        for (kind, value) in &tlvs {
            built = built.tlv(*kind, value).unwrap();
        }
        let len = built.ssl(flags, verify, &as_tlvs(&parts)).unwrap().finish().unwrap();

        let header = complete(&buffer[..len], &Rules { transport, ..STREAM });
        prop_assert_eq!((header.endpoints, header.len), (Endpoints::Addresses { client, destination }, len));
        let read: Vec<_> = header.tlvs().map(Result::unwrap).collect();
        prop_assert_eq!(read[0].kind, kind::CRC32C);
        prop_assert_eq!(&read[1..read.len() - 1], &as_tlvs(&tlvs)[..]);
        let ssl = read[read.len() - 1].ssl().unwrap();
        prop_assert_eq!((ssl.client, ssl.verify), (flags, verify));
        let want: Vec<_> = as_tlvs(&parts).into_iter().map(Into::into).collect();
        prop_assert_eq!(ssl.parts().map(Result::unwrap).collect::<Vec<_>>(), want);
    }

    #[test]
    fn crc32c_agrees_with_a_second_implementation(tlvs in tlvs(), first in any::<bool>()) {
        let mut buffer = [0; 4096];
        let mut built = V2::unspec(&mut buffer).unwrap();
        if first {
            built = built.crc32c().unwrap();
        }
        for (kind, value) in &tlvs {
            built = built.tlv(*kind, value).unwrap();
        }
        if !first {
            built = built.crc32c().unwrap();
        }
        let len = built.finish().unwrap();
        let start = if first { 19 } else { len - 4 };
        let mut zeroed = buffer[..len].to_vec();
        zeroed[start..start + 4].fill(0);
        prop_assert_eq!(&buffer[start..start + 4], crc32c(&zeroed).to_be_bytes());
    }

    #[test]
    fn a_buffer_that_is_too_small_is_an_error_and_never_a_panic(
        (client, destination) in pair(),
        tlvs in tlvs(),
        room in 0_usize..200,
    ) {
        let build = |buffer: &mut [u8]| {
            let mut built = V2::addresses(buffer, Transport::Stream, client, destination)?;
            for (kind, value) in &tlvs {
                built = built.tlv(*kind, value)?;
            }
            built.crc32c()?.finish()
        };
        let needed = build(&mut [0; 4096]).unwrap();
        let want = if room < needed { Err(Error::NoRoom) } else { Ok(needed) };
        prop_assert_eq!(build(&mut vec![0; room]), want);
        let line = build::v1(&mut [0; V1_MAX_LEN], client, destination).unwrap();
        let want = if room < line { Err(Error::NoRoom) } else { Ok(line) };
        prop_assert_eq!(build::v1(&mut vec![0; room], client, destination), want);
    }
}

#[test]
fn headers_that_name_nobody_read_back() {
    let mut buffer = [0; 512];
    let len = build::v1_unknown(&mut buffer).unwrap();
    assert_eq!(
        complete(&buffer[..len], &STREAM).endpoints,
        Endpoints::Unknown(UnknownKind::V1Unknown)
    );
    let len = V2::local(&mut buffer)
        .unwrap()
        .crc32c()
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(
        complete(&buffer[..len], &STREAM).endpoints,
        Endpoints::Local
    );
    let len = V2::unspec(&mut buffer)
        .unwrap()
        .tlv(kind::ALPN, b"h2")
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(
        complete(&buffer[..len], &STREAM).endpoints,
        Endpoints::Unknown(UnknownKind::Unspec)
    );
    let len = V2::unix(&mut buffer, Transport::Stream, &[1; 108], &[2; 108])
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(
        complete(&buffer[..len], &STREAM).endpoints,
        Endpoints::Unknown(UnknownKind::Unix)
    );
    assert_eq!(len, 232);
}

#[test]
fn a_mapped_address_is_written_in_hex_groups() {
    let mut buffer = [0; V1_MAX_LEN];
    let (client, destination) = (
        "[::ffff:203.0.113.7]:51000".parse().unwrap(),
        "[::1]:443".parse().unwrap(),
    );
    let len = build::v1(&mut buffer, client, destination).unwrap();
    assert_eq!(
        &buffer[..len],
        b"PROXY TCP6 ::ffff:cb00:7107 ::1 51000 443\r\n"
    );
}

#[test]
fn padding_reaches_exactly_the_length_asked_for() {
    for len in [16, 19, 20, 100, 400] {
        let mut buffer = [0xFF; 512];
        assert_eq!(
            V2::local(&mut buffer)
                .unwrap()
                .pad_to(len)
                .unwrap()
                .finish(),
            Ok(len)
        );
        assert_eq!(complete(&buffer[..len], &STREAM).len, len);
    }
    for len in [0, 15, 17, 18] {
        let mut buffer = [0; 512];
        assert_eq!(
            V2::local(&mut buffer).unwrap().pad_to(len).err(),
            Some(Error::Padding),
            "{len}"
        );
    }
}

#[test]
fn a_length_over_16_bits_is_an_error() {
    let mut buffer = vec![0; 70_000];
    let value = vec![0; 65_536];
    assert_eq!(
        V2::local(&mut buffer)
            .unwrap()
            .tlv(kind::NOOP, &value)
            .err(),
        Some(Error::TooLong)
    );
    let most = V2::local(&mut buffer)
        .unwrap()
        .tlv(kind::NOOP, &value[..65_532])
        .unwrap()
        .finish();
    assert_eq!(most, Ok(V2_MAX_LEN));
    let over = V2::local(&mut buffer)
        .unwrap()
        .tlv(kind::NOOP, &value[..65_533])
        .unwrap()
        .finish();
    assert_eq!(over, Err(Error::TooLong));
    let part = Tlv {
        kind: kind::SSL_CLIENT_CERT,
        value: &value[..65_530],
    };
    assert_eq!(
        V2::local(&mut buffer).unwrap().ssl(1, 0, &[part]).err(),
        Some(Error::TooLong)
    );
}

#[test]
fn mixed_families_and_a_second_checksum_are_errors() {
    let mut buffer = [0; 512];
    let (v4, v6) = (
        "203.0.113.7:51000".parse().unwrap(),
        "[2001:db8::7]:51006".parse().unwrap(),
    );
    assert_eq!(build::v1(&mut buffer, v4, v6), Err(Error::MixedFamilies));
    assert_eq!(
        V2::addresses(&mut buffer, Transport::Stream, v6, v4).err(),
        Some(Error::MixedFamilies)
    );
    let twice = V2::local(&mut buffer).unwrap().crc32c().unwrap().crc32c();
    assert_eq!(twice.err(), Some(Error::Crc32cRepeated));
}

#[test]
fn errors_say_what_to_do_about_them() {
    let error = V2::local(&mut [0; 4]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "header does not fit the buffer; pass a larger one"
    );
}

#[test]
fn bytes_are_those_of_the_specification() {
    let mut buffer = [0; 512];
    let (client, destination) = (
        "203.0.113.7:51000".parse().unwrap(),
        "192.0.2.10:443".parse().unwrap(),
    );
    let len = V2::addresses(&mut buffer, Transport::Stream, client, destination)
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(
        &buffer[..len],
        super::v2_bytes(super::PROXY, 0x11, &[super::INET])
    );
    assert_eq!(complete(&buffer[..len], &STREAM).endpoints, inet());
    let len = build::v1(&mut buffer, client, destination).unwrap();
    assert_eq!(
        &buffer[..len],
        b"PROXY TCP4 203.0.113.7 192.0.2.10 51000 443\r\n"
    );
}
