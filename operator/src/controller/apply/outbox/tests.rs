use proxyunwrap_api::ProxyUnwrapStatus;

use super::*;
use crate::controller::plan::{Answer, Label, Push};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn push(pod: &str, config: &str) -> Push {
    Push {
        pod: pod.to_owned(),
        uid: pod.to_owned(),
        config: config.to_owned(),
        urgent: false,
    }
}

fn pushes(pushes: &[Push]) -> Plan {
    Plan {
        pushes: pushes.to_vec(),
        ..Plan::default()
    }
}

fn matched(count: u32) -> Plan {
    let mut status = ProxyUnwrapStatus::default();
    status.pods.matched = count;
    Plan {
        answers: vec![Answer {
            name: "web".to_owned(),
            uid: "web".to_owned(),
            status,
        }],
        ..Plan::default()
    }
}

/// Everything that may go now, as `pod=config`.
fn go(outbox: &mut Outbox, now: Instant) -> Vec<(Key, String)> {
    std::iter::from_fn(|| outbox.next(now))
        .map(|(key, write)| (key, written(&write)))
        .collect()
}

fn written(write: &Write) -> String {
    match write {
        Write::Push(push) => format!("{}={}", push.pod, push.config),
        Write::Answer(answer) => format!("{} matched {}", answer.name, answer.status.pods.matched),
        Write::Label(label) => format!("{label:?}"),
    }
}

#[track_caller]
fn goes(outbox: &mut Outbox, now: Instant, want: &[&str]) -> Vec<Key> {
    let (keys, went): (Vec<_>, Vec<_>) = go(outbox, now).into_iter().unzip();
    assert_eq!(went, want);
    keys
}

#[track_caller]
fn goes_alone(outbox: &mut Outbox, now: Instant, want: &str) -> Key {
    goes(outbox, now, &[want]).remove(0)
}

fn failed() -> Result<Written, String> {
    Err("the API server answered 500: sorry".to_owned())
}

fn outbox() -> (Outbox, Instant) {
    (Outbox::new(1000), Instant::now())
}

#[test]
fn a_new_plan_takes_the_place_of_what_waits_of_the_old_one() {
    let (mut outbox, now) = outbox();
    outbox.replace(
        "shop",
        &mut pushes(&[push("a", "1"), push("b", "1")]),
        now,
        now,
    );
    outbox.replace("bank", &mut pushes(&[push("c", "1")]), now, now);
    outbox.replace("shop", &mut pushes(&[push("a", "2")]), now, now);
    goes(&mut outbox, now, &["c=1", "a=2"]);
}

#[test]
fn pods_that_trust_others_now_go_first_wherever_they_are() {
    let (mut outbox, now) = outbox();
    outbox.replace(
        "shop",
        &mut pushes(&[push("a", "1"), push("b", "1")]),
        now,
        now,
    );
    let urgent = Push {
        urgent: true,
        ..push("c", "1")
    };
    outbox.replace("zoo", &mut pushes(&[urgent]), now + MS, now + MS);
    goes(&mut outbox, now + MS, &["c=1", "a=1", "b=1"]);
}

#[test]
fn pods_are_written_at_their_rate_and_sixteen_at_once() {
    let start = Instant::now();
    let mut outbox = Outbox::new(50);
    let many: Vec<_> = (0..100)
        .map(|pod| push(&format!("{pod:02}"), "1"))
        .collect();
    outbox.replace("shop", &mut pushes(&many), start, start);
    let mut now = start;
    let mut sent = 0;
    while now < start + SECOND {
        for (key, _) in go(&mut outbox, now) {
            sent += 1;
            outbox.finish(&key, Ok(Written::Done), now);
        }
        now = outbox.wake(now).unwrap().max(now + MS);
    }
    assert_eq!(sent, 55);

    let mut hasty = Outbox::new(1_000_000);
    hasty.replace("shop", &mut pushes(&many), start, start);
    assert_eq!(go(&mut hasty, start).len(), 16);
    assert_eq!(hasty.wake(start), None, "only an answer makes room");
}

#[test]
fn a_failure_is_tried_again_later_and_holds_up_no_other_object() {
    let (mut outbox, start) = outbox();
    outbox.replace(
        "shop",
        &mut pushes(&[push("a", "1"), push("b", "1")]),
        start,
        start,
    );
    let keys = goes(&mut outbox, start, &["a=1", "b=1"]);
    outbox.finish(&keys[1], Ok(Written::Done), start);
    let mut now = start;
    for pause in [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
        outbox.finish(&keys[0], failed(), now);
        assert_eq!(outbox.wake(now), Some(now + pause * MS));
        assert_eq!(go(&mut outbox, now + (pause - 1) * MS), []);
        now += pause * MS;
        goes(&mut outbox, now, &["a=1"]);
    }
}

