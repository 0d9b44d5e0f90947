//! Figures of many jobs from a few records.
//!
//! Every size in a record is a product in which the micro-batch stands once and the length of a
//! sequence at most twice (scores are its square), so every sum of sizes is a polynomial of low
//! degree: a [`Law`]. A few records tell it exactly, in whole numbers. The most of several moments
//! bends where one overtakes another, so a law is kept for each moment that is [`Highest`]
//! somewhere. Windows, chunks and uneven shares bend the sizes themselves: laws hold on a [`Grid`]
//! of arguments beyond all bends, and a further record must confirm them. Where it does not, and
//! off the grid, the record itself is asked. What does not follow a law is kept in a [`Memo`] by
//! what it depends on.

mod lengths;
mod memo;
mod requests;

pub use lengths::Lengths;
pub(super) use memo::{Last, Memo};
pub use requests::Requests;

use std::array;
use std::ops::{Add, Mul};

use crate::units::Bytes;

/// Totals beyond this may hold a size that saturated when it was made, which no law knows.
pub(super) const SURELY_EXACT: i128 = 1 << 58;

/// A sum of sizes at equally spaced arguments, a polynomial by its forward differences: `f + k·a +
/// k(k-1)/2·b + …` at `k` steps past the first argument. `N` values tell a polynomial of degree
/// `N - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Law<const N: usize>([i128; N]);

impl<const N: usize> Law<N> {
    /// Nothing at any argument.
    pub const ZERO: Self = Self([0; N]);

    /// The law through the values at the first arguments.
    pub fn through(values: [i128; N]) -> Self {
        let mut differences = values;
        for order in 1..N {
            for at in (order..N).rev() {
                differences[at] -= differences[at - 1];
            }
        }
        Self(differences)
    }

    /// The value at `k` steps past the first argument.
    pub fn at(&self, k: i128) -> i128 {
        let (mut sum, mut ways) = (0, 1);
        for (difference, order) in self.0.iter().zip(0..) {
            sum += ways * difference;
            ways = ways * (k - order) / (order + 1);
        }
        sum
    }

    /// True if it is nowhere below another, and above it everywhere if it is not the `earlier` of
    /// the two. This compares differences one by one: every factor of a difference is at least 0,
    /// and that of the first is 1.
    fn covers(&self, other: &Self, earlier: bool) -> bool {
        self.0.iter().zip(&other.0).all(|(own, others)| own >= others)
            && (earlier || self.0.first() > other.0.first())
    }
}

impl<const N: usize> Add for Law<N> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(array::from_fn(|order| self.0[order] + other.0[order]))
    }
}

impl<const N: usize> Mul<u64> for Law<N> {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self(self.0.map(|difference| difference * i128::from(times)))
    }
}

/// A sum of sizes in bytes, as far as they can be told.
pub(super) fn bytes(sum: i128) -> Bytes {
    Bytes(u64::try_from(sum.max(0)).unwrap_or(u64::MAX))
}

/// Of a record's moments those that are the highest at some argument, each with what it holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Highest<const N: usize, T>(Vec<Top<N, T>>);

/// A moment that is the highest at some argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Top<const N: usize, T> {
    /// How high it is.
    pub height: Law<N>,
    /// How early it comes: of moments as high the first counts.
    pub order: usize,
    /// The bytes that it holds.
    pub holds: T,
}

impl<const N: usize, T> Default for Highest<N, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<const N: usize, T> Highest<N, T> {
    /// Keeps a moment unless another covers it, and no longer those that it covers.
    pub fn keep(&mut self, moment: Top<N, T>) {
        let covers = |one: &Top<N, T>, other: &Top<N, T>| {
            one.height.covers(&other.height, one.order <= other.order)
        };
        if !self.0.iter().any(|known| covers(known, &moment)) {
            self.0.retain(|known| !covers(&moment, known));
            self.0.push(moment);
        }
    }

    /// The moments kept.
    pub fn iter(&self) -> impl Iterator<Item = &Top<N, T>> {
        self.0.iter()
    }

    /// Forgets all moments.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The highest at `k` steps past the first argument, and how high it is.
    pub fn at(&self, k: i128) -> Option<(i128, &Top<N, T>)> {
        let all = self.0.iter().map(|top| (top.height.at(k), top));
        all.reduce(
            |best, other| {
                if (other.0, best.1.order) > (best.0, other.1.order) { other } else { best }
            },
        )
    }
}

/// Equally spaced arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    first: u64,
    step: u64,
}

impl Grid {
    /// Multiples of `step` beyond the last bend.
    fn past(bend: u64, step: u64) -> Self {
        Self { first: bend.saturating_add(1).div_ceil(step).saturating_mul(step), step }
    }

    /// The argument `k` steps past the first.
    const fn argument(self, k: u64) -> u64 {
        self.first.saturating_add(self.step.saturating_mul(k))
    }

    /// How many steps that argument is past the first; `None` where it lies before it or between
    /// two.
    fn steps(self, argument: u64) -> Option<u64> {
        argument
            .checked_sub(self.first)
            .filter(|past| past.is_multiple_of(self.step))
            .map(|past| past / self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::{Grid, Highest, Law, Top};

    #[test]
    fn a_law_tells_the_polynomial_through_its_values() {
        let value = |k: i128| 7 + 5 * k + 3 * k * k;
        let law = Law::through([0, 1, 2].map(value));
        assert!((0..100).all(|k| law.at(k) == value(k)));
        assert!(
            (0..100).all(|k| (law * 3 + Law::through([1, 2, 3])).at(k) == 3 * value(k) + k + 1)
        );
    }

    #[test]
    fn the_highest_is_the_first_of_equal_ones_at_every_argument() {
        let lines: [[i128; 2]; 6] = [[5, 5], [1, 3], [5, 5], [4, 6], [0, 9], [4, 6]];
        let mut highest = Highest::default();
        for (order, line) in lines.into_iter().enumerate() {
            highest.keep(Top { height: Law::through(line), order, holds: line });
        }
        for k in 0..9 {
            let heights = lines.map(|line| Law::through(line).at(k));
            let most = heights.into_iter().max().expect("lines");
            let first = heights.iter().position(|height| *height == most).expect("one of them");
            assert_eq!(
                highest.at(k).map(|(height, top)| (height, top.order)),
                Some((most, first)),
                "{k}"
            );
        }
        assert!(highest.iter().count() < lines.len());
    }

    #[test]
    fn a_grid_begins_beyond_the_bend() {
        let grid = Grid::past(100, 16);
        assert_eq!((grid.argument(0), grid.argument(2)), (112, 144));
        assert_eq!(
            [96, 112, 120, 144].map(|length| grid.steps(length)),
            [None, Some(0), None, Some(2)]
        );
    }
}
