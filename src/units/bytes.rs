//! Bytes, elements, and how memory is shown.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use serde::{Deserialize, Serialize};

use super::DType;
use super::rates::to_f64;

/// A count of tensor elements. Built from a shape, turned into [`Bytes`] only by naming a
/// [`DType`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Elements(pub u64);

impl Elements {
    /// Returns the number of elements of a tensor of that shape: the product of its dimensions, at
    /// most `u64::MAX`.
    ///
    /// ```
    /// # use headroom::units::{DType, Elements};
    /// let [seq_length, micro_batch_size, hidden_size] = [4096, 1, 4096];
    /// let hidden = Elements::of([seq_length, micro_batch_size, hidden_size]);
    /// assert_eq!(hidden.stored_as(DType::Bf16).0, 2 * 4096 * 4096);
    /// ```
    pub fn of<const N: usize>(shape: [u64; N]) -> Self {
        Self(shape.into_iter().fold(1, u64::saturating_mul))
    }

    /// Returns the bytes of that many elements in the given format: `⌈elements · bits / 8⌉`,
    /// without scales of a quantised format.
    pub fn stored_as(self, dtype: DType) -> Bytes {
        let bits = u128::from(self.0) * u128::from(dtype.bits());
        Bytes(u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX))
    }
}

/// An exact amount of memory in bytes. `u64::MAX` means "at least 16 EiB".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No memory.
    pub const ZERO: Self = Self(0);
    /// One decimal gigabyte, 10⁹ bytes.
    pub const GB: u64 = 1_000_000_000;
    /// One binary gigabyte, 2³⁰ bytes.
    pub const GIB: u64 = 1 << 30;

    /// Returns the bytes of the most loaded rank when the amount is split over `ranks`: `⌈bytes /
    /// ranks⌉`; no ranks count as one.
    #[must_use]
    pub fn per_rank(self, ranks: u64) -> Self {
        Self(self.0.div_ceil(ranks.max(1)))
    }

    /// Returns the amount less `other`, bytes, or zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns that many per cent of this amount, bytes, rounded up; zero for a percentage that is
    /// not positive and finite.
    #[must_use]
    pub fn percent(self, percent: f64) -> Self {
        if !percent.is_finite() || percent <= 0.0 {
            return Self::ZERO;
        }
        Self(super::rates::ceil_u64(self.as_f64() * percent / 100.0))
    }

    /// Returns the amount in bytes as a float, for charts and ratios only: above 2⁵³ it is rounded.
    pub fn as_f64(self) -> f64 {
        to_f64(self.0)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

/// How memory is written on the page: one choice for everything shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemoryUnit {
    /// Decimal gigabytes, 10⁹ bytes.
    Gb,
    /// Binary gigabytes, 2³⁰ bytes.
    #[default]
    Gib,
}

impl MemoryUnit {
    /// Returns the unit's written name: `GB` or `GiB`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gb => "GB",
            Self::Gib => "GiB",
        }
    }

    /// Returns how many bytes one unit holds: 10⁹ or 2³⁰.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Gb => Bytes::GB,
            Self::Gib => Bytes::GIB,
        }
    }

    /// Returns the amount in this unit as a number alone, with the given count of decimals.
    ///
    /// ```
    /// # use headroom::units::{Bytes, MemoryUnit};
    /// assert_eq!(MemoryUnit::Gib.number(Bytes(3 << 29), 1), "1.5");
    /// ```
    pub fn number(self, bytes: Bytes, decimals: usize) -> String {
        super::rates::grouped(bytes.as_f64() / to_f64(self.bytes()), decimals)
    }

    /// Returns the amount with its unit; small amounts in MB/MiB, kB/KiB or bytes so that nothing
    /// reads as zero, large ones in TB/TiB or PB/PiB.
    ///
    /// ```
    /// # use headroom::units::{Bytes, MemoryUnit};
    /// assert_eq!(MemoryUnit::Gb.show(Bytes(14_000_000_000)), "14.0 GB");
    /// assert_eq!(MemoryUnit::Gib.show(Bytes(512)), "512 B");
    /// ```
    pub fn show(self, bytes: Bytes) -> String {
        if bytes.0 == u64::MAX {
            return "at least 16 EiB".to_owned();
        }
        let (step, names) = match self {
            Self::Gb => (1000_u64, ["kB", "MB", "GB", "TB", "PB"]),
            Self::Gib => (1024, ["KiB", "MiB", "GiB", "TiB", "PiB"]),
        };
        let gigabytes = bytes.as_f64() / to_f64(self.bytes());
        let (divisor, name) = if bytes.0 < step {
            return format!("{} B", bytes.0);
        } else if bytes.0 < step * step {
            (step, names[0])
        } else if gigabytes < 0.1 {
            (step * step, names[1])
        } else if gigabytes < 10_000.0 {
            (self.bytes(), names[2])
        } else if gigabytes < 10_000_000.0 {
            (self.bytes() * step, names[3])
        } else {
            (self.bytes() * step * step, names[4])
        };
        let value = bytes.as_f64() / to_f64(divisor);
        let decimals = if value < 9.995 { 2 } else { 1 };
        format!("{} {name}", super::rates::grouped(value, decimals))
    }
}

