//! Netlink attributes: length, kind, value, padded to four bytes, nested at will.

/// One attribute to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attribute {
    /// A plain value.
    Value(u16, Vec<u8>),
    /// Attributes in an attribute.
    Nest(u16, Vec<Self>),
    /// A list of nests, each an `NFTA_LIST_ELEM`.
    List(u16, Vec<Vec<Self>>),
}

/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;
/// `NLA_TYPE_MASK`: without the flags for nesting and byte order.
const KIND: u16 = 0x3fff;
/// `NFTA_LIST_ELEM`.
const ELEMENT: u16 = 1;
const HEADER: usize = 4;

impl Attribute {
    /// A string with its final zero.
    pub(super) fn string(kind: u16, text: &str) -> Self {
        Self::Value(kind, [text.as_bytes(), &[0]].concat())
    }

    /// A number in network order, as nf_tables wants all of its.
    pub(super) fn be32(kind: u16, value: u32) -> Self {
        Self::Value(kind, value.to_be_bytes().to_vec())
    }

    /// Whether `attributes` of the kernel hold this one. A kernel newer than us may add to a
    /// nest; a list must be the same from end to end.
    pub(super) fn is_in(&self, attributes: &[(u16, &[u8])]) -> bool {
        let kind = match self {
            Self::Value(kind, _) | Self::Nest(kind, _) | Self::List(kind, _) => *kind,
        };
        let Some(found) = find(attributes, kind) else {
            return false;
        };
        match self {
            Self::Value(_, value) => value == found,
            Self::Nest(_, inner) => all_in(inner, found),
            Self::List(_, elements) => {
                let found = parse(found);
                found.len() == elements.len()
                    && elements
                        .iter()
                        .zip(found)
                        .all(|(wanted, (_, raw))| all_in(wanted, raw))
            }
        }
    }

    fn push(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend([0; HEADER]);
        let kind = match self {
            Self::Value(kind, value) => {
                bytes.extend(value);
                *kind
            }
            Self::Nest(kind, inner) => {
                inner.iter().for_each(|attribute| attribute.push(bytes));
                kind | NESTED
            }
            Self::List(kind, elements) => {
                let nests = elements
                    .iter()
                    .map(|inner| Self::Nest(ELEMENT, inner.clone()));
                nests.for_each(|nest| nest.push(bytes));
                kind | NESTED
            }
        };
        // The length of a nest counts its children's padding, that of a value does not its own.
        let length = u16::try_from(bytes.len() - start).unwrap_or(u16::MAX);
        bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        bytes[start + 2..start + HEADER].copy_from_slice(&kind.to_ne_bytes());
        align(bytes);
    }
}

fn all_in(wanted: &[Attribute], found: &[u8]) -> bool {
    let found = parse(found);
    wanted.iter().all(|attribute| attribute.is_in(&found))
}

/// A message's body: the fixed part and attributes after it.
pub(super) fn body(fixed: &[u8], attributes: &[Attribute]) -> Vec<u8> {
    let mut bytes = fixed.to_vec();
    align(&mut bytes);
    attributes
        .iter()
        .for_each(|attribute| attribute.push(&mut bytes));
    bytes
}

/// Kind and value of each attribute; what is cut short ends the list.
pub(super) fn parse(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut attributes = Vec::new();
    while let Some(&[a, b, c, d]) = bytes.first_chunk::<HEADER>() {
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let Some(value) = bytes.get(HEADER..length) else {
            break;
        };
        attributes.push((u16::from_ne_bytes([c, d]) & KIND, value));
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    attributes
}

/// The value of the first attribute of a kind.
pub(super) fn find<'a>(attributes: &[(u16, &'a [u8])], kind: u16) -> Option<&'a [u8]> {
    let mut same = attributes.iter().filter(|(other, _)| *other == kind);
    same.next().map(|(_, value)| *value)
}

/// The text of a string attribute, without its final zero.
pub(super) fn string(value: &[u8]) -> String {
    let text = value.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Pads to the four bytes netlink counts in.
pub(super) fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read_and_padding_is_not_counted() {
        let inner = vec![Attribute::string(1, "in"), Attribute::be32(2, 7)];
        let bytes = body(&[9, 9], &[Attribute::Nest(4, inner)]);
        assert_eq!(bytes[..2], [9, 9]);
        let outer = parse(&bytes[4..]);
        assert_eq!(outer.len(), 1);
        assert_eq!(outer[0].0, 4);
        assert_eq!(
            parse(outer[0].1),
            [(1, b"in\0".as_slice()), (2, &[0, 0, 0, 7])]
        );
    }

    #[test]
    fn attributes_cut_at_every_byte_are_read_without_harm() {
        let bytes = body(
            &[],
            &[Attribute::string(1, "proxyunwrap"), Attribute::be32(2, 7)],
        );
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).len() < 2, "cut at {length}");
        }
    }

    #[test]
    fn a_list_of_another_length_is_another_list() {
        let one = || vec![Attribute::be32(1, 1)];
        let sent = body(&[], &[Attribute::List(4, vec![one(), one()])]);
        let found = parse(&sent);
        assert!(Attribute::List(4, vec![one(), one()]).is_in(&found));
        assert!(!Attribute::List(4, vec![one()]).is_in(&found));
        assert!(!Attribute::List(4, vec![one(), vec![Attribute::be32(1, 2)]]).is_in(&found));
    }
}
