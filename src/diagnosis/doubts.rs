//! Reasons to think that a message comes from another job than the link's.

use std::fmt;

use super::Known;
use super::amounts::ShownAmount;
use super::asked_for::AskedFor;
use crate::config::Run;
use crate::engines::CacheMemory;
use crate::estimator::CacheRoom;
use crate::import::oom::{
    ByteRange, Cause, FailedRequest, LARGE_SEGMENT, OomMessage, PrintedAmount, ReportingProgram,
    UnknownCause, cause,
};
use crate::units::{Bytes, whole};

/// Capacities of one GPU differ by less than one part in this number. Assumed: drivers keep up to a
/// few per cent for themselves and for error correction.
const SAME_CAPACITY: u64 = 20;

/// Keys and values of one request differ by less than one part in this number. Assumed: servers
/// round up to whole blocks.
const SAME_CACHE: u64 = 20;

/// An amount above this many tenths of the estimate's peak is another job's. Assumed: the estimate
/// is compared with measured runs of other software, of which none is off by half.
const SAME_JOB: u64 = 15;

/// A reason to think that a message comes from another job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The GPU has another size.
    OtherCapacity {
        /// The capacity of the message's GPU.
        stated: ByteRange,
        /// The capacity of the job's accelerator.
        estimated: Bytes,
    },
    /// More was allocated than the job ever allocates.
    MoreAllocated {
        /// The message's amount.
        stated: ByteRange,
        /// The job's peak of tensors.
        estimated: Bytes,
    },
    /// More was asked for in one piece than any tensor of the job takes.
    LargerTensor {
        /// The message's amount.
        stated: ByteRange,
        /// The job's largest tensor.
        estimated: Bytes,
    },
    /// The server was started with another longest request.
    OtherContext {
        /// The message's longest request, tokens.
        stated: u64,
        /// The job's context, tokens.
        estimated: u64,
    },
    /// Keys and values of a request of the same length take another amount.
    OtherCache {
        /// The message's amount.
        stated: ByteRange,
        /// The estimate's amount.
        estimated: Bytes,
    },
    /// The server had another room for keys and values.
    OtherRoom {
        /// The message's amount.
        stated: ShownAmount,
        /// The estimate's amount.
        estimated: ShownAmount,
    },
    /// The message is printed by a program that serves, and the job trains.
    Serves(ReportingProgram),
}

/// The doubts about a message, the plainest first.
///
/// Capacities count as different from a twentieth on. Memory that was allocated or asked for counts
/// as another job's if it is more than half above the estimate's peak or, for one tensor, larger
/// than the largest. Less than the estimate is no doubt: a run can fail on its way to the peak.
pub(super) fn of(known: &Known<'_>, message: &OomMessage, asked_for: &AskedFor) -> Vec<Doubt> {
    let mut found = Vec::new();
    let serves = matches!(
        message.program,
        ReportingProgram::Vllm
            | ReportingProgram::Sglang
            | ReportingProgram::TextGenerationInference
            | ReportingProgram::LlamaCpp
            | ReportingProgram::Ollama
    );
    if serves && known.job.training().is_some() {
        found.push(Doubt::Serves(message.program));
    }
    let says_nothing = cause(message) == Cause::Unknown(UnknownCause::NoSuchSize)
        || message.about == FailedRequest::HostMemory;
    if says_nothing {
        return found;
    }
    let ours = &known.amounts;
    if let Some(stated) = message.total.map(PrintedAmount::range)
        && stated.middle().abs_diff(ours.capacity.0).saturating_mul(SAME_CAPACITY) > ours.capacity.0
    {
        found.push(Doubt::OtherCapacity { stated, estimated: ours.capacity });
    }
    if let Some(stated) = message.allocated.map(PrintedAmount::range)
        && stated.low.saturating_mul(10) > ours.allocated.0.saturating_mul(SAME_JOB)
    {
        found.push(Doubt::MoreAllocated { stated, estimated: ours.allocated });
    }
    if let AskedFor::NoTensor { largest: Some(largest), .. } = asked_for
        && let Some(stated) = message.tried.map(PrintedAmount::range)
        && stated.low > largest.bytes.0.saturating_add(LARGE_SEGMENT)
    {
        found.push(Doubt::LargerTensor { stated, estimated: largest.bytes });
    }
    found.extend(of_cache(known, message));
    found
}

