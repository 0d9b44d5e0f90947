//! Values that were made before, found again by the inputs they depend on.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Values by key; the key asked for last is found without a look-up, as nested loops ask.
#[derive(Clone, Debug)]
pub struct Memo<K, V> {
    places: HashMap<K, usize, BuildHasherDefault<Quick>>,
    values: Vec<V>,
    last: Option<(K, usize)>,
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self { places: HashMap::default(), values: Vec::new(), last: None }
    }
}

impl<K: Copy + Eq + Hash, V> Memo<K, V> {
    /// The place of the value of a key, which is made if it is not there.
    pub fn place(&mut self, key: K, make: impl FnOnce() -> V) -> usize {
        self.place_among(key, |_| make())
    }

    /// As [`Self::place`], with a look at all values known so far where one is made.
    pub fn place_among(&mut self, key: K, make: impl FnOnce(&[V]) -> V) -> usize {
        if let Some((last, place)) = self.last
            && last == key
        {
            return place;
        }
        let (places, values) = (&mut self.places, &mut self.values);
        let place = *places.entry(key).or_insert_with(|| {
            let value = make(values);
            values.push(value);
            values.len() - 1
        });
        self.last = Some((key, place));
        place
    }

    /// The value at a place.
    pub fn at(&self, place: usize) -> Option<&V> {
        self.values.get(place)
    }

    /// The value at a place, to change it.
    pub fn at_mut(&mut self, place: usize) -> Option<&mut V> {
        self.values.get_mut(place)
    }

    /// The value of a key, which is made if it is not there.
    pub fn value(&mut self, key: K, make: impl FnOnce() -> V) -> V
    where
        V: Copy + Default,
    {
        let place = self.place(key, make);
        self.at(place).copied().unwrap_or_default()
    }

    /// How many values were made.
    pub const fn len(&self) -> usize {
        self.values.len()
    }
}

/// The value made last, kept as long as the inputs it depends on stay equal.
#[derive(Debug)]
pub struct Last<K, V>(Option<(K, V)>);

impl<K, V> Default for Last<K, V> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: PartialEq, V> Last<K, V> {
    /// The value of a key; where it is another's it is made anew, of which the old one's room may
    /// be used.
    pub fn value(&mut self, key: K, make: impl FnOnce(Option<V>) -> V) -> &mut V {
        let known = self.0.take();
        let (key, value) = match known {
            Some((known, value)) if known == key => (known, value),
            known => (key, make(known.map(|(_, value)| value))),
        };
        &mut self.0.insert((key, value)).1
    }

    /// The value as it was made last.
    pub fn last(&self) -> Option<&V> {
        self.0.as_ref().map(|(_, value)| value)
    }
}

/// A hash of whole numbers, one multiplication each: keys come from the program, never from
/// outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quick(u64);

/// An odd number without a pattern: 2⁶⁴ over the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(SPREAD);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(u64::try_from(number).unwrap_or(u64::MAX));
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(u64::from_ne_bytes(i64::try_from(number).unwrap_or(i64::MAX).to_ne_bytes()));
    }

    fn finish(&self) -> u64 {
        // The table takes its place from the lowest bits and a tag from the highest.
        self.0 ^ (self.0 >> 32)
    }
}
