//! Extensions of the custom range 0xE0 to 0xEF.
//!
//! Anyone may use that range for anything, and 0xE0 has two known meanings. So the caller, who
//! knows which sender it trusts, asks for one vendor's reading by name.

use super::{Tlv, kind};

impl<'a> Tlv<'a> {
    /// The VPC endpoint id an AWS network load balancer adds for a `PrivateLink` client:
    /// type 0xEA, subtype 1, then letters, digits and hyphens, as in `vpce-08d2bf15fac5001c9`.
    #[must_use]
    pub fn aws_vpce_id(&self) -> Option<&'a [u8]> {
        let [1, id @ ..] = self.of_kind(kind::AWS)? else {
            return None;
        };
        id.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
            .then_some(id)
    }

    /// The LINKID of an Azure private endpoint: type 0xEE, subtype 1, little-endian, unlike every
    /// other number in the protocol.
    #[must_use]
    pub fn azure_link_id(&self) -> Option<u32> {
        let [1, id @ ..] = self.of_kind(kind::AZURE)? else {
            return None;
        };
        id.try_into().ok().map(u32::from_le_bytes)
    }

    /// The Private Service Connect connection id of Google Cloud: type 0xE0, 8 bytes.
    ///
    /// Linkerd uses the same type for a workload's identity; one of 8 bytes would pass here.
    #[must_use]
    pub fn gcp_psc_connection_id(&self) -> Option<u64> {
        self.of_kind(kind::GCP)?
            .try_into()
            .ok()
            .map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aws_endpoint_id_is_read_behind_its_subtype() {
        let tlv = |value| Tlv { kind: 0xEA, value };
        assert_eq!(
            tlv(b"\x01vpce-08d2b").aws_vpce_id(),
            Some(&b"vpce-08d2b"[..])
        );
        assert_eq!(tlv(b"\x01").aws_vpce_id(), Some(&b""[..]));
        assert_eq!(tlv(b"\x02vpce-08d2b").aws_vpce_id(), None);
        assert_eq!(tlv(b"\x01vpce\n").aws_vpce_id(), None);
        assert_eq!(tlv(b"").aws_vpce_id(), None);
        assert_eq!(
            Tlv {
                kind: 0xEB,
                value: b"\x01vpce"
            }
            .aws_vpce_id(),
            None
        );
    }

    #[test]
    fn azure_link_id_is_little_endian() {
        let tlv = |value| Tlv { kind: 0xEE, value };
        assert_eq!(
            tlv(&[1, 0xC0, 0x45, 0x00, 0x21]).azure_link_id(),
            Some(0x2100_45C0)
        );
        assert_eq!(tlv(&[2, 0xC0, 0x45, 0x00, 0x21]).azure_link_id(), None);
        assert_eq!(tlv(&[1, 0xC0, 0x45, 0x00]).azure_link_id(), None);
        assert_eq!(tlv(&[1, 0xC0, 0x45, 0x00, 0x21, 0]).azure_link_id(), None);
    }

    #[test]
    fn gcp_connection_id_is_big_endian() {
        let tlv = |value| Tlv { kind: 0xE0, value };
        assert_eq!(
            tlv(&[0, 0, 0, 0, 0, 0, 1, 2]).gcp_psc_connection_id(),
            Some(0x0102)
        );
        assert_eq!(
            tlv(b"spiffe://cluster.local/ns/a/sa/b").gcp_psc_connection_id(),
            None
        );
    }
}
