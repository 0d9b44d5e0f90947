//! The sentences of a diagnosis, for readers who see such a message for the first time.

use super::asked_for::{AskedFor, FoundTensor, described, sizes_of_segment};
use super::{Diagnosis, Remedy};
use crate::estimator::{AskedTensor, DeviceMemory, ReplayedFailure};
use crate::import::oom::{
    ByteRange, Cause, FailedRequest, Holder, OomMessage, ReportingProgram, UnknownCause,
};
use crate::units::Bytes;

/// The most groups of tensors, and the most ranks, that are named.
const MOST_NAMED: usize = 4;
/// The most names that are joined.
const MOST_NAMES: usize = 8;

impl Diagnosis {
    /// The program that printed the message, and the request that failed: `PyTorch on CUDA device
    /// 0, ranks 0 and 1: tried to allocate 3.91 GiB.`
    pub fn heading(&self) -> String {
        let message = &self.message;
        let device =
            message.device.platform.map_or_else(String::new, |platform| format!(" on {platform}"));
        let index =
            message.device.index.map_or_else(String::new, |index| format!(" device {index}"));
        format!(
            "{}{device}{index}{}: {}.",
            message.program.name(),
            self.ranks_in_words(),
            failed(message)
        )
    }

    fn ranks_in_words(&self) -> String {
        match (self.ranks.as_slice(), self.count) {
            ([], 1) => String::new(),
            ([], count) => format!(", {count} times"),
            ([rank], _) => format!(", rank {rank}"),
            (ranks, _) if ranks.len() > MOST_NAMED => format!(", {} ranks", ranks.len()),
            (ranks, _) => {
                let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
                format!(", ranks {}", ranks.join(", "))
            }
        }
    }

    /// The cause of the failure: the rule's finding with its numbers, its meaning, and the
    /// estimate's view of it.
    pub fn explanation(&self) -> Vec<String> {
        let mut said =
            vec![self.cause.to_string(), meaning(&self.cause, self.message.program).to_owned()];
        if self.doubts.is_empty() {
            said.extend(self.same_message());
            said.extend(self.verdict_of_estimate());
        }
        said
    }

    /// The request at which the replay fails with the message's own numbers; `None` where it does
    /// not.
    fn same_message(&self) -> Option<String> {
        let ReplayedFailure { op, name, .. } = self.failure.filter(|_| self.is_replayed)?;
        Some(format!(
            "PyTorch's allocator, replayed with the link's job, ends in this very message: {name} \
             ({op}) is asked for."
        ))
    }

    /// The estimate's word on the cause; `None` where it adds nothing.
    fn verdict_of_estimate(&self) -> Option<String> {
        let exact = |bytes: Bytes| ByteRange::exactly(bytes.0);
        if self.message.about == FailedRequest::HostMemory {
            let waits = "beside what its programs need themselves";
            return (self.host > Bytes::ZERO).then(|| {
                format!(
                    "By the estimate the job keeps {} in host memory for each GPU, {waits}.",
                    exact(self.host)
                )
            });
        }
        let fits = self.estimate.fits;
        match &self.cause {
            Cause::Unknown(_) => None,
            Cause::Fragmentation { .. } if self.estimate.tensors_over().is_none() && !fits => {
                self.replayed().filter(|_| !self.is_replayed)
            }
            Cause::Fragmentation { .. } | Cause::Others { .. } | Cause::Limit { .. } if !fits => {
                Some(format!(
                    "By the estimate the job would not have fitted anyway: at its peak it is {} \
                     short on each GPU.",
                    exact(self.estimate.tensors_over().unwrap_or(self.missing()))
                ))
            }
            Cause::Fragmentation { .. } | Cause::Others { .. } | Cause::Limit { .. } => {
                Some(format!(
                    "By the estimate the job fits, with {} to spare on each GPU.",
                    exact(self.spare())
                ))
            }
            Cause::Demand { .. } | Cause::TooManyTokens { .. } | Cause::NothingLeft { .. }
                if fits =>
            {
                Some(format!(
                    "By the estimate the job fits, with {} to spare on each GPU: where the amounts \
                     below differ, the run was another than the link's.",
                    exact(self.spare())
                ))
            }
            Cause::Demand { .. } | Cause::TooManyTokens { .. } | Cause::NothingLeft { .. } => {
                self.replayed().or_else(|| {
                    Some(format!(
                        "The estimate says so, too: at its peak the job is {} short on each GPU.",
                        exact(self.missing())
                    ))
                })
            }
        }
    }

