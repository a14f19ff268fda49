//! Against `ppp`: as a builder for everything it can build, as a parser where it is right.
//! `parsers.rs` has the inputs on which it is not.

use std::net::{IpAddr, SocketAddr};

use ppp::v2::{self, AddressFamily, Command, Protocol};
use proptest::prelude::*;
use proxyunwrap_header::tlv::{Tlv, kind};
use proxyunwrap_header::{
    Endpoints, Header, Progress, Rules, TlvRule, UnknownKind, V2_MAX_LEN, parse,
};

use super::round_trip::{as_tlvs, pair, tlvs};
use super::{INET, INET6, LOCAL, PROXY, SIGNATURE, complete, tlv_bytes, v2_bytes};

const STREAM: Rules = Rules {
    max_len: V2_MAX_LEN,
    ..Rules::DEFAULT
};

fn protocol() -> impl Strategy<Value = Protocol> {
    prop::sample::select(vec![
        Protocol::Unspecified,
        Protocol::Stream,
        Protocol::Datagram,
    ])
}

fn addresses() -> impl Strategy<Value = v2::Addresses> {
    let unix =
        (any::<u8>(), any::<u8>()).prop_map(|(a, b)| v2::Unix::new([a; 108], [b; 108]).into());
    prop_oneof![
        pair().prop_map(Into::into),
        unix,
        Just(v2::Addresses::Unspecified)
    ]
}

/// What a stream port makes of what ppp calls command, protocol and addresses.
fn meaning(command: Command, protocol: Protocol, addresses: &v2::Addresses) -> Endpoints {
    let pair = |client: IpAddr, from, destination: IpAddr, to| Endpoints::Addresses {
        client: SocketAddr::new(client, from),
        destination: SocketAddr::new(destination, to),
    };
    match (command, addresses) {
        (Command::Local, _) => Endpoints::Local,
        (_, v2::Addresses::Unspecified) => Endpoints::Unknown(UnknownKind::Unspec),
        (_, v2::Addresses::Unix(_)) => Endpoints::Unknown(UnknownKind::Unix),
        _ if protocol != Protocol::Stream => Endpoints::Unknown(UnknownKind::OtherTransport),
        (_, v2::Addresses::IPv4(ip)) => pair(
            ip.source_address.into(),
            ip.source_port,
            ip.destination_address.into(),
            ip.destination_port,
        ),
        (_, v2::Addresses::IPv6(ip)) => pair(
            ip.source_address.into(),
            ip.source_port,
            ip.destination_address.into(),
            ip.destination_port,
        ),
    }
}

fn is_whole<'a>(bytes: &'a [u8], rules: &Rules) -> Option<Header<'a>> {
    match parse(bytes, rules) {
        Ok(Progress::Complete(header)) => Some(header),
        _ => None,
    }
}

/// v1 lines that are right, or wrong in one place.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let alphabet: Vec<char> = " 0123456789abcdefABF:.+-\tTCPXUNKOW\r\n\0é"
        .chars()
        .collect();
    let text = pair().prop_map(|(client, destination)| {
        let name = if client.is_ipv4() { "TCP4" } else { "TCP6" };
        let (from, to) = (client.port(), destination.port());
        format!(
            "PROXY {name} {} {} {from} {to}\r\n",
            client.ip(),
            destination.ip()
        )
    });
    let edit = (
        0..4_u8,
        any::<prop::sample::Index>(),
        prop::sample::select(alphabet),
    );
    (text, edit).prop_map(|(text, (edit, at, with))| {
        let mut characters: Vec<char> = text.chars().collect();
        let at = 6 + at.index(characters.len() - 6);
        match edit {
            0 => characters[at] = with,
            1 => characters.insert(at, with),
            2 => drop(characters.remove(at)),
            _ => {}
        }
        String::from_iter(characters).into_bytes()
    })
}

/// v2 headers with any byte behind the signature wrong.
fn binary() -> impl Strategy<Value = Vec<u8>> {
    let block = prop_oneof![
        Just(INET.to_vec()),
        Just(INET6.to_vec()),
        Just([INET, &tlv_bytes(0x01, b"h2")].concat()),
        Just([INET6, &tlv_bytes(0x05, b"4711"), &tlv_bytes(0x04, &[])].concat()),
        Just(vec![b'/'; 216]),
        prop::collection::vec(any::<u8>(), 0..60),
    ];
    let fixed = (
        prop_oneof![Just(PROXY), Just(LOCAL), any::<u8>()],
        prop_oneof![0_u8..0x35, any::<u8>()],
    );
    let edit = (
        any::<prop::sample::Index>(),
        prop_oneof![Just(0), any::<u8>()],
        any::<prop::sample::Index>(),
    );
    (fixed, block, edit).prop_map(|((command, family), block, (at, flip, cut))| {
        let mut bytes = v2_bytes(command, family, &[&block]);
        let (len, fixed) = (bytes.len(), SIGNATURE.len());
        bytes[fixed + at.index(len - fixed)] ^= flip;
        // ppp looks at nothing before byte 16.
        bytes.truncate(if flip % 4 == 1 {
            16 + cut.index(len - 15)
        } else {
            len
        });
        bytes
    })
}

