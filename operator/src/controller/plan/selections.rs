//! Who governs which pod, and what it would be given: asked once for all pods of one template.
//!
//! A thousand pods of one Deployment cost one question each to [`policy`] and [`inject`].

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::ResourceExt;
use proxyunwrap_api::ProxyUnwrap;
use proxyunwrap_api::names::answers;

use super::Seen;
use crate::inject::{self, InjectedPort};
use crate::policy::{self, Policy, Resolver, Selection};
use crate::refusal::Refusal;

/// What is said about a pod.
pub(super) struct Chosen {
    /// What is to be done with it.
    pub(super) selection: Selection,
    /// The hash of what a new pod would get, if the pod is governed.
    pub(super) renewed: Result<String, Refusal>,
    /// Whether its namespace would admit that.
    pub(super) admitted: Result<(), Refusal>,
    /// Every resource that means it, by its place in the order of winning.
    pub(super) meant_by: Vec<usize>,
    configurations: RefCell<HashMap<Vec<InjectedPort>, Rc<str>>>,
}

/// Answers, kept for pods that agree in everything that may decide.
pub(super) struct Selections<'a> {
    namespace: &'a str,
    unwraps: &'a [Arc<ProxyUnwrap>],
    namespace_labels: BTreeMap<String, String>,
    seen: Seen<'a>,
    resolver: Resolver<'a>,
    known: HashMap<Template<'a>, Vec<Answer>>,
}

/// What was said about pods of this shape.
type Answer = (Option<PodSpec>, Rc<Chosen>);

/// What decides beside the containers: labels, annotations that others made, and who made the pod.
#[derive(PartialEq, Eq, Hash)]
struct Template<'a> {
    labels: &'a BTreeMap<String, String>,
    annotations: Vec<(&'a str, &'a str)>,
    owners: Vec<(&'a str, &'a str)>,
}

impl<'a> Selections<'a> {
    pub(super) fn new(
        namespace: &'a str,
        unwraps: &'a [Arc<ProxyUnwrap>],
        seen: &Seen<'a>,
    ) -> Self {
        Self {
            namespace,
            unwraps,
            namespace_labels: seen.world.namespace_labels(namespace),
            seen: *seen,
            resolver: Resolver::new(seen.world, seen.settings),
            known: HashMap::new(),
        }
    }

    /// What is said about a pod.
    pub(super) fn of(&mut self, pod: &'a Pod) -> Rc<Chosen> {
        let template = Template::of(pod);
        let shape = shape(pod);
        let mut known = self.known.get(&template).into_iter().flatten();
        if let Some((_, chosen)) = known.find(|(other, _)| *other == shape) {
            return Rc::clone(chosen);
        }
        let chosen = Rc::new(self.choose(pod));
        let known = self.known.entry(template).or_default();
        known.push((shape, Rc::clone(&chosen)));
        chosen
    }

    fn choose(&mut self, pod: &Pod) -> Chosen {
        let world = self.seen.world;
        let unwraps = self.unwraps.iter().enumerate();
        let meant_by = unwraps.filter(|(_, unwrap)| policy::means(unwrap, pod, world));
        let meant_by = meant_by.map(|(place, _)| place).collect();
        let selection = policy::select_with(pod, self.namespace, &mut self.resolver);
        let renewed = match &selection {
            Selection::Governed(policy) => self.renewed(pod, policy),
            Selection::Refused(refusal) => Err(refusal.clone()),
            Selection::NotMeant | Selection::Disabled => Ok(String::new()),
        };
        let (name, labels) = (self.namespace, &self.namespace_labels);
        Chosen {
            admitted: inject::namespace_allows(pod, name, labels, self.seen.settings),
            selection,
            renewed,
            meant_by,
            configurations: RefCell::default(),
        }
    }

    fn renewed(&self, pod: &Pod, policy: &Policy) -> Result<String, Refusal> {
        let injection = inject::plan(pod, policy, self.seen.settings)?;
        Ok(inject::hash(&injection))
    }
}

impl Chosen {
    /// The configuration for the ports that a pod has.
    pub(super) fn configuration(&self, policy: &Policy, ports: &[InjectedPort]) -> Rc<str> {
        let mut known = self.configurations.borrow_mut();
        if let Some(config) = known.get(ports) {
            return Rc::clone(config);
        }
        let config: Rc<str> = inject::config_for(ports, policy).into();
        known.insert(ports.to_vec(), Rc::clone(&config));
        config
    }
}

impl<'a> Template<'a> {
    fn of(pod: &'a Pod) -> Self {
        let annotations = pod.annotations().iter();
        let owners = pod.owner_references().iter();
        Self {
            labels: pod.labels(),
            annotations: annotations
                .filter(|(key, _)| decides(key))
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect(),
            owners: owners
                .map(|owner| (owner.kind.as_str(), owner.name.as_str()))
                .collect(),
        }
    }
}

/// What we answered decides nothing, nor does what networks write on each pod: with that, no two pods
/// would be alike.
fn decides(key: &str) -> bool {
    let answers = [
        answers::STATUS,
        answers::CONFIG,
        answers::REFUSED,
        answers::RESTARTED_AT,
    ];
    let networks = [
        "cni.projectcalico.org/",
        "k8s.v1.cni.cncf.io/",
        "k8s.ovn.org/",
    ];
    !answers.contains(&key) && !networks.iter().any(|prefix| key.starts_with(prefix))
}

/// Everything that is kept of a pod's spec, but its node.
fn shape(pod: &Pod) -> Option<PodSpec> {
    let spec = pod.spec.clone()?;
    Some(PodSpec {
        node_name: None,
        ..spec
    })
}
