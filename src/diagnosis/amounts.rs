//! The amounts of a message beside those of the estimate.

use std::fmt;

use super::asked_for::{AskedFor, FoundTensor};
use super::{Known, prints_so};
use crate::config::Job;
use crate::estimator::{
    CUDA_GRAPHS, DeviceMemory, Estimate, KEPT_FREE, LineItem, MemoryKind, ReplayedFailure,
    device_memory,
};
use crate::import::oom::{ByteRange, FailedRequest, OomMessage, PrintedAmount, ReportingProgram};
use crate::sources;
use crate::units::{Bytes, whole};

/// The estimate in the words of PyTorch's message, for the most loaded rank at the highest moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatedAmounts {
    /// Tensors: "allocated by PyTorch".
    pub allocated: Bytes,
    /// Segments of PyTorch's allocator: the allocated memory, and the unused memory between it.
    pub reserved: Bytes,
    /// All that this process holds, as the driver shows it.
    pub in_use: Bytes,
    /// Memory of one accelerator.
    pub capacity: Bytes,
    /// True if the job runs to its end.
    pub fits: bool,
}

impl EstimatedAmounts {
    /// Returns the memory that this process holds outside PyTorch's allocator, bytes: `in_use −
    /// reserved`.
    pub const fn outside(&self) -> Bytes {
        self.in_use.saturating_sub(self.reserved)
    }

    /// Returns the bytes by which tensors alone, without any gap between them, exceed the memory:
    /// `allocated + outside − capacity`; `None` where they find room.
    pub fn tensors_over(&self) -> Option<Bytes> {
        let least = self.allocated + self.outside();
        (least > self.capacity).then(|| least.saturating_sub(self.capacity))
    }
}

/// Returns an estimate in the words of PyTorch's message, bytes: allocated, reserved, in use,
/// capacity.
///
/// Where the order of allocations is known, all amounts come from [`device_memory`], which replays
/// PyTorch's allocator. Elsewhere `allocated` is the ledger without framework and reserve,
/// `reserved` adds the ledger's reserve for fragmentation, which is assumed, and `in_use` is the
/// whole ledger without the memory that a server leaves free; captured graphs are in PyTorch's
/// private pools and count as allocated. No other place decides which memory a diagnosis counts as
/// reserved.
///
/// ```
/// use headroom::diagnosis::estimated_amounts;
/// use headroom::estimator::estimate;
/// use headroom::scenario::codec::decode;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// let amounts = estimated_amounts(&job, &estimate(&job));
/// assert!(amounts.allocated <= amounts.reserved && amounts.reserved <= amounts.in_use);
/// # Ok::<(), usize>(())
/// ```
pub fn estimated_amounts(job: &Job, estimate: &Estimate) -> EstimatedAmounts {
    let capacity = estimate.capacity;
    if let Ok(DeviceMemory { allocated, reserved, in_use, fits, .. }) = device_memory(job) {
        return EstimatedAmounts { allocated, reserved, in_use, capacity, fits };
    }
    let sum = |counts: &dyn Fn(&LineItem) -> bool| {
        estimate
            .ledger
            .lines
            .iter()
            .filter(|line| counts(line))
            .map(|line| line.bytes)
            .sum::<Bytes>()
    };
    let allocated = sum(&|line| line.kind != MemoryKind::Framework || line.label == CUDA_GRAPHS);
    let between = sum(&|line| line.source == sources::RESERVE);
    let in_use = sum(&|line| line.label != KEPT_FREE);
    EstimatedAmounts {
        allocated,
        reserved: allocated + between,
        in_use,
        capacity,
        fits: estimate.total() <= capacity,
    }
}

/// A figure of a message or of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownAmount {
    /// Memory as the message prints it.
    Printed(PrintedAmount),
    /// Memory that follows from printed amounts, with their precision, or that is exact.
    Memory(ByteRange),
    /// Any memory between these bytes, depending on the moment.
    Between([Bytes; 2]),
    /// A number of tokens.
    Tokens(u64),
}

impl ShownAmount {
    /// Returns an amount that is known to the byte.
    pub const fn exactly(bytes: Bytes) -> Self {
        Self::Memory(ByteRange::exactly(bytes.0))
    }
}

