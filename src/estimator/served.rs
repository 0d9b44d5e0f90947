//! Weights of a served model in formats with scales, and its cache, in bytes.

use std::rc::Rc;

use std::ops::Range;

use super::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use super::placed::Placed;
use super::slots;
use super::stage::{self, Scope, Stage};
use crate::config::{Job, ServingRun};
use crate::ops::formats::{self, Formats, StoredParameter};
use crate::ops::modules::{CROSS, EMBEDDING_OF_LAYERS, NORM_ACROSS};
use crate::ops::{self, Op, OpList, Role, Tensor};
use crate::units::{Bytes, to_f64};

/// Label of the tensors that formats store beside the weights.
const BESIDE: &str = "Scales and zero points";

/// One parameter of a stage in one format, and how often the stage holds it.
struct Held<'a> {
    op: &'a Op,
    tensor: &'a Tensor,
    stored: StoredParameter,
    count: u64,
}

/// The parameters of a stage that are asked for.
#[derive(Clone, Copy)]
pub(super) enum Side<'a> {
    /// All.
    Both,
    /// Those on accelerators.
    Device(&'a Placed),
    /// Those in the host's memory.
    Host(&'a Placed),
}

impl Side<'_> {
    fn has(self, layer: u64, op: &Op, tensor: (usize, &Tensor)) -> bool {
        match self {
            Self::Both => true,
            Self::Device(placed) => !placed.has(layer, op, tensor),
            Self::Host(placed) => placed.has(layer, op, tensor),
        }
    }
}

/// Calls `visit` with every parameter of the stage on one tensor-parallel rank, once for each
/// format that its layers have.
fn each<'a>(scope: &Scope<'a>, formats: &Formats, side: Side<'_>, mut visit: impl FnMut(Held<'a>)) {
    let (list, stage, t) = (scope.list, &scope.stage, scope.job.layout().t());
    let mut once = |ops: &'a [Op], most: usize| {
        for (op, tensor) in ops::tensors(ops, Role::Parameter).take(most) {
            let stored = formats.stored(tensor, tensor.elements_per_rank(t, false).0);
            visit(Held { op, tensor, stored, count: 1 });
        }
    };
    let embedding =
        if stage.embedding { usize::MAX } else { usize::from(scope.copies_embedding()) };
    once(&list.embedding, embedding);
    once(if stage.head { &list.head } else { &[] }, usize::MAX);
    let model = scope.job.model();
    for kind in &list.kinds {
        for (at, (op, tensor)) in ops::tensors(&kind.ops, Role::Parameter).enumerate() {
            let here = |layer: &u64| {
                model.kind_of(*layer) == kind.of && side.has(*layer, op, (at, tensor))
            };
            let elements = tensor.elements_per_rank(t, false).0;
            formats.each(tensor, elements, stage.range().filter(here), |stored, count| {
                visit(Held { op, tensor, stored, count });
            });
        }
    }
}

/// The weights of a stage's rank on one side, and what their format stores beside them.
pub(super) fn weights(scope: &Scope, run: &ServingRun, side: Side<'_>, lines: &mut Vec<LineItem>) {
    let formats = Formats::of(scope.job.model(), run.quantization, run.group_size);
    let (mut numbers, mut beside) = (Bytes::ZERO, Bytes::ZERO);
    let (mut of_numbers, mut of_beside) = (Vec::new(), Vec::new());
    each(scope, &formats, side, |Held { op, tensor, stored, count }| {
        numbers += stored.bytes * count;
        beside += stored.extra() * count;
        if scope.detail {
            let line = |name, shape, dtype, bytes: Bytes| TensorLine {
                op: op.name,
                name,
                shape,
                dtype,
                count,
                bytes: bytes * count,
            };
            of_numbers.push(line(tensor.name, tensor.shape, stored.dtype, stored.bytes));
            let further = stored.beside.iter().flatten();
            of_beside.extend(further.map(|(name, dtype, values, bytes)| {
                line(name, formats::values(*values), *dtype, *bytes)
            }));
        }
    });
    let (kind, source, certainty) = (MemoryKind::Parameter, formats.source(), Certainty::Exact);
    let note = "Every parameter of this rank as its format stores it; what it leaves alone stays \
        in 16 bits or more.";
    lines.push(LineItem {
        kind,
        label: "Stored weights",
        bytes: numbers,
        tensors: of_numbers,
        note,
        source,
        certainty,
    });
    let note = "What the format stores beside the numbers to read them.";
    lines.push(LineItem {
        kind,
        label: BESIDE,
        bytes: beside,
        tensors: of_beside,
        note,
        source,
        certainty,
    });
}

/// One operation of a step that multiplies with weights: engines run its matrices side by side as
/// one kernel.
pub(super) struct Multiplies {
    /// Layers that have it; 1 for the head.
    pub layers: u64,
    /// Stored bytes of its weights in one layer on a tensor rank.
    pub bytes: f64,
    /// Matrices among them.
    pub matrices: f64,
    /// True if its weights are in fewer than 16 bits.
    pub narrow: bool,
    /// True if each token takes some of its experts alone.
    pub routed: bool,
    /// True if it lies behind the last layer.
    pub is_head: bool,
    /// Numbers that it reads and writes of each token, on a tensor rank, beside the stream between
    /// layers.
    pub width: f64,
    /// FLOPs of all tokens of the list, all tensor ranks together.
    pub flops: f64,
    /// Bytes of all slots for adapters beside its matrices in one layer, on a tensor rank.
    pub slots: f64,
    /// The share of its weights that lies in the host's memory.
    pub away: f64,
}

