//! Amounts of an explanation as the ledger prints them: the same number, in the page's unit and in
//! the other.

use crate::estimator::{Estimate, Printed};
use crate::units::{Bytes, MemoryUnit};

/// A choice of one of a ledger's figures.
pub(super) type Pick = Box<dyn Fn(&Printed) -> u64>;

/// A ledger's figures in both units.
pub(super) struct Words {
    own: Printed,
    other: Printed,
}

impl Words {
    pub(super) fn of(estimate: &Estimate, unit: MemoryUnit) -> Self {
        let other = if unit == MemoryUnit::Gb { MemoryUnit::Gib } else { MemoryUnit::Gb };
        Self { own: Printed::of(estimate, unit), other: Printed::of(estimate, other) }
    }

    /// `49.2 GiB (52.8 GB)`; an amount that would be rounded to nothing in the other unit is
    /// printed there with digits of its own.
    pub(super) fn show(&self, pick: &Pick, exact: Bytes) -> String {
        let words = |printed: &Printed| {
            format!("{} {}", printed.scale.number(pick(printed)), printed.scale.unit)
        };
        let other = if pick(&self.other) == 0 {
            self.other.scale.unit.show(exact)
        } else {
            words(&self.other)
        };
        format!("{} ({other})", words(&self.own))
    }

    /// The reason why a figure is printed with another number than the nearest one; `None` where it
    /// is the nearest.
    pub(super) fn why_not_nearest(&self, pick: &Pick, exact: Bytes) -> Option<String> {
        let (scale, printed) = (self.own.scale, pick(&self.own));
        let nearest = scale.round(exact);
        (printed != nearest).then(|| {
            let [printed, nearest] = [printed, nearest].map(|amount| scale.number(amount));
            format!(
                "It is printed as {printed} {}, not {nearest}, so that the figures on the page add \
                 up as printed.",
                scale.unit
            )
        })
    }
}