impl fmt::Display for ShownAmount {
    /// As PyTorch prints sizes: `3.91 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Printed(amount) => amount.fmt(f),
            Self::Memory(range) => range.fmt(f),
            Self::Between([low, high]) => {
                let [low, high] = [low, high].map(|bytes| ByteRange::exactly(bytes.0).to_string());
                if low == high { f.write_str(&low) } else { write!(f, "{low} to {high}") }
            }
            Self::Tokens(tokens) => write!(f, "{} tokens", whole(*tokens)),
        }
    }
}

/// One amount of the message beside that of the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmountBeside {
    /// Its name, in the words of the message.
    pub label: &'static str,
    /// The amount of the message.
    pub message: Option<ShownAmount>,
    /// The amount of the estimate.
    pub estimate: Option<ShownAmount>,
    /// Its meaning, in one sentence.
    pub note: &'static str,
}

/// The amounts that a message states, each beside the estimate's.
pub(super) fn beside(
    message: &OomMessage,
    known: &Known<'_>,
    asked_for: &AskedFor,
) -> Vec<AmountBeside> {
    let mut rows = if message.about == FailedRequest::HostMemory {
        of_host(message)
    } else {
        let mut rows = of_request(message, known, asked_for);
        rows.extend(of_driver(message, known));
        rows.extend(of_server(message, known));
        rows
    };
    rows.retain(|row| row.message.is_some());
    rows
}

/// Amounts of the host's memory, of which the estimate knows only the tensors that wait there for
/// the GPU.
fn of_host(message: &OomMessage) -> Vec<AmountBeside> {
    let row =
        |label, amount, note| AmountBeside { label, message: stated(amount), estimate: None, note };
    vec![
        row("Tried to allocate", message.tried, "What was asked for in one piece."),
        row("Needed", message.needed, "What the program needs in host memory."),
        row("Available", message.available, "What was available there."),
        row("In use", message.in_use, "What the process held there, or all processes together."),
        row("Total", message.total, "All host memory that there is."),
    ]
}

fn stated(amount: Option<PrintedAmount>) -> Option<ShownAmount> {
    amount.map(ShownAmount::Printed)
}

/// The amount that was asked for, and the memory that was allocated then.
fn of_request(message: &OomMessage, known: &Known<'_>, asked_for: &AskedFor) -> Vec<AmountBeside> {
    let found = asked_for.tensors().first();
    let tensor =
        found.map(|found| found.tensor.bytes).or_else(|| of_llama_cpp(message, &known.estimate));
    let alive_before = found.and_then(FoundTensor::alive_before).map(ShownAmount::Between);
    let replayed = known.failure.filter(|failure| prints_so(message, failure));
    let replayed = replayed.map(|failure| ShownAmount::exactly(Bytes(failure.numbers.allocated)));
    let with_request =
        message.allocated.zip(message.tried).map(|(held, tried)| held.range().plus(tried.range()));
    vec![
        AmountBeside {
            label: "Tried to allocate",
            message: stated(message.tried),
            estimate: tensor.map(ShownAmount::exactly),
            note: "What was asked for in one piece; beside it the tensor of that size.",
        },
        AmountBeside {
            label: "Allocated by PyTorch",
            message: stated(message.allocated),
            estimate: replayed.or(alive_before),
            note: "Tensors that were alive when it failed; by the estimate those before that \
                tensor is asked for.",
        },
        AmountBeside {
            label: "Allocated with what was tried",
            message: with_request.map(ShownAmount::Memory),
            estimate: Some(ShownAmount::exactly(known.amounts.allocated)),
            note: "Tensors if the request had been granted; by the estimate those at the peak of \
                the step.",
        },
    ]
}

/// Reserved and free memory by the estimate: at the failure of its own replay, or else at the peak.
struct Held {
    unallocated: Bytes,
    reserved: Bytes,
    in_use: Bytes,
    free: Option<Bytes>,
}

