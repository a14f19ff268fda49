//! Who took part, and exactly how: versions, files, lines and commands.

use std::fmt::Write;

use super::markdown::{emphasis, one_line};
use crate::results::{Listed, Results, State};

pub(super) fn render(results: &Results) -> String {
    let mut text = String::from(
        "\n## Contenders\n\n| contender | version | had by | settings | state |\n|---|---|---|---|---|\n",
    );
    for listed in &results.contenders {
        let cells = [&listed.version, &listed.source, &listed.note].map(|cell| one_line(cell));
        let name = emphasis(&listed.name, listed.role);
        let _ = writeln!(
            text,
            "| {name} | {} | {} |",
            cells.join(" | "),
            state(&listed.state)
        );
    }
    text += "\nWhat each was given. Folders are of the run; everything else is verbatim.\n";
    for listed in results
        .contenders
        .iter()
        .filter(|listed| !listed.command.is_empty())
    {
        text += &exactly(listed);
    }
    text
}

fn state(state: &State) -> String {
    match state {
        State::Measured => "the app sees the client's address and port".to_owned(),
        State::MeasuredWithAnotherPort => {
            "the app sees the client's address, but another port".to_owned()
        }
        State::Missing(why) => format!("missing: {}", one_line(why)),
        State::Broken(why) => format!("broken: {}", one_line(why)),
    }
}

fn exactly(listed: &Listed) -> String {
    let mut text = format!("\n<details><summary>{}</summary>\n\n```sh\n", listed.name);
    for line in &listed.prepare {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "{}\n```\n", listed.command);
    for (name, file) in &listed.files {
        let _ = writeln!(text, "`{name}`:\n\n```\n{}\n```\n", file.trim_end());
    }
    text + "</details>\n"
}