    fn spare(&self) -> Bytes {
        self.estimate.capacity.saturating_sub(self.estimate.in_use)
    }

    fn missing(&self) -> Bytes {
        self.estimate.in_use.saturating_sub(self.estimate.capacity)
    }

    /// The message that PyTorch's allocator would print, replayed with the job.
    fn replayed(&self) -> Option<String> {
        let ReplayedFailure { op, name, numbers } = self.failure?;
        let [tried, allocated, unallocated] =
            [numbers.tried, numbers.allocated, numbers.unallocated]
                .map(|bytes| ByteRange::exactly(bytes).to_string());
        Some(format!(
            "The estimate says so, too: PyTorch's allocator, replayed with the link's job, runs \
             out when {tried} is asked for {name} ({op}), with {allocated} allocated and \
             {unallocated} reserved but unallocated."
        ))
    }

    /// The request, with a sentence for each tensor of that size.
    pub fn request(&self) -> Vec<String> {
        match &self.asked_for {
            AskedFor::NotStated if self.message.about == FailedRequest::Allocation => {
                vec!["The message does not say how much was asked for.".to_owned()]
            }
            AskedFor::NotStated | AskedFor::NotKnown => Vec::new(),
            AskedFor::SharedSegment { segment, tensors } => {
                let segment = ByteRange::exactly(segment.0);
                let mut said = vec![format!(
                    "{segment} is a whole segment: PyTorch asks the driver for so much at once and \
                     cuts small tensors from it, so the size tells that memory was full, not which \
                     tensor came last."
                )];
                if !tensors.is_empty() {
                    said.push(format!("It is also the size of {}.", self.tensors().join("; ")));
                }
                said
            }
            AskedFor::Tensors(_) => self.tensors(),
            AskedFor::NoTensor { largest, nearest } => {
                vec![no_tensor(&self.message, largest.as_deref(), nearest.as_deref())]
            }
        }
    }

    /// The tensors of that size, grouped by operation and moment, the likeliest first.
    fn tensors(&self) -> Vec<String> {
        let mut groups: Vec<Vec<&FoundTensor>> = Vec::new();
        for found in self.asked_for.tensors() {
            match groups
                .iter_mut()
                .find(|group| group.first().is_some_and(|first| first.is_asked_with(found)))
            {
                Some(group) => group.push(found),
                None => groups.push(vec![found]),
            }
        }
        let (named, others) = groups.split_at(groups.len().min(MOST_NAMED));
        let mut said: Vec<String> = named.iter().map(|group| together(group)).collect();
        if !others.is_empty() {
            let names = names(others.iter().flatten().copied());
            let count: usize = others.iter().map(Vec::len).sum();
            said.push(format!(
                "{count} more tensors of the step have that size, at other moments: {names}."
            ));
        }
        said
    }

    /// The reasons why the message hardly comes from the link's job; empty where it may.
    pub fn objections(&self) -> Vec<String> {
        if self.doubts.is_empty() {
            return Vec::new();
        }
        let first = "This message hardly comes from the link's job.".to_owned();
        std::iter::once(first).chain(self.doubts.iter().map(ToString::to_string)).collect()
    }

    /// True if less memory would have helped, so that changes of the job were tried.
    fn may_need_less(&self) -> bool {
        if self.message.about == FailedRequest::HostMemory {
            return false;
        }
        let is_known = !matches!(self.cause, Cause::Unknown(_));
        !self.estimate.fits || (is_known && self.message.tried.is_some())
    }

