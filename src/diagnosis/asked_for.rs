//! The tensor that was asked for, found by its size.

use std::fmt;

use crate::estimator::{AskedMoment, AskedTensor};
use crate::import::oom::{
    Agreement, ByteRange, FailedRequest, LARGE_SEGMENT, OomMessage, PrintedAmount,
    ReportingProgram, SMALL_SEGMENT, agreement, segment_of,
};
use crate::units::{Bytes, whole};

/// The steps in which PyTorch's allocator asks the driver for large segments, bytes
/// (`kRoundLarge`).
const SEGMENT_STEP: u64 = 2 << 20;

/// The memory that a message asked for, explained by the tensors that are as large.
#[derive(Clone, Debug, PartialEq)]
pub enum AskedFor {
    /// The message states no size.
    NotStated,
    /// A whole segment of PyTorch's allocator that small tensors share; its size therefore names
    /// none of them.
    SharedSegment {
        /// Its size, bytes.
        segment: Bytes,
        /// The tensors that are as large as the segment themselves; mostly none.
        tensors: Vec<FoundTensor>,
    },
    /// Tensors of that size, those that agree best first.
    Tensors(Vec<FoundTensor>),
    /// No tensor of the job is that large.
    NoTensor {
        /// The largest tensor that the job asks for.
        largest: Option<Box<AskedTensor>>,
        /// The tensor whose size is nearest, where it is within a fiftieth: another version of the
        /// software may cut off a token or two.
        nearest: Option<Box<AskedTensor>>,
    },
    /// The estimate knows no single tensors of this job, as when serving.
    NotKnown,
}

/// A tensor of the estimate whose size agrees with the one that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTensor {
    /// The amount of the message.
    pub asked: PrintedAmount,
    /// The tensor.
    pub tensor: AskedTensor,
    /// How well it agrees.
    pub agreement: Agreement,
    /// The moment at which the estimate holds about as much as the message states as allocated; the
    /// first moment where the message does not state it.
    pub moment: Option<AskedMoment>,
}

impl FoundTensor {
    /// Returns the fewest and the most bytes of tensors that are alive just before this one is
    /// asked for, by the estimate; `None` where the moment is not known.
    pub fn alive_before(&self) -> Option<[Bytes; 2]> {
        self.moment.and_then(|moment| moment.alive_before)
    }
}

impl fmt::Display for FoundTensor {
    /// `3.91 GiB = fp32 logits [4 × 1024 × 256 000]`; where only its segment agrees, both sizes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_name(self.tensor.name))
    }
}

impl FoundTensor {
    /// The text that is shown, under the common name of several tensors that are alike.
    pub(super) fn with_name(&self, name: &str) -> String {
        let AskedTensor { dtype, shape, bytes, .. } = &self.tensor;
        let tensor = described(&self.tensor, name);
        if self.agreement == Agreement::Segment {
            return format!(
                "{} = the segment for {tensor} of {}",
                self.asked,
                ByteRange::exactly(bytes.0)
            );
        }
        let is_share = shape.elements().stored_as(*dtype) != *bytes;
        format!("{} = {tensor}{}", self.asked, if is_share { ", this rank's share" } else { "" })
    }

    /// True if another tensor looks like this one, and is asked for by the same operation at the
    /// same moment.
    pub(super) fn is_asked_with(&self, other: &Self) -> bool {
        let sizes = |found: &Self| found.tensor.shape.dims().map(|dim| dim.1).collect::<Vec<_>>();
        let key = |found: &Self| {
            let moment = found.moment.map(|moment| (moment.name, moment.in_first_step));
            (found.tensor.op, found.tensor.dtype, found.tensor.bytes, moment)
        };
        key(self) == key(other) && sizes(self) == sizes(other)
    }
}

/// Format, name and sizes of a tensor: `fp32 logits [4 × 1024 × 256 000]`.
pub(super) fn described(tensor: &AskedTensor, name: &str) -> String {
    let sizes: Vec<String> = tensor.shape.dims().map(|dim| whole(dim.1)).collect();
    format!("{} {name} [{}]", tensor.dtype.name(), sizes.join(" × "))
}

