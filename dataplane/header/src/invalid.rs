//! Every way a header can be wrong.

use core::fmt;

// One table of variant, label and text, so that none of the three can be forgotten.
macro_rules! invalid {
    ($($(#[$doc:meta])* $variant:ident, $reason:literal, $text:literal;)*) => {
        /// Why these bytes are refused. Final: no further byte changes it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Invalid {
            $($(#[$doc])* $variant,)*
        }

        impl Invalid {
            /// Every variant once.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Value of the `reason` label. Dashboards name these: they do not change.
            #[must_use]
            pub const fn reason(self) -> &'static str {
                match self {
                    $(Self::$variant => $reason,)*
                }
            }
        }

        impl fmt::Display for Invalid {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self {
                    $(Self::$variant => $text,)*
                })
            }
        }
    };
}

impl core::error::Error for Invalid {}

invalid! {
    /// Neither signature can come of the first bytes.
    NotAHeader, "not_a_header", "first bytes are not a PROXY header";
    /// A v1 header where [`Rules::v1`](crate::Rules::v1) is off, or in a datagram.
    V1Off, "v1_off", "v1 header where v1 is not accepted";
    /// A v2 header where [`Rules::v2`](crate::Rules::v2) is off.
    V2Off, "v2_off", "v2 header where v2 is not accepted";

    /// Neither `TCP4 `, `TCP6 ` nor the whole word `UNKNOWN` follows `PROXY `.
    V1Protocol, "v1_protocol", "v1 protocol is not TCP4, TCP6 or UNKNOWN";
    /// A CR without LF or an LF without CR.
    V1LineEnd, "v1_line_end", "v1 line has a lone CR or LF";
    /// No CRLF within 107 bytes.
    V1TooLong, "v1_too_long", "v1 line does not end within 107 bytes";
    /// Not two addresses and two ports with one space between them.
    V1Fields, "v1_fields", "v1 line is not two addresses and two ports, one space apart";
    /// An address that is not of the form its protocol wants.
    V1Address, "v1_address", "v1 address is malformed or of the other family";
    /// A bare IPv4 address in a TCP6 line, see
    /// [`Rules::tcp6_v4_literal`](crate::Rules::tcp6_v4_literal).
    V1Tcp6V4Literal, "v1_tcp6_v4_literal", "v1 TCP6 line has an IPv4 address";
    /// Not a decimal number from 0 to 65535 without sign or leading zero.
    V1Port, "v1_port", "v1 port is not a plain number up to 65535";

    /// The version nibble is not 2.
    V2Version, "v2_version", "v2 signature with another version behind it";
    /// Neither LOCAL nor PROXY.
    V2Command, "v2_command", "v2 command is undefined";
    /// An address family above 3, with PROXY.
    V2Family, "v2_family", "v2 address family is undefined";
    /// A transport above 2, with PROXY.
    V2Transport, "v2_transport", "v2 transport is undefined";
    /// The header would be longer than [`Rules::max_len`](crate::Rules::max_len).
    TooLong, "too_long", "v2 header is longer than the limit";
    /// The declared length has no room for the addresses of the family.
    TooShort, "too_short", "v2 length is shorter than its addresses";

    /// A TLV is longer than what is left of the header, or of the SSL TLV around it.
    TlvTruncated, "tlv_truncated", "TLV runs past its end";
    /// One or two bytes after the last TLV.
    TlvTrailing, "tlv_trailing", "bytes after the last TLV are no TLV";
    /// An SSL TLV without room for its client and verify fields.
    SslTooShort, "ssl_too_short", "SSL TLV is shorter than 5 bytes";
    /// A unique id over 128 bytes.
    UniqueIdTooLong, "unique_id_too_long", "unique id TLV is longer than 128 bytes";
    /// The checksum is not the header's.
    Crc32cMismatch, "crc32c_mismatch", "CRC32C does not match the header";
    /// A checksum that is not four bytes long.
    Crc32cLength, "crc32c_length", "CRC32C TLV is not 4 bytes long";
    /// More than one checksum: none of them could be right for both.
    Crc32cRepeated, "crc32c_repeated", "CRC32C TLV appears more than once";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::string::ToString;

    use super::*;

    #[test]
    fn reasons_are_distinct_labels() {
        let reasons: HashSet<_> = Invalid::ALL
            .iter()
            .map(|invalid| invalid.reason())
            .collect();
        assert_eq!(reasons.len(), Invalid::ALL.len());
        for reason in reasons {
            assert!(
                reason
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            );
        }
    }

    #[test]
    fn texts_are_distinct_and_end_without_a_full_stop() {
        let texts: HashSet<_> = Invalid::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), Invalid::ALL.len());
        assert!(texts.iter().all(|text| !text.ends_with('.')));
    }
}