impl fmt::Display for MemoryUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the parts rounded to `decimals`, and their rounded total, both in units of 10^-decimals
/// of `unit`; the parts add up to the total (largest remainder).
///
/// ```
/// # use headroom::units::{Bytes, MemoryUnit, rounded_parts};
/// let third = Bytes(333_400_000);
/// let (parts, total) = rounded_parts(&[third, third, third], MemoryUnit::Gb, 1);
/// assert_eq!(parts.iter().sum::<u64>(), total);
/// assert_eq!(total, 10);
/// ```
pub fn rounded_parts(parts: &[Bytes], unit: MemoryUnit, decimals: u32) -> (Vec<u64>, u64) {
    let scale = u128::from(10_u64.pow(decimals.min(9)));
    let parts: Vec<u128> = parts.iter().map(|part| u128::from(part.0) * scale).collect();
    shared_out(&parts, u128::from(unit.bytes()))
}

/// Groups of parts, rounded as in [`rounded_parts`]: the groups add up to the total, and the parts
/// of each add up to their rounded group.
pub(super) fn rounded_groups<G: AsRef<[Bytes]>>(
    groups: &[G],
    unit: MemoryUnit,
    decimals: u32,
) -> (Vec<(u64, Vec<u64>)>, u64) {
    let (scale, unit) = (u128::from(10_u64.pow(decimals.min(9))), u128::from(unit.bytes()));
    let exact = |group: &G| {
        group.as_ref().iter().map(|part| u128::from(part.0) * scale).collect::<Vec<u128>>()
    };
    let groups: Vec<Vec<u128>> = groups.iter().map(exact).collect();
    let sums: Vec<u128> = groups.iter().map(|group| group.iter().sum()).collect();
    let (rounded, total) = shared_out(&sums, unit);
    let within =
        |(group, sum): (&Vec<u128>, u64)| (sum, shared_out_to(group, unit, u128::from(sum)));
    (groups.iter().zip(rounded).map(within).collect(), total)
}

/// The parts in whole units so that they add up to the rounded total: those with the largest
/// remainders are rounded up.
pub(super) fn shared_out(parts: &[u128], unit: u128) -> (Vec<u64>, u64) {
    let total = (parts.iter().sum::<u128>() + unit / 2) / unit;
    (shared_out_to(parts, unit, total), narrow(total))
}

/// The parts in whole units so that they add up to `total`, which is their sum rounded up or down.
fn shared_out_to(parts: &[u128], unit: u128, total: u128) -> Vec<u64> {
    let mut rounded: Vec<u128> = parts.iter().map(|part| part / unit).collect();
    let mut missing = total.saturating_sub(rounded.iter().sum());
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let remainder = |index: usize| parts.get(index).map_or(0, |part| part % unit);
    super::sort_short(&mut order, |a, b| remainder(*a) > remainder(*b));
    for index in order {
        if missing == 0 {
            break;
        }
        if let Some(part) = rounded.get_mut(index) {
            *part += 1;
            missing -= 1;
        }
    }
    rounded.into_iter().map(narrow).collect()
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bit_weights_take_half_a_byte() {
        assert_eq!(Elements(3).stored_as(DType::Int4), Bytes(2));
        assert_eq!(Elements(70_000_000_000).stored_as(DType::Int4), Bytes(35_000_000_000));
    }

    #[test]
    fn absurd_sizes_saturate() {
        assert_eq!(Elements::of([u64::MAX, 2]).stored_as(DType::Fp32), Bytes(u64::MAX));
        assert_eq!(MemoryUnit::Gib.show(Bytes(u64::MAX)), "at least 16 EiB");
    }

    #[test]
    fn rounded_parts_add_up() {
        let parts = [Bytes(1), Bytes(2_500_000_000), Bytes(2_449_999_999), Bytes(77)];
        for unit in [MemoryUnit::Gb, MemoryUnit::Gib] {
            let (rounded, total) = rounded_parts(&parts, unit, 2);
            assert_eq!(rounded.iter().sum::<u64>(), total);
        }
    }
}
