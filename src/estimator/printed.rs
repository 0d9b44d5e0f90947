//! A ledger's figures as they are printed. One function rounds them, so that a figure has one value
//! wherever it stands: in the ledger, on the bar, in its explanation, in a file.

use super::ledger::{Ledger, MemoryKind};
use super::{Estimate, LineItem};
use crate::units::{Bytes, MemoryUnit, Scale};

/// The figures of a ledger in units of their scale's last decimal. Kinds add up to the total and
/// lines to their kind, as printed; none is further from its exact amount than one unit of the last
/// decimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// In which unit and with how many decimals.
    pub scale: Scale,
    /// The total of all kinds.
    pub total: u64,
    /// Every kind, in the order of [`MemoryKind::ALL`].
    pub kinds: [u64; 7],
    /// Every line, in the ledger's order.
    pub lines: Vec<u64>,
}

impl Printed {
    /// Returns the figures of an answer, rounded with the decimals that it is printed with: whole
    /// numbers in units of the last decimal of `unit`.
    ///
    /// Rounded lines add up to their kind and kinds to the total, so that no printed sum is off by
    /// one.
    ///
    /// ```
    /// # use headroom::estimator::{Printed, estimate};
    /// # use headroom::scenario::Scenario;
    /// # use headroom::units::MemoryUnit;
    /// let estimate = estimate(&Scenario::default().resolve().expect("a job"));
    /// let printed = Printed::of(&estimate, MemoryUnit::Gib);
    /// assert_eq!(printed.kinds.iter().sum::<u64>(), printed.total);
    /// assert_eq!(printed.lines.iter().sum::<u64>(), printed.total);
    /// ```
    pub fn of(estimate: &Estimate, unit: MemoryUnit) -> Self {
        Self::in_scale(&estimate.ledger, Scale::of(unit, estimate.total(), estimate.capacity))
    }

    /// Returns the figures of a ledger in a given scale, in units of its last decimal: kinds are
    /// rounded first (largest remainder), then the lines of each.
    pub fn in_scale(ledger: &Ledger, scale: Scale) -> Self {
        let of = |kind| ledger.lines.iter().filter(move |line| line.kind == kind);
        let groups =
            MemoryKind::ALL.map(|kind| of(kind).map(|line| line.bytes).collect::<Vec<Bytes>>());
        let (rounded, total) = scale.groups(&groups);
        let mut kinds = [0; 7];
        for (kind, (sum, _)) in kinds.iter_mut().zip(&rounded) {
            *kind = *sum;
        }
        // The ledger's order may mix kinds: each line takes the next amount of its kind.
        let mut left: Vec<_> = rounded.into_iter().map(|(_, parts)| parts.into_iter()).collect();
        let next =
            |line: &LineItem| left.get_mut(line.kind.index()).and_then(Iterator::next).unwrap_or(0);
        Self { scale, total, kinds, lines: ledger.lines.iter().map(next).collect() }
    }

    /// Returns the kinds of any moment or rank in a given scale, rounded as a ledger with these
    /// sums, in units of the last decimal.
    pub fn kinds_in_scale(by_kind: &[Bytes; 7], scale: Scale) -> [u64; 7] {
        let mut kinds = [0; 7];
        for (kind, rounded) in kinds.iter_mut().zip(scale.parts(by_kind).0) {
            *kind = rounded;
        }
        kinds
    }

    /// Returns the figure of a kind, in units of the last decimal.
    pub const fn kind(&self, kind: MemoryKind) -> u64 {
        self.kinds[kind.index()]
    }

    /// Returns the figure of a line of the ledger by its place, in units of the last decimal.
    pub fn line(&self, index: usize) -> u64 {
        self.lines.get(index).copied().unwrap_or(0)
    }

    /// Returns the difference between the total and an amount as printed, in units of the last
    /// decimal.
    pub fn gap(&self, to: Bytes) -> u64 {
        self.total.abs_diff(self.scale.round(to))
    }
}
