//! Pods that are created all the time, as dry runs: everything is asked, nothing is kept.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures_util::future::{join, join_all};
use proxyunwrap_e2e::cluster::{Namespace, new_pod};

/// Who creates at the same time.
const CREATORS: usize = 4;

/// What became of the pods.
#[derive(Debug, Default)]
pub(super) struct Admissions {
    /// With the sidecar.
    pub(super) injected: usize,
    /// Made, and without it.
    pub(super) bare: usize,
    /// Not made, and what was said.
    pub(super) failed: Vec<String>,
    /// The longest that one took.
    pub(super) longest: Duration,
}

impl Admissions {
    /// Every pod was made, with its sidecar.
    ///
    /// # Errors
    /// One was not.
    pub(super) fn are_whole(&self) -> anyhow::Result<()> {
        ensure!(self.injected > 20, "too few to say anything: {self:?}");
        ensure!(self.bare == 0 && self.failed.is_empty(), "{self:?}");
        Ok(())
    }
}

/// Creates pods for as long as `meanwhile` takes.
///
/// # Errors
/// That of `meanwhile`.
pub(super) async fn during(
    space: &Namespace,
    meanwhile: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Admissions> {
    let over = Cell::new(false);
    let found = RefCell::new(Admissions::default());
    let creators = join_all((0..CREATORS).map(|_| create_until(space, &over, &found)));
    let work = async {
        let result = meanwhile.await;
        over.set(true);
        result
    };
    join(work, creators).await.0?;
    let found = found.into_inner();
    eprintln!("{found:?}");
    Ok(found)
}

async fn create_until(space: &Namespace, over: &Cell<bool>, found: &RefCell<Admissions>) {
    let pod = new_pod();
    while !over.get() {
        let began = Instant::now();
        let created = space.create_object(&pod, true).await;
        let mut found = found.borrow_mut();
        found.longest = found.longest.max(began.elapsed());
        match created {
            Err(error) => found.failed.push(format!("{error:#}")),
            Ok(created) if created.object["spec"]["initContainers"].is_array() => {
                found.injected += 1;
            }
            Ok(_) => found.bare += 1,
        }
    }
}
