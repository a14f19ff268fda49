//! A pod under the knife: each change is done to a copy and noted as an operation of a JSON patch,
//! so the operations always fit the pod, and what is there already costs none.

use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation};
use serde_json::Value;

use super::seen::invalid;
use crate::refusal::Refusal;

/// A pod and its changes so far.
pub(super) struct Edit {
    pod: Value,
    operations: Vec<PatchOperation>,
}

/// A place in a pod, as in `at(["spec", "volumes"])`.
pub(super) fn at<const LEN: usize>(tokens: [&str; LEN]) -> PointerBuf {
    PointerBuf::from_tokens(tokens)
}

impl Edit {
    /// Nothing is changed yet.
    pub(super) fn new(pod: &Value) -> Self {
        Self {
            pod: pod.clone(),
            operations: Vec::new(),
        }
    }

    /// All changes.
    pub(super) fn finish(self) -> Patch {
        Patch(self.operations)
    }

    /// What is at a place just now; null is nothing, as Kubernetes has it.
    pub(super) fn get(&self, path: &Pointer) -> Option<&Value> {
        self.pod
            .pointer(path.as_str())
            .filter(|value| !value.is_null())
    }

    /// The list at a place; an empty one if there is none.
    pub(super) fn items(&self, path: &Pointer) -> &[Value] {
        self.get(path)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// Where in a list the object of this name is.
    pub(super) fn named(&self, list: &Pointer, name: &str) -> Option<usize> {
        let mut items = self.items(list).iter();
        items.position(|item| item["name"] == name)
    }

    /// Sets a member of an object, or an item that a list has.
    pub(super) fn put(&mut self, path: PointerBuf, value: Value) -> Result<(), Refusal> {
        match self.pod.pointer(path.as_str()) {
            Some(found) if *found == value => Ok(()),
            Some(_) => self.apply(PatchOperation::Replace(ReplaceOperation { path, value })),
            None => self.apply(PatchOperation::Add(AddOperation { path, value })),
        }
    }

    /// Puts an item into a list, which is made if it isn't there.
    pub(super) fn insert(
        &mut self,
        list: &Pointer,
        index: usize,
        value: Value,
    ) -> Result<(), Refusal> {
        match self.get(list) {
            Some(Value::Array(_)) => {}
            Some(_) => return Err(invalid(&format!("{list} is no list"))),
            None => self.put(list.to_buf(), Value::Array(Vec::new()))?,
        }
        let path = list.with_trailing_token(index);
        self.apply(PatchOperation::Add(AddOperation { path, value }))
    }

    /// Sets a member of a map, which is made if it isn't there.
    pub(super) fn put_in(&mut self, map: &Pointer, key: &str, value: Value) -> Result<(), Refusal> {
        match self.get(map) {
            Some(Value::Object(_)) => {}
            Some(_) => return Err(invalid(&format!("{map} is no object"))),
            None => self.put(map.to_buf(), Value::Object(serde_json::Map::new()))?,
        }
        self.put(map.with_trailing_token(key), value)
    }

    /// Takes away what is there.
    pub(super) fn remove(&mut self, path: PointerBuf) -> Result<(), Refusal> {
        match self.pod.pointer(path.as_str()) {
            Some(_) => self.apply(PatchOperation::Remove(RemoveOperation { path })),
            None => Ok(()),
        }
    }

    fn apply(&mut self, operation: PatchOperation) -> Result<(), Refusal> {
        json_patch::patch(&mut self.pod, std::slice::from_ref(&operation))
            .map_err(|error| invalid(&error.to_string()))?;
        self.operations.push(operation);
        Ok(())
    }
}
