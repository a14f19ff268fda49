//! Keeps what is there in step with what is wished: configuration of running pods, status of
//! resources, labels of namespaces, restarts where they are asked for.
//!
//! One look at a namespace, in order:
//!
//! 1. [`fetch`]: which namespaces changed, gathered for a moment;
//! 2. [`validate`]: whether a resource can be carried out at all;
//! 3. [`plan`]: the whole namespace to what is to be written there;
//! 4. [`apply`]: at a limited rate, the most urgent first, again after a failure;
//! 5. [`status`]: what each resource is told.
//!
//! It promises that the last wish is what ends up being written, whatever came between: nothing
//! depends on single changes, a namespace is always compared as a whole. It writes only while its
//! future is polled, so the end of the lead is the end of every write that is under way.
//!
//! 1, 2, 3 and 5 are pure, and so is the order of 4; this file and the `apply` methods do I/O.

pub mod apply;
mod complaint;
pub mod fetch;
pub mod plan;
pub mod restart;
pub mod status;
pub mod validate;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use proxyunwrap_api::ProxyUnwrapStatus;
use proxyunwrap_api::status::PodCounts;
use tokio::time::{Instant, sleep_until};

use self::apply::outbox::{Finished, Key, Outbox};
use self::apply::{Write, Written};
use self::complaint::Complaints;
use self::fetch::Changed;
use self::plan::{Answer, Plan, Seen, Told};
use self::restart::{Came, Job, Restarts};
use crate::events::{Events, Kind, Notice};
use crate::metrics::{Metrics, PodPatch, Restart, Step};
use crate::settings::Settings;
use crate::watch::{Changes, Stores};

/// What the controller works with.
#[derive(Clone)]
pub struct Context {
    /// To write.
    pub client: Client,
    /// To read.
    pub stores: Stores,
    /// What is set for the whole cluster.
    pub settings: Arc<Settings>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Where notices go.
    pub events: Events,
}

/// Something that was written, or was not.
enum Done {
    Write {
        key: Key,
        write: Write,
        took: Duration,
        came: Result<Written, apply::Error>,
    },
    Restart {
        job: Job,
        took: Duration,
        came: Result<Came, restart::Error>,
    },
}

/// Keeps the cluster in step for as long as the future is polled, beginning with a look at
/// everything. Stops writing at once when it is dropped.
pub async fn run(context: Context) {
    let mut controller = Controller::new(context);
    let stores = controller.context.stores.clone();
    let mut under_way = FuturesUnordered::new();
    loop {
        controller.look_if_due(Instant::now());
        under_way.extend(controller.send(Instant::now()));
        tokio::select! {
            changes = stores.changes() => controller.changed.mark(changes, Instant::now()),
            Some(done) = under_way.next() => controller.finish(done, Instant::now()),
            () = sleep_or_for_ever(controller.wake(Instant::now())) => {}
        }
    }
}

