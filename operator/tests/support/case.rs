//! A folder of `cases/`: a pod, the objects around it, and what is to become of it.
//!
//! `pod.yaml` is the pod as it comes to the webhook; `settings.yaml` replaces the common settings; each
//! other file is an object of the namespace. `want.yaml` is the whole pod afterwards, or the refusal.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use proxyunwrap_api::peers::{HeaderPolicy, TrustedPeer};
use proxyunwrap_operator::inject;
use proxyunwrap_operator::policy::{Networks, Origin, Policy};
use proxyunwrap_operator::refusal::Refusal;
use proxyunwrap_operator::settings::Settings;
use proxyunwrap_operator::world::World;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Where the pod is made, unless a Namespace says otherwise.
pub const NAMESPACE: &str = "shop";

pub struct Case {
    pub name: String,
    pub folder: PathBuf,
    pub pod: Value,
    pub world: World,
    pub settings: Settings,
}

/// All, by name.
pub fn all() -> &'static [Case] {
    static ALL: LazyLock<Vec<Case>> = LazyLock::new(read_all);
    &ALL
}

/// One.
pub fn named(name: &str) -> &'static Case {
    let mut all = all().iter();
    all.find(|case| case.name == name)
        .unwrap_or_else(|| panic!("no case {name}"))
}

fn read_all() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut folders: Vec<PathBuf> = entries(&folder);
    folders.sort();
    assert!(folders.len() >= 45, "{} lacks its cases", folder.display());
    folders.into_iter().map(Case::read).collect()
}

impl Case {
    fn read(folder: PathBuf) -> Self {
        let text = include_str!("settings.yaml");
        let mut case = Self {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            pod: Value::Null,
            world: World::default(),
            settings: serde_saphyr::from_str(text).unwrap(),
            folder,
        };
        for file in entries(&case.folder) {
            match file.file_name().unwrap().to_str().unwrap() {
                "pod.yaml" => case.pod = yaml(&file),
                "settings.yaml" => case.settings = yaml(&file),
                "want.yaml" => {}
                _ => case.world_has(&file),
            }
        }
        assert!(
            !case.pod.is_null(),
            "{} has no pod.yaml",
            case.folder.display()
        );
        case
    }

    /// Who governs the pod.
    pub fn policy(&self) -> Policy {
        let unwrap = &self.world.unwraps[NAMESPACE][0];
        let peers = |said: &Option<Vec<_>>| said.as_ref().map(|said| networks(said));
        let ports = unwrap.spec.ports.iter().flatten();
        Policy {
            origin: Origin::Resource(unwrap.metadata.name.clone().unwrap()),
            spec: unwrap.spec.clone(),
            peers: peers(&unwrap.spec.trusted_peers).unwrap_or_else(|| Networks {
                require: self
                    .settings
                    .trusted_peers
                    .iter()
                    .map(|one| one.0)
                    .collect(),
                ..Networks::default()
            }),
            port_peers: ports.map(|port| peers(&port.trusted_peers)).collect(),
        }
    }

    /// The pod with its patch.
    pub fn patched(&self, pod: &Value) -> Result<Value, Refusal> {
        let labels = self.world.namespace_labels(NAMESPACE);
        let seen = inject::seen(pod)?;
        inject::namespace_allows(&seen, NAMESPACE, &labels, &self.settings)?;
        let patch = inject::patch(pod, &self.policy(), &self.settings)?;
        let mut patched = pod.clone();
        json_patch::patch(&mut patched, &patch).unwrap();
        Ok(patched)
    }

    fn world_has(&mut self, file: &Path) {
        let kind: Value = yaml(file);
        let here = NAMESPACE.to_owned();
        match kind["kind"].as_str() {
            Some("ProxyUnwrap") => {
                let all = self.world.unwraps.entry(here).or_default();
                all.push(Arc::new(yaml(file)));
            }
            Some("Service") => {
                let all = self.world.services.entry(here).or_default();
                all.push(Arc::new(yaml(file)));
            }
            Some("Namespace") => {
                self.world.namespaces.insert(here, Arc::new(yaml(file)));
            }
            other => panic!("{}: {other:?} is not known here", file.display()),
        }
    }
}

fn networks(said: &[TrustedPeer]) -> Networks {
    let mut all = Networks::default();
    for peer in said {
        let list = match peer.header {
            HeaderPolicy::Require => &mut all.require,
            HeaderPolicy::Optional => &mut all.optional,
            HeaderPolicy::Forbid => &mut all.forbid,
            HeaderPolicy::Pass => &mut all.pass,
        };
        list.extend(peer.cidrs.iter().flatten().map(|network| network.0));
    }
    all
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn yaml<T: DeserializeOwned>(file: &Path) -> T {
    let text = fs::read_to_string(file).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
