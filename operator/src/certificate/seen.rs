//! One object, as a watch shows it.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::{StreamExt, pin_mut};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::metrics::{Metrics, Watched};
use crate::watch::Pace;

/// What is known of an object.
#[derive(Debug)]
pub enum Seen<K> {
    /// Nothing yet.
    Unknown,
    /// It does not exist.
    Absent,
    /// It is like this.
    Present(Arc<K>),
}

impl<K> Clone for Seen<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Absent => Self::Absent,
            Self::Present(object) => Self::Present(Arc::clone(object)),
        }
    }
}

/// Watches an object by its name, for as long as the future is polled. The role needs to list and
/// watch that name only.
pub async fn observe<K>(
    api: Api<K>,
    name: String,
    kind: Watched,
    seen: watch::Sender<Seen<K>>,
    metrics: Arc<Metrics>,
) where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let states = watch_object(api, &name).backoff(Pace::default());
    pin_mut!(states);
    while let Some(state) = states.next().await {
        match state {
            Ok(Some(object)) => {
                seen.send_replace(Seen::Present(Arc::new(object)));
            }
            Ok(None) => {
                seen.send_replace(Seen::Absent);
            }
            Err(error) => {
                metrics.watch_failed(kind);
                tracing::warn!(kind = kind.name(), name, %error, "watch broke, begun anew");
            }
        }
    }
}
