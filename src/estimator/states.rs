//! Model states: weights, gradients, optimizer states, and weights gathered for a while under full sharding.

use super::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use super::stage::Scope;
use crate::config::{DataSharding, Optimizer, Run, TrainingRun};
use crate::ops::{self, Dim, Op, Role, Shape, Tensor};
use crate::sources::{self, Source};
use crate::units::{Bytes, DType, Elements};

/// Elements per block of the 8-bit optimizer's scales (bitsandbytes).
const QUANTISATION_BLOCK: u64 = 256;
/// `DeepSpeed`'s default of `stage3_max_live_parameters`.
const MAX_LIVE_PARAMETERS: u64 = 1_000_000_000;

/// Label of the weights gathered for use under full sharding.
pub const GATHERED_WEIGHTS: &str = "Gathered weights";

/// One parameter tensor of a stage and how often the stage holds it.
struct Held<'a> {
    op: &'a Op,
    tensor: &'a Tensor,
    count: u64,
    elements: u64,
}

/// Weights and optimizer states on one rank of a stage: alive throughout the step.
pub(super) fn lines(scope: &Scope) -> Vec<LineItem> {
    let mut lines = Vec::with_capacity(24);
    lines.push(weights(scope));
    if let Run::Training(run) = scope.job.run() {
        optimizer(scope, run, &mut lines);
    }
    lines
}

/// How many gradients exist at a moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gradients {
    /// None: released after the step before, backward has not begun.
    None,
    /// Those of the head: backward has just passed it.
    Head,
    /// All but those of the first block and the embedding, which backward has yet to write.
    BeforeFirstBlock,
    /// All.
    All,
}

/// Gradients on one rank of a stage. With gradient accumulation all of them exist from the second micro-batch on.
pub(super) fn gradients(scope: &Scope, exist: Gradients, lines: &mut Vec<LineItem>) {
    let Some(run) = scope.job.training() else { return };
    let (list, t) = (scope.list, scope.job.layout().t());
    let head = if list.head.iter().any(has_head_weight) { &list.head } else { &list.embedding };
    let (parameters, note) = match exist {
        _ if scope.job.gradient_accumulation_steps() > 1 => {
            (total(scope), "One per parameter; accumulation keeps all of them between micro-batches.")
        }
        Gradients::None => return,
        Gradients::Head => (parameters_per_rank(head, t), "So far only the head's: backward has just passed it."),
        Gradients::BeforeFirstBlock => {
            let writes_embedding = scope.stage.embedding && !scope.job.model().tie_word_embeddings;
            let embedding = if writes_embedding { parameters_per_rank(&list.embedding, t) } else { 0 };
            let missing = parameters_per_rank(&list.block, t).saturating_add(embedding);
            (total(scope).saturating_sub(missing), "All but those of the first block and the embedding.")
        }
        Gradients::All => (total(scope), "One per parameter."),
    };
    let recipe = run.recipe();
    let ranks = if scope.job.layout().sharding.shards_gradients() { scope.job.layout().d() } else { 1 };
    let mut push = |label, dtype, note| {
        let about = (note, sources::PYTORCH_AUTOGRAD);
        lines.push(per_parameter(scope, (MemoryKind::Gradient, label), (parameters, ranks), dtype, about));
    };
    push("Gradients", recipe.gradient, note);
    if let Some(copy) = recipe.gradient_copy {
        push("fp32 gradient copy", copy, "An fp32 copy in which gradients are accumulated.");
    }
}

fn has_head_weight(op: &Op) -> bool {
    op.tensors.iter().any(|tensor| tensor.role == Role::Parameter && tensor.name == "head weight")
}

/// Parameters of one rank of the stage.
fn total(scope: &Scope) -> u64 {
    held(scope).map(|held| held.elements).fold(0, u64::saturating_add)
}

/// Parameters of some operations on one tensor-parallel rank.
fn parameters_per_rank(ops: &[Op], t: u64) -> u64 {
    ops::tensors(ops, Role::Parameter).map(|(_, tensor)| tensor.elements_per_rank(t, false).0).fold(0, u64::saturating_add)
}

