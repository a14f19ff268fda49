//! What is to be done about the Secret next. Pure: the clock comes from outside.

use std::time::{Duration, SystemTime};

use super::state::{Asked, Flaw, Life, State};

/// A CA is used when the webhook's configuration has named it for so long: every API server has
/// seen it by then.
pub(super) const GRACE: Duration = Duration::from_secs(60);

/// A CA is forgotten when nobody has served what it signed for so long: replicas load a new
/// certificate within seconds, and connections hold on to an old one.
pub(super) const OVERLAP: Duration = Duration::from_secs(3600);

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing before then, unless something changes.
    Wait(SystemTime),
    /// A CA and a certificate of the server, at once: what is there serves nobody.
    Both,
    /// A CA that signs next, trusted beside the others.
    Ca(Why),
    /// A certificate of the server, by the CA that signs.
    Leaf(Why),
    /// CAs that nobody needs any more leave the bundle.
    Forget,
}

/// Why something is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Two thirds of its life are over.
    Age,
    /// It has expired.
    Expired,
    /// Somebody asked for it.
    Asked,
    /// The key of the CA is not there, or the CA will not live long enough.
    Signer,
    /// Its CA is trusted by now.
    Trusted,
    /// The Service has another name.
    Names,
}

impl Why {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Age => "two thirds of its life are over",
            Self::Expired => "the old one has expired",
            Self::Asked => "the annotation proxyunwrap.dev/rotate asks for it",
            Self::Signer => "the CA of the old one can sign no more",
            Self::Trusted => "the new CA is trusted by now",
            Self::Names => "the old one is made out to other names",
        }
    }
}

/// What is next. `trusted` is the time since when the webhook's configuration names the bundle as
/// it is.
pub(super) fn plan(
    state: &Result<State, Flaw>,
    trusted: Option<SystemTime>,
    now: SystemTime,
) -> Action {
    let Ok(state) = state else {
        return Action::Both;
    };
    let usable = state.signer.filter(|index| now < state.bundle[*index].to);
    let Some(signer) = usable else {
        // Nobody can sign: what is served goes on until a new CA is trusted.
        return match now < state.leaf.to {
            true => Action::Ca(Why::Signer),
            false => Action::Both,
        };
    };
    if now >= state.leaf.to {
        return Action::Leaf(Why::Expired);
    }
    if !state.named {
        return Action::Leaf(Why::Names);
    }
    match signer == state.issuer {
        true => settled(state, state.bundle[signer], now),
        false => changing(state, trusted, now),
    }
}

/// The CA that signs has signed what is served.
fn settled(state: &State, authority: Life, now: SystemTime) -> Action {
    if state.asked == Some(Asked::Ca) {
        return Action::Ca(Why::Asked);
    }
    if now >= due(authority) {
        return Action::Ca(Why::Age);
    }
    if state.asked == Some(Asked::Leaf) {
        return Action::Leaf(Why::Asked);
    }
    if now >= due(state.leaf) {
        return Action::Leaf(Why::Age);
    }
    let next = due(authority).min(due(state.leaf));
    if state.bundle.len() == 1 {
        return Action::Wait(next);
    }
    let forget = state.leaf.from + OVERLAP;
    match now >= forget {
        true => Action::Forget,
        false => Action::Wait(next.min(forget)),
    }
}

/// A new CA is in the bundle, and the old one's certificate is served still.
fn changing(state: &State, trusted: Option<SystemTime>, now: SystemTime) -> Action {
    match trusted.map(|since| since + GRACE) {
        Some(known) if known <= now => Action::Leaf(Why::Trusted),
        Some(known) => Action::Wait(known.min(state.leaf.to)),
        None => Action::Wait(state.leaf.to),
    }
}

