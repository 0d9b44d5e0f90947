//! How long serving takes: reading a prompt, and one further token for every sequence.

mod draft;
mod host;
mod pace;
mod product;
mod sight;
mod traffic;
mod work;

use crate::config::{Job, Run};
use crate::estimator::parts::serving_times;
use crate::estimator::served;
use crate::units::{Bytes, Seconds};

pub use pace::Pace;
pub use traffic::{ServedTraffic, Traffic};

/// The reason why a step of decoding is not quicker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Reading weights and cache.
    Memory,
    /// Matrix products.
    Compute,
}

/// Times of one instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServingTime {
    /// One chunk of a prompt through all layers.
    pub prefill_chunk: Seconds,
    /// A whole prompt, chunk after chunk: the time to the first token of a request that does not
    /// wait.
    pub first_token: Seconds,
    /// Tokens of that prompt.
    pub prompt: u64,
    /// One token of every concurrent sequence at full context.
    pub decode: Seconds,
    /// Tokens per second of one instance while all its sequences answer.
    pub tokens_per_second: f64,
    /// Messages of a chunk of a prompt, and of a step of decoding.
    pub messages: [MessageTimes; 2],
    /// The step that checks proposed tokens; `None` where none are proposed.
    pub speculation: Option<SpeculativeStep>,
    /// The part that holds such a step up.
    pub bound: Bound,
    /// Sequences from which on a step computes longer than it reads weights; `None` where weights
    /// are read in no time.
    pub turns_at: Option<u64>,
    /// Price of a million such tokens in US dollars.
    pub price_per_million: f64,
    /// Energy of a million such tokens at full board power, kWh; `None` where the power is unknown.
    pub kwh_per_million: Option<f64>,
}

/// A step that checks tokens which a draft has proposed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeculativeStep {
    /// All of it: the model over every proposed token, the draft's passes, the engine.
    pub step: Seconds,
    /// The draft's passes.
    pub drafts: Seconds,
    /// Tokens that a sequence gets from it on average.
    pub tokens: f64,
}

/// Seconds of a step's messages, which nothing hides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MessageTimes {
    /// Sums over tensor ranks: two in each layer.
    pub sums: Seconds,
    /// Tokens on their way to the ranks of their experts and back.
    pub experts: Seconds,
    /// From one pipeline stage to the next.
    pub stages: Seconds,
}

impl MessageTimes {
    /// Returns the seconds of all messages.
    pub const fn total(&self) -> f64 {
        self.sums.0 + self.experts.0 + self.stages.0
    }
}

/// Accelerator-hours that a million tokens take: `gpus · 10⁶ / tokens per second / 3600`.
pub(crate) fn gpu_hours_per_million(gpus: f64, tokens_per_second: f64) -> f64 {
    gpus * 1e6 / tokens_per_second / 3600.0
}

/// Returns the times of a serving job with as many sequences at once as it states: seconds to the
/// first token, seconds per token, tokens per second, price and energy per million tokens.
///
/// Each kernel of a step reads or multiplies ([`crate::hardware::kernels`]): products with weights
/// (the head's and the blocks'; of routed experts those that some token takes), attention against
/// every cached key and value, or over the causal half of a prompt, operations that only stream,
/// and sums over tensor ranks, from measurements of single operations. The engine adds what its
/// processor does around a step ([`crate::engines::Steps`]). Symbols: `B` sequences at once, `T`
/// seconds of a step of decoding, `N` accelerators of an instance. Formulas: tokens per second `= B
/// / T`, GPU-hours per million tokens `= N · 10⁶ · T / (3600 B)`.
///
/// Assumes that pipeline stages follow each other and that no request waits. `None` when training,
/// and where peak or memory bandwidth are unknown.
///
/// ```
/// use headroom::estimator::time::serving;
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&do=serve&m=llama3-8b&n=1&gpu=h100").scenario.resolve();
/// let times = job.map(|job| serving(&job)).map_err(|problems| problems.len())?.expect("rates");
/// assert!(times.decode.0 > 0.0 && times.first_token > times.decode);
/// # Ok::<(), usize>(())
/// ```
pub fn serving(job: &Job) -> Option<ServingTime> {
    job.training().is_none().then(|| (serving_times().times)(job)).flatten()
}

/// [`serving`], where the program has it.
pub(in crate::estimator) fn times_of_serving(job: &Job) -> Option<ServingTime> {
    let Run::Serving(run) = job.run() else { return None };
    Some(Pace::of(job)?.time(run.concurrent_sequences))
}

/// Returns the seconds to the first token of a prompt of so many tokens that does not wait, and the
/// seconds of a step of decoding for so many sequences at the full context of another job, as
/// [`serving`] tells them; `None` when training, and where peak or memory bandwidth are unknown.
pub fn first_token_and_step(
    of_prompt: &Job,
    tokens: u64,
    of_step: &Job,
    sequences: u64,
) -> Option<[Seconds; 2]> {
    let serves = of_prompt.training().is_none();
    serves.then(|| (serving_times().request)(of_prompt, tokens, of_step, sequences)).flatten()
}

/// [`first_token_and_step`], where the program has it.
pub(in crate::estimator) fn times_of_request(
    of_prompt: &Job,
    tokens: u64,
    of_step: &Job,
    sequences: u64,
) -> Option<[Seconds; 2]> {
    Some([Pace::of(of_prompt)?.prefill(tokens), Pace::of(of_step)?.decode(sequences)])
}

/// Returns the bytes that one sequence adds to a cache, on one tensor rank of all stages together;
/// `None` when training.
pub fn cache_per_sequence(job: &Job) -> Option<Bytes> {
    let Run::Serving(run) = job.run() else { return None };
    Some(served::cached(job, run).0)
}