    /// Remedies, a sentence each.
    pub fn advice(&self) -> Vec<String> {
        let remedies = self.remedies.iter().map(remedy);
        remedies.chain(self.on_changes()).collect()
    }

    /// Remedies besides changes of the job, a sentence each, for pages that show those changes as
    /// buttons.
    pub fn advice_besides_changes(&self) -> Vec<String> {
        let others =
            self.remedies.iter().filter(|remedy| !matches!(remedy, Remedy::Change(_))).map(remedy);
        others.chain(self.on_changes()).collect()
    }

    /// The reason why no change of the job is among the remedies; `None` where one is, or none
    /// would help.
    fn on_changes(&self) -> Option<String> {
        let has_changes = self.remedies.iter().any(|remedy| matches!(remedy, Remedy::Change(_)));
        if !self.doubts.is_empty() {
            Some("Once the link says what ran, changes can be tried that make it fit.".to_owned())
        } else if !has_changes && self.may_need_less() {
            Some("No single change that the estimator tries is enough.".to_owned())
        } else {
            None
        }
    }
}

/// Tensors that are asked for in one operation at one moment.
fn together(group: &[&FoundTensor]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let names = names(group.iter().copied());
    let when = first.moment.map_or_else(String::new, |moment| {
        let first_step = if moment.in_first_step { " in the first step" } else { "" };
        format!(", {}{first_step}", moment.name)
    });
    format!("{} ({}{when})", first.with_name(&names), first.tensor.op)
}

/// The names of some tensors, each once.
fn names<'a>(tensors: impl Iterator<Item = &'a FoundTensor>) -> String {
    let mut known: Vec<&str> = Vec::new();
    for found in tensors {
        if !known.contains(&found.tensor.name) {
            known.push(found.tensor.name);
        }
    }
    let more = known.len().saturating_sub(MOST_NAMES);
    known.truncate(MOST_NAMES);
    let named = known.join(", ");
    if more == 0 { named } else { format!("{named} and {more} others") }
}

/// The failure, in the words of the message.
fn failed(message: &OomMessage) -> String {
    match (message.tried, message.about) {
        (Some(tried), FailedRequest::HostMemory) => {
            format!("tried to allocate {tried} of host memory")
        }
        (Some(tried), _) => format!("tried to allocate {tried}"),
        (None, FailedRequest::HostMemory) => "host memory ran out".to_owned(),
        (None, FailedRequest::KvCache) => {
            "too little memory is left for keys and values".to_owned()
        }
        (None, FailedRequest::Startup) => {
            "less memory is free than the server was told to take".to_owned()
        }
        (None, FailedRequest::WarmUp) => {
            "memory ran out in a trial run before the first request".to_owned()
        }
        (None, FailedRequest::Tokens) => "the cache of keys and values is full".to_owned(),
        (None, FailedRequest::Compilation) => {
            "the compiled program needs more memory than there is".to_owned()
        }
        (None, FailedRequest::Allocation) => "memory ran out".to_owned(),
    }
}

