//! Sums of bytes by kind, and the ledger's kinds for those of the tape.

use crate::estimator::law::bytes;
use crate::estimator::ledger::MemoryKind;
use crate::ops::tape::{Held, KINDS, Kind, Totals};
use crate::units::Bytes;

/// `beside` after a stretch has been repeated so often more.
pub(super) fn grown(beside: &Totals, held: &Held, times: u64) -> Totals {
    let mut more = *beside;
    for ((more, start), end) in more.iter_mut().zip(held.start).zip(held.end) {
        *more += (end - start) * i128::from(times);
    }
    more
}

pub(super) fn plus(totals: &Totals, beside: &Totals) -> Totals {
    let mut sums = *totals;
    for (sum, beside) in sums.iter_mut().zip(beside) {
        *sum += beside;
    }
    sums
}

pub(super) fn sum(totals: &Totals) -> i128 {
    totals.iter().sum()
}

/// Bytes of the tape's kinds as the ledger's.
pub(super) fn by_kind(totals: &Totals) -> [Bytes; 7] {
    let mut sums = [Bytes::ZERO; 7];
    for (kind, total) in KINDS_IN_ORDER.into_iter().zip(totals) {
        if let Some(sum) = sums.get_mut(ledger_kind(kind).index()) {
            *sum += bytes(*total);
        }
    }
    sums
}

/// The tape's kinds by number.
const KINDS_IN_ORDER: [Kind; KINDS] = [
    Kind::Parameter,
    Kind::Gradient,
    Kind::OptimizerState,
    Kind::Activation,
    Kind::Temporary,
    Kind::Buffer,
    Kind::Recomputed,
    Kind::Gathered,
    Kind::Scratch,
];

/// The ledger's kind of the tape's.
pub(super) const fn ledger_kind(kind: Kind) -> MemoryKind {
    match kind {
        Kind::Parameter => MemoryKind::Parameter,
        Kind::Gradient => MemoryKind::Gradient,
        Kind::OptimizerState => MemoryKind::OptimizerState,
        Kind::Activation => MemoryKind::Activation,
        Kind::Temporary | Kind::Buffer | Kind::Recomputed | Kind::Gathered | Kind::Scratch => {
            MemoryKind::Temporary
        }
    }
}
