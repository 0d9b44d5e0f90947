//! Weights of a served model in formats with scales, and its cache, in bytes.

use std::rc::Rc;

use std::ops::Range;

use super::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use super::stage::{self, Scope};
use crate::config::{Job, ServingRun};
use crate::ops::formats::{self, Formats, Stored};
use crate::ops::modules::{CROSS, EMBEDDING_OF_LAYERS, NORM_ACROSS};
use crate::ops::{self, Op, OpList, Role, Tensor};
use crate::units::Bytes;

/// Label of what formats store beside the weights.
const BESIDE: &str = "Scales and zero points";

/// One parameter of a stage in one format, and how often the stage holds it.
struct Held<'a> {
    op: &'a Op,
    tensor: &'a Tensor,
    stored: Stored,
    count: u64,
}

/// Calls `visit` with every parameter of the stage on one tensor-parallel rank, once for each format that its layers have.
fn each<'a>(scope: &Scope<'a>, formats: &Formats, mut visit: impl FnMut(Held<'a>)) {
    let (list, stage, t) = (scope.list, &scope.stage, scope.job.layout().t());
    let mut once = |ops: &'a [Op], most: usize| {
        for (op, tensor) in ops::tensors(ops, Role::Parameter).take(most) {
            let stored = formats.stored(tensor, tensor.elements_per_rank(t, false).0);
            visit(Held { op, tensor, stored, count: 1 });
        }
    };
    let embedding = if stage.embedding { usize::MAX } else { usize::from(scope.copies_embedding()) };
    once(&list.embedding, embedding);
    once(if stage.head { &list.head } else { &[] }, usize::MAX);
    let model = scope.job.model();
    for kind in &list.kinds {
        for (op, tensor) in ops::tensors(&kind.ops, Role::Parameter) {
            let here = |layer: &u64| model.kind_of(*layer) == kind.of;
            let elements = tensor.elements_per_rank(t, false).0;
            formats.each(tensor, elements, stage.range().filter(here), |stored, count| visit(Held { op, tensor, stored, count }));
        }
    }
}

/// The weights of a stage's rank, and what their format stores beside them.
pub(super) fn weights(scope: &Scope, run: &ServingRun, lines: &mut Vec<LineItem>) {
    let formats = Formats::of(scope.job.model(), run.quantization, run.group_size);
    let (mut numbers, mut beside) = (Bytes::ZERO, Bytes::ZERO);
    let (mut of_numbers, mut of_beside) = (Vec::new(), Vec::new());
    each(scope, &formats, |Held { op, tensor, stored, count }| {
        numbers += stored.bytes * count;
        beside += stored.extra() * count;
        if scope.detail {
            let line =
                |name, shape, dtype, bytes: Bytes| TensorLine { op: op.name, name, shape, dtype, count, bytes: bytes * count };
            of_numbers.push(line(tensor.name, tensor.shape, stored.dtype, stored.bytes));
            let further = stored.beside.iter().flatten();
            of_beside.extend(further.map(|(name, dtype, values, bytes)| line(name, formats::values(*values), *dtype, *bytes)));
        }
    });
    let (kind, source, certainty) = (MemoryKind::Parameter, formats.source(), Certainty::Exact);
    let note = "Every parameter of this rank as its format stores it; what it leaves alone stays in 16 bits or more.";
    lines.push(LineItem { kind, label: "Stored weights", bytes: numbers, tensors: of_numbers, note, source, certainty });
    let note = "What the format stores beside the numbers to read them.";
    lines.push(LineItem { kind, label: BESIDE, bytes: beside, tensors: of_beside, note, source, certainty });
}

/// Bytes of weights that a step reads, on one tensor rank of all stages together: what every token needs, and the routed experts.
///
/// Of an embedding that is no head too, and of the layers' own, a step reads only the tokens' rows, which are not counted.
pub(super) fn read(job: &Job, run: &ServingRun, list: &OpList) -> (Bytes, Bytes) {
    let parameters = Rc::new(stage::Parameters::of(job, list));
    let scope = Scope { job, list, stage: stage::only(job), parameters, detail: false };
    let formats = Formats::of(job.model(), run.quantization, run.group_size);
    let (mut always, mut routed) = (Bytes::ZERO, Bytes::ZERO);
    let tied = job.model().tie_word_embeddings;
    let alone = job.model().source.is_some() && job.model().beside().is_none();
    each(&scope, &formats, |held| {
        let bytes = held.stored.total() * held.count;
        // Attention to the states of an encoder that is not there runs in no step.
        let idle = alone && (CROSS.contains(&held.op.name) || held.op.name == NORM_ACROSS);
        let rows_alone = held.op.name == EMBEDDING_OF_LAYERS || (held.op.name == "Embedding" && !tied);
        if formats::is_routed(held.op, held.tensor) {
            routed += bytes;
        } else if !(rows_alone || idle) {
            always += bytes;
        }
    });
    (always, routed)
}

/// Cached bytes of one sequence of the whole context, and of what all sequences share, on one tensor rank of all stages together.
pub(super) fn cached(job: &Job, run: &ServingRun) -> (Bytes, Bytes) {
    cached_by(job, run, 0..job.model().num_hidden_layers)
}

/// The same of some layers.
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
