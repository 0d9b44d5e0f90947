//! Error statistics over rows.

use super::row::{Comparison, Quantity, Row};

/// The spread of relative errors, without sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Comparisons behind it.
    pub rows: usize,
    /// Their mean.
    pub mean: f64,
    /// The middle one; between two, their mean.
    pub median: f64,
    /// The smallest error that at least nine tenths of the rows do not exceed.
    pub p90: f64,
    /// The largest.
    pub max: f64,
    /// The largest underestimate, with its sign; 0 where there is none.
    pub under: f64,
    /// The largest overestimate; 0 where there is none.
    pub over: f64,
}

/// How many rows are met to the unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact {
    /// Rows that state the figure.
    pub rows: usize,
    /// Rows where ours is the same integer.
    pub exact: usize,
}

/// How many rows ended out of memory, and how many of them the library says so of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Rows that say whether they did.
    pub rows: usize,
    /// Rows that did.
    pub ended: usize,
    /// Rows that did, and of which the library says so too.
    pub said: usize,
    /// Rows that had room, of which the library says that they had none.
    pub wrongly: usize,
}

/// Counts and errors of the rows of a file or group.
#[derive(Clone, Debug)]
pub struct Summary {
    /// All rows.
    pub rows: usize,
    /// Rows that the library cannot express.
    pub unsupported: usize,
    /// Errors of saved activations.
    pub activations: Option<Spread>,
    /// Errors of the peak.
    pub peak: Option<Spread>,
    /// Errors of allocated bytes.
    pub allocated: Option<Spread>,
    /// Errors of reserved bytes.
    pub reserved: Option<Spread>,
    /// Who ran out of memory.
    pub out_of_memory: OutOfMemory,
    /// Errors of weights, gradients and optimizer states.
    pub model_states: Option<Spread>,
    /// Parameter counts.
    pub parameters: Exact,
    /// FLOPs, forward and backward of a row together.
    pub flops: Exact,
    /// KV bytes per token.
    pub kv_bytes_per_token: Exact,
    /// Errors of stored weights.
    pub weights: Option<Spread>,
    /// Errors of the memory that a server finds for its cache.
    pub cache_room: Option<Spread>,
    /// Blocks and concurrency.
    pub blocks: Exact,
    /// Errors of the time of a step.
    pub step_time: Option<Spread>,
}

impl Summary {
    /// The summary of some rows.
    pub fn of<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Self {
        Self {
            rows: rows.clone().count(),
            unsupported: rows.clone().filter(|row| row.outcome.is_err()).count(),
            activations: spread(rows.clone(), Quantity::Activations),
            peak: spread(rows.clone(), Quantity::Peak),
            allocated: spread(rows.clone(), Quantity::Allocated),
            reserved: spread(rows.clone(), Quantity::Reserved),
            out_of_memory: out_of_memory(rows.clone()),
            model_states: spread(rows.clone(), Quantity::ModelStates),
            parameters: exact(rows.clone(), &[Quantity::Parameters]),
            flops: exact(rows.clone(), &[Quantity::ForwardFlops, Quantity::BackwardFlops]),
            kv_bytes_per_token: exact(rows.clone(), &[Quantity::KvBytesPerToken]),
            weights: spread(rows.clone(), Quantity::Weights),
            cache_room: spread(rows.clone(), Quantity::CacheRoom),
            blocks: exact(rows.clone(), &[Quantity::Blocks, Quantity::Concurrency]),
            step_time: spread(rows, Quantity::StepTime),
        }
    }
}

fn comparisons<'a>(
    row: &'a Row,
    quantities: &'a [Quantity],
) -> impl Iterator<Item = &'a Comparison> {
    row.outcome.iter().flatten().filter(move |comparison| quantities.contains(&comparison.quantity))
}

fn spread<'a>(rows: impl Iterator<Item = &'a Row>, quantity: Quantity) -> Option<Spread> {
    let errors = rows
        .flat_map(|row| row.outcome.iter().flatten())
        .filter(|found| found.quantity == quantity);
    let signed: Vec<f64> = errors.map(Comparison::error).collect();
    let (under, over) =
        (signed.iter().copied().fold(0.0, f64::min), signed.iter().copied().fold(0.0, f64::max));
    let mut errors: Vec<f64> = signed.into_iter().map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    let at = |index: usize| errors.get(index).copied();
    let count = errors.len();
    let upper = at(count / 2)?;
    let median =
        if count.is_multiple_of(2) { f64::midpoint(at(count / 2 - 1)?, upper) } else { upper };
    let mean = errors.iter().sum::<f64>()
        / headroom::units::to_f64(u64::try_from(count).unwrap_or(u64::MAX));
    Some(Spread {
        rows: count,
        mean,
        median,
        p90: at((9 * count).div_ceil(10) - 1)?,
        max: at(count - 1)?,
        under,
        over,
    })
}

fn out_of_memory<'a>(rows: impl Iterator<Item = &'a Row>) -> OutOfMemory {
    let mut sum = OutOfMemory::default();
    for found in rows.flat_map(|row| comparisons(row, &[Quantity::OutOfMemory])) {
        sum.rows += 1;
        sum.ended += usize::from(found.measured > 0);
        sum.said += usize::from(found.measured > 0 && found.ours > 0);
        sum.wrongly += usize::from(found.measured == 0 && found.ours > 0);
    }
    sum
}

fn exact<'a>(rows: impl Iterator<Item = &'a Row>, quantities: &[Quantity]) -> Exact {
    let mut sum = Exact::default();
    for row in rows {
        let mut found = comparisons(row, quantities).peekable();
        if found.peek().is_some() {
            sum.rows += 1;
            sum.exact +=
                usize::from(found.all(|comparison| comparison.ours == comparison.measured));
        }
    }
    sum
}

/// The rows with the largest errors, worst first, each with its worst comparison.
pub fn worst(rows: &[Row], count: usize) -> Vec<(&Row, Comparison)> {
    let mut all: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            worst_of(row, |quantity| quantity != Quantity::OutOfMemory)
                .map(|comparison| (row, comparison))
        })
        .collect();
    all.sort_by(|(_, a), (_, b)| b.error().abs().total_cmp(&a.error().abs()));
    all.retain(|(_, comparison)| comparison.ours != comparison.measured);
    all.truncate(count);
    all
}

/// The comparison of a row that is furthest off, among the figures that belong.
pub fn worst_of(row: &Row, belongs: fn(Quantity) -> bool) -> Option<Comparison> {
    let found = row.outcome.iter().flatten().copied().filter(|found| belongs(found.quantity));
    found.max_by(|a, b| a.error().abs().total_cmp(&b.error().abs()))
}

/// Each reason why rows cannot be expressed with how many there are, most frequent first.
pub fn reasons<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<(String, usize)> {
    let mut counted: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for reason in rows.filter_map(|row| row.outcome.as_ref().err()) {
        *counted.entry(reason).or_default() += 1;
    }
    let mut reasons: Vec<_> =
        counted.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    reasons
}