impl Held {
    fn of(known: &Known<'_>) -> Self {
        let ours = &known.amounts;
        if let Some(ReplayedFailure { numbers, .. }) = known.failure {
            let (unallocated, reserved) =
                (Bytes(numbers.unallocated), Bytes(numbers.allocated + numbers.unallocated));
            return Self {
                unallocated,
                reserved,
                in_use: reserved + ours.outside(),
                free: Some(Bytes(numbers.free)),
            };
        }
        let free = (ours.in_use < ours.capacity).then(|| ours.capacity.saturating_sub(ours.in_use));
        Self {
            unallocated: ours.reserved.saturating_sub(ours.allocated),
            reserved: ours.reserved,
            in_use: ours.in_use,
            free,
        }
    }
}

/// The amounts of PyTorch's allocator and of the driver.
fn of_driver(message: &OomMessage, known: &Known<'_>) -> Vec<AmountBeside> {
    let ours = Held::of(known);
    let row = |label, message, estimate: Option<Bytes>, note| {
        let estimate = estimate.map(ShownAmount::exactly);
        AmountBeside { label, message, estimate, note }
    };
    let others =
        message.processes.iter().map(|process| process.in_use.range()).reduce(ByteRange::plus);
    vec![
        row(
            "Reserved but unallocated",
            message.unallocated_range().map(ShownAmount::Memory),
            Some(ours.unallocated),
            "Gaps between tensors, in memory that PyTorch's allocator holds.",
        ),
        row(
            "Reserved by PyTorch",
            message.reserved_range().map(ShownAmount::Memory),
            Some(ours.reserved),
            "Tensors and the gaps between them.",
        ),
        row(
            "In use by this process",
            stated(message.in_use),
            Some(ours.in_use),
            "What nvidia-smi shows for it: reserved memory, the CUDA context, libraries.",
        ),
        row(
            "In use by other processes",
            others.map(ShownAmount::Memory),
            Some(Bytes::ZERO),
            "The estimate takes the GPU to be its own.",
        ),
        row(
            "Free",
            stated(message.free),
            ours.free,
            "What nobody holds; by the estimate when it fails too, or else at the peak.",
        ),
        row(
            "Total capacity",
            stated(message.total),
            Some(known.amounts.capacity),
            "Memory of one GPU as its driver reports it.",
        ),
        row("Allowed", stated(message.allowed), None, "A limit that was set for this process."),
    ]
}

/// The whole cache of keys and values, which llama.cpp asks for in one piece.
fn of_llama_cpp(message: &OomMessage, estimate: &Estimate) -> Option<Bytes> {
    let is_cache =
        message.program == ReportingProgram::LlamaCpp && message.about == FailedRequest::KvCache;
    is_cache.then(|| estimate.ledger.of(MemoryKind::KvCache)).filter(|cache| *cache > Bytes::ZERO)
}

/// The amounts of the checks that servers make themselves.
fn of_server(message: &OomMessage, known: &Known<'_>) -> Vec<AmountBeside> {
    let room = known.estimate.cache_room;
    let context = room.map(|_| known.job.seq_length());
    let memory = |label, message, estimate: Option<Bytes>, note| AmountBeside {
        label,
        message: stated(message),
        estimate: estimate.map(ShownAmount::exactly),
        note,
    };
    let tokens = |label, message: Option<u64>, estimate: Option<u64>, note| AmountBeside {
        label,
        message: message.map(ShownAmount::Tokens),
        estimate: estimate.map(ShownAmount::Tokens),
        note,
    };
    vec![
        memory(
            "Needed",
            message.needed,
            room.map(|room| room.per_sequence),
            "For keys and values of one longest request.",
        ),
        memory(
            "Available",
            message.available,
            room.map(|room| room.bytes),
            "What is left for keys and values beside the weights.",
        ),
        memory("Short by", message.short_by, None, "What is missing."),
        tokens(
            "Longest request",
            message.max_seq_len,
            context,
            "The context length that the server was told.",
        ),
        tokens("Tokens asked for", message.tokens_tried, None, "Tokens that the request needs."),
        tokens(
            "Tokens that find room",
            message.tokens_available,
            room.and_then(|room| room.tokens()),
            "Tokens whose keys and values find room at the same time.",
        ),
        tokens(
            "Longest that fits",
            message.estimated_max_len,
            None,
            "The server's own estimate of the context that would fit.",
        ),
    ]
}
