//! The report.
use crate::results::Results;
use std::path::Path;
pub(crate) fn write(results: &Results, docs: &Path) -> anyhow::Result<()> {
    let _ = (results, docs);
    for w in crate::workload::Workload::ALL {
        for f in w.figures() {
            for r in crate::statistics::rows(results, w, *f) {
                eprintln!(
                    "{} {} {} {:.2} of direct {:.3?} of best {:.3?}",
                    w.key(),
                    f.key,
                    r.contender,
                    r.value.median,
                    r.of_direct.map(|x| x.median),
                    r.of_best_peer.map(|x| x.median)
                );
            }
        }
    }
    Ok(())
}
