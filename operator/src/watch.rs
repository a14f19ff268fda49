//! Keeps the [`World`] current by watches, in every replica, and says where something has changed.
//!
//! The webhook sees an object as soon as its watch did: there is one world, changed in place under
//! a lock, and a snapshot is a reference to it. Only if somebody holds a snapshot while something
//! changes, the world's lists (of references, not of objects) are copied, once.
//!
//! Nothing is kept that decides nothing: see [`trim`]. A watch that breaks is begun anew for ever;
//! until then the world stays as it was.

mod held;
mod kinds;
mod pace;
mod reach;
mod trim;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use proxyunwrap_api::ProxyUnwrap;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::metrics::{Metrics, Watched};
use crate::world::World;
use held::Held;
use kinds::{DaemonSets, Deployments, Kept, StatefulSets};
pub(crate) use pace::Pace;

/// What is watched for the world.
const KINDS: [Watched; 8] = [
    Watched::Namespaces,
    Watched::ProxyUnwraps,
    Watched::Services,
    Watched::Pods,
    Watched::Nodes,
    Watched::Deployments,
    Watched::StatefulSets,
    Watched::DaemonSets,
];

/// The world as it is kept current. Clones share it.
#[derive(Clone, Default)]
pub struct Stores {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    held: Mutex<Held>,
    /// Kinds whose objects were all listed once.
    listed: watch::Sender<BTreeSet<Watched>>,
    /// Why a kind could not be listed.
    troubles: Mutex<BTreeMap<Watched, String>>,
    changes: Mutex<Changes>,
    changed: Notify,
}

/// A resource that the API server holds and that we cannot read: of a later version, or broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its generation, for the status.
    pub generation: Option<i64>,
    /// What is wrong with it.
    pub error: String,
}

/// Where something changed since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Something that any namespace may depend on.
    pub everything: bool,
    /// In these namespaces, or something that they depend on.
    pub namespaces: BTreeSet<String>,
}

impl Changes {
    /// One namespace.
    pub fn of(namespace: &str) -> Self {
        Self {
            everything: false,
            namespaces: BTreeSet::from([namespace.to_owned()]),
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        !self.everything && self.namespaces.is_empty()
    }

    /// Adds others to these.
    pub fn add(&mut self, others: Self) {
        self.everything |= others.everything;
        self.namespaces.extend(others.namespaces);
    }
}

impl Stores {
    /// A world that no watch changes, for tests.
    pub fn of(world: World) -> Self {
        let stores = Self::default();
        lock(&stores.shared.held).world = Arc::new(world);
        stores
    }

    /// What the cluster holds just now. Cheap; the snapshot does not change any more.
    pub fn world(&self) -> Arc<World> {
        Arc::clone(&lock(&self.shared.held).world)
    }

    /// Resources that could not be read, by namespace and name.
    pub fn unreadable(&self) -> Vec<Unreadable> {
        let held = lock(&self.shared.held);
        held.unreadable.values().cloned().collect()
    }

    /// Waits until something has changed since the last call, and says where. Changes between two
    /// calls add up; there is one listener, the controller. Cancelling loses nothing.
    pub async fn changes(&self) -> Changes {
        loop {
            let changed = self.shared.changed.notified();
            let changes = std::mem::take(&mut *lock(&self.shared.changes));
            if !changes.is_empty() {
                return changes;
            }
            changed.await;
        }
    }

    /// Marks changes: the watches do, and whoever wants a namespace to be looked at again.
    pub fn mark(&self, changes: Changes) {
        if !changes.is_empty() {
            lock(&self.shared.changes).add(changes);
            self.shared.changed.notify_one();
        }
    }