impl AskedFor {
    /// Finds the memory that a message asks for among the tensors of a job.
    ///
    /// A tensor is found where the message's amount is its bytes, to the byte or as printed, or the
    /// segment that PyTorch's CUDA allocator asks the driver for to hold it. Tensors that agree
    /// better come first, and among equals those that are asked for when the estimate holds nearly
    /// as much as the message states as allocated.
    pub(super) fn of(message: &OomMessage, tensors: &[AskedTensor]) -> Self {
        let Some(asked) = message.tried else { return Self::NotStated };
        if message.about == FailedRequest::HostMemory || tensors.is_empty() {
            return Self::NotKnown;
        }
        let mut found: Vec<FoundTensor> =
            tensors.iter().filter_map(|tensor| FoundTensor::of(asked, tensor, message)).collect();
        let distance = |found: &FoundTensor| distance(found.moment, message).unwrap_or(u64::MAX);
        found.sort_by_key(|found| (found.agreement, distance(found)));
        if let Some(segment) = shared_segment(message, asked) {
            found.retain(|found| found.agreement != Agreement::Segment);
            return Self::SharedSegment { segment: Bytes(segment), tensors: found };
        }
        // Only tensors that agree as well as the best one are kept.
        if let Some(best) = found.first().map(|found| found.agreement) {
            found.retain(|found| found.agreement == best);
            return Self::Tensors(found);
        }
        let largest = tensors.iter().max_by_key(|tensor| tensor.bytes);
        let nearest = nearest(asked, tensors);
        Self::NoTensor {
            largest: largest.cloned().map(Box::new),
            nearest: nearest.cloned().map(Box::new),
        }
    }

    /// Returns the tensors that were found, those that agree best first; empty where none was.
    pub fn tensors(&self) -> &[FoundTensor] {
        match self {
            Self::Tensors(tensors) | Self::SharedSegment { tensors, .. } => tensors,
            Self::NotStated | Self::NoTensor { .. } | Self::NotKnown => &[],
        }
    }
}

impl FoundTensor {
    fn of(asked: PrintedAmount, tensor: &AskedTensor, message: &OomMessage) -> Option<Self> {
        let agreement = agreement(asked, tensor.bytes.0)?;
        let moments = tensor.moments.iter().copied();
        let moment =
            moments.min_by_key(|moment| distance(Some(*moment), message).unwrap_or(u64::MAX));
        Some(Self { asked, tensor: tensor.clone(), agreement, moment })
    }
}

/// A tensor is named if its size differs from the amount by at most one part in this number.
/// Assumed: one token in a sequence of 50 or more.
const NEAR: u64 = 50;

/// The tensor whose size is nearest to an amount that no tensor has.
fn nearest(asked: PrintedAmount, tensors: &[AskedTensor]) -> Option<&AskedTensor> {
    let middle = asked.range().middle();
    let off = |tensor: &&AskedTensor| tensor.bytes.0.abs_diff(middle);
    tensors.iter().min_by_key(off).filter(|tensor| off(tensor).saturating_mul(NEAR) <= middle)
}

/// Bytes between the memory that the message states as allocated and the memory that the estimate
/// holds at a moment; `None` where one of them is not known.
fn distance(moment: Option<AskedMoment>, message: &OomMessage) -> Option<u64> {
    let [low, high] = moment?.alive_before?;
    let allocated = message.allocated?.range();
    Some(low.0.saturating_sub(allocated.high).max(allocated.low.saturating_sub(high.0)))
}

/// The segment that small tensors share, if it was asked for.
fn shared_segment(message: &OomMessage, asked: PrintedAmount) -> Option<u64> {
    let of_pytorch =
        message.program == ReportingProgram::PyTorch && message.other_allocations.is_none();
    [SMALL_SEGMENT, LARGE_SEGMENT]
        .into_iter()
        .find(|segment| of_pytorch && asked.contains(*segment))
}

/// The fewest and the most bytes of a tensor for which PyTorch's allocator asks for a segment of
/// its own of that amount; `None` where the amount is no whole number of 2 MiB.
///
/// Formula: a tensor of n bytes gets ⌈n / 2 MiB⌉ · 2 MiB (see [`segment_of`]).
pub(super) fn sizes_of_segment(asked: PrintedAmount) -> Option<[Bytes; 2]> {
    let range = asked.range();
    let first = range.low.div_ceil(SEGMENT_STEP).saturating_mul(SEGMENT_STEP);
    let last = range.high / SEGMENT_STEP * SEGMENT_STEP;
    let is_one = first == last && segment_of(first) == first && first > LARGE_SEGMENT;
    is_one.then(|| [Bytes(first - SEGMENT_STEP + 1), Bytes(first)])
}