/// Every parameter tensor of the stage, with its elements on one tensor-parallel rank over all its copies.
fn held<'a>(scope: &Scope<'a>) -> impl Iterator<Item = Held<'a>> + use<'a> {
    let (list, stage, t) = (scope.list, scope.stage, scope.job.layout().t());
    // The last stage keeps its own copy of a tied token embedding.
    let copies_embedding = stage.head && !stage.embedding && scope.job.model().tie_word_embeddings;
    let embedding = if stage.embedding { usize::MAX } else { usize::from(copies_embedding) };
    let head: &[Op] = if stage.head { &list.head } else { &[] };
    let parts = [(&list.embedding[..], embedding, 1), (&list.block[..], usize::MAX, stage.layers), (head, usize::MAX, 1)];
    parts.into_iter().flat_map(move |(ops, most, count)| {
        ops::tensors(ops, Role::Parameter).take(most).map(move |(op, tensor)| {
            let elements = tensor.elements_per_rank(t, false).0.saturating_mul(count);
            Held { op, tensor, count, elements }
        })
    })
}

/// The bytes of each part of a sharded buffer, so that the parts add up to the rank's rounded-up share.
fn shares(elements: impl Iterator<Item = u64>, ranks: u64, dtype: DType) -> impl Iterator<Item = Bytes> {
    let share = move |elements: u64| Elements(elements.div_ceil(ranks)).stored_as(dtype);
    elements.scan(0_u64, move |before, elements| {
        let from = share(*before);
        *before = before.saturating_add(elements);
        Some(share(*before).saturating_sub(from))
    })
}

fn weights(scope: &Scope) -> LineItem {
    let sharded = scope.job.training().is_some() && scope.job.layout().sharding.shards_parameters();
    let ranks = if sharded { scope.job.layout().d() } else { 1 };
    let dtype = held(scope).next().map_or(DType::Bf16, |held| held.tensor.dtype);
    let shares = shares(held(scope).map(|held| held.elements), ranks, dtype);
    let (bytes, tensors) = scope.sum(held(scope).zip(shares).map(|(held, bytes)| TensorLine {
        op: held.op.name,
        name: held.tensor.name,
        shape: held.tensor.shape,
        dtype,
        count: held.count,
        bytes,
    }));
    let note = if sharded {
        "Every parameter in the compute format, shared out over data-parallel ranks."
    } else {
        "Every parameter of this rank in the compute format."
    };
    let (kind, source, certainty) = (MemoryKind::Parameter, sources::ARITHMETIC, Certainty::Exact);
    LineItem { kind, label: "Weights", bytes, tensors, note, source, certainty }
}