#[test]
fn two_writes_to_one_object_are_never_under_way_together() {
    let (mut outbox, now) = outbox();
    outbox.replace("shop", &mut pushes(&[push("a", "1")]), now, now);
    let key = goes_alone(&mut outbox, now, "a=1");
    outbox.replace("shop", &mut pushes(&[push("a", "1")]), now, now);
    assert_eq!(go(&mut outbox, now), [], "it is the same");
    outbox.replace("shop", &mut pushes(&[push("a", "2")]), now, now);
    assert_eq!((go(&mut outbox, now), outbox.wake(now)), (vec![], None));
    outbox.finish(&key, Ok(Written::Done), now);
    goes(&mut outbox, now, &["a=2"]);
}

#[test]
fn a_write_that_fails_after_it_is_no_longer_wanted_is_forgotten() {
    let (mut outbox, now) = outbox();
    outbox.replace("shop", &mut pushes(&[push("a", "1")]), now, now);
    let key = goes_alone(&mut outbox, now, "a=1");
    outbox.replace("shop", &mut Plan::default(), now, now);
    outbox.finish(&key, failed(), now);
    assert_eq!(outbox.wake(now), None);
}

#[test]
fn a_plan_that_has_not_seen_a_write_does_not_write_again_at_once() {
    let (mut outbox, now) = outbox();
    outbox.replace("shop", &mut pushes(&[push("a", "1")]), now, now);
    let key = goes_alone(&mut outbox, now, "a=1");
    outbox.finish(&key, Ok(Written::Done), now);
    outbox.replace("shop", &mut pushes(&[push("a", "1")]), now, now + 10 * MS);
    assert_eq!(outbox.wake(now), Some(now + SECOND));
    outbox.replace("shop", &mut pushes(&[push("a", "2")]), now, now + 20 * MS);
    goes(&mut outbox, now + 20 * MS, &["a=2"]);
}

#[test]
fn a_status_that_changes_all_the_time_is_written_once_a_second_and_the_last_one_stays() {
    let (mut outbox, start) = outbox();
    let mut seen = Vec::new();
    for step in 0..25 {
        let now = start + step * 100 * MS;
        outbox.replace("shop", &mut matched(step), now, now);
        for (key, write) in go(&mut outbox, now) {
            seen.push(write);
            outbox.finish(&key, Ok(Written::Done), now);
        }
    }
    let end = outbox.wake(start).unwrap();
    seen.extend(go(&mut outbox, end).into_iter().map(|(_, write)| write));
    let want = [0, 10, 20, 24].map(|count| format!("web matched {count}"));
    assert_eq!(seen, want);
}

#[test]
fn statuses_and_labels_do_not_wait_for_a_thousand_pods() {
    let (_, now) = outbox();
    let mut outbox = Outbox::new(1);
    let many: Vec<_> = (0..1000).map(|pod| push(&pod.to_string(), "1")).collect();
    let mut plan = Plan {
        pushes: many,
        label: Some(Label::Set),
        ..matched(1000)
    };
    outbox.replace("shop", &mut plan, now, now);
    let went = go(&mut outbox, now).into_iter().map(|(_, write)| write);
    assert_eq!(went.collect::<Vec<_>>(), ["Set", "0=1", "web matched 1000"]);
}

#[test]
fn the_third_failure_is_trouble_until_it_ends() {
    let (mut outbox, start) = outbox();
    outbox.replace("shop", &mut pushes(&[push("a", "1")]), start, start);
    let mut now = start;
    let mut changed = Vec::new();
    for _ in 0..4 {
        now = outbox.wake(now).unwrap();
        let key = goes_alone(&mut outbox, now, "a=1");
        changed.push(outbox.finish(&key, failed(), now).trouble_changed);
    }
    assert_eq!(changed, [false, false, true, false]);
    let troubles = outbox.troubles("shop");
    assert_eq!(troubles["a"], "the API server answered 500: sorry");
    assert_eq!(outbox.troubles("bank").len(), 0);

    now = outbox.wake(now).unwrap();
    let key = goes_alone(&mut outbox, now, "a=1");
    assert!(outbox.finish(&key, Ok(Written::Done), now).trouble_changed);
    assert_eq!(outbox.troubles("shop").len(), 0);
}

#[test]
fn a_push_takes_from_the_change_to_the_last_pod_of_the_namespace() {
    let (mut outbox, noticed) = outbox();
    let now = noticed + 100 * MS;
    let plan = pushes(&[push("a", "1"), push("b", "1")]);
    assert_eq!(
        outbox
            .replace("shop", &mut plan.clone(), noticed, now)
            .pushed,
        None
    );
    let keys = goes(&mut outbox, now, &["a=1", "b=1"]);
    let first = outbox.finish(&keys[0], Ok(Written::Done), now + 5 * MS);
    assert_eq!(first.pushed, None);
    let last = outbox.finish(&keys[1], Ok(Written::Gone), now + 9 * MS);
    assert_eq!(last.pushed, Some(109 * MS));
    // A plan that has not seen it yet, and the next one, which has: nothing was pushed for them.
    let stale = outbox.replace("shop", &mut plan.clone(), now, now + 10 * MS);
    let settled = outbox.replace("shop", &mut Plan::default(), now, now + 20 * MS);
    assert_eq!((stale.pushed, settled.pushed), (None, None));
}
