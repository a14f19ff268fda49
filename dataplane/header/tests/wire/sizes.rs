//! Answers are returned by value for every connection; they stay small.

use std::mem::size_of;

use proxyunwrap_header::tlv::{Ssl, Tlv, Tlvs};
use proxyunwrap_header::{Endpoints, Header, Invalid, Progress, Rules};

#[test]
fn answers_stay_small() {
    assert!(size_of::<Endpoints>() <= 64);
    assert!(size_of::<Header<'_>>() <= 96);
    assert_eq!(size_of::<Progress<'_>>(), size_of::<Header<'_>>());
    assert_eq!(
        size_of::<Result<Progress<'_>, Invalid>>(),
        size_of::<Header<'_>>()
    );
    assert_eq!(size_of::<Invalid>(), 1);
    assert!(size_of::<Rules>() <= 16);
    assert_eq!(size_of::<Tlvs<'_>>(), size_of::<&[u8]>());
    assert!(size_of::<Tlv<'_>>() <= 24);
    assert!(size_of::<Ssl<'_>>() <= 24);
}