/// A line of one value per parameter of the rank.
fn per_parameter(
    scope: &Scope,
    (kind, label): (MemoryKind, &'static str),
    (parameters, ranks): (u64, u64),
    dtype: DType,
    (note, source): (&'static str, Source),
) -> LineItem {
    let shape = Shape::of([Dim("parameters of this rank", parameters)]);
    let bytes = Elements(parameters.div_ceil(ranks.max(1))).stored_as(dtype);
    let tensor = TensorLine { op: label, name: "one value per parameter", shape, dtype, count: 1, bytes };
    let (bytes, tensors) = scope.sum(std::iter::once(tensor));
    LineItem { kind, label, bytes, tensors, note, source, certainty: Certainty::Exact }
}

fn optimizer(scope: &Scope, run: &TrainingRun, lines: &mut Vec<LineItem>) {
    let recipe = run.recipe();
    let parameters = total(scope);
    let layout = scope.job.layout();
    let ranks = if layout.sharding.shards_optimizer() { layout.d() } else { 1 };
    let mut push = |label, count: u64, dtype, note, source| {
        lines.push(per_parameter(scope, (MemoryKind::OptimizerState, label), (count, ranks), dtype, (note, source)));
    };
    if let Some(master) = recipe.master {
        push("Master weights", parameters, master, "An fp32 copy of every weight, updated by the optimizer.", sources::ZERO_2020);
    }
    let state = recipe.optimizer_state;
    match run.optimizer {
        Optimizer::AdamW => {
            push("First moment", parameters, state, "Running mean of the gradient.", sources::ZERO_2020);
            push("Second moment", parameters, state, "Running mean of the squared gradient.", sources::ZERO_2020);
        }
        Optimizer::AdamW8bit => {
            let note = "Running mean in one byte, scaled block by block.";
            push("First moment, 8 bit", parameters, DType::Int8, note, sources::ADAM_8BIT_2022);
            let note = "Running mean of squares in one byte, scaled block by block.";
            push("Second moment, 8 bit", parameters, DType::Int8, note, sources::ADAM_8BIT_2022);
            let scales = parameters.div_ceil(QUANTISATION_BLOCK).saturating_mul(2);
            push("Scales of both moments", scales, DType::Fp32, "One fp32 scale per 256 values.", sources::ADAM_8BIT_2022);
        }
        Optimizer::Sgd => {}
        Optimizer::SgdMomentum => push("Momentum", parameters, state, "One running sum of gradients.", sources::PYTORCH_AUTOGRAD),
        Optimizer::Adafactor => {
            let factors = held(scope).map(|held| factored(&held)).fold(0, u64::saturating_add);
            let note = "One row and one column of a matrix instead of its full second moment.";
            push("Row and column factors", factors, DType::Fp32, note, sources::ADAFACTOR_2018);
        }
    }
}

/// Adafactor's state for a tensor on one tensor-parallel rank: rows plus columns of a matrix, all values of a vector.
///
/// Every matrix has `hidden_size` on one side; the other side is what tensor parallelism splits.
fn factored(held: &Held) -> u64 {
    let each = held.elements / held.count.max(1);
    let width = held.tensor.shape.dims().find(|dim| dim.0 == "hidden_size").map(|dim| dim.1);
    let factors = match width {
        Some(width) if held.tensor.shape.dims().count() > 1 => width.saturating_add(each.div_ceil(width.max(1))),
        _ => each,
    };
    factors.saturating_mul(held.count)
}

/// What the page says about gathered weights.
const fn gathered_weights_note(sharding: DataSharding) -> &'static str {
    match sharding {
        DataSharding::Fsdp => "Embedding, norm and head stay gathered; one block is in use while the next is fetched.",
        _ => "Stage 3 gathers weights before use, at most one billion parameters at once (DeepSpeed's default).",
    }
}

/// Weights gathered for use under full sharding: `blocks` blocks beside the root group; `None` without full sharding.
pub(super) fn gathered(scope: &Scope, blocks: u64) -> Option<LineItem> {
    let (job, list, stage) = (scope.job, scope.list, scope.stage);
    let sharding = job.layout().sharding;
    let run = job.training()?;
    if !sharding.shards_parameters() || job.layout().d() == 1 {
        return None;
    }
    let t = job.layout().t();
    let ends = [(stage.embedding, &list.embedding), (stage.head, &list.head)];
    let ends =
        ends.into_iter().filter(|(held, _)| *held).map(|(_, ops)| parameters_per_rank(ops, t)).fold(0, u64::saturating_add);
    let block = parameters_per_rank(&list.block, t);
    let (parameters, source) = match sharding {
        DataSharding::Fsdp => (ends.saturating_add(block.saturating_mul(blocks.min(stage.layers))), sources::FSDP2),
        _ => (ends.saturating_add(block.saturating_mul(stage.layers)).min(MAX_LIVE_PARAMETERS), sources::DEEPSPEED),
    };
    let dtype = run.recipe().parameter;
    let bytes = Elements(parameters).stored_as(dtype);
    let shape = Shape::of([Dim("gathered parameters", parameters)]);
    let tensor = TensorLine { op: GATHERED_WEIGHTS, name: "full weights", shape, dtype, count: 1, bytes };
    let (bytes, tensors) = scope.sum(std::iter::once(tensor));
    let (kind, label, note) = (MemoryKind::Temporary, GATHERED_WEIGHTS, gathered_weights_note(sharding));
    Some(LineItem { kind, label, bytes, tensors, note, source, certainty: Certainty::Modelled })
}