async fn sleep_or_for_ever(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// What is remembered from look to look. All of it can be lost: it is about rates, pauses and not
/// saying things twice.
struct Controller {
    context: Context,
    changed: Changed,
    outbox: Outbox,
    restarts: Restarts,
    complaints: Complaints,
    /// Pods by what became of them, by namespace.
    counts: BTreeMap<String, PodCounts>,
    /// What people were told and still holds, by namespace: an object's uid and the Event's kind.
    told: BTreeMap<String, BTreeSet<(String, Kind)>>,
    /// Statuses of resources that cannot be read, by uid.
    answered: BTreeMap<String, ProxyUnwrapStatus>,
}

impl Controller {
    fn new(context: Context) -> Self {
        let now = Instant::now();
        Self {
            changed: Changed::everything(now),
            outbox: Outbox::new(context.settings.controller.pod_patches_per_second),
            restarts: Restarts::new(now),
            complaints: Complaints::default(),
            counts: BTreeMap::new(),
            told: BTreeMap::new(),
            answered: BTreeMap::new(),
            context,
        }
    }

    /// When there is something to do without anything having happened.
    fn wake(&self, now: Instant) -> Option<Instant> {
        let due = [
            self.changed.due(),
            self.outbox.wake(now),
            self.restarts.wake(),
        ];
        due.into_iter().flatten().min()
    }

    /// Looks at what has changed, and takes over what is to be done.
    fn look_if_due(&mut self, now: Instant) {
        if self.changed.due().is_none_or(|due| now < due) {
            return;
        }
        let world = self.context.stores.world();
        let unreadable = self.context.stores.unreadable();
        self.forget_answered(&unreadable);
        for (namespace, noticed) in self.changed.take(&world, &unreadable) {
            let troubles = self.outbox.troubles(&namespace);
            let seen = Seen {
                world: &world,
                unreadable: &unreadable,
                settings: &self.context.settings,
                troubles: &troubles,
                answered: &self.answered,
            };
            let began = Instant::now();
            let plan = plan::plan(&namespace, &seen, Timestamp::now());
            self.context.metrics.reconciled(Step::Plan, began.elapsed());
            self.take(&namespace, plan, noticed);
        }
        self.show_counts();
        self.changed.looked(now, Instant::now());
    }

    fn take(&mut self, namespace: &str, mut plan: Plan, noticed: Instant) {
        let now = Instant::now();
        self.counts.remove(namespace);
        if plan.counts != PodCounts::default() {
            self.counts.insert(namespace.to_owned(), plan.counts);
        }
        let restarts = std::mem::take(&mut plan.restarts);
        self.restarts.replace(namespace, restarts, now);
        self.tell(namespace, std::mem::take(&mut plan.notices));
        let finished = self.outbox.replace(namespace, &mut plan, noticed, now);
        self.take_finished(namespace, finished);
    }

    /// Tells what has begun, and forgets what holds no more.
    fn tell(&mut self, namespace: &str, notices: Vec<Told>) {
        let before = self.told.remove(namespace).unwrap_or_default();
        let mut still = BTreeSet::new();
        for Told { notice, already } in notices {
            let uid = notice.regarding.uid.clone().unwrap_or_default();
            let is_new = !already && !before.contains(&(uid.clone(), notice.kind));
            still.insert((uid, notice.kind));
            if is_new {
                self.context.events.tell(notice);
            }
        }
        if !still.is_empty() {
            self.told.insert(namespace.to_owned(), still);
        }
    }

    /// Everything that may go now.
    fn send(&mut self, now: Instant) -> Vec<BoxFuture<'static, Done>> {
        let mut sent: Vec<BoxFuture<'static, Done>> = Vec::new();
        while let Some((key, write)) = self.outbox.next(now) {
            sent.push(Box::pin(send_write(
                key,
                write,
                self.context.client.clone(),
            )));
        }
        while let Some(job) = self.restarts.next(now) {
            sent.push(Box::pin(send_restart(job, self.context.client.clone())));
        }
        sent
    }

    fn finish(&mut self, done: Done, now: Instant) {
        match done {
            Done::Write {
                key,
                write,
                took,
                came,
            } => self.finish_write(&key, write, took, came, now),
            Done::Restart { job, took, came } => self.finish_restart(&job, took, came, now),
        }
    }

    fn finish_write(
        &mut self,
        key: &Key,
        write: Write,
        took: Duration,
        came: Result<Written, apply::Error>,
        now: Instant,
    ) {
        let step = write.step();
        let metrics = &self.context.metrics;
        metrics.reconciled(step, took);
        if step == Step::Configure {
            metrics.pod_patched(match &came {
                Ok(Written::Done) => PodPatch::Changed,
                Ok(Written::Gone) => PodPatch::Gone,
                Err(_) => PodPatch::Failed,
            });
        }
        if let Err(error) = &came {
            metrics.reconcile_failed(step);
            self.complaints.about(step, error, now);
        }
        if let (Write::Answer(Answer { uid, status, .. }), Ok(_)) = (write, &came) {
            self.answered.insert(uid, status);
        }
        let came = came.map_err(|error| complaint::chain(error.cause()));
        let finished = self.outbox.finish(key, came, now);
        self.take_finished(&key.namespace, finished);
    }

    fn take_finished(&mut self, namespace: &str, finished: Finished) {
        if let Some(took) = finished.pushed {
            self.context.metrics.config_pushed(took);
        }
        if finished.trouble_changed {
            let changes = Changes {
                namespaces: BTreeSet::from([namespace.to_owned()]),
                ..Changes::default()
            };
            self.changed.mark(changes, Instant::now());
        }
    }

    fn finish_restart(
        &mut self,
        job: &Job,
        took: Duration,
        came: Result<Came, restart::Error>,
        now: Instant,
    ) {
        let metrics = &self.context.metrics;
        metrics.reconciled(Step::Restart, took);
        match &came {
            Ok(Came::Restarted) => {
                metrics.restarted(Restart::Started);
                self.context.events.tell(restarted(job));
            }
            Ok(Came::Available) => metrics.restarted(Restart::Completed),
            Ok(Came::RollingOut { .. } | Came::NotRestartable | Came::Gone) => {}
            Err(error) => {
                metrics.restarted(Restart::Failed);
                metrics.reconcile_failed(Step::Restart);
                self.complaints.about(Step::Restart, error, now);
            }
        }
        self.restarts.finish(job, came.ok(), now);
    }

    fn show_counts(&self) {
        let mut all = PodCounts::default();
        for counts in self.counts.values() {
            all.matched += counts.matched;
            all.injected += counts.injected;
            all.outdated += counts.outdated;
            all.failed += counts.failed;
        }
        self.context.metrics.set_pods(all);
    }

    fn forget_answered(&mut self, unreadable: &[crate::watch::Unreadable]) {
        let still = |uid: &String| unreadable.iter().any(|one| one.uid == *uid);
        self.answered.retain(|uid, _| still(uid));
    }
}

/// Whoever leads next counts.
impl Drop for Controller {
    fn drop(&mut self) {
        self.context.metrics.set_pods(PodCounts::default());
    }
}

async fn send_write(key: Key, write: Write, client: Client) -> Done {
    let began = Instant::now();
    let came = write.clone().apply(key.namespace.clone(), client).await;
    Done::Write {
        key,
        write,
        took: began.elapsed(),
        came,
    }
}

async fn send_restart(job: Job, client: Client) -> Done {
    let began = Instant::now();
    let came = job.run(client, Timestamp::now()).await;
    Done::Restart {
        job,
        took: began.elapsed(),
        came,
    }
}

fn restarted(job: &Job) -> Notice {
    let workload = &job.workload;
    Notice {
        kind: Kind::RestartTriggered,
        regarding: ObjectReference {
            api_version: Some("apps/v1".to_owned()),
            kind: Some(plan::workloads::kind(workload.kind).to_owned()),
            name: Some(workload.name.clone()),
            namespace: Some(job.namespace.clone()),
            uid: Some(workload.uid.clone()),
            ..ObjectReference::default()
        },
        message: format!(
            "restarted for ProxyUnwrap {}, as its rollout.strategy says: pods had no sidecar, or one of an earlier state",
            job.unwrap
        ),
    }
}