/// The meaning of a cause.
fn meaning(cause: &Cause, program: ReportingProgram) -> &'static str {
    match cause {
        Cause::Demand { .. } => {
            "The job needs more memory than the GPU had left, and nothing was wasted: make the job \
             smaller or share it out."
        }
        Cause::TooManyTokens { .. } => {
            "The cache has fewer places than the request has tokens: shorten the context, or give \
             the cache more memory."
        }
        Cause::NothingLeft { .. } => {
            "Weights and working memory alone fill the share that the server was told to take: \
             raise that share, or make the weights smaller."
        }
        Cause::Fragmentation { .. } => {
            "There was enough memory, but not in one piece: what PyTorch had reserved lay in gaps \
             between tensors in use, and a tensor needs one gap that is large enough."
        }
        Cause::Limit { .. } => {
            "The GPU may have more: a limit that was set for this process was reached first."
        }
        Cause::Others { holder: Holder::OtherProcesses, .. } => {
            "The job might have gone on if it had the GPU for itself: other processes hold what it \
             lacked."
        }
        Cause::Others { holder: Holder::ThisProcess, .. } => {
            "What is missing is held by this very process, but not by PyTorch's tensors: \
             libraries, communicators, or a second framework."
        }
        Cause::Others { holder: Holder::Untold, .. } => {
            "What is missing is held by somebody else: other processes, or this one outside \
             PyTorch's allocator; the message does not say."
        }
        Cause::Unknown(UnknownCause::TooFewAmounts) if program != ReportingProgram::PyTorch => {
            "Programs of this kind print no more than that; what was running when it failed is in \
             the lines before."
        }
        Cause::Unknown(why) => unknown(*why),
    }
}

/// The meaning of a cause that is not known.
const fn unknown(why: UnknownCause) -> &'static str {
    match why {
        UnknownCause::TooFewAmounts => {
            "Paste the whole sentence: with what is free, allocated and reserved the cause can be \
             told."
        }
        UnknownCause::TooCoarse => {
            "Another digit would decide it; both demand and gaps between tensors are possible."
        }
        UnknownCause::FreeSuffices => {
            "Memory was there when the message was written: another process may have given it back \
             in between, or a limit of the system was reached."
        }
        UnknownCause::OutsideAllocator => {
            "PyTorch keeps memory that it does not use at the moment, and libraries cannot take \
             it: leave them some room."
        }
        UnknownCause::PagesTooFew => {
            "The cache is handed out in pages, and too few whole ones are left."
        }
        UnknownCause::HostMemory => "It is the computer's memory that ran out, not the GPU's.",
        UnknownCause::NoSuchSize => "It is an error of the program, not a want of memory.",
    }
}

/// A sentence that no tensor has the size, with the facts that follow from the size nevertheless.
fn no_tensor(
    message: &OomMessage,
    largest: Option<&AskedTensor>,
    nearest: Option<&AskedTensor>,
) -> String {
    let asked = message.tried.map(|tried| tried.to_string()).unwrap_or_default();
    let mut said = format!("No tensor of the link's job has {asked}");
    if let Some([fewest, most]) = message.tried.and_then(sizes_of_segment) {
        let [fewest, most] = [fewest.0 - 1, most.0].map(ByteRange::exactly);
        said = format!(
            "{said}; PyTorch asks for whole multiples of 2 MiB, so the tensor takes more than \
             {fewest} and at most {most}"
        );
    }
    let named = |tensor: &AskedTensor| {
        format!("{} with {}", described(tensor, tensor.name), ByteRange::exactly(tensor.bytes.0))
    };
    match (nearest, largest) {
        (Some(nearest), _) => said = format!("{said}; the nearest is {}", named(nearest)),
        (None, Some(largest)) => said = format!("{said}; the largest is {}", named(largest)),
        (None, None) => {}
    }
    said + "."
}

/// One remedy in a sentence.
fn remedy(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Change(fix) => {
            let [before, after] = [fix.before, fix.after].map(|bytes| ByteRange::exactly(bytes.0));
            format!(
                "{}: {after} in place of {before} on each GPU, tried by the estimator.",
                fix.title
            )
        }
        Remedy::Setting { setting, note, tried } => {
            format!("{setting}: {note}{}", tried.as_ref().map(with_setting).unwrap_or_default())
        }
        Remedy::Advice(sentence) => (*sentence).to_owned(),
    }
}

/// The outcome of a replay with a setting.
fn with_setting(memory: &DeviceMemory) -> String {
    let outcome = if memory.fits { "the job fits" } else { "it still runs out" };
    format!(
        " Tried by the estimator: {outcome}, and PyTorch reserves {} at most.",
        ByteRange::exactly(memory.reserved.0)
    )
}
