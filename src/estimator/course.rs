//! Sizes at many lengths from three: polynomials in whole numbers.
//!
//! Every tensor's size is a polynomial of the length, of degree two at most (scores are its square), while nothing bends it: windows
//! and chunks do at some length, and division among ranks where they do not share a length evenly. Three lengths past the bends, evenly
//! shared, tell the polynomial exactly; so do they for every sum of sizes.

/// A size at all lengths: `f + k·a + k(k-1)/2·b`, that many steps past the first length. No size shrinks with the length.
pub(super) type Course = [i128; 3];

/// Totals beyond this may hold a size that saturated when it was made, which no polynomial knows.
pub(super) const SURELY_EXACT: i128 = 1 << 58;

/// The size `k` steps past the first length.
pub(super) const fn at([f, a, b]: &Course, k: i128) -> i128 {
    *f + k * *a + k * (k - 1) / 2 * *b
}

/// The course through the sizes at three lengths; `None` where one of them may have saturated.
pub(super) fn through(sizes: [u64; 3]) -> Option<Course> {
    let [f, g, h] = sizes.map(i128::from);
    (f < SURELY_EXACT && g < SURELY_EXACT && h < SURELY_EXACT).then_some([f, g - f, h - 2 * g + f])
}

/// Equally spaced lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    first: u64,
    step: u64,
}

impl Grid {
    /// Multiples of `step` beyond the last bend.
    pub fn past(bend: u64, step: u64) -> Self {
        Self { first: bend.saturating_add(1).div_ceil(step).saturating_mul(step), step }
    }

    /// The first three of them.
    pub fn lengths(self) -> [u64; 3] {
        [0, 1, 2].map(|k| self.first.saturating_add(self.step.saturating_mul(k)))
    }

    /// From one to the next.
    pub const fn step(self) -> u64 {
        self.step
    }

    /// How many steps that length is past the first; `None` where it lies before it or between two.
    pub fn steps(self, length: u64) -> Option<u64> {
        length.checked_sub(self.first).filter(|past| past.is_multiple_of(self.step)).map(|past| past / self.step)
    }
}
