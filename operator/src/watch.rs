//! Keeps the [`World`] current by watches, in every replica, and says what has changed in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::world::World;

/// The world as it is kept current. Clones share it.
#[derive(Clone, Default)]
pub struct Stores {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    world: Mutex<Arc<World>>,
    unreadable: Mutex<BTreeMap<(String, String), Unreadable>>,
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
    /// Something that any namespace may depend on: nodes, namespaces' labels, a fresh list.
    pub everything: bool,
    /// In these namespaces, or something that they depend on.
    pub namespaces: BTreeSet<String>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        !self.everything && self.namespaces.is_empty()
    }
}

impl Stores {
    /// A world that no watch changes, for tests and for `check-config`.
    pub fn of(world: World) -> Self {
        let stores = Self::default();
        *lock(&stores.shared.world) = Arc::new(world);
        stores
    }

    /// What the cluster holds just now. Cheap; the snapshot does not change any more.
    pub fn world(&self) -> Arc<World> {
        Arc::clone(&lock(&self.shared.world))
    }

    /// Resources that could not be read, by namespace and name.
    pub fn unreadable(&self) -> Vec<Unreadable> {
        lock(&self.shared.unreadable).values().cloned().collect()
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

    /// Marks changes; the watches do.
    pub fn mark(&self, changes: Changes) {
        let mut all = lock(&self.shared.changes);
        all.everything |= changes.everything;
        all.namespaces.extend(changes.namespaces);
        drop(all);
        self.shared.changed.notify_one();
    }
}

/// A poisoned lock guards data that is replaced as a whole: it is good as it is.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
