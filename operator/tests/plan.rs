//! Every file of `plans/`: what a namespace holds, and what is to be written there.
//!
//! A file has the world when its pods were `admitted` (they get what the webhook gives them), what
//! came `then`, what is `gone` by now, and the plan that is `want`ed, in words. Whatever the case, the
//! plan is carried out and made again: nothing more is to be written then, and times of conditions
//! that hold are kept. `UPDATE=1` rewrites `want`; read the difference.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]

#[path = "support/words.rs"]
mod words;
#[path = "support/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use proxyunwrap_api::names;
use proxyunwrap_operator::controller::plan::{Label, Plan, Seen, plan};
use proxyunwrap_operator::settings::Settings;
use proxyunwrap_operator::watch::Unreadable;
use proxyunwrap_operator::world::World;
use serde::Deserialize;
use serde_json::{Map, Value};

use words::words;
use world::{add, admit, name_of, remove, settings};

const NAMESPACE: &str = "shop";

/// A file of `plans/`, without what is wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    #[serde(default)]
    settings_before: Map<String, Value>,
    #[serde(default)]
    settings: Map<String, Value>,
    #[serde(default)]
    admitted: Vec<Value>,
    #[serde(default)]
    then: Vec<Value>,
    #[serde(default)]
    gone: Vec<String>,
    #[serde(default)]
    troubles: BTreeMap<String, String>,
    #[serde(default)]
    unreadable: Vec<String>,
}

/// The cluster of a case.
struct Cluster {
    world: World,
    settings: Settings,
    troubles: BTreeMap<String, String>,
    unreadable: Vec<Unreadable>,
    answered: BTreeMap<String, proxyunwrap_api::ProxyUnwrapStatus>,
}

#[test]
fn every_plan_is_as_wanted_and_nothing_is_left_to_do_after_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 20, "only {} files", files.len());
    let wrong: Vec<_> = files.iter().filter_map(|file| check(file).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn check(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).unwrap();
    let (given, want) = text.split_once("want: |\n").unwrap_or((&text, ""));
    let case: Case =
        serde_saphyr::from_str(given).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    let mut cluster = Cluster::of(case);
    let first = cluster.plan(at(0));
    let got: String = words(&first, &cluster.world)
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, format!("{given}want: |\n{got}")).unwrap();
    } else if got != want {
        return Err(format!("{}:\n{got}", file.display()));
    }
    cluster
        .settles(first)
        .map_err(|why| format!("{}: {why}", file.display()))
}

/// So many minutes later.
fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + 60 * minute).unwrap()
}

impl Cluster {
    fn of(case: Case) -> Self {
        let mut world = World::default();
        add(
            &mut world,
            serde_json::json!({"kind": "Namespace", "metadata": {"name": NAMESPACE}}),
        );
        for object in &case.admitted {
            add(&mut world, object.clone());
        }
        admit(&mut world, &settings(&case.settings_before));
        for object in case.then {
            add(&mut world, object);
        }
        for gone in &case.gone {
            remove(&mut world, gone);
        }
        let troubles = case.troubles.into_iter();
        let unreadable = case.unreadable.iter().map(|name| Unreadable {
            namespace: NAMESPACE.to_owned(),
            name: name.clone(),
            uid: format!("ProxyUnwrap/{name}"),
            generation: Some(3),
            error: "unknown field `shiny`".to_owned(),
        });
        Self {
            world,
            settings: settings(&case.settings),
            troubles: troubles
                .map(|(pod, error)| (format!("Pod/{pod}"), error))
                .collect(),
            unreadable: unreadable.collect(),
            answered: BTreeMap::new(),
        }
    }

    fn plan(&self, now: Timestamp) -> Plan {
        let seen = Seen {
            world: &self.world,
            unreadable: &self.unreadable,
            settings: &self.settings,
            troubles: &self.troubles,
            answered: &self.answered,
        };
        plan(NAMESPACE, &seen, now)
    }

    /// The plan is carried out; the next one only says so, and the one after it nothing.
    fn settles(&mut self, first: Plan) -> Result<(), String> {
        let before = times(&first);
        self.carry_out(first);
        let second = self.plan(at(1));
        if !second.pushes.is_empty() || second.label.is_some() {
            return Err(format!("the second plan is {second:#?}"));
        }
        for (key, time) in times(&second) {
            let kept = before.get(&key);
            if kept.is_some_and(|kept| *kept != time) {
                return Err(format!("{key} has a new time, and is as it was"));
            }
        }
        self.carry_out(second);
        let third = self.plan(at(2));
        if third.answers.is_empty()
            && third
                .notices
                .iter()
                .all(|told| told.already || is_of_other(told))
        {
            return Ok(());
        }
        Err(format!("the third plan is {third:#?}"))
    }

    fn carry_out(&mut self, plan: Plan) {
        for push in plan.pushes {
            self.troubles.remove(&push.uid);
            let pods = self.world.pods.get_mut(NAMESPACE).unwrap();
            let pod = pods.iter_mut().find(|pod| pod.name_any() == push.pod);
            let annotations = Arc::make_mut(pod.unwrap()).annotations_mut();
            annotations.insert(names::answers::CONFIG.to_owned(), push.config);
        }
        for answer in plan.answers {
            self.answered.insert(answer.uid, answer.status.clone());
            let unwraps = self.world.unwraps.entry(NAMESPACE.to_owned()).or_default();
            let unwrap = unwraps.iter_mut().find(|one| one.name_any() == answer.name);
            if let Some(unwrap) = unwrap {
                Arc::make_mut(unwrap).status = Some(answer.status);
            }
        }
        let namespace = self.world.namespaces.get_mut(NAMESPACE).unwrap();
        let labels = Arc::make_mut(namespace).labels_mut();
        match plan.label {
            Some(Label::Set) => drop(labels.insert(names::MANAGED.to_owned(), "true".to_owned())),
            Some(Label::Remove) => drop(labels.remove(names::MANAGED)),
            None => {}
        }
    }
}

/// What has no status is told as long as it holds; the controller remembers.
fn is_of_other(told: &proxyunwrap_operator::controller::plan::Told) -> bool {
    told.notice.regarding.kind.as_deref() != Some("ProxyUnwrap")
}

/// The time of each condition of each resource, by its truth.
fn times(plan: &Plan) -> BTreeMap<String, Timestamp> {
    let conditions = plan.answers.iter().flat_map(|answer| {
        let conditions = answer.status.conditions.iter();
        conditions.map(|one| {
            let key = format!("{} {} {}", answer.name, one.type_, one.status);
            (key, one.last_transition_time.0)
        })
    });
    conditions.collect()
}

#[test]
fn an_object_of_a_case_is_known_by_kind_and_name() {
    let object = serde_json::json!({"kind": "Pod", "metadata": {"name": "web-1"}});
    assert_eq!(name_of(&object), "Pod/web-1");
}
