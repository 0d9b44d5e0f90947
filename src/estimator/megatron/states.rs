//! Weights, main gradients and optimizer states of one rank.
//!
//! Megatron-LM keeps parameters and main gradients in contiguous buffers
//! (`distributed/param_and_grad_buffer.py`); the distributed optimizer
//! (`optimizer/distrib_optimizer.py`) shares master weights and moments out over the ranks that
//! hold the same parameters: data- and context-parallel ranks for dense layers,
//! expert-data-parallel ranks for experts.

use super::{Kind, RankOp, Scope};
use crate::config::{DataSharding, ParallelLayout, TrainingRun};
use crate::estimator::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use crate::ops::megatron::is_of_adapter;
use crate::ops::{Dim, EMBEDDING, Role, Shape, Tensor};
use crate::optimizers::{StateSpec, StateValues, UpdatedParameter};
use crate::sources::{self, Source};
use crate::units::{Bytes, DType, Elements};

/// A parameter tensor of the stage.
pub(super) struct Held<'a> {
    pub op: &'static str,
    pub tensor: &'a Tensor,
    pub count: u64,
    /// True for an expert's tensor, of which there are other copies than of the rest.
    pub expert: bool,
    /// True for a block's tensor, as opposed to the embedding's or the head's.
    in_block: bool,
    /// True if the tensor learns: beside adapters, the model's own parameters do not.
    pub learns: bool,
}

impl Held<'_> {
    pub fn elements(&self) -> u64 {
        self.tensor.shape.elements().0.saturating_mul(self.count)
    }

    /// One such tensor as an optimizer sees it; experts of a rank are matrices of one tensor.
    fn updated(&self) -> UpdatedParameter {
        let is_embedding = self.tensor.name.ends_with(EMBEDDING);
        UpdatedParameter { is_embedding, ..self.tensor.shape.updated(self.count, self.in_block) }
    }
}

/// Every parameter tensor of the stage.
pub(super) fn held<'a>(scope: &Scope<'a>) -> Vec<Held<'a>> {
    let (model, stage, layers) = (scope.model, &scope.stage, scope.stage.layers());
    let mut found = Vec::with_capacity(32);
    if stage.embeds() {
        collect(&model.embedding, 1, false, &mut found);
    }
    for kind in Kind::ALL {
        collect(scope.steps(kind), layers.of(kind), true, &mut found);
    }
    if stage.ends() {
        collect(&model.head, 1, false, &mut found);
        if scope.job.model().tie_word_embeddings && !stage.embeds() {
            // A tied head on another stage than the embedding is a copy of it.
            let copy = model
                .embedding
                .iter()
                .flat_map(|step| step.op.tensors.iter().map(move |tensor| (step.op.name, tensor)));
            let word = copy.into_iter().find(|(_, tensor)| tensor.role == Role::Parameter);
            found.extend(word.map(|(op, tensor)| Held {
                op,
                tensor,
                count: 1,
                expert: false,
                in_block: false,
                learns: true,
            }));
        }
    }
    for held in found.iter_mut().filter(|_| scope.run.tuning.freezes_model()) {
        held.learns = is_of_adapter(held.tensor);
    }
    found
}

/// Parameters of some operations.
pub(super) fn of_steps(steps: &[RankOp]) -> u64 {
    let mut found = Vec::with_capacity(16);
    collect(steps, 1, true, &mut found);
    found.iter().map(Held::elements).fold(0, u64::saturating_add)
}

fn collect<'a>(steps: &'a [RankOp], count: u64, in_block: bool, found: &mut Vec<Held<'a>>) {
    if count == 0 {
        return;
    }
    for step in steps {
        let parameters = step.op.tensors.iter().filter(|tensor| tensor.role == Role::Parameter);
        found.extend(parameters.map(|tensor| Held {
            op: step.op.name,
            tensor,
            count,
            expert: tensor.shape.is_of_experts(),
            in_block,
            learns: true,
        }));
    }
}

/// How many ranks share a tensor's states out among themselves.
pub(super) const fn copies(layout: &ParallelLayout, expert: bool) -> u64 {
    if expert {
        let groups = layout.expert_data_parallel_size() / layout.replicas();
        if groups == 0 { 1 } else { groups }
    } else {
        layout.shards().saturating_mul(layout.cp())
    }
}

/// Adds the lines: those of one value per parameter, then scales and factors.
pub(super) fn add(scope: &Scope, detail: bool, lines: &mut Vec<LineItem>) {
    let held = held(scope);
    let states = scope.run.optimizer.spec().states;
    if scope.run.tuning.freezes_model() {
        let line = frozen(scope.run);
        lines.push(per_parameter(scope, held.iter().filter(|held| !held.learns), &line, detail));
    }
    for line in own_lines(scope.run).into_iter().flatten() {
        lines.push(per_parameter(scope, held.iter().filter(|held| held.learns), &line, detail));
    }
    for state in states {
        let of =
            || held.iter().filter(|held| held.learns && state.serves.includes(&held.updated()));
        let values = |held: &Held| match state.values {
            StateValues::EveryElement => held.elements(),
            StateValues::OfElements(values) => values(held.elements()),
            StateValues::OfShape(values) => values(&held.updated()).saturating_mul(held.count),
        };
        lines.push(if matches!(state.values, StateValues::EveryElement) {
            per_parameter(scope, of(), &Line::of(state, scope.run), detail)
        } else {
            vectors(scope, &of().map(|held| (values(held), held.expert)).collect::<Vec<_>>(), state)
        });
    }
}

