//! Amounts as Kubernetes writes them, such as `100m`, `64Mi`, `1.5` or `2e3`: compared, never written.

/// Suffixes and the billionths that they stand for.
const SUFFIXES: [(&str, i128); 16] = [
    ("Ki", GIGA << 10),
    ("Mi", GIGA << 20),
    ("Gi", GIGA << 30),
    ("Ti", GIGA << 40),
    ("Pi", GIGA << 50),
    ("Ei", GIGA << 60),
    ("n", 1),
    ("u", 1_000),
    ("m", 1_000_000),
    ("k", GIGA * 1_000),
    ("M", GIGA * 1_000_000),
    ("G", GIGA * GIGA),
    ("T", GIGA * GIGA * 1_000),
    ("P", GIGA * GIGA * 1_000_000),
    ("E", GIGA * GIGA * GIGA),
    ("", GIGA),
];

const GIGA: i128 = 1_000_000_000;

/// An amount in billionths; None for what is none, or beyond all machines.
pub(super) fn parse(text: &str) -> Option<i128> {
    if let Some((number, exponent)) = text.split_once(['e', 'E'])
        && let Ok(exponent) = exponent.parse::<i32>()
    {
        return scaled(number, GIGA, exponent);
    }
    let (number, unit) = SUFFIXES
        .iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))?;
    scaled(number, unit, 0)
}

/// The smaller one; the first of what cannot be compared.
pub(super) fn less<'a>(one: &'a str, other: &'a str) -> &'a str {
    match (parse(one), parse(other)) {
        (Some(a), Some(b)) if b < a => other,
        _ => one,
    }
}

/// The greater one; the first of what cannot be compared.
pub(super) fn greater<'a>(one: &'a str, other: &'a str) -> &'a str {
    match (parse(one), parse(other)) {
        (Some(a), Some(b)) if b > a => other,
        _ => one,
    }
}

fn scaled(number: &str, unit: i128, exponent: i32) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}").parse::<i128>().ok()?;
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let amount = digits.checked_mul(unit)?;
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    match shift >= 0 {
        true => amount.checked_mul(power),
        false => Some(amount / power),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_amount_in_other_words_is_the_same() {
        for (one, other) in [
            ("1", "1000m"),
            ("0.1", "100m"),
            ("1Gi", "1024Mi"),
            ("1.5Gi", "1536Mi"),
            ("2e3", "2k"),
            ("1E", "1000P"),
            ("1E3", "1k"),
            ("12e-1", "1.2"),
            ("5n", "0.005u"),
        ] {
            assert!(parse(one).is_some(), "{one}");
            assert_eq!(parse(one), parse(other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_amount_is_none() {
        for text in ["", "m", "1x", "one", "1 Gi", "1e99999", "e3", "٣"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_compared_by_what_they_mean() {
        assert_eq!(less("2000m", "1"), "1");
        assert_eq!(greater("9Mi", "10M"), "10M");
        assert_eq!(greater("odd", "1"), "odd");
    }
}
