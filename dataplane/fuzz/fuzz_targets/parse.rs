//! Any bytes: no panic, an answer within its bounds, and extensions that can be walked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxyunwrap_fuzz::RULES;
use proxyunwrap_header::tlv::Tlv;
use proxyunwrap_header::{
    Header, Invalid, Progress, Resemblance, Rules, TlvRule, Version, parse, resembles,
};

fuzz_target!(|bytes: &[u8]| {
    for rules in &RULES {
        let answer = parse(bytes, rules);
        assert_eq!(
            answer == Err(Invalid::NotAHeader),
            resembles(bytes) == Resemblance::No
        );
        match answer {
            Ok(Progress::NeedMore(missing)) => {
                assert!(missing >= 1);
                assert!(bytes.len() + missing <= rules.longest().max(16));
            }
            Ok(Progress::Complete(header)) => check(bytes, &header, rules),
            Err(invalid) => assert!(Invalid::ALL.contains(&invalid)),
        }
    }
});

fn check(bytes: &[u8], header: &Header<'_>, rules: &Rules) {
    assert!(header.len <= bytes.len() && header.len <= rules.longest());
    assert_eq!(resembles(bytes), Resemblance::Header(header.version));
    let alone = parse(&bytes[..header.len], rules);
    assert_eq!(
        alone,
        Ok(Progress::Complete(header.clone())),
        "payload was looked at"
    );

    let mut walked = 0;
    for tlv in header.tlvs() {
        assert!(tlv.is_ok() || rules.tlvs == TlvRule::Skip);
        walked += tlv.map_or(0, |tlv| view(&tlv));
    }
    assert!(walked <= header.len);
    assert!(header.version == Version::V2 || walked == 0);

    // What strict rules accept, lenient ones read the same.
    let lenient = Rules {
        tlvs: TlvRule::Skip,
        tcp6_v4_literal: true,
        ..*rules
    };
    assert_eq!(
        parse(bytes, &lenient),
        Ok(Progress::Complete(header.clone()))
    );
}

/// Looks at an extension in every way there is; its length.
fn view(tlv: &Tlv<'_>) -> usize {
    let plain = [tlv.alpn(), tlv.authority(), tlv.unique_id(), tlv.netns()];
    assert!(plain.iter().flatten().count() <= 1);
    if let Some(id) = tlv.aws_vpce_id() {
        assert!(id.is_ascii() && id.len() < tlv.value.len());
    }
    assert!(tlv.azure_link_id().is_none() || tlv.value.len() == 5);
    assert!(tlv.gcp_psc_connection_id().is_none() || tlv.value.len() == 8);
    if let Some(ssl) = tlv.ssl() {
        assert!(!ssl.verified() || ssl.certificate_on_connection() || ssl.certificate_in_session());
        assert!(ssl.parts().count() <= tlv.value.len());
        std::hint::black_box(ssl.over_tls());
    }
    3 + tlv.value.len()
}
