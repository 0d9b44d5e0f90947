//! Questions about serving: how long a context, how many requests, how many accelerators for the
//! stated users, in which format.
//!
//! Every answer is put together from estimates of changed jobs, and names the limit that ends it.

use super::count::serving_candidates;
use super::division::arithmetic;
use super::fixes::Change;
use super::inverse::{Inverse, LARGEST, largest, room, room_of, with_batch};
use crate::config::{Job, LengthMix, ParallelLayout, Run, ServingRun, WeightFormat};
use crate::estimator::time::{Bound, Pace};
use crate::estimator::{Requests, blockers};
use crate::units::{Bytes, Seconds, ceil_u64, sort_short, to_f64};

/// The limit that keeps an answer from being larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Memory.
    Memory,
    /// The longest sequence that the model was made for.
    Model,
    /// The largest number that is tried.
    Search,
}

/// A largest value, and the limit that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Largest {
    /// The value.
    pub value: u64,
    /// The limit that ends it.
    pub limit: Limit,
}

/// The answers to a serving job.
#[derive(Clone, Debug, PartialEq)]
pub struct Serving {
    /// The longest context with these sequences at once; `None` if not one token fits.
    pub longest: Option<Largest>,
    /// Sequences of the whole context at once; `None` if not even one fits.
    pub at_once: Option<Largest>,
    /// Sequences of the stated lengths at once, in all but 5 of 100 moments; `None` where no
    /// lengths are stated or not even one sequence fits.
    pub of_lengths: Option<Largest>,
    /// The accelerators that the stated users need; `None` where none are stated.
    pub users: Option<Fleet>,
    /// The format with the most bits that fits; `None` if none does.
    pub quantization: Option<WeightFormat>,
}

/// A change that makes room for more sequences of the whole context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct More {
    /// The change.
    pub change: Change,
    /// The name of the change.
    pub title: &'static str,
    /// Sequences at once with it.
    pub at_once: u64,
}

/// Accelerators for a number of users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fleet {
    /// Users at once.
    pub users: u64,
    /// The division: all memory over the memory that one accelerator has beside its context. `None`
    /// if the context alone is too much.
    pub arithmetic: Option<u64>,
    /// The fewest accelerators of whole instances in whole nodes; `None` if no instance fits.
    pub runnable: Option<Instances>,
}

/// Instances of one layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instances {
    /// Accelerators of all of them, rounded up to whole nodes beyond one node.
    pub gpus: u64,
    /// How many instances the users need.
    pub count: u64,
    /// The layout of one.
    pub layout: ParallelLayout,
    /// Users that one holds at once.
    pub users_each: u64,
}

/// Formats from many bits to few, as their software stores them, from which the best one that fits
/// is chosen.
const BEST: [WeightFormat; 15] = [
    WeightFormat::Bf16,
    WeightFormat::Gguf16,
    WeightFormat::Q8_0,
    WeightFormat::Fp8Channel,
    WeightFormat::Q6K,
    WeightFormat::Q5KM,
    WeightFormat::Q4KM,
    WeightFormat::Awq,
    WeightFormat::Iq4Xs,
    WeightFormat::Q3KM,
    WeightFormat::Iq3M,
    WeightFormat::Iq3Xxs,
    WeightFormat::Iq2M,
    WeightFormat::Iq2Xxs,
    WeightFormat::Iq1S,
];

/// Distance of the 95th percentile from the mean of a normal distribution, in standard deviations.
const P95: f64 = 1.645;

/// Returns the answers to a serving job: the longest context in tokens, sequences at once,
/// accelerators for the stated users, and the format of weights with the most bits that fits;
/// `None` when training.
///
/// `inverse` is [`inverse`](super::inverse()) of the same job. A context beyond the model's own is
/// cut to it.
///
/// ```
/// use headroom::estimator::Lengths;
/// use headroom::planner::{inverse, serving};
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&do=serve&m=llama3-8b&n=1&gpu=h100").scenario.resolve();
/// let job = job.map_err(|problems| problems.len())?;
/// let answers = serving(&job, &inverse(&Lengths::of(&job))).expect("a job that serves");
/// assert!(answers.at_once.is_some_and(|largest| largest.value >= 1));
/// # Ok::<(), usize>(())
/// ```
pub fn serving(job: &Job, inverse: &Inverse) -> Option<Serving> {
    let Run::Serving(run) = job.run() else { return None };
    Some(of_run(job, run, inverse))
}