proptest! {
    #[test]
    fn v1_lines_ppp_writes_read_the_same((client, destination) in pair()) {
        let addresses: ppp::v1::Addresses = (client, destination).into();
        let line = addresses.to_string();
        let header = complete(line.as_bytes(), &STREAM);
        prop_assert_eq!((header.endpoints, header.len), (Endpoints::Addresses { client, destination }, line.len()));
    }

    #[test]
    fn v2_headers_ppp_writes_read_the_same(
        proxy in any::<bool>(),
        protocol in protocol(),
        addresses in addresses(),
        tlvs in tlvs(),
    ) {
        let command = if proxy { Command::Proxy } else { Command::Local };
        let mut builder = v2::Builder::with_addresses(v2::Version::Two | command, protocol, addresses);
        for (kind, value) in &tlvs {
            builder = builder.write_tlv(*kind, value).unwrap();
        }
        let bytes = builder.build().unwrap();
        let header = complete(&bytes, &STREAM);
        prop_assert_eq!((header.endpoints, header.len), (meaning(command, protocol, &addresses), bytes.len()));
        // Where a LOCAL header's extensions start is a guess; `tlv.rs` says which.
        if proxy {
            prop_assert_eq!(header.tlvs().map(Result::unwrap).collect::<Vec<_>>(), as_tlvs(&tlvs));
        }
    }

    /// ppp is right about whole TCP4 and TCP6 lines, but for signs before ports.
    #[test]
    fn whole_v1_lines_are_judged_as_ppp_judges_them(line in line()) {
        let end = line.windows(2).position(|pair| pair == b"\r\n");
        let tcp = line.starts_with(b"PROXY TCP4 ") || line.starts_with(b"PROXY TCP6 ");
        let signed = line.windows(2).any(|pair| pair == b" +");
        if !(end.is_some_and(|end| end <= 105) && tcp && !signed) {
            return Ok(());
        }

        let theirs = ppp::v1::Header::try_from(&line[..]).ok();
        let ours = is_whole(&line, &STREAM);
        let meant = theirs.as_ref().and_then(|header| match header.addresses {
            ppp::v1::Addresses::Tcp4(ip) => Some(v2::Addresses::IPv4(ip)),
            ppp::v1::Addresses::Tcp6(ip) => Some(v2::Addresses::IPv6(ip)),
            ppp::v1::Addresses::Unknown => None,
        });
        let meant = meant.map(|addresses| meaning(Command::Proxy, Protocol::Stream, &addresses));
        prop_assert_eq!(ours.as_ref().map(|header| header.endpoints), meant);
        prop_assert_eq!(ours.map(|header| header.len), theirs.map(|header| header.header.len()));
    }

    /// ppp is right about PROXY headers, extensions and checksum aside.
    #[test]
    fn v2_headers_are_judged_as_ppp_judges_them(bytes in binary()) {
        let rules = Rules { tlvs: TlvRule::Skip, ..STREAM };
        let theirs = v2::Header::try_from(&bytes[..]);
        let ours = parse(&bytes, &rules);
        let local = bytes[12] == LOCAL;
        let sum = matches!(&ours, Err(invalid) if invalid.reason().starts_with("crc32c"));
        if sum || local && theirs.is_err() {
            return Ok(());
        }

        match (theirs, ours) {
            (Ok(theirs), Ok(Progress::Complete(ours))) => {
                prop_assert_eq!(ours.endpoints, meaning(theirs.command, theirs.protocol, &theirs.addresses));
                prop_assert_eq!(ours.len, theirs.len());
                if !local && theirs.address_family() != AddressFamily::Unspecified {
                    let walked: Vec<_> = theirs.tlvs().map_while(Result::ok).collect();
                    let want: Vec<_> = walked.iter().map(|tlv| Tlv { kind: tlv.kind, value: &tlv.value }).collect();
                    prop_assert_eq!(ours.tlvs().map_while(Result::ok).collect::<Vec<_>>(), want);
                }
            }
            (Err(theirs), Ok(Progress::NeedMore(_))) => prop_assert!(ppp::PartialResult::is_incomplete(&theirs)),
            (Err(theirs), Err(_)) => prop_assert!(!ppp::PartialResult::is_incomplete(&theirs)),
            (theirs, ours) => prop_assert!(false, "ppp: {theirs:?}, ours: {ours:?}"),
        }
    }
}

#[test]
fn kinds_are_numbered_as_ppp_numbers_them() {
    use ppp::v2::Type;
    for (theirs, ours) in [
        (Type::ALPN, kind::ALPN),
        (Type::Authority, kind::AUTHORITY),
        (Type::CRC32C, kind::CRC32C),
        (Type::NoOp, kind::NOOP),
        (Type::UniqueId, kind::UNIQUE_ID),
        (Type::SSL, kind::SSL),
        (Type::SSLVersion, kind::SSL_VERSION),
        (Type::SSLCommonName, kind::SSL_CN),
        (Type::SSLCipher, kind::SSL_CIPHER),
        (Type::SSLSignatureAlgorithm, kind::SSL_SIG_ALG),
        (Type::SSLKeyAlgorithm, kind::SSL_KEY_ALG),
        (Type::NetworkNamespace, kind::NETNS),
    ] {
        assert_eq!(u8::from(theirs), ours);
    }
}
