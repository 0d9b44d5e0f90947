//! Model states: weights, gradients, optimizer states, and weights gathered for a while under full
//! sharding.

use super::drafting;
use super::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use super::placed::Placed;
use super::served::{self, Side};
use super::slots;
use super::stage::Scope;
use crate::config::{Run, TrainingRun};
use crate::ops::{self, Dim, EMBEDDING, Op, Role, Shape, Tensor};
use crate::optimizers::{Served, StateValues, UpdatedParameter};
use crate::sources::{self, Source};
use crate::units::{Bytes, DType, Elements};

/// Label of the weights gathered for use under full sharding.
pub const GATHERED_WEIGHTS: &str = "Gathered weights";

/// One parameter tensor of a stage and how often the stage holds it.
struct Held<'a> {
    op: &'a Op,
    tensor: &'a Tensor,
    count: u64,
    elements: u64,
    in_block: bool,
}

/// Weights and optimizer states on one rank of a stage: alive throughout the step.
pub(super) fn lines(scope: &Scope) -> Vec<LineItem> {
    let mut lines = Vec::with_capacity(24);
    match scope.job.run() {
        Run::Training(run) => {
            lines.push(weights(scope));
            optimizer(scope, run, &mut lines);
        }
        Run::Serving(run) => match Placed::of(scope.job) {
            Some(placed) => served::weights(scope, run, Side::Device(&placed), &mut lines),
            None if run.quantization.is_plain() => lines.push(weights(scope)),
            None => served::weights(scope, run, Side::Both, &mut lines),
        },
    }
    if let Run::Serving(run) = scope.job.run() {
        lines.extend(slots::line(scope, run));
        lines.extend(drafting::weights(scope, run));
    }
    lines
}

/// How many gradients exist at a moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gradients {
    /// None: released after the step before, backward has not begun.
    None,
    /// Gradients of the head alone: backward has just left it.
    Head,
    /// All but those of the first block and the embedding, which backward has yet to write.
    BeforeFirstBlock,
    /// All.
    All,
}

/// Gradients on one rank of a stage. With gradient accumulation all of them exist from the second
/// micro-batch on.
pub(super) fn gradients(scope: &Scope, exist: Gradients, lines: &mut Vec<LineItem>) {
    let Some(run) = scope.job.training() else { return };
    let (total, own) = (scope.total_parameters(), &scope.parameters);
    let (parameters, note) = match exist {
        _ if scope.job.gradient_accumulation_steps() > 1 => {
            (total, "One per parameter; accumulation keeps all of them between micro-batches.")
        }
        Gradients::None => return,
        Gradients::Head => (
            if own.has_head_weight { own.head } else { own.embedding },
            "So far only the head's: backward has just passed it.",
        ),
        Gradients::BeforeFirstBlock => {
            // A tied embedding has had its gradient since the head's backward.
            let embedding =
                if scope.stage.embedding && own.has_head_weight { own.embedding } else { 0 };
            (
                total.saturating_sub(scope.first_block().saturating_add(embedding)),
                "All but those of the first block and the embedding.",
            )
        }
        Gradients::All => (total, "One per parameter."),
    };
    let recipe = run.recipe();
    let ranks = if scope.job.layout().sharding.shards_gradients() {
        scope.job.layout().shards()
    } else {
        1
    };
    let mut push = |label, dtype, note| {
        let about = (note, sources::PYTORCH_AUTOGRAD);
        lines.push(per_parameter(
            scope,
            (MemoryKind::Gradient, label),
            (parameters, ranks),
            dtype,
            about,
        ));
    };
    push("Gradients", recipe.gradient, note);
    if let Some(copy) = recipe.gradient_copy {
        push("fp32 gradient copy", copy, "An fp32 copy in which gradients are accumulated.");
    }
}

/// Every parameter tensor of the stage, with its elements on one tensor-parallel rank over all its
/// copies.
fn held<'a>(scope: &Scope<'a>) -> impl Iterator<Item = Held<'a>> + use<'a> {
    let (list, stage, t) = (scope.list, scope.stage.clone(), scope.job.layout().t());
    let embedding =
        if stage.embedding { usize::MAX } else { usize::from(scope.copies_embedding()) };
    let head: &[Op] = if stage.head { &list.head } else { &[] };
    let blocks = list
        .kinds
        .iter()
        .map(move |kind| (&kind.ops[..], usize::MAX, stage.layers_of(kind.of), true));
    let parts = std::iter::once((&list.embedding[..], embedding, 1, false))
        .chain(blocks)
        .chain([(head, usize::MAX, 1, false)]);
    parts.flat_map(move |(ops, most, count, in_block)| {
        ops::tensors(ops, Role::Parameter).take(most).map(move |(op, tensor)| {
            let elements = tensor.elements_per_rank(t, false).0.saturating_mul(count);
            Held { op, tensor, count, elements, in_block }
        })
    })
}

/// The bytes of each part of a sharded buffer, so that the parts add up to the rank's rounded-up
/// share.
fn shares(
    elements: impl Iterator<Item = u64>,
    ranks: u64,
    dtype: DType,
) -> impl Iterator<Item = Bytes> {
    let share = move |elements: u64| Elements(elements.div_ceil(ranks)).stored_as(dtype);
    elements.scan(0_u64, move |before, elements| {
        let from = share(*before);
        *before = before.saturating_add(elements);
        Some(share(*before).saturating_sub(from))
    })
}

