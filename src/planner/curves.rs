//! Memory per accelerator against sequence length, and against the number of accelerators.

use std::num::NonZeroU64;

use crate::config::{Job, ParallelLayout};
use crate::estimator::{Lengths, MemoryKind, blockers, memory_by_kind, memory_of_each};
use crate::units::{Bytes, ceil_u64, to_f64};

/// The quantity on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Tokens per sequence, or context length.
    SeqLength,
    /// Accelerators.
    Gpus,
}

/// One estimate on a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// Tokens or accelerators.
    pub x: u64,
    /// The layout at this point.
    pub layout: ParallelLayout,
    /// Memory by kind, in the order of [`MemoryKind::ALL`].
    pub by_kind: [Bytes; 7],
    /// Memory of the most loaded accelerator.
    pub total: Bytes,
    /// The reason why this count cannot run, if a rule forbids it.
    pub blocked: Option<String>,
}

/// A curve of estimates.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The horizontal axis.
    pub axis: Axis,
    /// Points in rising order; never empty.
    pub points: Vec<CurvePoint>,
    /// Memory of one accelerator.
    pub capacity: Bytes,
    /// The scenario's own value of `x`.
    pub current: u64,
    /// True if the job serves: counts of accelerators are those of one replica.
    pub serves: bool,
    /// Replicas of the scenario when serving, else 1.
    pub replicas: u64,
    /// Largest length that fits (length curve), if any does.
    pub longest_fit: Option<u64>,
    /// The naive division of the whole job over the accelerators (count curve).
    pub naive: Vec<(u64, Bytes)>,
    /// The best layouts, where they were searched for (count curve); see [`Climb`](super::Climb).
    pub best: Vec<NamedStair>,
}

/// The best layout at one number of accelerators, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedStair {
    /// Accelerators.
    pub gpus: u64,
    /// Memory of the most loaded one.
    pub memory: Bytes,
    /// The layout in words.
    pub words: String,
}

/// Shortest length drawn, tokens.
const SHORTEST: u64 = 512;
/// Longest length drawn, tokens.
const LONGEST: u64 = 1 << 27;
/// Longest length drawn of a scenario that is shorter itself, tokens: no model of the list was made
/// for longer sequences.
const FURTHEST: u64 = 1 << 20;

fn point_with(job: &Job, x: u64, by_kind: [Bytes; 7]) -> CurvePoint {
    let blocked = blockers(job).first().map(ToString::to_string);
    CurvePoint { x, layout: *job.layout(), by_kind, total: by_kind.into_iter().sum(), blocked }
}

/// Returns memory by kind against the length of sequences, bytes on the most loaded accelerator at
/// each number of tokens.
///
/// The curve goes from 512 tokens, or from 1 where the current length is shorter, to a power of
/// two: beyond twice the current length, beyond half as much again as fits (up to 1,048,576
/// tokens), and at least to 4,096 tokens. So its ends stay while somebody types a length. It has
/// about `points` values, evenly spaced or (with `logarithmic`) by equal ratios; the current length
/// is always among them. `longest_fit` is [`Inverse::longest_seq`](super::Inverse) of the same job.
///
/// ```
/// use headroom::estimator::Lengths;
/// use headroom::planner::{curve_seq, inverse};
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// let lengths = Lengths::of(&job);
/// let curve = curve_seq(&lengths, inverse(&lengths).longest_seq, 24, false);
/// assert!(curve.points.iter().any(|point| point.x == job.seq_length()));
/// assert!(curve.points.windows(2).all(|pair| pair[0].total <= pair[1].total));
/// # Ok::<(), usize>(())
/// ```
pub fn curve_seq(
    lengths: &Lengths,
    longest_fit: Option<u64>,
    points: usize,
    logarithmic: bool,
) -> Curve {
    curve_seq_after(None, lengths, longest_fit, (points, logarithmic))
}

/// Memory against length after another curve that ended at a length: its end stays while it holds
/// what there is to show, so that the axis does not jump under somebody who types or drags.
pub fn curve_seq_after(
    before: Option<u64>,
    lengths: &Lengths,
    longest_fit: Option<u64>,
    (points, logarithmic): (usize, bool),
) -> Curve {
    let job = lengths.job();
    let current = job.seq_length();
    let fits = longest_fit.unwrap_or(0);
    let further = fits.saturating_add(fits / 2).min(FURTHEST);
    let fresh =
        current.saturating_mul(2).max(further).clamp(SHORTEST * 8, LONGEST).next_power_of_two();
    let last = kept(before, fresh, current.max(further));
    let first = if current < SHORTEST { 1 } else { SHORTEST };
    let mut drawn: Vec<u64> = spaced(first, last, points, logarithmic);
    insert(&mut drawn, current.min(LONGEST));
    let point =
        |tokens: u64| point_with(&job.with_seq_length(tokens), tokens, lengths.memory(tokens));
    let points = drawn.into_iter().map(point).collect();
    Curve {
        axis: Axis::SeqLength,
        points,
        capacity: job.cluster().accelerator.memory,
        current,
        serves: job.training().is_none(),
        replicas: 1,
        longest_fit,
        naive: Vec::new(),
        best: Vec::new(),
    }
}

