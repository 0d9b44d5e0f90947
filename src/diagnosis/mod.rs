//! An out-of-memory message beside the estimate of the job that printed it: the memory that was
//! asked for, the cause of the failure, and remedies.
//!
//! The message comes from [`crate::import::oom`], the estimate from [`crate::estimator`], fixes
//! from [`crate::planner`]. A
//! [`Diagnosis`] is data with finished sentences: the command prints it, and the page can show it
//! as it is.

mod amounts;
mod asked_for;
mod doubts;
mod remedies;
pub mod snapshot;
mod words;

pub use amounts::{AmountBeside, EstimatedAmounts, ShownAmount, estimated_amounts};
pub use asked_for::{AskedFor, FoundTensor};
pub use doubts::Doubt;
pub use remedies::Remedy;

use crate::config::Job;
use crate::estimator::{
    AskedTensor, Estimate, ReplayedFailure, asked_tensors, estimate, replayed_failure,
};
use crate::import::oom::{ByteRange, Cause, OomMessage, PrintedAmount, cause};
use crate::units::Bytes;

/// A message beside the estimate of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The message; the first of several alike.
    pub message: OomMessage,
    /// The ranks that print such a message, in the order of the text.
    pub ranks: Vec<u32>,
    /// The number of such messages, at least 1.
    pub count: usize,
    /// The cause of the failure, from the message alone.
    pub cause: Cause,
    /// The tensor that was asked for.
    pub asked_for: AskedFor,
    /// The message's amounts beside those of the estimate.
    pub amounts: Vec<AmountBeside>,
    /// The estimate in the words of the message.
    pub estimate: EstimatedAmounts,
    /// The request at which PyTorch's allocator, replayed with the job, runs out of memory; `None`
    /// where it does not run out, or cannot be replayed.
    pub failure: Option<ReplayedFailure>,
    /// True if that failure prints the numbers of the message, all that it states.
    pub is_replayed: bool,
    /// Memory that waits on the host for one GPU, by the estimate.
    pub host: Bytes,
    /// Reasons to think that the message comes from another job; empty where it may be this one.
    pub doubts: Vec<Doubt>,
    /// Remedies, the best first. The estimator has tried the changes of the job.
    pub remedies: Vec<Remedy>,
}

/// Returns a message beside the estimate of a job: the tensor that was asked for, the cause,
/// amounts of both sides in bytes, doubts and remedies.
///
/// Nothing is fitted: the estimate is the one that the page shows, and the message is read with the
/// precision of its print. Where the two contradict each other, [`Diagnosis::doubts`] says so, and
/// no change of the job is offered, because it would be a change of another run.
///
/// # Example
///
/// ```
/// use headroom::diagnosis;
/// use headroom::import::oom::read;
/// use headroom::scenario::codec::decode;
///
/// let text = "CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of \
///             26.50 GiB of which 3.12 GiB is free. Of the allocated memory 17.15 GiB is \
///             allocated by PyTorch, and 5.73 GiB is reserved by PyTorch but unallocated.";
/// let link = "v1&m=llama3-8b&l=4&n=1&gb=4&b=4&s=2048&prec=bf16-pure&ker=eager&rc=full\
///             &att=standard&mem=26.5&oi=for-loop";
/// let job = decode(link).scenario.resolve().unwrap();
/// let found = diagnosis::of(&job, &read(text).unwrap()[0]);
/// let asked = found.asked_for.tensors()[0].to_string();
/// assert_eq!(asked, "3.91 GiB = fp32 log-probabilities [4 × 2048 × 128\u{202f}256]");
/// ```
pub fn of(job: &Job, message: &OomMessage) -> Diagnosis {
    let known = Known::of(job);
    known.diagnosis(message, 1, message.rank.into_iter().collect())
}

/// Returns all messages of a text beside the estimate of a job; those that several ranks print
/// alike become one diagnosis with all their ranks.
///
/// Messages are alike if they come from one program, ask for the same amount, and have the same
/// kind of cause.
pub fn of_each(job: &Job, messages: &[OomMessage]) -> Vec<Diagnosis> {
    let mut groups: Vec<(&OomMessage, usize, Vec<u32>)> = Vec::new();
    for message in messages {
        match groups.iter_mut().find(|(first, ..)| are_alike(first, message)) {
            Some((_, count, ranks)) => {
                *count += 1;
                ranks.extend(message.rank);
            }
            None => groups.push((message, 1, message.rank.into_iter().collect())),
        }
    }
    let known = Known::of(job);
    groups
        .into_iter()
        .map(|(message, count, ranks)| known.diagnosis(message, count, ranks))
        .collect()
}

/// True if two messages tell the same failure.
fn are_alike(one: &OomMessage, other: &OomMessage) -> bool {
    let kinds = [one, other].map(|message| std::mem::discriminant(&cause(message)));
    let [first, second] =
        [one, other].map(|message| (message.program, message.about, message.tried, message.needed));
    kinds[0] == kinds[1] && first == second
}

/// True if a replay's failure prints the numbers of a message: the size of the request, and all
/// further amounts that the message states.
pub(crate) fn prints_so(message: &OomMessage, failure: &ReplayedFailure) -> bool {
    let numbers = &failure.numbers;
    let others = [
        (message.allocated.map(PrintedAmount::range), numbers.allocated),
        (message.unallocated_range(), numbers.unallocated),
        (message.free.map(PrintedAmount::range), numbers.free),
    ];
    let agree = |(stated, bytes): (Option<ByteRange>, u64)| {
        stated.is_none_or(|range| range.contains(bytes))
    };
    message.tried.is_some_and(|tried| tried.contains(numbers.tried))
        && message.allocated.is_some()
        && others.into_iter().all(agree)
}

/// A job with all known facts about it, shared by all messages of a text.
struct Known<'a> {
    job: &'a Job,
    estimate: Estimate,
    tensors: Vec<AskedTensor>,
    amounts: EstimatedAmounts,
    failure: Option<ReplayedFailure>,
}

impl<'a> Known<'a> {
    fn of(job: &'a Job) -> Self {
        let estimate = estimate(job);
        let amounts = estimated_amounts(job, &estimate);
        Self { job, estimate, tensors: asked_tensors(job), amounts, failure: replayed_failure(job) }
    }

    fn diagnosis(&self, message: &OomMessage, count: usize, ranks: Vec<u32>) -> Diagnosis {
        let cause = cause(message);
        let asked_for = AskedFor::of(message, &self.tensors);
        let doubts = doubts::of(self, message, &asked_for);
        let remedies = remedies::of(self, message, &cause, doubts.is_empty());
        Diagnosis {
            message: message.clone(),
            ranks,
            count,
            amounts: amounts::beside(message, self, &asked_for),
            cause,
            asked_for,
            estimate: self.amounts,
            failure: self.failure,
            is_replayed: self.failure.is_some_and(|failure| prints_so(message, &failure)),
            host: self.estimate.host.total(),
            doubts,
            remedies,
        }
    }
}