fn of_run(job: &Job, run: &ServingRun, inverse: &Inverse) -> Serving {
    let limited = |value: u64| Largest {
        value,
        limit: if value >= LARGEST { Limit::Search } else { Limit::Memory },
    };
    let model = job.model().max_position_embeddings;
    let longest = inverse.longest_seq.map(|tokens| {
        if tokens > model {
            Largest { value: model, limit: Limit::Model }
        } else {
            Largest { value: tokens, limit: Limit::Memory }
        }
    });
    let at_once = inverse.largest_batch.map(limited);
    let of_lengths = run.lengths.and_then(|mix| at_lengths(job, mix)).map(limited);
    let users = run.users.map(|users| fleet(job, run, users));
    let fits =
        |format: &WeightFormat| room(&with_serving(job, |run| run.quantization = *format)) >= 0;
    let quantization = BEST.into_iter().filter(|format| run.engine.loads(*format)).find(fits);
    Serving { longest, at_once, of_lengths, users, quantization }
}

pub(super) fn with_serving(job: &Job, edit: impl FnOnce(&mut ServingRun)) -> Job {
    job.with_run(|run| {
        if let Run::Serving(run) = run {
            edit(run);
        }
    })
}

/// The job with `count` sequences of these lengths, each as long as their sum allows in 95 of 100
/// moments.
///
/// Lengths of sequences are taken to be independent of each other, so that their sum is nearly
/// normal with `mean · n` in the middle and `(p95 − mean) · √n` above it in 95 of 100 moments;
/// every sequence is counted at its final length.
fn of_mix(job: &Job, mix: LengthMix, count: u64) -> Job {
    let n = to_f64(count.max(1));
    let spread = to_f64(mix.p95.saturating_sub(mix.mean)) / P95;
    let tokens = ceil_u64(to_f64(mix.mean) + P95 * spread / n.sqrt()).max(1);
    let mixed = with_batch(job, count);
    with_serving(&mixed, |run| {
        run.context_length = tokens;
        run.shared_prefix = run.shared_prefix.min(mix.mean);
    })
}

/// Returns how many sequences of such lengths find room at once, in all but 5 of 100 moments;
/// `None` when training, and where not even one finds room.
///
/// Symbols: `n` sequences, `m` mean and `q` 95th percentile of their lengths in tokens. Each
/// sequence counts with `m + (q − m) / √n` tokens. Assumes that lengths are independent of each
/// other, so that their sum is nearly normal, and that every sequence has its final length.
pub fn at_lengths(job: &Job, mix: LengthMix) -> Option<u64> {
    let served = Requests::of(job)?;
    largest(LARGEST, |count| room_of(&served, &of_mix(job, mix, count)))
}

/// Sequences that find room at once on that layout: of the stated lengths, or of the whole context.
pub(super) fn holds(job: &Job, run: &ServingRun) -> Option<u64> {
    match run.lengths {
        Some(mix) => at_lengths(job, mix),
        None => of_context(job),
    }
}

/// Sequences of the whole context that find room at once.
pub(super) fn of_context(job: &Job) -> Option<u64> {
    let served = Requests::of(job)?;
    largest(LARGEST, |count| room_of(&served, &with_batch(job, count)))
}

/// A layout of one replica that was tried for the stated users.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedReplica {
    /// The layout.
    pub layout: ParallelLayout,
    /// The replicas that carry the users, or what stands in their way.
    pub outcome: Result<Instances, String>,
}

/// Layouts of one replica from few to many accelerators, until one alone takes as many as the best
/// fleet so far.
fn tried_replicas(job: &Job, run: &ServingRun, users: u64) -> Vec<TriedReplica> {
    let node = job.cluster().accelerator.accelerators_per_node.max(1);
    let (mut tried, mut least) = (Vec::new(), u64::MAX);
    for layout in serving_candidates(job) {
        if least <= layout.world_size() {
            break;
        }
        let candidate = job.with_layout(layout);
        let outcome = match blockers(&candidate).first() {
            Some(blocker) => Err(blocker.to_string()),
            None => holds(&candidate, run)
                .map(|room| instances(layout, room, users, node))
                .ok_or_else(no_room),
        };
        least = outcome.as_ref().map_or(least, |found| least.min(found.gpus));
        tried.push(TriedReplica { layout, outcome });
    }
    tried
}

