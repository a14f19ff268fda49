//! What the fuzz targets share.

use proxyunwrap_header::{Rules, TlvRule, Transport};

/// Each switch both ways, and a limit that short inputs reach.
pub const RULES: [Rules; 5] = [
    Rules::DEFAULT,
    Rules {
        tlvs: TlvRule::Skip,
        tcp6_v4_literal: true,
        ..Rules::DEFAULT
    },
    Rules {
        transport: Transport::Dgram,
        max_len: 70_000,
        ..Rules::DEFAULT
    },
    Rules {
        v1: false,
        max_len: 60,
        ..Rules::DEFAULT
    },
    Rules {
        v2: false,
        ..Rules::DEFAULT
    },
];
