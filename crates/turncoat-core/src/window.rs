//! Watermarks: what a replica knows about each slot between a low and a high one.

use std::collections::VecDeque;

use serde::Serialize;

use crate::ids::Slot;

/// One entry for each of the `size` slots above `low`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Window<T> {
    low: Slot,
    entries: VecDeque<T>,
}

impl<T: Default> Window<T> {
    /// A window of `size` slots, from slot 1 on.
    pub fn new(size: u32) -> Self {
        Self { low: Slot(0), entries: std::iter::repeat_with(T::default).take(size as usize).collect() }
    }

    /// The slot below the first one.
    pub const fn low(&self) -> Slot {
        self.low
    }

    /// The last slot.
    pub fn high(&self) -> Slot {
        Slot(self.low.0 + self.entries.len() as u32)
    }

    /// The entry of a slot, if low < slot <= high.
    pub fn get(&mut self, slot: Slot) -> Option<&mut T> {
        let index = slot.0.checked_sub(self.low.0 + 1)?;
        self.entries.get_mut(index as usize)
    }

    /// The entries of all slots above `slot`, in order.
    pub fn above(&self, slot: Slot) -> impl Iterator<Item = &T> {
        self.entries.iter().skip(slot.0.saturating_sub(self.low.0) as usize)
    }

    /// All entries.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }

    /// Forgets everything up to a later slot, which becomes `low`.
    pub fn advance(&mut self, low: Slot) {
        let passed = (low.0.saturating_sub(self.low.0) as usize).min(self.entries.len());
        self.entries.rotate_left(passed);
        let kept = self.entries.len() - passed;
        self.entries.range_mut(kept..).for_each(|entry| *entry = T::default());
        self.low = self.low.max(low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_forgets_what_is_below_it() {
        let mut window = Window::<u32>::new(4);
        for slot in 1..=4 {
            *window.get(Slot(slot)).unwrap() = slot;
        }
        assert!(window.get(Slot(0)).is_none() && window.get(Slot(5)).is_none());
        window.advance(Slot(2));
        assert_eq!((window.low(), window.high()), (Slot(2), Slot(6)));
        assert_eq!(window.above(Slot(0)).copied().collect::<Vec<_>>(), [3, 4, 0, 0]);
        assert_eq!(window.above(Slot(3)).copied().collect::<Vec<_>>(), [4, 0, 0]);
        window.advance(Slot(100));
        assert_eq!(window.above(Slot(0)).copied().collect::<Vec<_>>(), [0; 4]);
        window.advance(Slot(50));
        assert_eq!(window.low(), Slot(100));
    }
}
