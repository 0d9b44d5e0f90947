//! One rounding rule for all figures of an answer.

use super::{Bytes, MemoryUnit, grouped, rounded_parts, to_f64};

/// The unit and the number of decimals that all figures of one answer share, so that parts add up to totals as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// GB or GiB.
    pub unit: MemoryUnit,
    /// Digits after the point.
    pub decimals: u32,
}

impl Scale {
    /// The scale for an answer: one decimal, more where the amounts or the margin would read as zero.
    pub fn of(unit: MemoryUnit, total: Bytes, capacity: Bytes) -> Self {
        let gap = Bytes(total.0.abs_diff(capacity.0));
        let finest = if gap.0 == 0 { total } else { gap.min(total) };
        let decimals = (1..=3).find(|decimals| finest.0 >= unit.bytes() / 10_u64.pow(*decimals)).unwrap_or(3);
        Self { unit, decimals }
    }

    /// Parts and total in units of the last decimal.
    pub fn parts(self, parts: &[Bytes]) -> (Vec<u64>, u64) {
        rounded_parts(parts, self.unit, self.decimals)
    }

    /// One amount in units of the last decimal.
    pub fn round(self, bytes: Bytes) -> u64 {
        self.parts(&[bytes]).1
    }

    /// A rounded amount as a number without unit.
    pub fn number(self, rounded: u64) -> String {
        let digits = usize::try_from(self.decimals).unwrap_or(1);
        grouped(to_f64(rounded) / to_f64(10_u64.pow(self.decimals)), digits)
    }

    /// An amount as a number without unit.
    pub fn show(self, bytes: Bytes) -> String {
        self.number(self.round(bytes))
    }

    /// What lies between two amounts as printed: the difference of the rounded ones, without unit.
    pub fn gap(self, one: Bytes, other: Bytes) -> String {
        self.number(self.round(one).abs_diff(self.round(other)))
    }
}
