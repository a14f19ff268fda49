use proxyunwrap_api::target::TargetKind;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn workload(name: &str) -> Workload {
    Workload {
        kind: TargetKind::Deployment,
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
    }
}

fn wanted(names: &[&str]) -> Vec<Restart> {
    vec![Restart {
        unwrap: "web".to_owned(),
        namespace: "shop".to_owned(),
        interval: 30 * SECOND,
        workloads: names
            .iter()
            .map(|name| (workload(name), "new".to_owned()))
            .collect(),
    }]
}

/// Restarts of a lead that began a minute ago.
fn restarts(names: &[&str]) -> (Restarts, Instant) {
    let began = Instant::now();
    let now = began + 60 * SECOND;
    let mut restarts = Restarts::new(began);
    restarts.replace("shop", wanted(names), now);
    (restarts, now)
}

#[track_caller]
fn restarts_next(restarts: &mut Restarts, name: &str, now: Instant) -> Job {
    let job = restarts.next(now).unwrap();
    assert_eq!(
        (&*job.workload.name, job.restart_for.is_some()),
        (name, true)
    );
    job
}

#[track_caller]
fn looks_next(restarts: &mut Restarts, name: &str, now: Instant) -> Job {
    let job = restarts.next(now).unwrap();
    assert_eq!((&*job.workload.name, &job.restart_for), (name, &None));
    job
}

#[test]
fn the_next_workload_waits_until_the_last_is_available_and_the_interval_has_passed() {
    let (mut restarts, now) = restarts(&["a", "b"]);
    let job = restarts_next(&mut restarts, "a", now);
    assert_eq!(restarts.next(now), None);
    restarts.finish(&job, Some(Came::Restarted), now);
    assert_eq!(restarts.wake(), Some(now + 5 * SECOND));

    let job = looks_next(&mut restarts, "a", now + 5 * SECOND);
    restarts.finish(
        &job,
        Some(Came::RollingOut { ours: true }),
        now + 5 * SECOND,
    );
    let job = looks_next(&mut restarts, "a", now + 10 * SECOND);
    restarts.finish(&job, Some(Came::Available), now + 10 * SECOND);

    assert_eq!(restarts.next(now + 29 * SECOND), None);
    restarts_next(&mut restarts, "b", now + 30 * SECOND);
}

#[test]
fn a_workload_whose_pods_stay_as_they_are_is_restarted_again_after_growing_pauses() {
    let (mut restarts, start) = restarts(&["a"]);
    let mut now = start;
    for pause in [600, 1200, 2400] {
        let job = restarts_next(&mut restarts, "a", now);
        restarts.finish(&job, Some(Came::Restarted), now);
        let job = looks_next(&mut restarts, "a", now + 5 * SECOND);
        restarts.finish(&job, Some(Came::Available), now + 5 * SECOND);
        restarts.replace("shop", wanted(&["a"]), now + 6 * SECOND);
        now += pause * SECOND;
        assert_eq!(restarts.next(now - SECOND), None);
    }
}

#[test]
fn another_hash_is_another_wish() {
    let (mut restarts, now) = restarts(&["a"]);
    let job = restarts_next(&mut restarts, "a", now);
    restarts.finish(&job, Some(Came::Restarted), now);
    let job = looks_next(&mut restarts, "a", now + 5 * SECOND);
    restarts.finish(&job, Some(Came::Available), now + 5 * SECOND);
    let mut newer = wanted(&["a"]);
    newer[0].workloads[0].1 = "newer".to_owned();
    restarts.replace("shop", newer, now);
    restarts_next(&mut restarts, "a", now + 30 * SECOND);
}

#[test]
fn a_workload_that_a_person_is_rolling_out_is_passed_over_for_the_next() {
    let (mut restarts, now) = restarts(&["a", "b"]);
    let job = restarts_next(&mut restarts, "a", now);
    restarts.finish(&job, Some(Came::RollingOut { ours: false }), now);
    restarts_next(&mut restarts, "b", now);
}

#[test]
fn what_an_earlier_leader_restarted_is_waited_for() {
    let (mut restarts, now) = restarts(&["a", "b"]);
    let job = restarts_next(&mut restarts, "a", now);
    restarts.finish(&job, Some(Came::RollingOut { ours: true }), now);
    looks_next(&mut restarts, "a", now + 5 * SECOND);
}

#[test]
fn a_new_leader_waits_for_one_interval() {
    let began = Instant::now();
    let mut restarts = Restarts::new(began);
    restarts.replace("shop", wanted(&["a"]), began);
    assert_eq!(restarts.wake(), Some(began + 30 * SECOND));
}

#[test]
fn a_workload_that_is_deleted_while_it_is_awaited_holds_up_nobody() {
    let (mut restarts, now) = restarts(&["a", "b"]);
    let job = restarts_next(&mut restarts, "a", now);
    restarts.finish(&job, Some(Came::Restarted), now);
    let job = looks_next(&mut restarts, "a", now + 5 * SECOND);
    restarts.finish(&job, Some(Came::Gone), now + 5 * SECOND);
    restarts_next(&mut restarts, "b", now + 30 * SECOND);
}

#[test]
fn nothing_is_restarted_once_nobody_asks_for_it() {
    let (mut restarts, now) = restarts(&["a"]);
    restarts.replace("shop", Vec::new(), now);
    assert_eq!((restarts.next(now), restarts.wake()), (None, None));
}
