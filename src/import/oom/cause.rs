//! Tells demand from fragmentation, and both from memory that somebody else holds.

use std::fmt;

use super::amount::{ByteRange, PrintedAmount};
use super::message::{FailedRequest, OomMessage, ReportingProgram};

/// Memory outside PyTorch's allocator counts as much from this share of the device on: one tenth.
/// Assumed: a CUDA context and its libraries take 0.3 to 1 GB, which is less than a tenth of any
/// card that models are trained on.
const MUCH: u64 = 10;

/// Who holds the memory that PyTorch's allocator does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Other processes, which the message names.
    OtherProcesses,
    /// This process, outside PyTorch's allocator: the CUDA context, NCCL, another library.
    ThisProcess,
    /// The message does not tell.
    Untold,
}

/// The reason why a message does not tell the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownCause {
    /// The message states too few amounts.
    TooFewAmounts,
    /// Amounts are too close for the precision of their prints.
    TooCoarse,
    /// The driver has more free than was asked for.
    FreeSuffices,
    /// A library asked the driver itself, which PyTorch's cached memory is kept from.
    OutsideAllocator,
    /// A small pool of tokens is parted into pages.
    PagesTooFew,
    /// Host memory ran out, and the message does not say how much there is.
    HostMemory,
    /// No tensor is that large: a size was computed wrongly.
    NoSuchSize,
}

/// The cause of the failure, with the numbers that say so, in bytes unless stated.
///
/// The rule, in this order, with what was tried = T, free = F, allocated = A, reserved but
/// unallocated = U, total = C, and what is outside PyTorch's allocator O = C − F − A − U:
///
/// 1. T > C is *demand*: no state of the memory would do.
/// 2. F ≥ T: the driver was not the one to refuse. With a stated limit it is the *limit* (or
///    fragmentation below it, where U ≥ T); with other processes that hold much, one of them had
///    the memory a moment earlier; otherwise it is *unknown*.
/// 3. U ≥ T is *fragmentation*. Before it fails, PyTorch gives every segment back that is free as a
///    whole and asks again, so what is left unallocated lies in pieces between tensors.
/// 4. A + U + T above a stated limit is the *limit*.
/// 5. U + F ≥ T is *fragmentation* too: pieces and free memory would do together.
/// 6. Otherwise T − U − F is missing. Where O is at least that and a tenth of the device, *others*
///    hold what is missing.
/// 7. Otherwise it is *demand*.
///
/// Where the prints are too coarse to tell, it is *unknown*. Servers' own messages state demand
/// directly. On Apple's GPUs all is within a limit: there, it is *others* where a tenth of the
/// limit and what is missing lie outside PyTorch's allocator, otherwise the *limit*.
///
/// Source: PyTorch, c10/cuda/CUDACachingAllocator.cpp, `malloc`: "at this point
/// `free_cached_blocks` has already returned all possible cached memory to the driver. The only
/// remaining cached memory is split from a larger block that is partially in-use." The tenth is
/// assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// More was asked for than all memory that could be had.
    Demand {
        /// The amount that was asked for.
        asked: ByteRange,
        /// The most that could be had.
        room: ByteRange,
    },
    /// More tokens were asked for than the cache holds, tokens.
    TooManyTokens {
        /// Tokens that were asked for.
        asked: u64,
        /// Tokens for which there is room.
        room: u64,
    },
    /// Weights and working memory leave nothing for the cache.
    NothingLeft {
        /// By how much they exceed the server's share, where it is stated.
        short_by: Option<PrintedAmount>,
    },
    /// Enough memory is held, in pieces that are too small.
    Fragmentation {
        /// The amount that was asked for.
        asked: ByteRange,
        /// Reserved by PyTorch but unallocated.
        unallocated: ByteRange,
        /// Free by the driver's account; it is needed too where `unallocated` alone is less than
        /// `asked`.
        free: ByteRange,
    },
    /// A limit for this process, not the device, is reached.
    Limit {
        /// The amount that was asked for.
        asked: ByteRange,
        /// The limit.
        allowed: ByteRange,
        /// The amount that PyTorch had reserved by then.
        reserved: ByteRange,
    },
    /// The missing memory is held outside PyTorch's allocator.
    Others {
        /// The amount that is missing.
        missing: ByteRange,
        /// The amount that is held outside.
        held: ByteRange,
        /// Who holds it.
        holder: Holder,
    },
    /// The message does not tell.
    Unknown(UnknownCause),
}

