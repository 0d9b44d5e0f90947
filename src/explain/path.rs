//! The path by which a figure is named: `ledger/KIND/LABEL`.

use crate::estimator::MemoryKind;

/// A path that was read.
pub(super) enum Path<'a> {
    Total,
    Peak,
    Margin,
    Host,
    Kind(MemoryKind),
    Item(MemoryKind, &'a str),
    Tensor(MemoryKind, &'a str, usize),
    Arithmetic,
    Runnable,
    Load(&'a str),
    Figure(&'a str),
}

impl<'a> Path<'a> {
    pub(super) fn read(path: &'a str) -> Option<Self> {
        Some(match path.split_once('/') {
            None if path == "total" => Self::Total,
            None if path == "peak" => Self::Peak,
            None if path == "margin" => Self::Margin,
            None if path == "host" => Self::Host,
            Some(("gpus", "arithmetic")) => Self::Arithmetic,
            Some(("gpus", "runnable")) => Self::Runnable,
            Some(("load", name)) => Self::Load(name),
            Some(("time" | "card", name)) => Self::Figure(name),
            // The bar's parts are the ledger's kinds, and the card's figures those of time.
            Some(("ledger" | "bar", rest)) => return Self::of_ledger(rest),
            _ => return None,
        })
    }

    pub(super) fn of_ledger(rest: &'a str) -> Option<Self> {
        let (kind, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let kind = MemoryKind::ALL.into_iter().find(|known| known.name() == kind)?;
        if rest.is_empty() {
            return Some(Self::Kind(kind));
        }
        let tensor =
            rest.rsplit_once('/').and_then(|(label, number)| Some((label, number.parse().ok()?)));
        Some(
            tensor.map_or(Self::Item(kind, rest), |(label, number)| {
                Self::Tensor(kind, label, number)
            }),
        )
    }
}
