//! Reads the messages that programs print when memory runs out, and tells the cause.
//!
//! [`read`] turns a pasted text into [`OomMessage`]s, [`cause`] tells demand from fragmentation,
//! [`agreement`] compares the size of a tensor with the one that was asked for. None of them knows
//! a model or the project's estimate; the caller sets the amounts beside its own.

mod amount;
mod cause;
mod clean;
mod host;
mod llama_cpp;
mod message;
mod others;
mod pytorch;
mod scan;
mod segment;
mod servers;

use std::fmt;

pub use amount::{ByteRange, PrintedAmount};
pub use cause::{Cause, Holder, UnknownCause, cause};
pub use message::{FailedRequest, NamedDevice, OomMessage, Process, ReportingProgram};
pub use segment::{Agreement, LARGE_SEGMENT, SMALL_SEGMENT, agreement, segment_of};

use clean::Stream;
use scan::Window;

/// No message is longer than this, squeezed.
const LONGEST_MESSAGE: usize = 2_000;
/// More messages than ranks of the largest jobs are nonsense.
const MOST_MESSAGES: usize = 4_096;
/// A message is compared with that many before it to find repeats: tracebacks print the same one
/// twice.
const RECENT: usize = 16;

/// The reason why a text holds no message that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadMessage {
    /// Nothing was pasted.
    Empty,
    /// No known wording occurs.
    NoMessage,
    /// The message is about a kernel's shared memory.
    SharedMemory,
    /// A library of CUDA failed inside without a cause, as some do where no memory is left for
    /// them.
    InsideLibrary,
    /// The size that was asked for is beyond 2⁶⁴ bytes.
    TooLarge,
}

impl fmt::Display for UnreadMessage {
    /// One sentence with the way out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "there is no text: paste the error with the words \"out of memory\" and the line after it",
            Self::NoMessage => {
                "no out-of-memory message was found in the text: paste the whole error, from \"out of memory\" to the end \
                 of its sentence"
            }
            Self::SharedMemory => {
                "the message is about the shared memory of one kernel and not about the GPU's memory: use smaller blocks or fewer \
                 stages in the kernel"
            }
            Self::InsideLibrary => {
                "the message is an internal error of cuDNN or cuFFT, which states no cause: on a full GPU it means that nothing is \
                 left for the library itself, so compare what nvidia-smi shows with the GPU's memory"
            }
            Self::TooLarge => {
                "the message asks for more than 16 EiB, which no program prints: paste the error as the program printed it"
            }
        })
    }
}

impl std::error::Error for UnreadMessage {}

/// A message and where it ends in the squeezed text.
struct Found {
    message: Box<OomMessage>,
    end: usize,
}

/// The answer of a reader of one wording.
enum Parsed {
    /// A message.
    Found(Found),
    /// The phrase stands in another wording, or in no message.
    Nothing,
    /// A message that makes no sense.
    Refused(UnreadMessage),
}

impl Parsed {
    fn found(message: OomMessage, end: usize) -> Self {
        Self::Found(Found { message: Box::new(message), end })
    }
}

/// A phrase that a message is known by, and who reads it.
type Head = (&'static str, fn(&Window<'_>) -> Parsed);

