//! Table and chart, made of the raw results and of nothing else.

mod aside;
mod chart;
mod contenders;
mod markdown;
mod number;

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use crate::results::Results;

/// Names of the two files.
const TABLE: &str = "benchmarks.md";
const CHART: &str = "benchmarks.svg";

/// Writes both into `folder`, and the table on standard output.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write(results: &Results, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    let table = markdown::render(results, CHART);
    for (name, text) in [(TABLE, &table), (CHART, &chart::render(results))] {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
        eprintln!("written: {}", file.display());
    }
    std::io::stdout().write_all(markdown::tables(results).as_bytes())?;
    Ok(())
}
