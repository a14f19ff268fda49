//! The chart: `docs/benchmarks.svg`, bars of the share of direct's rate, with the spread of the rounds.
//!
//! Text and lines are a grey that is read on white and on black; where the reader's program says that
//! it is dark, they become lighter.

use std::fmt::Write;

use crate::figure::Better;
use crate::results::{Results, Role};
use crate::statistics::{Row, rows};
use crate::workload::Workload;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 170.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 40.0;
const BAR: f64 = 16.0;
const STEP: f64 = 22.0;
const PANEL_TITLE: f64 = 34.0;

/// A ratio beyond it would be a rate above direct's: noise, cut off at the chart's edge.
const MOST: f64 = 1.2;

const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #6b7280 }
.title { font-weight: 600; font-size: 14px }
.grid { stroke: #9ca3af; stroke-width: 1; stroke-dasharray: 2 4 }
.direct { fill: #9ca3af } .ours { fill: #2f81f7 } .peer { fill: #b08968 }
.spread { stroke: #6b7280; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { text { fill: #b6bec9 } .spread { stroke: #d0d7de } }";

/// The whole picture.
pub(super) fn render(results: &Results) -> String {
    let panels: Vec<_> = Workload::ALL
        .iter()
        .filter_map(|workload| panel(results, *workload))
        .collect();
    let mut body = String::new();
    let mut y = TOP;
    for (title, rows) in &panels {
        body += &draw(results, title, rows, y);
        y += PANEL_TITLE + STEP * rows.len() as f64;
    }
    let height = y + 20.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n"
    );
    let _ = writeln!(
        text,
        "<title>Share of the rate without a proxy</title>\n<style>{STYLE}</style>"
    );
    let _ = writeln!(
        text,
        "<text class=\"title\" x=\"0\" y=\"18\">Share of the rate without a proxy: median of the rounds, and their spread</text>"
    );
    text += &grid(height);
    text + &body + "</svg>\n"
}

/// A workload whose first figure is a rate, and who has one.
fn panel(results: &Results, workload: Workload) -> Option<(String, Vec<Row>)> {
    let figure = *workload.figures().first()?;
    let is_drawn = match (figure.better, workload) {
        // At a constant rate everybody has the same, and idle connections are no rate.
        (_, Workload::Open | Workload::Idle) | (Better::Less, _) => false,
        (Better::More, _) => true,
    };
    let rows = rows(results, workload, figure);
    let rows: Vec<_> = rows
        .into_iter()
        .filter(|row| row.of_direct.is_some())
        .collect();
    let title = workload
        .title()
        .split(':')
        .next()
        .unwrap_or_default()
        .to_owned();
    (is_drawn && !rows.is_empty()).then_some((title, rows))
}

fn grid(height: f64) -> String {
    let mut text = String::new();
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        let (x, bottom) = (across(share), height - 16.0);
        let _ = writeln!(
            text,
            "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>"
        );
        let _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{share}</text>",
            height - 2.0
        );
    }
    text
}

fn draw(results: &Results, title: &str, rows: &[Row], top: f64) -> String {
    let baseline = top + 20.0;
    let mut text = format!(
        "<text class=\"title\" x=\"0\" y=\"{baseline:.1}\">{}</text>\n",
        escaped(title)
    );
    for (at, row) in rows.iter().enumerate() {
        text += &bar(results, row, top + PANEL_TITLE + STEP * at as f64);
    }
    text
}

fn bar(results: &Results, row: &Row, y: f64) -> String {
    let Some(share) = row.of_direct else {
        return String::new();
    };
    let (name, class) = (escaped(&row.contender), class(results, &row.contender));
    let (middle, text_y) = (y + BAR / 2.0, y + BAR - 4.0);
    let width = across(share.median) - LEFT;
    let [least, most] = [share.least, share.most].map(across);
    let mut text = format!(
        "<text x=\"{:.1}\" y=\"{text_y:.1}\" text-anchor=\"end\">{name}</text>\n",
        LEFT - 8.0
    );
    let _ = writeln!(
        text,
        "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\"/>"
    );
    if most - least > 1.0 {
        let _ = writeln!(
            text,
            "<line class=\"spread\" x1=\"{least:.1}\" y1=\"{middle:.1}\" x2=\"{most:.1}\" y2=\"{middle:.1}\"/>"
        );
    }
    let beside = most.max(across(share.median)) + 6.0;
    let _ = writeln!(
        text,
        "<text x=\"{beside:.1}\" y=\"{text_y:.1}\">{:.2}</text>",
        share.median
    );
    text
}

fn across(share: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * share.clamp(0.0, MOST) / MOST
}

fn class(results: &Results, name: &str) -> &'static str {
    let role = results.contenders.iter().find(|listed| listed.name == name);
    match role.map(|listed| listed.role) {
        Some(Role::Ours) => "ours",
        Some(Role::Peer) => "peer",
        Some(Role::Direct) | None => "direct",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::markdown::tests::results;
    use super::*;

    #[test]
    fn everybody_measured_has_a_bar_of_their_role_and_the_missing_has_none() {
        let picture = render(&results());
        for (class, count) in [("direct", 1), ("ours", 1), ("peer", 1)] {
            let bars = picture.matches(&format!("<rect class=\"{class}\"")).count();
            assert_eq!(bars, count, "{class} in\n{picture}");
        }
        assert!(
            picture.contains(">0.70</text>") && !picture.contains("gone"),
            "{picture}"
        );
    }

    #[test]
    fn every_element_is_closed() {
        let picture = render(&results());
        for element in ["svg", "text", "style", "title"] {
            let opened = picture.matches(&format!("<{element}>")).count()
                + picture.matches(&format!("<{element} ")).count();
            assert_eq!(
                opened,
                picture.matches(&format!("</{element}>")).count(),
                "{element}"
            );
        }
    }

    #[test]
    fn nothing_is_drawn_outside() {
        assert_eq!(across(7.0), across(MOST));
        assert!(across(MOST) <= WIDTH - RIGHT);
        assert_eq!(across(-1.0), LEFT);
    }
}