fn weights(scope: &Scope) -> LineItem {
    let sharded = scope.job.training().is_some() && scope.job.layout().sharding.shards_parameters();
    let ranks = if sharded { scope.job.layout().shards() } else { 1 };
    let dtype = held(scope).next().map_or(DType::Bf16, |held| held.tensor.dtype);
    let bytes = Elements(scope.total_parameters().div_ceil(ranks)).stored_as(dtype);
    let tensors = if scope.detail { weight_tensors(scope, ranks, dtype) } else { Vec::new() };
    let note = if sharded {
        "Every parameter in the compute format, shared out over data-parallel ranks."
    } else {
        "Every parameter of this rank in the compute format."
    };
    let (kind, source, certainty) = (MemoryKind::Parameter, sources::ARITHMETIC, Certainty::Exact);
    LineItem { kind, label: "Weights", bytes, tensors, note, source, certainty }
}

/// The tensors behind the weights; their bytes add up to the rank's share.
fn weight_tensors(scope: &Scope, ranks: u64, dtype: DType) -> Vec<TensorLine> {
    let shares = shares(held(scope).map(|held| held.elements), ranks, dtype);
    let line = |(held, bytes): (Held, Bytes)| TensorLine {
        op: held.op.name,
        name: held.tensor.name,
        shape: held.tensor.shape,
        dtype,
        count: held.count,
        bytes,
    };
    held(scope).zip(shares).map(line).collect()
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
    let tensor =
        TensorLine { op: label, name: "one value per parameter", shape, dtype, count: 1, bytes };
    let (bytes, tensors) = scope.sum(std::iter::once(tensor));
    LineItem { kind, label, bytes, tensors, note, source, certainty: Certainty::Exact }
}

fn optimizer(scope: &Scope, run: &TrainingRun, lines: &mut Vec<LineItem>) {
    let recipe = run.recipe();
    let parameters = scope.total_parameters();
    let layout = scope.job.layout();
    let ranks = if layout.sharding.shards_optimizer() { layout.shards() } else { 1 };
    let mut push = |label, count: u64, dtype, note, source| {
        lines.push(per_parameter(
            scope,
            (MemoryKind::OptimizerState, label),
            (count, ranks),
            dtype,
            (note, source),
        ));
    };
    if let Some(master) = recipe.master {
        push(
            "Master weights",
            parameters,
            master,
            "An fp32 copy of every weight, updated by the optimizer.",
            sources::ZERO_2020,
        );
    }
    for state in run.optimizer.spec().states {
        let served = || {
            held(scope)
                .map(|held| (held.updated(), held))
                .filter(|(updated, _)| state.serves.includes(updated))
        };
        let elements = match state.serves {
            Served::All => parameters,
            Served::Nothing | Served::Those(_) => {
                served().map(|(_, held)| held.elements).fold(0, u64::saturating_add)
            }
        };
        let count = match state.values {
            StateValues::EveryElement => elements,
            StateValues::OfElements(values) => values(elements),
            StateValues::OfShape(values) => {
                let all =
                    served().map(|(updated, held)| values(&updated).saturating_mul(held.count));
                all.fold(0, u64::saturating_add)
            }
        };
        push(
            state.label,
            count,
            state.format.dtype(recipe.optimizer_state),
            state.note,
            state.source,
        );
    }
}

impl Held<'_> {
    /// One such tensor on one tensor-parallel rank, as an optimizer sees it.
    ///
    /// Every matrix has `hidden_size` on one side; tensor parallelism splits the other side.
    fn updated(&self) -> UpdatedParameter {
        let each = self.elements / self.count.max(1);
        let dimensions = self.tensor.shape.dims().count();
        let width =
            self.tensor.shape.dims().find(|dim| dim.0 == "hidden_size").map(|dim| dim.1.max(1));
        let matrix = width.filter(|_| dimensions > 1).map(|width| [each.div_ceil(width), width]);
        let elements = matrix.map_or(each, |[rows, columns]| rows.saturating_mul(columns));
        let is_embedding = self.tensor.name.ends_with(EMBEDDING);
        let (times, in_block) = (self.count, self.in_block);
        UpdatedParameter {
            elements,
            times,
            dimensions,
            matrix,
            in_block,
            is_embedding,
            own_format: None,
        }
    }
}

/// Weights gathered for use under full sharding: `blocks` blocks beside the root group; `None`
/// without full sharding.
pub(super) fn gathered(scope: &Scope, blocks: u64) -> Option<LineItem> {
    let (job, stage, own) = (scope.job, &scope.stage, &scope.parameters);
    let gathers = job.layout().sharding.gathers.as_ref().filter(|_| job.layout().shards() > 1)?;
    let run = job.training()?;
    let part = |held: bool, count: u64| if held { count } else { 0 };
    let ends = part(stage.embedding, own.embedding).saturating_add(part(stage.head, own.head));
    let of_blocks = || {
        own.blocks
            .iter()
            .fold(0, |most, (_, own)| most.max(*own))
            .saturating_mul(blocks.min(stage.layers))
    };
    let parameters = if gathers.is_limited {
        ends.saturating_add(scope.block_parameters()).min(run.library.max_live_parameters)
    } else {
        ends.saturating_add(of_blocks())
    };
    let dtype = run.recipe().parameter;
    let bytes = Elements(parameters).stored_as(dtype);
    let shape = Shape::of([Dim("gathered parameters", parameters)]);
    let tensor =
        TensorLine { op: GATHERED_WEIGHTS, name: "full weights", shape, dtype, count: 1, bytes };
    let (bytes, tensors) = scope.sum(std::iter::once(tensor));
    let (kind, label, note) = (MemoryKind::Temporary, GATHERED_WEIGHTS, gathers.note);
    Some(LineItem {
        kind,
        label,
        bytes,
        tensors,
        note,
        source: gathers.source,
        certainty: Certainty::Modelled,
    })
}