/// The end of an axis: the one before, if it holds what must be shown and is at most eight times as
/// far as a fresh one.
fn kept(before: Option<u64>, fresh: u64, shown: u64) -> u64 {
    before.filter(|before| *before >= shown && *before <= fresh.saturating_mul(8)).unwrap_or(fresh)
}

/// `count` whole numbers from `first` to `last`, without repeats.
fn spaced(first: u64, last: u64, count: usize, logarithmic: bool) -> Vec<u64> {
    let steps = to_f64(u64::try_from(count.max(2)).unwrap_or(2) - 1);
    let (low, high) = (to_f64(first), to_f64(last));
    let mut values: Vec<u64> = (0..count.max(2))
        .map(|step| to_f64(u64::try_from(step).unwrap_or(0)) / steps)
        .map(|share| {
            if logarithmic {
                low * ((high / low).ln() * share).exp()
            } else {
                low + (high - low) * share
            }
        })
        .map(round_in_binary)
        .collect();
    values.dedup();
    values
}

/// The nearest number with few binary digits, so that a value taken over from the curve reads well:
/// 10 752, not 10 775.
fn round_in_binary(value: f64) -> u64 {
    let digits = ceil_u64(value).max(1).ilog2();
    let step = to_f64(1 << digits.saturating_sub(5));
    ceil_u64((value / step).round() * step)
}

fn insert(values: &mut Vec<u64>, value: u64) {
    if let Err(place) = values.binary_search(&value) {
        values.insert(place, value);
    }
}

/// Returns memory by kind against the number of accelerators, bytes on the most loaded one at each
/// count, up to four times the current count and at least to 32.
///
/// Training varies the data-parallel ranks, serving the tensor degree of one replica: another
/// replica holds as much again. A count that a rule forbids has its reason in
/// [`CurvePoint::blocked`].
///
/// ```
/// use headroom::planner::curve_gpus;
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// let curve = curve_gpus(&job);
/// assert!(curve.points.iter().any(|point| point.x == 8));
/// assert!(curve.points.last().is_some_and(|point| point.x >= 32));
/// # Ok::<(), usize>(())
/// ```
pub fn curve_gpus(job: &Job) -> Curve {
    curve_gpus_after(None, job)
}

/// Memory against accelerators after another curve that ended at a number of them; see
/// [`curve_seq_after`].
pub fn curve_gpus_after(before: Option<u64>, job: &Job) -> Curve {
    let layout = *job.layout();
    let training = job.training().is_some();
    let (varied, fixed) = if training { (layout.d(), layout.t()) } else { (layout.t(), 1) };
    let fixed = fixed.saturating_mul(layout.p()).max(1);
    let replicas = if training { 1 } else { layout.d() };
    let fresh = varied.saturating_mul(4).max(32 / fixed.min(32)).max(4).next_power_of_two();
    let last = kept(before.map(|before| before / fixed), fresh, varied.max(4));
    let whole = whole_job(job);
    let jobs: Vec<Job> = counts(last, varied)
        .into_iter()
        .filter_map(NonZeroU64::new)
        .map(|count| {
            if training {
                job.with_data_parallel_size(count)
            } else {
                with_tensor_degree(job, count)
            }
        })
        .collect();
    let points = jobs.iter().zip(memory_of_each(&jobs));
    let points: Vec<_> =
        points.map(|(job, by_kind)| point_with(job, job.layout().world_size(), by_kind)).collect();
    let naive = points.iter().map(|point| (point.x, whole.per_rank(point.x))).collect();
    let (axis, capacity, current) =
        (Axis::Gpus, job.cluster().accelerator.memory, layout.world_size() / replicas);
    Curve {
        axis,
        points,
        capacity,
        current,
        serves: !training,
        replicas,
        longest_fit: None,
        naive,
        best: Vec::new(),
    }
}

/// The job with one replica on `degree` tensor-parallel ranks.
fn with_tensor_degree(job: &Job, degree: NonZeroU64) -> Job {
    let data_parallel_size = NonZeroU64::MIN;
    job.with_layout(ParallelLayout {
        tensor_model_parallel_size: degree,
        data_parallel_size,
        ..*job.layout()
    })
}

/// Rank counts to draw: doublings up to `last`, with the current one among them.
fn counts(last: u64, current: u64) -> Vec<u64> {
    let doubled = |count: &u64| count.checked_mul(2).filter(|next| *next <= last);
    let mut counts: Vec<u64> = std::iter::successors(Some(1), doubled).collect();
    insert(&mut counts, current.max(1));
    counts
}

/// The whole job's memory as if one accelerator held it: the dividend of the naive division.
fn whole_job(job: &Job) -> Bytes {
    let layout = ParallelLayout { sharding: job.layout().sharding, ..ParallelLayout::SINGLE };
    let by_kind = memory_by_kind(&job.with_layout(layout));
    MemoryKind::ALL
        .into_iter()
        .zip(by_kind)
        .filter(|(kind, _)| *kind != MemoryKind::Framework)
        .map(|(_, bytes)| bytes)
        .sum()
}