fn no_room() -> String {
    "no room for one request".to_owned()
}

/// As many instances of a layout as the users need. An instance crosses nodes only if it is larger
/// than one; beyond one node whole nodes are rented.
const fn instances(layout: ParallelLayout, users_each: u64, users: u64, node: u64) -> Instances {
    let (each, count) = (layout.world_size(), users.div_ceil(users_each));
    let in_node = node / each;
    let nodes = if in_node > 0 {
        count.div_ceil(in_node)
    } else {
        count.saturating_mul(each).div_ceil(node)
    };
    let gpus = if count < in_node { count * each } else { nodes.saturating_mul(node) };
    Instances { gpus, count, layout, users_each }
}

/// Returns the layouts of one replica that were tried for the stated users, in order, each with the
/// replicas it takes or the obstacle; empty when training and where no users are stated.
pub fn replicas_tried(job: &Job) -> Vec<TriedReplica> {
    let Run::Serving(run) = job.run() else { return Vec::new() };
    run.users.map(|users| tried_replicas(job, run, users)).unwrap_or_default()
}

/// Returns the accelerators that the stated users need, by division and in whole replicas of whole
/// nodes; `None` when training and where no users are stated.
///
/// ```
/// use headroom::planner::fleet_of;
/// use headroom::scenario::{FieldId, Value, codec::decode};
///
/// let mut scenario = decode("v2&do=serve&m=llama3-8b&n=1&gpu=h100").scenario;
/// assert_eq!(scenario.resolve().map(|job| fleet_of(&job)), Ok(None));
/// scenario.set(FieldId::Users, Value::Integer(500));
/// let job = scenario.resolve().map_err(|problems| problems.len())?;
/// let instances = fleet_of(&job).and_then(|fleet| fleet.runnable).expect("an instance fits");
/// assert!(instances.count * instances.users_each >= 500);
/// # Ok::<(), usize>(())
/// ```
pub fn fleet_of(job: &Job) -> Option<Fleet> {
    let Run::Serving(run) = job.run() else { return None };
    Some(fleet(job, run, run.users?))
}

/// The fewest accelerators on which instances of one layout hold `users` users.
fn fleet(job: &Job, run: &ServingRun, users: u64) -> Fleet {
    let tried = tried_replicas(job, run, users).into_iter().filter_map(|tried| tried.outcome.ok());
    // Of equal fleets the first is taken, which has the fewest accelerators in one replica.
    let best = tried.min_by_key(|found| found.gpus);
    let all = all_at_once(job, run, users);
    Fleet { users, arithmetic: arithmetic(&all), runnable: best }
}

/// Returns the job with all stated users on one replica, which the division deals out; `None` when
/// training and where no users are stated.
pub fn all_users(job: &Job) -> Option<Job> {
    let Run::Serving(run) = job.run() else { return None };
    Some(all_at_once(job, run, run.users?))
}

fn all_at_once(job: &Job, run: &ServingRun, users: u64) -> Job {
    match run.lengths {
        Some(mix) => of_mix(job, mix, users),
        None => with_batch(job, users),
    }
}

/// Returns single changes of a format with which more sequences of the whole context find room than
/// now, each with that number; empty when training.
///
/// `inverse` is [`inverse`](super::inverse()) of the job. Formats are those that the job's engine
/// loads.
pub fn more_requests(job: &Job, inverse: &Inverse) -> Vec<More> {
    let Run::Serving(run) = job.run() else { return Vec::new() };
    let now = inverse.largest_batch.unwrap_or(0);
    let mut found = Vec::with_capacity(3);
    let mut push = |change, title, changed: &Job| {
        let at_once = of_context(changed).unwrap_or(0);
        if at_once > now {
            found.push(More { change, title, at_once });
        }
    };
    let smaller = &run.engine.smaller_cache;
    let cache = smaller.format;
    if run.kv_cache_dtype.dtype().bits() > 8 {
        push(
            Change::KvCacheDType(cache),
            smaller.more,
            &with_serving(job, |run| run.kv_cache_dtype = cache),
        );
    }
    let bits = run.quantization.dtype().bits();
    for &(to, title) in run.engine.smaller_weights.iter().filter(|(to, _)| to.dtype().bits() < bits)
    {
        push(Change::Quantization(to), title, &with_serving(job, |run| run.quantization = to));
    }
    found
}