/// Returns the cause of the failure, from one message alone.
///
/// ```
/// use headroom::import::oom::{Cause, cause, read};
///
/// let text = "CUDA out of memory. Tried to allocate 3.15 GiB. GPU 0 has a total capacity of \
///             39.56 GiB of which 2.80 GiB is free. Including non-PyTorch memory, this process \
///             has 36.61 GiB memory in use. Of the allocated memory 31.66 GiB is allocated by \
///             PyTorch, and 4.11 GiB is reserved by PyTorch but unallocated.";
/// assert!(matches!(cause(&read(text).unwrap()[0]), Cause::Fragmentation { .. }));
/// ```
pub fn cause(message: &OomMessage) -> Cause {
    match (message.program, message.about) {
        (ReportingProgram::PyTorch, FailedRequest::Allocation) => of_pytorch(message),
        (ReportingProgram::Nccl | ReportingProgram::Bitsandbytes | ReportingProgram::Cuda, _) => {
            Cause::Unknown(UnknownCause::OutsideAllocator)
        }
        (ReportingProgram::Vllm, FailedRequest::Startup) => of_startup(message),
        (ReportingProgram::Sglang, FailedRequest::Startup) => of_unbalanced(message),
        (_, FailedRequest::Tokens) => of_tokens(message),
        (_, FailedRequest::KvCache) if message.program != ReportingProgram::LlamaCpp => {
            of_cache(message)
        }
        (_, FailedRequest::HostMemory) => {
            stated_demand(message).unwrap_or(Cause::Unknown(UnknownCause::HostMemory))
        }
        _ => stated_demand(message).unwrap_or(Cause::Unknown(UnknownCause::TooFewAmounts)),
    }
}

/// Demand that the message states as needed and available, or as asked for and free.
fn stated_demand(message: &OomMessage) -> Option<Cause> {
    let needed = message.needed.zip(message.available).or_else(|| message.tried.zip(message.free));
    let (asked, room) = needed.map(|(asked, room)| (asked.range(), room.range()))?;
    (room.covers(asked) != Some(true)).then_some(Cause::Demand { asked, room })
}

/// Too small a cache for one request, or none at all.
fn of_cache(message: &OomMessage) -> Cause {
    if let Some(cause) = stated_demand(message) {
        return cause;
    }
    match message.max_seq_len.zip(message.tokens_available) {
        Some((asked, room)) => Cause::TooManyTokens { asked, room },
        None => Cause::NothingLeft { short_by: message.short_by },
    }
}

/// A cache that is full while requests run.
fn of_tokens(message: &OomMessage) -> Cause {
    match message.tokens_tried.zip(message.tokens_available) {
        Some((asked, room)) if asked > room => Cause::TooManyTokens { asked, room },
        Some(_) => Cause::Unknown(UnknownCause::PagesTooFew),
        None => Cause::Unknown(UnknownCause::TooFewAmounts),
    }
}

/// A GPU on which less is free than the server may take: the server holds nothing yet, so all that
/// is held is others'.
fn of_startup(message: &OomMessage) -> Cause {
    let Some(((free, total), needed)) = message.free.zip(message.total).zip(message.needed) else {
        return Cause::Unknown(UnknownCause::TooFewAmounts);
    };
    let (free, total) = (free.range(), total.range());
    Cause::Others {
        missing: needed.range().minus(free),
        held: total.minus(free),
        holder: Holder::Untold,
    }
}

/// GPUs of which one has less free than this one before anything is loaded: the difference is
/// others'.
fn of_unbalanced(message: &OomMessage) -> Cause {
    let Some((needed, available)) = message.needed.zip(message.available) else {
        return Cause::Unknown(UnknownCause::TooFewAmounts);
    };
    let missing = needed.range().minus(available.range());
    Cause::Others { missing, held: missing, holder: Holder::Untold }
}

