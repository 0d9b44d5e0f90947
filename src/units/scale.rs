//! One rounding rule for all figures of an answer: memory, and the time of a step.

use super::bytes::{rounded_groups, shared_out};
use super::{Bytes, MemoryUnit, Seconds, ceil_u64, grouped, rounded_parts, to_f64};

/// The unit and the number of decimals that all figures of one answer share, so that parts add up
/// to totals as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// GB or GiB.
    pub unit: MemoryUnit,
    /// Digits after the point.
    pub decimals: u32,
}

impl Scale {
    /// Returns the scale for an answer: one decimal, up to three where the amounts or the margin
    /// would read as zero.
    pub fn of(unit: MemoryUnit, total: Bytes, capacity: Bytes) -> Self {
        let gap = Bytes(total.0.abs_diff(capacity.0));
        let finest = if gap.0 == 0 { total } else { gap.min(total) };
        let decimals =
            (1..=3).find(|decimals| finest.0 >= unit.bytes() / 10_u64.pow(*decimals)).unwrap_or(3);
        Self { unit, decimals }
    }

    /// Returns the rounded parts and their total in units of the last decimal; the parts add up to
    /// the total.
    pub fn parts(self, parts: &[Bytes]) -> (Vec<u64>, u64) {
        rounded_parts(parts, self.unit, self.decimals)
    }

    /// Returns groups with their parts, and the total, in units of the last decimal: groups add up
    /// to the total, parts to their group.
    pub fn groups<G: AsRef<[Bytes]>>(self, groups: &[G]) -> (Vec<(u64, Vec<u64>)>, u64) {
        rounded_groups(groups, self.unit, self.decimals)
    }

    /// Returns one amount, rounded, in units of the last decimal.
    pub fn round(self, bytes: Bytes) -> u64 {
        self.parts(&[bytes]).1
    }

    /// Returns a rounded amount, given in units of the last decimal, as a number without unit.
    pub fn number(self, rounded: u64) -> String {
        let digits = usize::try_from(self.decimals).unwrap_or(1);
        grouped(to_f64(rounded) / to_f64(10_u64.pow(self.decimals)), digits)
    }

    /// Returns an amount as a number without unit.
    pub fn show(self, bytes: Bytes) -> String {
        self.number(self.round(bytes))
    }

    /// Returns the gap between two amounts as printed: the difference of the rounded ones, without
    /// unit.
    ///
    /// ```
    /// # use headroom::units::{Bytes, MemoryUnit, Scale};
    /// let scale = Scale::of(MemoryUnit::Gib, Bytes(70 << 30), Bytes(80 << 30));
    /// assert_eq!(scale.gap(Bytes(80 << 30), Bytes(70 << 30)), "10.0");
    /// ```
    pub fn gap(self, one: Bytes, other: Bytes) -> String {
        self.number(self.round(one).abs_diff(self.round(other)))
    }
}

/// The unit and the number of decimals that all terms of one step share, so that they add up to the
/// step as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeScale {
    /// The unit that is written behind a number.
    pub unit: &'static str,
    /// One unit of the last decimal.
    last: f64,
    decimals: u32,
}

impl TimeScale {
    /// Returns the scale for a step of that length: its first four digits, in s, ms or µs.
    ///
    /// ```
    /// # use headroom::units::{Seconds, TimeScale};
    /// let scale = TimeScale::of(Seconds(12.3456));
    /// let (parts, total) = scale.parts(&[Seconds(12.0), Seconds(0.3432), Seconds(0.0024)]);
    /// assert_eq!((scale.show(total), parts.iter().sum::<u64>()), ("12.35 s".to_owned(), total));
    /// assert_eq!(scale.show(parts[2]), "< 0.01 s");
    /// ```
    pub fn of(total: Seconds) -> Self {
        const UNITS: [(f64, &str); 3] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
        let (each, unit) =
            UNITS.into_iter().find(|(each, _)| total.0 >= *each).unwrap_or((1e-6, "µs"));
        let decimals = [1000.0, 100.0, 10.0].iter().filter(|step| total.0 / each < **step).count();
        let decimals = u32::try_from(decimals).unwrap_or(0);
        Self { unit, last: each / to_f64(10_u64.pow(decimals)), decimals }
    }

    /// Returns the rounded parts and their total in units of the last decimal; the parts add up to
    /// the total.
    pub fn parts(self, parts: &[Seconds]) -> (Vec<u64>, u64) {
        const FINER: f64 = 1e6;
        let parts: Vec<u128> =
            parts.iter().map(|part| u128::from(ceil_u64(part.0 / self.last * FINER))).collect();
        shared_out(&parts, u128::from(ceil_u64(FINER)))
    }

    /// Returns a rounded amount, given in units of the last decimal, with its unit; a rounded 0
    /// reads as less than the last decimal.
    pub fn show(self, rounded: u64) -> String {
        let digits = usize::try_from(self.decimals).unwrap_or(0);
        let sign = if rounded == 0 { "< " } else { "" };
        format!(
            "{sign}{} {}",
            grouped(to_f64(rounded.max(1)) / to_f64(10_u64.pow(self.decimals)), digits),
            self.unit
        )
    }
}