/// Memory with one number of sequences at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestsPoint {
    /// Sequences at once.
    pub sequences: u64,
    /// Memory by kind on the most loaded accelerator, in the order of
    /// [`MemoryKind::ALL`](crate::estimator::MemoryKind::ALL).
    pub by_kind: [Bytes; 7],
}

/// Pace with one number of sequences at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchPoint {
    /// Sequences at once.
    pub sequences: u64,
    /// Time until each sequence has one further token.
    pub decode: Seconds,
    /// Tokens per second of one instance.
    pub tokens_per_second: f64,
    /// Tokens per second of one sequence.
    pub per_sequence: f64,
    /// The work that limits a step: reading memory, or matrix products.
    pub bound: Bound,
    /// True if that many sequences find room.
    pub fits: bool,
}

/// Numbers of sequences by equal ratios, from one to `most`, with `current` and the largest number
/// that finds room among them.
fn numbers(most: u64, current: u64, last: Option<u64>, points: usize) -> Vec<u64> {
    let steps = to_f64(u64::try_from(points.max(2) - 1).unwrap_or(1));
    let at = |step: u64| ceil_u64((to_f64(most).ln() * to_f64(step) / steps).exp().round());
    let mut all: Vec<u64> =
        (0..u64::try_from(points).unwrap_or(2)).map(at).chain([current]).chain(last).collect();
    sort_short(&mut all, |a, b| a < b);
    all.dedup();
    all
}

/// The numbers of sequences at which curves are drawn: up to twice the number that finds room, four
/// times the present number, and twice the number at which a step turns from reading to computing,
/// whichever is furthest.
fn drawn(
    run: &ServingRun,
    pace: Option<&Pace>,
    largest_batch: Option<u64>,
    points: usize,
) -> Vec<u64> {
    let turns = pace.and_then(Pace::turns_at).unwrap_or(0).saturating_mul(2);
    let now = run.concurrent_sequences.saturating_mul(4);
    let last = largest_batch.unwrap_or(1).saturating_mul(2).max(8).max(now).max(turns).min(LARGEST);
    numbers(last, run.concurrent_sequences, largest_batch, points)
}

/// Returns memory by kind against sequences at once, bytes on the most loaded accelerator; empty
/// when training.
///
/// The numbers of sequences rise by equal ratios. `largest_batch` is [`Inverse::largest_batch`] of
/// the same job; it and the present number are among them.
pub fn curve_requests(job: &Job, largest_batch: Option<u64>, points: usize) -> Vec<RequestsPoint> {
    let Run::Serving(run) = job.run() else { return Vec::new() };
    let Some(served) = Requests::of(job) else { return Vec::new() };
    let point = |sequences| RequestsPoint {
        sequences,
        by_kind: served.memory(&with_batch(job, sequences)),
    };
    drawn(run, Pace::of(job).as_ref(), largest_batch, points).into_iter().map(point).collect()
}

/// Returns seconds per step and tokens per second against sequences at once at full context, at the
/// numbers of [`curve_requests`]; empty when training and where rates are unknown.
///
/// Symbols: `B` sequences, `T` seconds of a step. Formulas: `B / T` tokens per second of the
/// instance, `1 / T` of one sequence. `largest_batch` is [`Inverse::largest_batch`] of the job.
pub fn curve_batch(job: &Job, largest_batch: Option<u64>, points: usize) -> Vec<BatchPoint> {
    let Run::Serving(run) = job.run() else { return Vec::new() };
    let Some(pace) = Pace::of(job) else { return Vec::new() };
    let point = |sequences: u64| {
        let decode = pace.decode(sequences);
        BatchPoint {
            sequences,
            decode,
            tokens_per_second: to_f64(sequences) / decode.0,
            per_sequence: 1.0 / decode.0,
            bound: pace.bound(sequences),
            fits: largest_batch.is_some_and(|largest| sequences <= largest),
        }
    };
    drawn(run, Some(&pace), largest_batch, points).into_iter().map(point).collect()
}
