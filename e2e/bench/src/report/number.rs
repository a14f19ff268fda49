//! Numbers as a reader wants them: no more digits than the measurement has.

use crate::statistics::Spread;

/// Three digits that mean something, thousands set apart.
pub(super) fn plain(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 1.0 => format!("{value:.3}"),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => thousands(value.round()),
    }
}

/// A median with the ends of its rounds.
pub(super) fn with_spread(spread: &Spread) -> String {
    let (median, least, most) = (spread.median, spread.least, spread.most);
    if spread.rounds < 2 || least == most {
        return plain(median);
    }
    format!("{} ({}–{})", plain(median), plain(least), plain(most))
}

/// A ratio of two digits with its ends.
pub(super) fn ratio(spread: &Spread) -> String {
    let (median, least, most) = (spread.median, spread.least, spread.most);
    if spread.rounds < 2 {
        return format!("{median:.2}");
    }
    format!("{median:.2} ({least:.2}–{most:.2})")
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest.to_owned()),
        None => ("", digits),
    };
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_as_many_as_mean_something() {
        let numbers = [0.0, 0.1234, 1.234, 12.34, 123.4, 123_456.7];
        let texts = numbers.map(plain);
        assert_eq!(texts, ["0", "0.123", "1.23", "12.3", "123", "123,457"]);
    }

    #[test]
    fn one_round_has_no_spread() {
        let mut spread = Spread {
            median: 0.7,
            least: 0.65,
            most: 0.752,
            rounds: 5,
        };
        assert_eq!(ratio(&spread), "0.70 (0.65–0.75)");
        assert_eq!(with_spread(&spread), "0.700 (0.650–0.752)");
        spread.rounds = 1;
        assert_eq!(
            (ratio(&spread), with_spread(&spread)),
            ("0.70".to_owned(), "0.700".to_owned())
        );
    }
}
