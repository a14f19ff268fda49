//! Any bytes in any pieces: the same answer as whole, and no byte of the payload taken.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxyunwrap_fuzz::RULES;
use proxyunwrap_header::{Invalid, Progress, Rules, parse};

type Answer<'a> = Result<Progress<'a>, Invalid>;

fuzz_target!(|bytes: &[u8]| {
    for rules in &RULES {
        let whole = parse(bytes, rules);
        assert_eq!(in_pieces(bytes, rules), whole);
        assert_asked_for(bytes, rules, &whole);
    }
});

/// The answer to growing parts, in steps that the bytes themselves choose. It is the first that
/// does not ask for more, or the whole's.
fn in_pieces<'a>(bytes: &'a [u8], rules: &Rules) -> Answer<'a> {
    let mut dice = bytes
        .iter()
        .fold(0x811C_9DC5_u32, |dice, byte| roll(dice ^ u32::from(*byte)));
    let mut taken = 0;
    loop {
        let answer = parse(&bytes[..taken], rules);
        if taken == bytes.len() || !matches!(answer, Ok(Progress::NeedMore(_))) {
            return answer;
        }
        dice = roll(dice);
        // Mostly a byte or few, sometimes many.
        let most = if dice & 0x70 == 0 {
            64
        } else {
            1 << (dice & 3)
        };
        taken = bytes.len().min(taken + 1 + (dice >> 16) as usize % most);
    }
}

/// FNV-1a's step.
fn roll(dice: u32) -> u32 {
    dice.wrapping_mul(0x0100_0193).wrapping_add(1)
}

/// A reader that takes exactly what it is asked for gets the whole's answer, and stops where the
/// payload starts.
fn assert_asked_for(bytes: &[u8], rules: &Rules, whole: &Answer<'_>) {
    let mut taken = 0;
    let answer = loop {
        match parse(&bytes[..taken], rules) {
            Ok(Progress::NeedMore(missing)) if taken + missing <= bytes.len() => taken += missing,
            other => break other,
        }
    };
    match (&answer, whole) {
        (Ok(Progress::Complete(header)), _) => assert_eq!(header.len, taken),
        // It waits for bytes that never come, while the end of the input already gives it away.
        (Ok(Progress::NeedMore(_)), Err(_) | Ok(Progress::NeedMore(_))) => return,
        _ => {}
    }
    assert_eq!(&answer, whole);
}