/// When two thirds of a life are over.
fn due(life: Life) -> SystemTime {
    let length = life.to.duration_since(life.from).unwrap_or_default();
    life.from + length * 2 / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn day(days: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * (10_000 + days)
    }

    /// A CA of 300 days and a leaf of 30, both of day 0.
    fn fresh() -> State {
        let life = |days| Life {
            from: day(0),
            to: day(days),
        };
        State {
            leaf: life(30),
            named: true,
            issuer: 0,
            signer: Some(0),
            bundle: vec![life(300)],
            asked: None,
        }
    }

    /// A new CA of day 200 is first in the bundle; the leaf of day 190 is still the old one's.
    fn changing() -> State {
        let old = Life {
            from: day(0),
            to: day(300),
        };
        let new = Life {
            from: day(200),
            to: day(500),
        };
        State {
            leaf: Life {
                from: day(190),
                to: day(220),
            },
            issuer: 1,
            bundle: vec![new, old],
            ..fresh()
        }
    }

    fn next(state: State, now: SystemTime) -> Action {
        plan(&Ok(state), None, now)
    }

    #[test]
    fn a_secret_that_serves_nobody_is_made_anew_at_once() {
        for flaw in [Flaw::Empty, Flaw::Foreign] {
            assert_eq!(plan(&Err(flaw), None, day(0)), Action::Both);
        }
    }

    #[test]
    fn a_fresh_one_waits_for_two_thirds_of_the_leafs_life() {
        assert_eq!(next(fresh(), day(1)), Action::Wait(day(20)));
        assert_eq!(next(fresh(), day(20)), Action::Leaf(Why::Age));
    }

    #[test]
    fn a_ca_is_made_anew_after_two_thirds_of_its_life_and_comes_before_the_leaf() {
        let mut state = fresh();
        state.leaf = Life {
            from: day(180),
            to: day(210),
        };
        assert_eq!(next(state.clone(), day(199)), Action::Wait(day(200)));
        assert_eq!(next(state, day(200)), Action::Ca(Why::Age));
    }

    #[test]
    fn a_new_ca_signs_only_when_it_was_trusted_for_a_while() {
        let now = day(200);
        let at = |trusted| plan(&Ok(changing()), trusted, now);
        assert_eq!(at(None), Action::Wait(day(220)));
        assert_eq!(at(Some(now)), Action::Wait(now + GRACE));
        assert_eq!(at(Some(now - GRACE)), Action::Leaf(Why::Trusted));
    }

    #[test]
    fn no_second_ca_is_made_while_one_waits_to_be_trusted() {
        let mut state = changing();
        state.asked = Some(Asked::Ca);
        assert_eq!(next(state, day(201)), Action::Wait(day(220)));
    }

    #[test]
    fn an_expired_leaf_is_replaced_whether_its_ca_is_trusted_or_not() {
        assert_eq!(next(changing(), day(220)), Action::Leaf(Why::Expired));
        assert_eq!(next(fresh(), day(30)), Action::Leaf(Why::Expired));
    }

    #[test]
    fn an_old_ca_is_forgotten_an_hour_after_its_last_leaf() {
        let mut state = changing();
        state.issuer = 0;
        state.leaf = Life {
            from: day(201),
            to: day(231),
        };
        assert_eq!(
            next(state.clone(), day(201)),
            Action::Wait(day(201) + OVERLAP)
        );
        assert_eq!(next(state, day(201) + OVERLAP), Action::Forget);
    }

    #[test]
    fn without_a_key_to_sign_with_a_new_ca_comes_while_the_leaf_still_serves() {
        let mut state = fresh();
        state.signer = None;
        assert_eq!(next(state.clone(), day(1)), Action::Ca(Why::Signer));
        assert_eq!(next(state, day(30)), Action::Both);
        assert_eq!(next(fresh(), day(300)), Action::Both);
    }

    #[test]
    fn who_asks_gets_a_leaf_or_a_ca_and_a_service_of_another_name_a_leaf() {
        let asking = |asked| State {
            asked: Some(asked),
            ..fresh()
        };
        assert_eq!(next(asking(Asked::Leaf), day(1)), Action::Leaf(Why::Asked));
        assert_eq!(next(asking(Asked::Ca), day(1)), Action::Ca(Why::Asked));
        let renamed = State {
            named: false,
            ..fresh()
        };
        assert_eq!(next(renamed, day(1)), Action::Leaf(Why::Names));
    }

    /// Follows the plan for three years, a step a minute where something happens.
    #[test]
    fn over_years_something_valid_and_trusted_is_always_served() {
        let mut state = fresh();
        let mut now = day(0);
        let mut trusted = Some(now);
        let (mut leaves, mut authorities) = (0, 0);
        while now < day(1100) {
            assert!(now < state.leaf.to, "the leaf serves");
            assert!(now < state.bundle[state.issuer].to, "its CA is valid");
            assert!(
                state.leaf.to <= state.bundle[state.issuer].to,
                "the CA outlives the leaf"
            );
            match plan(&Ok(state.clone()), trusted, now) {
                Action::Wait(until) => {
                    assert!(until > now, "time passes");
                    now = until;
                }
                Action::Ca(_) => {
                    authorities += 1;
                    state.bundle.insert(
                        0,
                        Life {
                            from: now,
                            to: now + DAY * 300,
                        },
                    );
                    state.issuer += 1;
                    trusted = Some(now + Duration::from_secs(2));
                }
                Action::Leaf(_) => {
                    leaves += 1;
                    state.leaf = Life {
                        from: now,
                        to: now + DAY * 30,
                    };
                    state.issuer = 0;
                }
                Action::Forget => state.bundle.truncate(1),
                Action::Both => panic!("nothing broke"),
            }
        }
        assert_eq!((leaves, authorities), (54, 5));
    }
}