/// The rule of [`Cause`].
fn of_pytorch(message: &OomMessage) -> Cause {
    let Some(asked) = message.tried.map(PrintedAmount::range) else {
        return Cause::Unknown(UnknownCause::TooFewAmounts);
    };
    if asked.low >= 1 << 60 {
        return Cause::Unknown(UnknownCause::NoSuchSize);
    }
    if message.other_allocations.is_some() {
        return of_mps(message, asked);
    }
    if let Some(total) = message.total.map(PrintedAmount::range)
        && total.covers(asked) == Some(false)
    {
        return Cause::Demand { asked, room: total };
    }
    let Some(free) = message.free.map(PrintedAmount::range) else {
        return Cause::Unknown(UnknownCause::TooFewAmounts);
    };
    let unallocated = message.unallocated_range();
    let is_in_pieces = unallocated.and_then(|pieces| pieces.covers(asked));
    if free.covers(asked) == Some(true) {
        return although_free(message, asked, free);
    }
    let Some(unallocated) = unallocated else { return without_reserve(message, asked, free) };
    let fragmentation = Cause::Fragmentation { asked, unallocated, free };
    if is_in_pieces == Some(true) {
        return fragmentation;
    }
    if free.covers(asked).is_none() {
        return Cause::Unknown(UnknownCause::TooCoarse);
    }
    if let Some(limit) = reached_limit(message, asked) {
        return limit;
    }
    let room = unallocated.plus(free);
    match room.covers(asked) {
        Some(true) => fragmentation,
        None => Cause::Unknown(UnknownCause::TooCoarse),
        Some(false) => others(message, asked.minus(room)).unwrap_or(Cause::Demand { asked, room }),
    }
}

/// The driver has enough, and yet the request failed.
fn although_free(message: &OomMessage, asked: ByteRange, free: ByteRange) -> Cause {
    let unallocated = message.unallocated_range();
    if message.allowed.is_some() {
        if let Some(unallocated) = unallocated.filter(|pieces| pieces.covers(asked) == Some(true)) {
            return Cause::Fragmentation { asked, unallocated, free };
        }
        if let Some(limit) = reached_limit(message, asked) {
            return limit;
        }
    }
    let named = others(message, ByteRange::exactly(0))
        .filter(|cause| matches!(cause, Cause::Others { holder: Holder::OtherProcesses, .. }));
    named.unwrap_or(Cause::Unknown(UnknownCause::FreeSuffices))
}

/// A message that states nothing of what is reserved, as `cudaMallocAsync` prints it: the driver
/// gives back what it can by itself.
fn without_reserve(message: &OomMessage, asked: ByteRange, free: ByteRange) -> Cause {
    match (message.allocated, free.covers(asked)) {
        (Some(_), Some(false)) => Cause::Demand { asked, room: free },
        (Some(_), None) => Cause::Unknown(UnknownCause::TooCoarse),
        _ => Cause::Unknown(UnknownCause::TooFewAmounts),
    }
}

/// The limit of this process, unless what it has reserved and asked for certainly stays below.
fn reached_limit(message: &OomMessage, asked: ByteRange) -> Option<Cause> {
    let (allowed, reserved) = (
        message.allowed?.range(),
        message.reserved_range().or(message.allocated.map(PrintedAmount::range))?,
    );
    let is_reached = reserved.plus(asked).high > allowed.low;
    is_reached.then_some(Cause::Limit { asked, allowed, reserved })
}

/// Other processes that hold the missing memory, and much.
fn others(message: &OomMessage, missing: ByteRange) -> Option<Cause> {
    let held = message.outside_range()?;
    let is_much = held.low.saturating_mul(MUCH) >= message.total?.range().high;
    (is_much && held.low >= missing.high).then(|| Cause::Others {
        missing,
        held,
        holder: holder(message, held),
    })
}

