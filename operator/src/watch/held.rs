//! What is held: the world, and what could not be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;

use super::Unreadable;
use crate::world::World;

/// Everything that the watches have told.
#[derive(Default)]
pub(super) struct Held {
    pub(super) world: Arc<World>,
    /// By namespace and name.
    pub(super) unreadable: BTreeMap<(String, String), Unreadable>,
}

impl Held {
    /// The world, to change it: copied first if somebody holds a snapshot.
    pub(super) fn world(&mut self) -> &mut World {
        Arc::make_mut(&mut self.world)
    }
}

/// Objects by namespace, in the order of their names.
pub(super) type Shelves<K> = BTreeMap<String, Vec<Arc<K>>>;

pub(super) fn find<'a, K: ResourceExt>(
    shelves: &'a Shelves<K>,
    namespace: &str,
    name: &str,
) -> Option<&'a Arc<K>> {
    let shelf = shelves.get(namespace)?;
    let index = position(shelf, name).ok()?;
    shelf.get(index)
}

pub(super) fn put<K: ResourceExt>(shelves: &mut Shelves<K>, namespace: &str, object: K) {
    let shelf = shelves.entry(namespace.to_owned()).or_default();
    match position(shelf, &object.name_any()) {
        Ok(index) => shelf[index] = Arc::new(object),
        Err(index) => shelf.insert(index, Arc::new(object)),
    }
}

pub(super) fn remove<K: ResourceExt>(shelves: &mut Shelves<K>, namespace: &str, name: &str) {
    let Some(shelf) = shelves.get_mut(namespace) else {
        return;
    };
    if let Ok(index) = position(shelf, name) {
        shelf.remove(index);
    }
    if shelf.is_empty() {
        shelves.remove(namespace);
    }
}

pub(super) fn names<K: ResourceExt>(shelves: &Shelves<K>) -> Vec<(String, String)> {
    let pair = |object: &Arc<K>| (object.namespace().unwrap_or_default(), object.name_any());
    shelves.values().flatten().map(pair).collect()
}

fn position<K: ResourceExt>(shelf: &[Arc<K>], name: &str) -> Result<usize, usize> {
    let own = |object: &Arc<K>| object.meta().name.as_deref().unwrap_or_default().cmp(name);
    shelf.binary_search_by(own)
}
