//! What we write we can read: the same endpoints, length and extensions.
#![no_main]

use std::net::{IpAddr, SocketAddr};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use proxyunwrap_header::build::{self, Error, V2};
use proxyunwrap_header::tlv::{SslPart, Tlv, kind};
use proxyunwrap_header::{
    Endpoints, Header, Progress, Rules, Transport, UnknownKind, V1_MAX_LEN, V2_MAX_LEN, parse,
};

#[derive(Arbitrary, Debug)]
enum Wanted<'a> {
    V1(Pair),
    V1Unknown,
    V2 {
        from: From,
        extensions: Vec<Extension<'a>>,
        room: Option<u16>,
    },
}

#[derive(Arbitrary, Debug)]
enum From {
    Stream(Pair),
    Dgram(Pair),
    Local,
    Unspec,
    Unix(u8, u8),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Pair {
    V4([u8; 4], [u8; 4], u16, u16),
    V6([u8; 16], [u8; 16], u16, u16),
}

#[derive(Arbitrary, Debug)]
enum Extension<'a> {
    Plain(u8, &'a [u8]),
    Ssl {
        client: u8,
        verify: u32,
        parts: Vec<(u8, &'a [u8])>,
    },
    Padding(u16),
    Crc32c,
}

fuzz_target!(|wanted: Wanted<'_>| {
    match wanted {
        Wanted::V1(pair) => {
            let mut buffer = [0; V1_MAX_LEN];
            let (client, destination) = pair.addresses();
            let len = build::v1(&mut buffer, client, destination).expect("any line fits");
            let header = read(&buffer[..len], Transport::Stream);
            assert_eq!(
                header.endpoints,
                Endpoints::Addresses {
                    client,
                    destination
                }
            );
        }
        Wanted::V1Unknown => {
            let mut buffer = [0; V1_MAX_LEN];
            let len = build::v1_unknown(&mut buffer).expect("fits");
            let header = read(&buffer[..len], Transport::Stream);
            assert_eq!(header.endpoints, Endpoints::Unknown(UnknownKind::V1Unknown));
        }
        Wanted::V2 {
            from,
            extensions,
            room,
        } => {
            let mut buffer = vec![0xA5; room.map_or(4096, usize::from)];
            let Ok(len) = write(&mut buffer, &from, &extensions) else {
                return;
            };
            let header = read(&buffer[..len], from.transport());
            assert_eq!(header.endpoints, from.endpoints());
            compare(&header, &extensions);
        }
    }
});

fn read(bytes: &[u8], transport: Transport) -> Header<'_> {
    let rules = Rules {
        transport,
        max_len: V2_MAX_LEN,
        ..Rules::DEFAULT
    };
    match parse(bytes, &rules) {
        Ok(Progress::Complete(header)) if header.len == bytes.len() => header,
        other => panic!("{other:?}"),
    }
}

fn write(buffer: &mut [u8], from: &From, extensions: &[Extension<'_>]) -> Result<usize, Error> {
    let mut header = match *from {
        From::Stream(pair) | From::Dgram(pair) => {
            let (client, destination) = pair.addresses();
            V2::addresses(buffer, from.transport(), client, destination)?
        }
        From::Local => V2::local(buffer)?,
        From::Unspec => V2::unspec(buffer)?,
        From::Unix(a, b) => V2::unix(buffer, Transport::Stream, &[a; 108], &[b; 108])?,
    };
    for extension in extensions.iter().filter(|extension| extension.is_plain()) {
        header = match extension {
            Extension::Plain(kind, value) => header.tlv(*kind, value)?,
            Extension::Ssl {
                client,
                verify,
                parts,
            } => {
                let parts: Vec<_> = parts.iter().map(as_tlv).collect();
                header.ssl(*client, *verify, &parts)?
            }
            Extension::Padding(len) => header.pad_to(usize::from(*len))?,
            Extension::Crc32c => header.crc32c()?,
        };
    }
    header.finish()
}

fn compare(header: &Header<'_>, extensions: &[Extension<'_>]) {
    let mut tlvs = header.tlvs().map(|tlv| tlv.expect("strict rules"));
    for extension in extensions.iter().filter(|extension| extension.is_plain()) {
        match extension {
            Extension::Plain(kind, value) => {
                assert_eq!(tlvs.next(), Some(Tlv { kind: *kind, value }));
            }
            Extension::Ssl {
                client,
                verify,
                parts,
            } => {
                let ssl = tlvs.next().and_then(|tlv| tlv.ssl()).expect("was written");
                assert_eq!((ssl.client, ssl.verify), (*client, *verify));
                let want: Vec<_> = parts
                    .iter()
                    .map(|part| Ok(SslPart::from(as_tlv(part))))
                    .collect();
                assert_eq!(ssl.parts().collect::<Vec<_>>(), want);
            }
            Extension::Crc32c => assert_eq!(tlvs.next().map(|tlv| tlv.kind), Some(kind::CRC32C)),
            // It may have been nothing to pad.
            Extension::Padding(_) => {
                let mut ahead = tlvs.clone();
                if ahead
                    .next()
                    .is_some_and(|tlv| tlv.kind == kind::NOOP && is_zero(tlv.value))
                {
                    tlvs = ahead;
                }
            }
        }
    }
    assert_eq!(tlvs.next(), None);
}

fn is_zero(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == 0)
}

fn as_tlv<'a>((kind, value): &(u8, &'a [u8])) -> Tlv<'a> {
    Tlv { kind: *kind, value }
}

impl Extension<'_> {
    /// Leaves out what the parser refuses when it is written by hand, and padding's own type,
    /// which `compare` could not tell from padding.
    fn is_plain(&self) -> bool {
        match self {
            Self::Plain(kind::UNIQUE_ID, value) => value.len() <= 128,
            Self::Plain(kind, _) => ![kind::CRC32C, kind::SSL, kind::NOOP].contains(kind),
            _ => true,
        }
    }
}

impl From {
    fn transport(&self) -> Transport {
        if matches!(self, Self::Dgram(_)) {
            Transport::Dgram
        } else {
            Transport::Stream
        }
    }

    fn endpoints(&self) -> Endpoints {
        match self {
            Self::Stream(pair) | Self::Dgram(pair) => {
                let (client, destination) = pair.addresses();
                Endpoints::Addresses {
                    client,
                    destination,
                }
            }
            Self::Local => Endpoints::Local,
            Self::Unspec => Endpoints::Unknown(UnknownKind::Unspec),
            Self::Unix(..) => Endpoints::Unknown(UnknownKind::Unix),
        }
    }
}

impl Pair {
    fn addresses(self) -> (SocketAddr, SocketAddr) {
        let (client, destination, from, to) = match self {
            Self::V4(a, b, from, to) => (IpAddr::from(a), IpAddr::from(b), from, to),
            Self::V6(a, b, from, to) => (IpAddr::from(a), IpAddr::from(b), from, to),
        };
        (
            SocketAddr::new(client, from),
            SocketAddr::new(destination, to),
        )
    }
}
