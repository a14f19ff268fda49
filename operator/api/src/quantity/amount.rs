//! Amounts of CPU and memory as Kubernetes writes them: `10m`, `64Mi`, `1.5`, `1e3`.

/// An amount in thousandths, so that amounts of different suffixes can be compared. What is finer is
/// rounded up, as Kubernetes does. None for what is no amount, is negative, or exceeds any machine.
pub fn amount(text: &str) -> Option<u128> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, suffix) = text.split_at(split.unwrap_or(text.len()));
    let (digits, point) = digits(number)?;
    let (factor, exponent) = scale(suffix)?;
    let whole = digits.checked_mul(factor)?;
    thousandths(whole, exponent.checked_add(3)?.checked_sub(point)?)
}

/// The digits as one number, and how many of them follow the point.
fn digits(number: &str) -> Option<(u128, i32)> {
    let (before, after) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{before}{after}");
    let point = i32::try_from(after.len()).ok()?;
    Some((digits.parse().ok()?, point))
}

/// A factor, and a power of ten.
fn scale(suffix: &str) -> Option<(u128, i32)> {
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(power) = binary.iter().position(|one| *one == suffix) {
        return Some((1 << (10 * (power + 1)), 0));
    }
    let decimal = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    if let Some((_, exponent)) = decimal.iter().find(|(one, _)| *one == suffix) {
        return Some((1, *exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((1, exponent.parse().ok()?))
}

fn thousandths(whole: u128, exponent: i32) -> Option<u128> {
    let power = 10_u128.checked_pow(exponent.unsigned_abs());
    match (exponent, power) {
        (0.., power) => whole.checked_mul(power?),
        (_, Some(power)) => Some(whole.div_ceil(power)),
        // Less than any thousandth: all that is left is the rounding.
        (_, None) => Some(u128::from(whole > 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_the_same_however_it_is_written() {
        for (text, want) in [
            ("0", 0),
            ("10m", 10),
            ("1", 1000),
            ("1.5", 1500),
            (".5", 500),
            ("1.", 1000),
            ("1e3", 1_000_000),
            ("1E3", 1_000_000),
            ("1E", 1_000_000_000_000_000_000_000),
            ("1k", 1_000_000),
            ("1Ki", 1_024_000),
            ("64Mi", 67_108_864_000),
            ("1.5Gi", 1_610_612_736_000),
        ] {
            assert_eq!(amount(text), Some(want), "{text}");
        }
    }

    #[test]
    fn what_is_finer_is_rounded_up() {
        for (text, want) in [
            ("0.1m", 1),
            ("1n", 1),
            ("1001u", 2),
            ("1e-40", 1),
            ("0n", 0),
        ] {
            assert_eq!(amount(text), Some(want), "{text}");
        }
    }

    #[test]
    fn what_kubernetes_refuses_is_no_amount() {
        for text in [
            "",
            ".",
            "-1",
            "m",
            "64MB",
            "64 Mi",
            "1,5",
            "0x10",
            "1e",
            "1.2.3",
            "1e999999999999",
            "9999999999999999999999999999999999999999",
            "1e40",
        ] {
            assert_eq!(amount(text), None, "{text}");
        }
    }
}