/// All wordings. Where several start at one place, the first that reads it wins.
const HEADS: &[Head] = &[
    ("mpsbackendoutofmemory", pytorch::mps),
    ("triedtoallocate", pytorch::tried),
    ("youtriedtoallocate", pytorch::host),
    ("hasatotalcapac", pytorch::without_tried),
    ("wouldexceedallowedmemory", pytorch::malloc_async),
    ("noavailablememoryforthecacheblocks", servers::no_cache_blocks),
    ("islargerthanthemaximumnumberoftokensthatcanbestoredinkvcache", servers::too_few_tokens),
    ("kvcacheisneeded,whichislargerthan", servers::cache_needed),
    ("onstartupislessthandesiredgpumemoryutilization", servers::startup),
    ("outofmemoryoccurredwhenwarmingup", servers::warm_up),
    ("notenoughmemory.pleasetrytoincrease--mem-fraction-static", servers::sglang_pool),
    ("notenoughmemorytoallocatekvcache", servers::sglang_pool),
    ("outofmemory.trytoloweryourbatchsize", servers::sglang_tokens),
    ("memorycapacityisunbalanced", servers::sglang_unbalanced),
    ("notenoughmemorytohandle", servers::tgi),
    ("modelrequiresmoresystemmemory", servers::ollama),
    ("mallocfailed:outofmemory", llama_cpp::malloc_failed),
    ("failedtoallocate", llama_cpp::buffer_of_size),
    ("failedtoallocate", others::tensorflow_driver),
    ("unabletoallocate", llama_cpp::unable),
    ("unabletoallocate", host::numpy),
    ("devicememoryallocationofsize", llama_cpp::vulkan),
    ("erroroutofdevicememory", llama_cpp::vulkan),
    ("callbackerroroutofmemory", llama_cpp::metal),
    ("insufficientmemory(attemptedtoallocate", llama_cpp::host),
    ("outofmemorywhiletryingtoallocate", others::xla),
    ("outofmemoryallocating", others::xla),
    ("ranoutofmemoryinmemoryspacehbm", others::xla_compiler),
    ("attemptingtoallocate", others::xla_attempt),
    ("oomwhenallocatingtensorwithshape[", others::tensorflow_shape),
    ("failedtocudacallocasync", others::nccl),
    ("failedtocudacalloc", others::nccl),
    ("failedtocudahostalloc", others::nccl),
    ("failedtocudamalloc", others::nccl),
    ("cublas_status_alloc_failed", others::library),
    ("cudnn_status_alloc_failed", others::library),
    ("cufft_alloc_failed", others::library),
    ("allocationfailedforsize::", others::habana),
    ("outofmemory:killedprocess", host::linux),
    ("outofmemory:killprocess", host::linux),
    ("outofmemory:killingprocess", host::linux),
    ("oom_killevent", host::slurm),
    ("oom-killevent", host::slurm),
    ("exceedsthememoryusagethresholdof", host::ray),
    ("outofmemory", pytorch::bare),
    ("cuda_error_out_of_memory", pytorch::named_error),
    ("cudaerrormemoryallocation", pytorch::named_error),
    ("error_out_of_device_memory", pytorch::named_error),
];

/// Errors of libraries that state no cause, met on an H100 without free memory.
const INSIDE_LIBRARIES: [&str; 2] = ["cudnn_status_internal_error", "cufft_internal_error"];

/// Reads every out-of-memory message of a pasted text and returns them in the order of the text,
/// with their amounts in bytes.
///
/// The text may hold a whole log: tracebacks, colours, prefixes of launchers and lines broken by a
/// terminal. Messages of several ranks are kept apart, repeats are dropped, and lines about one
/// failed request are joined. The bare words "out of memory" count only where their rank prints no
/// number. At most 4,096 messages are returned. The time is linear in the length of the text.
///
/// # Errors
///
/// [`UnreadMessage`] where no message is found, or where the only ones ask for more than 2⁶⁴ bytes.
///
/// # Example
///
/// ```
/// use headroom::import::oom::{ReportingProgram, read};
///
/// let text = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate \
///             3.91 GiB. GPU 0 has a total capacity of 26.50 GiB of which 3.12 GiB is free.";
/// let messages = read(text).unwrap();
/// assert_eq!(messages[0].program, ReportingProgram::PyTorch);
/// assert_eq!(messages[0].rank, Some(3));
/// assert_eq!(messages[0].tried.unwrap().to_string(), "3.91 GiB");
/// assert!(read("all is well").is_err());
/// ```
pub fn read(text: &str) -> Result<Vec<OomMessage>, UnreadMessage> {
    if text.trim().is_empty() {
        return Err(UnreadMessage::Empty);
    }
    let (mut messages, mut refused) = (Vec::new(), None);
    let (mut shares_memory, mut fails_inside) = (false, false);
    for stream in clean::streams(text) {
        shares_memory |= stream.text.contains("outofresource:sharedmemory");
        fails_inside |= INSIDE_LIBRARIES.iter().any(|error| stream.text.contains(error));
        read_stream(&stream, &mut messages, &mut refused);
    }
    messages.sort_by_key(|(line, _)| *line);
    let mut messages: Vec<OomMessage> = messages.into_iter().map(|(_, message)| message).collect();
    drop_needless(&mut messages);
    if !messages.is_empty() {
        return Ok(messages);
    }
    let otherwise = match (shares_memory, fails_inside) {
        (true, _) => UnreadMessage::SharedMemory,
        (false, true) => UnreadMessage::InsideLibrary,
        (false, false) => UnreadMessage::NoMessage,
    };
    Err(refused.unwrap_or(otherwise))
}