/// Weights that a step multiplies with, on one tensor rank of all stages together.
///
/// Of an embedding that is no head too, and of the layers' own, a step reads only the tokens' rows,
/// which are not counted. A tower runs in no step, nor does attention to the states of an encoder
/// that is not there.
pub(super) fn multiplied(
    job: &Job,
    run: &ServingRun,
    list: &OpList,
    stage: Stage,
) -> Vec<Multiplies> {
    let parameters = Rc::new(stage::Parameters::of(job, list));
    let scope = Scope { job, list, stage, parameters, detail: false };
    let formats = Formats::of(job.model(), run.quantization, run.group_size);
    let (tied, t) = (job.model().tie_word_embeddings, job.layout().t());
    let alone = job.model().source.is_some() && job.model().beside().is_none();
    let mut found: Vec<Multiplies> = Vec::with_capacity(8);
    let mut ops: Vec<&Op> = Vec::with_capacity(8);
    let parts = list
        .kinds
        .iter()
        .map(|kind| (&kind.ops, kind.layers, false))
        .chain(std::iter::once((&list.head, 1, true)));
    for (op, layers, is_head) in
        parts.flat_map(|(ops, layers, is_head)| ops.iter().map(move |op| (op, layers, is_head)))
    {
        let idle = alone && (CROSS.contains(&op.name) || op.name == NORM_ACROSS);
        if op.forward.0 > 0.0 && !op.attention_core && !idle && op.name != EMBEDDING_OF_LAYERS {
            ops.push(op);
            let flops = op.forward.0;
            found.push(Multiplies {
                layers,
                bytes: 0.0,
                matrices: 0.0,
                narrow: false,
                routed: false,
                is_head,
                width: 0.0,
                flops,
                slots: 0.0,
                away: 0.0,
            });
        }
    }
    each(&scope, &formats, Side::Both, |held| {
        let own = ops.iter().position(|op| std::ptr::eq(*op, held.op));
        let of_head = || found.iter().position(|one| one.is_head);
        let place =
            own.or_else(|| if tied && held.op.name == "Embedding" { of_head() } else { None });
        let Some(one) = place.and_then(|place| found.get_mut(place)) else { return };
        one.bytes += (held.stored.total() * held.count).as_f64() / to_f64(one.layers.max(1));
        one.narrow |= held.stored.dtype.bits() < 16;
        one.routed |= formats::is_routed(held.op, held.tensor);
        let share = to_f64(held.count) / to_f64(one.layers.max(1));
        one.slots += share * slots::bytes_beside(job, run, held.tensor).as_f64();
        one.matrices += if held.tensor.shape.dims().count() < 2 { 0.0 } else { share };
        one.width += share * width(held.tensor, job.model().hidden_size, t);
    });
    if let Some(placed) = Placed::of(job) {
        part_away(&scope, &formats, &placed, (&ops, &mut found));
    }
    found
}

/// Notes the share of each of these operations' weights that lies in the host's memory.
fn part_away(
    scope: &Scope,
    formats: &Formats,
    placed: &Placed,
    (ops, found): (&[&Op], &mut [Multiplies]),
) {
    for one in found.iter_mut().filter(|one| one.is_head && placed.head) {
        one.away = 1.0;
    }
    let blocks = Stage { embedding: false, head: false, ..scope.stage.clone() };
    let scope = Scope { stage: blocks, ..scope.clone() };
    each(&scope, formats, Side::Host(placed), |held| {
        let place = ops.iter().position(|op| std::ptr::eq(*op, held.op));
        let Some(one) = place.and_then(|place| found.get_mut(place)) else { return };
        let all = one.bytes * to_f64(one.layers.max(1));
        one.away += (held.stored.total() * held.count).as_f64() / all.max(1.0);
    });
    for one in found {
        one.away = one.away.min(1.0);
    }
}

/// Numbers of a token on the side of a matrix that is not the stream between layers, on a tensor
/// rank.
fn width(tensor: &Tensor, hidden: u64, t: u64) -> f64 {
    let elements = to_f64(tensor.elements_per_rank(t, false).0);
    let matrices = to_f64(formats::matrices(&tensor.shape));
    if tensor.shape.dims().count() < 2 {
        0.0
    } else {
        elements / matrices.max(1.0) / to_f64(hidden.max(1))
    }
}

/// Cached bytes of one sequence of the whole context, and of what all sequences share, on one
/// tensor rank of all stages together.
pub(super) fn cached(job: &Job, run: &ServingRun) -> (Bytes, Bytes) {
    cached_by(job, run, 0..job.model().num_hidden_layers)
}

/// Cached bytes of some layers: of one sequence of the whole context, and of the prefix that all
/// sequences share.
pub(super) fn cached_by(job: &Job, run: &ServingRun, layers: Range<u64>) -> (Bytes, Bytes) {
    let of = |concurrent_sequences| {
        let with = ops::Lowering { concurrent_sequences, ..ops::lowering(job) };
        held(job, &with, layers.clone())
    };
    if run.shared_prefix == 0 {
        return (of(1), Bytes::ZERO);
    }
    let (one, two) = (of(1), of(2));
    let each = two.saturating_sub(one);
    (each, one.saturating_sub(each))
}

/// Bytes of a cache on one tensor rank.
pub(super) fn held(job: &Job, with: &ops::Lowering, layers: Range<u64>) -> Bytes {
    let cache = ops::cache(with, layers);
    let tensors = cache.op.tensors.iter().zip(&cache.layers);
    tensors.map(|(tensor, layers)| tensor.bytes_per_rank(job.layout().t(), false) * *layers).sum()
}
