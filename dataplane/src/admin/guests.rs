//! Who is connected to the admin port, and who leaves when it is full.
//!
//! kubelet's probes come through this port and anybody may connect to it. So a newcomer is never kept
//! waiting: the oldest connection leaves of the address that has most. To keep kubelet out, one would
//! need as many addresses as there are places.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// Connections at once.
pub(super) const PLACES: usize = 64;

/// Those who are here, by number in the order of their coming.
#[derive(Debug, Default)]
pub(super) struct Guests(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    next: u64,
    here: BTreeMap<u64, (IpAddr, AbortHandle)>,
}

impl Guests {
    /// Runs `visit` for a newcomer from this address.
    pub(super) fn receive(
        self: &Arc<Self>,
        from: IpAddr,
        visit: impl Future<Output = ()> + Send + 'static,
    ) {
        // Held until the newcomer stands in the list: a visit may be over at once.
        let mut list = self.lock();
        let number = list.next;
        list.next += 1;
        let guests = Arc::clone(self);
        let visit = tokio::spawn(async move {
            visit.await;
            guests.lock().here.remove(&number);
        });
        list.here
            .insert(number, (house(from), visit.abort_handle()));
        if list.here.len() > PLACES
            && let Some(number) = leaver(&list.here)
            && let Some((_, visit)) = list.here.remove(&number)
        {
            visit.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The oldest guest of the house that has most guests here; of houses that have as many, the one whose
/// guest is oldest.
fn leaver<T>(here: &BTreeMap<u64, (IpAddr, T)>) -> Option<u64> {
    let mut houses: BTreeMap<IpAddr, (usize, u64)> = BTreeMap::new();
    for (number, (house, _)) in here {
        houses.entry(*house).or_insert((0, *number)).0 += 1;
    }
    let leaver = houses
        .into_values()
        .max_by_key(|(count, oldest)| (*count, u64::MAX - oldest));
    leaver.map(|(_, oldest)| oldest)
}

/// One machine of IPv6 has a whole /64.
fn house(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => {
            let network = ip.to_bits() >> 64 << 64;
            std::net::Ipv6Addr::from_bits(network).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(guests: &[&str]) -> Option<u64> {
        let guests = guests.iter().map(|ip| (house(ip.parse().unwrap()), ()));
        leaver(&(0..).zip(guests).collect())
    }

    #[test]
    fn the_oldest_of_the_address_with_most_connections_leaves() {
        assert_eq!(leaves(&["10.0.0.1", "10.0.0.9", "10.0.0.9"]), Some(1));
        assert_eq!(
            leaves(&["10.0.0.9", "10.0.0.1", "10.0.0.1", "10.0.0.9"]),
            Some(0)
        );
        assert_eq!(
            leaves(&["10.0.0.1", "2001:db8::1", "2001:db8::2"]),
            Some(1),
            "a /64 is one address"
        );
        assert_eq!(leaves(&[]), None);
    }

    #[tokio::test]
    async fn a_crowd_from_one_address_cannot_keep_another_out() {
        let guests = Arc::new(Guests::default());
        let crowd: IpAddr = "10.0.0.9".parse().unwrap();
        let (done, mut came) = tokio::sync::mpsc::unbounded_channel();
        for number in 0..2 * PLACES {
            guests.receive(crowd, std::future::pending());
            let done = done.clone();
            guests.receive([10, 0, 0, 1].into(), async move {
                let _ = done.send(number);
            });
            assert_eq!(came.recv().await, Some(number));
        }
        assert!(guests.lock().here.len() <= PLACES);
    }
}