    /// What is missing before the world is whole: a sentence for each kind.
    pub fn missing(&self) -> Vec<String> {
        let listed = self.shared.listed.borrow();
        let troubles = lock(&self.shared.troubles);
        let missing = KINDS.iter().filter(|kind| !listed.contains(kind));
        let sentence = |kind: &Watched| match troubles.get(kind) {
            Some(trouble) => format!("{} could not be listed: {trouble}", kind.name()),
            None => format!("{} are not listed yet", kind.name()),
        };
        missing.map(sentence).collect()
    }

    /// Waits until the world is whole. Half a world has too few peers, and too few pods.
    pub async fn whole(&self) {
        let mut listed = self.shared.listed.subscribe();
        // The sender is ours: it does not go away.
        let _ = listed.wait_for(|listed| listed.len() == KINDS.len()).await;
    }

    /// Watches for as long as the future is polled.
    pub async fn keep(self, client: Client, metrics: Arc<Metrics>) {
        let mut watches = JoinSet::new();
        watches.spawn(follow::<Namespace>(
            client.clone(),
            self.clone(),
            metrics.clone(),
        ));
        watches.spawn(follow::<ProxyUnwrap>(
            client.clone(),
            self.clone(),
            metrics.clone(),
        ));
        watches.spawn(follow::<Service>(
            client.clone(),
            self.clone(),
            metrics.clone(),
        ));
        watches.spawn(follow::<Pod>(client.clone(), self.clone(), metrics.clone()));
        watches.spawn(follow::<Node>(
            client.clone(),
            self.clone(),
            metrics.clone(),
        ));
        watches.spawn(follow::<Deployments>(
            client.clone(),
            self.clone(),
            metrics.clone(),
        ));
        watches.spawn(follow::<StatefulSets>(
            client.clone(),
            self.clone(),
            metrics.clone(),
        ));
        watches.spawn(follow::<DaemonSets>(client, self, metrics));
        // None of them ends.
        while watches.join_next().await.is_some() {}
    }

    /// Takes over what a watch says. `seen` are the names of a list that is under way: what is not
    /// among them at its end is gone.
    fn take<K: Kept>(&self, event: Event<K::Wire>, seen: &mut BTreeSet<(String, String)>) {
        let changes = match event {
            Event::Init => {
                seen.clear();
                Changes::default()
            }
            Event::InitApply(object) => {
                seen.insert(place(&object));
                K::put(&mut lock(&self.shared.held), object)
            }
            Event::InitDone => self.listed::<K>(seen),
            Event::Apply(object) => K::put(&mut lock(&self.shared.held), object),
            Event::Delete(object) => {
                let (namespace, name) = place(&object);
                K::remove(&mut lock(&self.shared.held), &namespace, &name)
            }
        };
        self.mark(changes);
    }

    fn listed<K: Kept>(&self, seen: &mut BTreeSet<(String, String)>) -> Changes {
        let seen = std::mem::take(seen);
        let mut held = lock(&self.shared.held);
        let mut changes = Changes::default();
        for (namespace, name) in K::names(&held) {
            if !seen.contains(&(namespace.clone(), name.clone())) {
                changes.add(K::remove(&mut held, &namespace, &name));
            }
        }
        drop(held);
        self.shared.listed.send_modify(|listed| {
            listed.insert(K::WATCHED);
        });
        lock(&self.shared.troubles).remove(&K::WATCHED);
        changes
    }
}

async fn follow<K: Kept>(client: Client, stores: Stores, metrics: Arc<Metrics>) {
    let events = watcher(Api::<K::Wire>::all(client), watcher::Config::default());
    let events = events.backoff(Pace::default());
    pin_mut!(events);
    let mut seen = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => stores.take::<K>(event, &mut seen),
            Err(error) => {
                metrics.watch_failed(K::WATCHED);
                tracing::warn!(kind = K::WATCHED.name(), %error, "watch broke, begun anew");
                lock(&stores.shared.troubles).insert(K::WATCHED, error.to_string());
            }
        }
    }
}

fn place(object: &impl ResourceExt) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// A poisoned lock guards data that is whole between two statements: it is good as it is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