/// A line of one value per parameter.
#[derive(Clone, Copy, Debug)]
struct Line {
    kind: MemoryKind,
    label: &'static str,
    dtype: DType,
    note: &'static str,
    source: Source,
}

impl Line {
    /// The line of a state that every parameter has a value of, in Megatron-LM's buffers.
    fn of(state: &StateSpec, run: &TrainingRun) -> Self {
        let dtype = state.format.dtype(run.recipe().optimizer_state);
        Self {
            kind: MemoryKind::OptimizerState,
            label: state.label,
            dtype,
            note: state.note,
            source: sources::MEGATRON_CORE,
        }
    }

    /// True if data-parallel ranks share the tensors of this kind out.
    const fn is_shared(&self, sharding: DataSharding) -> bool {
        match self.kind {
            MemoryKind::Parameter => sharding.shards_parameters(),
            MemoryKind::Gradient => sharding.shards_gradients(),
            _ => sharding.shards_optimizer(),
        }
    }
}

/// Weights that stay as they are: each a tensor of its own, in no buffer.
const fn frozen(run: &TrainingRun) -> Line {
    let note = "No gradients and no optimizer states.";
    Line {
        kind: MemoryKind::Parameter,
        label: "Frozen weights",
        dtype: run.recipe().parameter,
        note,
        source: sources::MEGATRON_CORE,
    }
}

/// Weights that learn, main gradients and master weights of a run.
fn own_lines(run: &TrainingRun) -> [Option<Line>; 3] {
    let recipe = run.recipe();
    let source = sources::MEGATRON_CORE;
    let line = |kind, label, dtype, note| Some(Line { kind, label, dtype, note, source });
    let (weights, parameters) = if run.tuning.freezes_model() {
        ("Adapters", "What learns: small matrices beside frozen layers, in one buffer.")
    } else {
        ("Weights", "Every parameter of this rank in the compute format, in one buffer.")
    };
    let gradients = "One per parameter, in one buffer that stays for the whole training.";
    let master = "An fp32 copy of every weight, updated by the optimizer.";
    [
        line(MemoryKind::Parameter, weights, recipe.parameter, parameters),
        line(MemoryKind::Gradient, "Main gradients", recipe.gradient, gradients),
        recipe
            .master
            .and_then(|dtype| line(MemoryKind::OptimizerState, "Master weights", dtype, master)),
    ]
}

fn per_parameter<'a>(
    scope: &Scope,
    held: impl IntoIterator<Item = &'a Held<'a>>,
    line: &Line,
    detail: bool,
) -> LineItem {
    let ranks = |expert| {
        if line.is_shared(scope.job.layout().sharding) {
            copies(scope.job.layout(), expert)
        } else {
            1
        }
    };
    let held: Vec<&Held> = held.into_iter().collect();
    let sum = |expert: bool| {
        held.iter()
            .filter(|held| held.expert == expert)
            .map(|held| held.elements())
            .fold(0, u64::saturating_add)
    };
    let parts = [false, true].map(|expert| (sum(expert), ranks(expert)));
    let bytes = parts
        .iter()
        .map(|&(elements, ranks)| Elements(elements.div_ceil(ranks)).stored_as(line.dtype))
        .sum();
    let tensors = if detail { tensor_lines(&held, line.dtype, ranks) } else { Vec::new() };
    let (kind, label, note, source) = (line.kind, line.label, line.note, line.source);
    LineItem { kind, label, bytes, tensors, note, source, certainty: Certainty::Exact }
}

/// The tensors behind a line; rounding of shared buffers is dealt out so that they add up to it.
fn tensor_lines(held: &[&Held], dtype: DType, ranks: impl Fn(bool) -> u64) -> Vec<TensorLine> {
    let mut before = [0_u64; 2];
    let line = |held: &&Held| {
        let place = before.get_mut(usize::from(held.expert));
        let share =
            |elements: u64| Elements(elements.div_ceil(ranks(held.expert))).stored_as(dtype);
        let bytes = place.map_or(Bytes::ZERO, |before| {
            let from = share(*before);
            *before = before.saturating_add(held.elements());
            share(*before).saturating_sub(from)
        });
        TensorLine {
            op: held.op,
            name: held.tensor.name,
            shape: held.tensor.shape,
            dtype,
            count: held.count,
            bytes,
        }
    };
    held.iter().map(line).collect()
}

/// A line of scales or factors: so many values of each tensor, and whether it is an expert's.
fn vectors(scope: &Scope, elements: &[(u64, bool)], state: &'static StateSpec) -> LineItem {
    let shared = scope.job.layout().sharding.shards_optimizer();
    let sum = |expert: bool| {
        elements
            .iter()
            .filter(|part| part.1 == expert)
            .map(|part| part.0)
            .fold(0, u64::saturating_add)
    };
    let own = |expert: bool| {
        sum(expert).div_ceil(if shared { copies(scope.job.layout(), expert) } else { 1 })
    };
    let count = own(false).saturating_add(own(true));
    let StateSpec { label, note, source, .. } = *state;
    let dtype = state.format.dtype(scope.run.recipe().optimizer_state);
    let bytes = Elements(count).stored_as(dtype);
    let shape = Shape::of([Dim("values of this rank", count)]);
    let tensors = vec![TensorLine { op: label, name: "vectors", shape, dtype, count: 1, bytes }];
    LineItem {
        kind: MemoryKind::OptimizerState,
        label,
        bytes,
        tensors,
        note,
        source,
        certainty: Certainty::Exact,
    }
}
