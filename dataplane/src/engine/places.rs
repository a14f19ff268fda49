//! Places for what a worker carries, found by a key that outlives its tenant: a kernel may speak of
//! a connection that has gone, and must never be taken to speak of the next one in its place.

/// A place, and which of its tenants is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    index: u32,
    generation: u32,
}

/// Bits of a generation. It comes round after 16 million tenants of one place; what the kernel says
/// is of this turn or the next.
const GENERATION: u32 = 24;

impl Key {
    /// Bits of [`Key::bits`].
    pub(super) const BITS: u32 = u32::BITS + GENERATION;

    /// The key as a number.
    pub(super) fn bits(self) -> u64 {
        u64::from(self.generation) << u32::BITS | u64::from(self.index)
    }

    /// The key of this number; higher bits do not matter.
    pub(super) fn from_bits(bits: u64) -> Self {
        let low = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or_default();
        Self {
            index: low(bits),
            generation: low(bits >> u32::BITS) & (u32::MAX >> (u32::BITS - GENERATION)),
        }
    }
}

/// Tenants in their places.
#[derive(Debug)]
pub(super) struct Places<T> {
    places: Vec<Place<T>>,
    /// Places without a tenant; the last that became free is taken first, while it is in the caches.
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    tenant: Option<T>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Places<T> {
    /// Makes a tenant that knows its key.
    pub(super) fn insert(&mut self, make: impl FnOnce(Key) -> T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                tenant: None,
            });
            u32::try_from(self.places.len() - 1).expect("fewer tenants than descriptors")
        });
        let place = &mut self.places[index as usize];
        let generation = place.generation;
        let key = Key { index, generation };
        place.tenant = Some(make(key));
        key
    }

    /// The tenant, if it is still there.
    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let place = self.places.get(key.index as usize)?;
        place
            .tenant
            .as_ref()
            .filter(|_| place.generation == key.generation)
    }

    /// The tenant, if it is still there.
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index as usize)?;
        let is_there = place.generation == key.generation;
        place.tenant.as_mut().filter(|_| is_there)
    }

    /// Takes the tenant out, if it is still there.
    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let place = &mut self.places[key.index as usize];
        place.generation = Key::from_bits(
            Key {
                generation: place.generation.wrapping_add(1),
                ..key
            }
            .bits(),
        )
        .generation;
        self.free.push(key.index);
        place.tenant.take()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All tenants.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.tenant.as_ref())
    }

    /// All tenants.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places
            .iter_mut()
            .filter_map(|place| place.tenant.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_finds_the_next_tenant() {
        let mut places = Places::default();
        let first = places.insert(|_| 'a');
        assert_eq!(places.remove(first), Some('a'));
        let second = places.insert(|_| 'b');
        assert_eq!(places.get(first), None);
        assert_eq!(places.remove(first), None);
        assert_eq!((places.get(second), places.len()), (Some(&'b'), 1));
    }

    #[test]
    fn a_key_survives_as_a_number() {
        let mut places = Places::default();
        (0..3).for_each(|_| {
            let key = places.insert(|_| ());
            places.remove(key);
        });
        let key = places.insert(|_| ());
        assert_eq!(Key::from_bits(key.bits()), key);
        assert_eq!(Key::from_bits(key.bits() | 1 << Key::BITS), key);
    }
}