/// Whoever holds at least half of what is held outside.
fn holder(message: &OomMessage, held: ByteRange) -> Holder {
    let allocated = message.allocated.map_or(0, |amount| amount.range().low);
    // In a container the driver knows this process by another id: one that holds what PyTorch has
    // allocated is this one.
    let others = message.processes.iter().map(|process| process.in_use.range());
    let others = others.filter(|in_use| message.in_use.is_some() || in_use.high < allocated);
    let named = others.fold(ByteRange::default(), ByteRange::plus);
    let inside = message.reserved_range().unwrap_or_default();
    // Some drivers report nothing or nonsense for the process; PyTorch prints it as it comes.
    let own = message
        .in_use
        .map(PrintedAmount::range)
        .filter(|own| own.high >= inside.low)
        .map(|own| own.minus(inside));
    let half = held.middle() / 2;
    if named.middle() > half {
        Holder::OtherProcesses
    } else if own.is_some_and(|own| own.middle() > half) {
        Holder::ThisProcess
    } else {
        Holder::Untold
    }
}

/// Apple's GPUs: the limit is a share of the unified memory, and all that the process holds there
/// counts. Source: aten/src/ATen/mps/MPSAllocator.mm, `m_max_total_allowed_size`.
fn of_mps(message: &OomMessage, asked: ByteRange) -> Cause {
    let stated = message.allocated.zip(message.other_allocations).zip(message.allowed);
    let Some(((allocated, other), allowed)) = stated else {
        return Cause::Unknown(UnknownCause::TooFewAmounts);
    };
    let (allocated, other, allowed) = (allocated.range(), other.range(), allowed.range());
    let room = allowed.minus(allocated.plus(other));
    if room.covers(asked) == Some(true) {
        return Cause::Unknown(UnknownCause::FreeSuffices);
    }
    let missing = asked.minus(room);
    let is_much = other.low.saturating_mul(MUCH) >= allowed.high && other.low >= missing.high;
    if is_much {
        Cause::Others { missing, held: other, holder: Holder::ThisProcess }
    } else {
        Cause::Limit { asked, allowed, reserved: allocated.plus(other) }
    }
}

impl fmt::Display for Cause {
    /// One sentence with the numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Demand { asked, room } => write!(f, "Demand: {asked} was asked for, and at most {room} could be had."),
            Self::TooManyTokens { asked, room } => {
                write!(f, "Demand: {asked} tokens were asked for, and the cache of keys and values holds {room}.")
            }
            Self::NothingLeft { short_by: None } => f.write_str(
                "Demand: weights and working memory leave nothing of the server's share for the cache of keys and values.",
            ),
            Self::NothingLeft { short_by: Some(short) } => {
                write!(
                    f,
                    "Demand: weights and working memory exceed the server's share by {short}, before any cache of keys and \
                     values."
                )
            }
            Self::Fragmentation { asked, unallocated, free } => {
                write!(f, "Fragmentation: {asked} was asked for, {unallocated} is reserved but unallocated")?;
                if unallocated.covers(*asked) != Some(true) {
                    write!(f, " and {free} is free")?;
                }
                f.write_str(", and no piece of it is large enough.")
            }
            Self::Limit { asked, allowed, reserved } => {
                write!(
                    f,
                    "The process's own limit: {reserved} is reserved, {asked} more was asked for, and {allowed} is allowed."
                )
            }
            Self::Others { missing, held, holder } => {
                if missing.high == 0 {
                    f.write_str("Others: enough is free now, so another process gave it back since")?;
                } else {
                    write!(f, "Others: {missing} is missing")?;
                }
                match holder {
                    Holder::OtherProcesses => write!(f, ", and other processes hold {held}."),
                    Holder::ThisProcess => write!(f, ", and this process holds {held} outside PyTorch's allocator."),
                    Holder::Untold => write!(f, ", and {held} is held by others."),
                }
            }
            Self::Unknown(why) => write!(f, "Unknown: {why}."),
        }
    }
}

impl fmt::Display for UnknownCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooFewAmounts => "the message states too few amounts to tell",
            Self::TooCoarse => "the amounts are too close to tell at the precision of the print",
            Self::FreeSuffices => {
                "the driver reports more free memory than was asked for, so something other than its size failed"
            }
            Self::OutsideAllocator => "a library asked the driver itself, and the message does not say what holds the memory",
            Self::PagesTooFew => "the cache has room for as many tokens, but not in whole pages",
            Self::HostMemory => "host memory ran out, and the message does not say how much the machine has",
            Self::NoSuchSize => "no tensor is that large, so a size was computed wrongly",
        })
    }
}
