//! Every folder of `cases/`: what becomes of a pod, as a whole.
//!
//! `UPDATE=1 cargo test -p proxyunwrap-operator --test inject` rewrites each `want.yaml`; the
//! difference is read in review.

mod support;

use std::{env, fs};

use proxyunwrap_operator::inject;
use serde_json::{Value, json};
use support::case::{self, Case};
use support::future;

/// Runs a check on every case and names all that fail it.
#[track_caller]
fn every_case(check: impl Fn(&Case) -> Result<(), String>) {
    let failed = case::all().iter().filter_map(|case| {
        let why = check(case).err()?;
        Some(format!("{}: {why}", case.name))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The same for those that are injected, with their pod afterwards.
#[track_caller]
fn every_injected(check: impl Fn(&Case, &Value) -> Result<(), String>) {
    every_case(|case| {
        case.patched(&case.pod)
            .map_or(Ok(()), |pod| check(case, &pod))
    });
}

#[test]
fn a_pod_becomes_what_its_folder_says() {
    every_case(|case| {
        let got = match case.patched(&case.pod) {
            Ok(pod) => pod,
            Err(refusal) => json!({ "refused": refusal.to_string() }),
        };
        let file = case.folder.join("want.yaml");
        if env::var_os("UPDATE").is_some() {
            fs::write(&file, serde_saphyr::to_string(&got).unwrap()).unwrap();
            return Ok(());
        }
        let want = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let want: Value = serde_saphyr::from_str(&want).map_err(|error| error.to_string())?;
        same(&want, &got)
    });
}

#[test]
fn patched_twice_is_patched_once() {
    every_injected(|case, pod| {
        let twice = case.patched(pod).map_err(|refusal| refusal.to_string())?;
        same(pod, &twice)
    });
}

#[test]
fn the_controller_finds_no_pod_outdated_that_was_made_just_now() {
    every_injected(|case, pod| {
        let seen = inject::seen(pod).map_err(|refusal| refusal.to_string())?;
        let plan = inject::plan(&seen, &case.policy(), &case.settings);
        let plan = plan.map_err(|refusal| refusal.to_string())?;
        let status = inject::Status::of(&seen).ok_or("it has no status")?;
        match status.hash == inject::hash(&plan) {
            true => Ok(()),
            false => Err("it has another hash".to_owned()),
        }
    });
}

#[test]
fn what_the_api_server_fills_in_between_two_rounds_stays() {
    every_injected(|case, pod| {
        let mut pod = pod.clone();
        fill_in(&mut pod);
        let twice = case.patched(&pod).map_err(|refusal| refusal.to_string())?;
        same(&pod, &twice)
    });
}

#[test]
fn fields_that_nobody_knows_yet_survive_at_every_level() {
    every_injected(|case, pod| {
        let future = future::added(&case.pod);
        let patched = case
            .patched(&future)
            .map_err(|refusal| refusal.to_string())?;
        let (present, kept) = future::removed(&patched);
        same(pod, &present)?;
        // What a rewritten probe or a replaced container of ours was is gone, with all that it had.
        let (_, all) = future::removed(&future);
        let replaced = ["tcpSocket", "grpc", "httpHeaders"];
        let mut gone: Vec<u64> = replaced
            .iter()
            .flat_map(|name| future::within(&future, name))
            .collect();
        gone.extend(future::of_ours(&future));
        let lost: Vec<u64> = all
            .into_iter()
            .filter(|value| !kept.contains(value))
            .collect();
        match lost.iter().all(|value| gone.contains(value)) {
            true => Ok(()),
            false => Err(format!("fields {lost:?} are lost")),
        }
    });
}

/// As the API server does with our containers and our volume.
fn fill_in(pod: &mut Value) {
    let token = json!({
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access-x", "readOnly": true
    });
    for container in pod["spec"]["initContainers"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        container["terminationMessagePath"] = "/dev/termination-log".into();
        if let Some(mounts) = container["volumeMounts"].as_array_mut() {
            mounts.push(token.clone());
        }
        if let Some(probe) = container["readinessProbe"].as_object_mut() {
            probe.insert("timeoutSeconds".to_owned(), json!(1));
            probe.insert("successThreshold".to_owned(), json!(1));
        }
    }
    for volume in pod["spec"]["volumes"].as_array_mut().into_iter().flatten() {
        if let Some(source) = volume.get_mut("downwardAPI") {
            source["defaultMode"] = json!(420);
        }
    }
}

/// Tells two pods apart by the lines of their YAML.
fn same(want: &Value, got: &Value) -> Result<(), String> {
    if want == got {
        return Ok(());
    }
    let [want, got] = [want, got].map(|pod| serde_saphyr::to_string(pod).expect("a pod is YAML"));
    let without = |one: &str, other: &str, sign: char| {
        let other: Vec<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines
            .map(|line| format!("\n  {sign} {line}"))
            .collect::<String>()
    };
    let difference = without(&want, &got, '-') + &without(&got, &want, '+');
    Err(format!(
        "it differs (UPDATE=1 rewrites want.yaml):{difference}"
    ))
}