/// Where the phrases of all wordings stand in a text, in order.
fn heads_of(text: &str) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (index, (phrase, _)) in HEADS.iter().enumerate() {
        places.extend(text.match_indices(phrase).map(|(at, _)| (at, index)));
    }
    places.sort_unstable();
    places
}

/// Reads the messages of one rank.
fn read_stream(
    stream: &Stream,
    messages: &mut Vec<(usize, OomMessage)>,
    refused: &mut Option<UnreadMessage>,
) {
    let places = heads_of(&stream.text);
    let first = messages.len();
    let (mut done, mut last_end) = (0, 0);
    for (order, (at, index)) in places.iter().enumerate() {
        let Some((_, parse)) =
            HEADS.get(*index).filter(|_| *at >= done && messages.len() < MOST_MESSAGES)
        else {
            continue;
        };
        // A message ends where its phrase occurs again at the latest.
        let ahead = places.iter().skip(order + 1).take(RECENT);
        let next = ahead
            .filter(|(place, other)| other == index && place > at)
            .map(|(place, _)| *place)
            .next();
        let end = next.unwrap_or(usize::MAX).min(at + LONGEST_MESSAGE).min(stream.text.len());
        match parse(&Window::new(&stream.text, last_end, *at, end)) {
            Parsed::Nothing => {}
            Parsed::Refused(why) => *refused = Some(why),
            Parsed::Found(found) => {
                let mut message = *found.message;
                message.rank = stream.rank;
                let recent = messages.len().saturating_sub(RECENT).max(first);
                add(messages, recent, message, stream.line(*at), at.saturating_sub(last_end));
                (done, last_end) = (found.end, found.end);
            }
        }
    }
}

/// Adds a message unless it repeats a recent one or tells more of the last one's event, `distance`
/// letters later.
fn add(
    messages: &mut Vec<(usize, OomMessage)>,
    recent: usize,
    message: OomMessage,
    line: usize,
    distance: usize,
) {
    let joins = matches!(
        message.program,
        ReportingProgram::LlamaCpp | ReportingProgram::Nccl | ReportingProgram::TensorFlow
    );
    if let Some((_, last)) = messages.get_mut(recent..).and_then(<[_]>::last_mut)
        && joins
        && distance < LONGEST_MESSAGE
        && last.may_be_the_same_as(&message)
    {
        // The exact size comes after the rounded one; what the buffer was for comes last.
        if let Some(exact) = message.tried.filter(|tried| tried.exact().is_some()) {
            last.tried = Some(exact);
        }
        if message.about != FailedRequest::Allocation {
            last.about = message.about;
        }
        last.fill_from(&message);
        return;
    }
    let is_repeat = messages
        .get(recent..)
        .is_some_and(|recent| recent.iter().any(|(_, earlier)| earlier.tells_all_of(&message)));
    if !is_repeat {
        messages.push((line, message));
    }
}

/// Drops the bare words "out of memory" where the same rank, or the text without ranks, prints a
/// message with numbers.
fn drop_needless(messages: &mut Vec<OomMessage>) {
    let mut telling: Vec<Option<u32>> =
        messages.iter().filter(|message| !message.is_bare()).map(|message| message.rank).collect();
    telling.sort_unstable();
    telling.dedup();
    messages.retain(|message| {
        let is_needless = message.is_bare() && message.about == FailedRequest::Allocation;
        !is_needless || telling.binary_search(&message.rank).is_err()
    });
    messages.dedup();
}