/// A doubt about the cache of keys and values: first about its length, then about the memory that
/// as many tokens take.
fn of_cache(known: &Known<'_>, message: &OomMessage) -> Option<Doubt> {
    let (room, stated) = (known.estimate.cache_room?, message.max_seq_len?);
    let estimated = known.job.seq_length();
    if stated != estimated {
        return Some(Doubt::OtherContext { stated, estimated });
    }
    of_needed(message, &room).or_else(|| of_room(known, message, &room))
}

/// A doubt about the memory that one longest request takes.
fn of_needed(message: &OomMessage, room: &CacheRoom) -> Option<Doubt> {
    let needed = message.needed?.range();
    let (least, most) = (
        room.per_sequence.0 - room.per_sequence.0 / SAME_CACHE,
        room.per_sequence.0 + room.per_sequence.0 / SAME_CACHE,
    );
    let differs = needed.high < least || needed.low > most;
    differs.then_some(Doubt::OtherCache { stated: needed, estimated: room.per_sequence })
}

/// A doubt about the room for keys and values, of a server that gives them all remaining memory.
fn of_room(known: &Known<'_>, message: &OomMessage, room: &CacheRoom) -> Option<Doubt> {
    let Run::Serving(run) = known.job.run() else { return None };
    if run.engine.cache != CacheMemory::AllThatIsLeft {
        return None;
    }
    let differs = |stated: u64, estimated: u64| {
        let most = stated.max(estimated).saturating_mul(10);
        most > stated.min(estimated).saturating_mul(SAME_JOB)
    };
    let tokens = message
        .tokens_available
        .zip(room.tokens())
        .filter(|(stated, estimated)| differs(*stated, *estimated));
    let memory = message.available.filter(|stated| differs(stated.range().middle(), room.bytes.0));
    let of_tokens = tokens
        .map(|(stated, estimated)| (ShownAmount::Tokens(stated), ShownAmount::Tokens(estimated)));
    let of_memory =
        memory.map(|stated| (ShownAmount::Printed(stated), ShownAmount::exactly(room.bytes)));
    of_tokens.or(of_memory).map(|(stated, estimated)| Doubt::OtherRoom { stated, estimated })
}

impl fmt::Display for Doubt {
    /// One sentence with both figures and the way out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |bytes: &Bytes| ByteRange::exactly(bytes.0);
        match self {
            Self::OtherCapacity { stated, estimated } => write!(
                f,
                "The message's GPU has {stated}, the link's {}: choose the accelerator that the \
                 run had.",
                exact(estimated)
            ),
            Self::MoreAllocated { stated, estimated } => write!(
                f,
                "PyTorch had allocated {stated}, and the link's job never allocates more than {}: \
                 another model, batch, sequence length or layout was running.",
                exact(estimated)
            ),
            Self::LargerTensor { stated, estimated } => write!(
                f,
                "{stated} was asked for in one piece, and the largest tensor of the link's job \
                 takes {}: another model, batch or sequence length was running.",
                exact(estimated)
            ),
            Self::OtherContext { stated, estimated } => write!(
                f,
                "The server was told a longest request of {} tokens, and the link's is {}: choose \
                 that context length.",
                whole(*stated),
                whole(*estimated)
            ),
            Self::OtherCache { stated, estimated } => write!(
                f,
                "Keys and values of one longest request take {stated} by the message and {} by the \
                 estimate: another model, cache format or number of GPUs was running.",
                exact(estimated)
            ),
            Self::OtherRoom { stated, estimated } => write!(
                f,
                "The server had room for {stated} of keys and values, and by the estimate it is \
                 {estimated}: another GPU, share of its memory or number of GPUs was running."
            ),
            Self::Serves(program) => {
                write!(
                    f,
                    "{} serves models, and the link's job trains one: choose serving and its \
                     engine.",
                    program.name()
                )
            }
        }
    }
}
