//! Plays one step of one pipeline stage on a tape.

mod model;
mod stages;

use std::cell::{Cell, RefCell};

use self::model::Playing;
use super::blocks::{Layers, layers};
use super::build;
use super::groups::{Bucket, Groups};
use super::optimizer;
use super::plan::{Plan, Shares};
use crate::ops::modules::{AroundLoss, Build, Ends, Tables};
use crate::ops::tape::{Kind, Scratch, Tape, Var, When};
use crate::sources;
use crate::units::DType;

/// A stage of the model on the tape, with its buffers and the tokens of a micro-batch.
struct Made<'t> {
    ends: Ends,
    layers: Layers,
    /// Held so that the memory of the buffers stays taken.
    _buffers: Vec<Var<'t>>,
    ids: Var<'t>,
}

/// Makes the model of a stage.
fn made<'t>(tape: &'t Tape, plan: &Plan<'_>) -> Made<'t> {
    tape.begin(When::Before, 0, Kind::Parameter);
    tape.share_out(plan.shards());
    tape.arrivals(plan.arrival());
    let build = Build::new(tape, &plan.with);
    tape.play_scratch(if plan.singly { Scratch::All } else { Scratch::Even });
    tape.recompute_to_the_end(plan.with.stack.recomputes_to_the_end);
    tape.checkpoints_compiled(plan.with.stack.checkpoints_compiled);
    if plan.is_stage_3() {
        tape.save_inputs_of_linears();
    }
    let mut ends = Ends::new(&build, plan.stage.embedding, plan.stage.head);
    let layers = layers(tape, plan, &build);
    tape.set_layer(plan.head());
    ends.finish(&build);
    if plan.evaluation.is_some_and(|evaluation| evaluation.writes_logits) {
        ends.write_logits();
    }
    tape.set_layer(0);
    if let Some(shards) = plan.shards() {
        tape.share_out_again(shards);
    }
    tape.begin(When::Before, 0, Kind::Buffer);
    tape.at("Inputs and buffers", sources::PYTORCH_AUTOGRAD);
    let mut buffers = ends.buffers(tape);
    if plan.library.cublas_workspace_cache {
        tape.keep_workspaces();
        // Where every tensor is played, the first products take them.
        buffers.extend((!plan.singly).then(|| tape.kept_workspaces()).into_iter().flatten());
    }
    buffers.extend(ends.source_ids(tape));
    let ids = tape.constant("token ids", build.shapes.text, DType::Int64);
    Made { ends, layers, _buffers: buffers, ids }
}

/// Plays one step; the tape knows its parameters, stretches and log. The answer is how many
/// storages there were before forward, and which ones ranks share.
pub(super) fn play(tape: &Tape, plan: &Plan<'_>) -> (usize, Shares) {
    let mut shares = Shares::with_capacity(32);
    let Made { ends, layers, ids, .. } = &made(tape, plan);
    let learned = optimizer::learned(tape, plan);
    let _states = optimizer::states(tape, plan, &learned, &mut shares);
    let groups = Groups::new(tape, plan);
    if plan.has_gradients_before() || groups.shares_stand() {
        tape.at("Gradients", sources::PYTORCH_AUTOGRAD);
        if groups.shares_gradients() {
            groups.gradients_exist(plan.reduce_once);
        } else if !plan.has_views() || plan.reduce_once {
            tape.gradients_exist();
        }
    }
    let before = tape.state().storages.len();
    let model = (ends, layers, &groups);
    let outputs = if plan.in_stages {
        stages::one_for_all(tape, plan, model, ids)
    } else {
        micro_batch(tape, plan, model, ids);
        Vec::new()
    };
    optimizer::step(tape, plan, &learned, &mut shares);
    drop(outputs);
    tape.close();
    shares.append(&mut groups.shares());
    (before, shares)
}

/// Plays an evaluation beside what stands between steps; the answer is as that of [`play`]. The
/// optimizer has let gradients go, but where their place stands for good.
pub(super) fn evaluate(tape: &Tape, plan: &Plan<'_>) -> (usize, Shares) {
    let mut shares = Shares::with_capacity(32);
    let Made { ends, layers, ids, .. } = &made(tape, plan);
    let learned = optimizer::learned(tape, plan);
    let _states = optimizer::states(tape, plan, &learned, &mut shares);
    let groups = Groups::new(tape, plan);
    groups.places_stand();
    let before = tape.state().storages.len();
    evaluated(tape, plan, (ends, layers, &groups), ids);
    tape.close();
    shares.append(&mut groups.shares());
    (before, shares)
}

/// Plays an evaluation alone; the answer is how long the log was before it.
pub(super) fn evaluate_alone(tape: &Tape, plan: &Plan<'_>) -> usize {
    let Made { ends, layers, ids, .. } = &made(tape, plan);
    if plan.is_coordinated() {
        tape.note_uses();
    }
    let groups = Groups::new(tape, plan);
    let _workspaces = tape.kept_workspaces();
    let before = tape.state().log.len();
    // The batch of the last step is still there.
    let ids = tape.constant("token ids of the evaluation", ids.form(), DType::Int64);
    evaluated(tape, plan, (ends, layers, &groups), &ids);
    before
}

/// `Trainer.prediction_step` without metrics: forward and loss under `torch.no_grad`, of which the
/// loss alone is read.
fn evaluated<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    model: (&Ends, &Layers, &Groups<'t>),
    ids: &Var<'t>,
) {
    tape.no_grad();
    let labels = tape.constant("labels of the evaluation", ids.form(), DType::Int64);
    drop(forward(tape, plan, model, ids));
    drop(labels);
}

/// Lengths of the log between the parts of a training that [`play_all`] plays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// Where PyTorch's cache was emptied while the model was made; else the begin.
    pub emptied: usize,
    /// After the model was made.
    pub built: usize,
    /// After the first micro-batch of a step.
    pub first: usize,
    /// After a further micro-batch; the same place where a step has one and lets its gradients go.
    pub further: usize,
    /// After the last one, where that alone reduces gradients; else the same place.
    pub last: usize,
    /// After the gradients are made ready for the optimizer.
    pub ready: usize,
    /// After the optimizer has made its states.
    pub states: usize,
    /// After its step.
    pub step: usize,
    /// After the events that happen once, before the second step.
    pub rebuilt: usize,
}

/// Plays the build of a model, the first micro-batch of a step, a further one where there is one,
/// and the optimizer's first step with the states that it makes; gradients are let go behind it.
pub(super) fn play_all(tape: &Tape, plan: &Plan<'_>) -> Parts {
    let Made { ends, layers, ids, .. } = &made(tape, plan);
    let taken_over = build::taken_over(tape, plan);
    if plan.is_coordinated() {
        tape.note_uses();
    }
    // The step begins without the gradients that an earlier micro-batch would have left.
    let groups = Groups::new(tape, &Plan { accumulated: false, ..plan.clone() });
    groups.places_stand();
    if plan.accumulated {
        groups.begin_step();
    }
    let length = || tape.state().log.len();
    let built = length();
    let reduces_once = plan.reduce_once
        || (plan.accumulated && groups.bucket.as_ref().is_some_and(Bucket::reduces_once));
    let in_stages = plan.in_stages;
    let outputs = if in_stages {
        stages::all(tape, plan, (ends, layers, &groups), ids)
    } else {
        groups.reduces(!reduces_once);
        micro_batch(tape, plan, (ends, layers, &groups), ids);
        Vec::new()
    };
    let first = length();
    if plan.has_gradients_before() && !in_stages {
        micro_batch(tape, plan, (ends, layers, &groups), ids);
    }
    let further = length();
    if reduces_once && !in_stages {
        groups.reduces(true);
        micro_batch(tape, plan, (ends, layers, &groups), ids);
    }
    let last = length();
    let mut shares = Shares::new();
    let upcast = groups.bucket.as_ref().and_then(|bucket| optimizer::ready(tape, plan, bucket));
    let ready = length();
    let learned = optimizer::learned(tape, plan);
    let _states = optimizer::states(tape, plan, &learned, &mut shares);
    let states = length();
    groups.end_micro_batches();
    optimizer::step(tape, plan, &learned, &mut shares);
    drop((upcast, outputs));
    if !plan.keeps_gradients {
        tape.zero_gradients();
        groups.zero_gradients();
    }
    let step = length();
    if let Some(reducer) = &groups.ddp {
        reducer.rebuild();
    }
    Parts {
        emptied: taken_over.emptied,
        built,
        first,
        further,
        last,
        ready,
        states,
        step,
        rebuilt: length(),
    }
}

/// The groups of a step, as the loss knows them.
struct Around<'t, 'g> {
    tape: &'t Tape,
    groups: &'g Groups<'t>,
    /// The layer of the operations behind the model.
    behind: u16,
    /// True if a pipeline holds the model's output until its backward is through.
    holds: bool,
    held: RefCell<Option<Var<'t>>>,
}

impl<'t, 'g> Around<'t, 'g> {
    fn of(tape: &'t Tape, plan: &Plan<'_>, groups: &'g Groups<'t>) -> Self {
        // A loss behind the model has a layer of its own, for which nothing is gathered.
        let behind = plan.head().saturating_add(1);
        let holds = plan.in_stages && plan.stage.head;
        Self { tape, groups, behind, holds, held: RefCell::default() }
    }
}

impl AroundLoss for Around<'_, '_> {
    fn returns(&self, output: &Var<'_>) {
        if self.holds {
            self.held.replace(Some(self.tape.kept_alive(output)));
        }
        self.groups.after_forward(self.groups.of_head());
        self.tape.begin(When::Forward, self.behind, Kind::Activation);
    }

    fn gathers_head(&self) {
        self.groups.gather_head();
    }

    fn gives_head_back(&self) {
        self.groups.release_head();
    }

    fn adds_up_in(&self) -> Option<DType> {
        self.groups.head_adds_up_in()
    }

    fn joins_head(&self) {
        self.groups.join_head();
    }

    fn reduces_head(&self) {
        self.groups.reduce_head();
    }
}

/// A micro-batch between its forward and its backward.
struct Pass<'t, 'g> {
    loss: Var<'t>,
    playing: Playing<'t, 'g>,
    /// How many gradients it wants of each parameter.
    uses: Option<Vec<u32>>,
    /// The input and the model's output, where a pipeline holds them.
    held: [Option<Var<'t>>; 2],
}

impl<'t, 'g> Pass<'t, 'g> {
    fn of(
        tape: &Tape,
        plan: &Plan<'_>,
        (loss, playing): (Var<'t>, Playing<'t, 'g>),
        held: [Option<Var<'t>>; 2],
    ) -> Self {
        let uses = plan.in_stages.then(|| tape.take_uses());
        Self { loss, playing, uses, held }
    }

    fn backward(&self, tape: &'t Tape, plan: &Plan<'_>) {
        let behind = plan.head().saturating_add(1);
        let is_behind = plan.with.stack.modules().loss_behind_model;
        let last = if is_behind { behind } else { plan.head() };
        tape.begin(When::Backward, last, Kind::Temporary);
        if let Some(uses) = &self.uses {
            tape.give_uses(uses);
        }
        tape.backward(&self.loss, &self.playing);
        self.playing.end();
    }
}

/// Forward and backward of one micro-batch.
fn micro_batch<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    model: (&Ends, &Layers, &Groups<'t>),
    ids: &Var<'t>,
) {
    forward(tape, plan, model, ids).backward(tape, plan);
}

/// Forward of one micro-batch.
fn forward<'t, 'g>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    (ends, layers, groups): (&'g Ends, &'g Layers, &'g Groups<'t>),
    ids: &Var<'t>,
) -> Pass<'t, 'g> {
    let autocast = plan.with.autocast.then_some(DType::Bf16);
    tape.begin(When::Forward, 0, Kind::Activation);
    groups.before_forward(0);
    tape.autocast(autocast);
    let cached = ends.past(tape);
    let of_images = tape.state().frames.len();
    let mut embedded = ends.embed(tape, ids, &|layer, begins| {
        if begins { groups.before_forward(layer) } else { groups.after_forward(groups.tag(layer)) }
    });
    let input =
        (plan.in_stages && !plan.stage.embedding).then(|| tape.kept_alive(&embedded.hidden));
    if groups.of_head() != 0 {
        groups.after_forward(0);
    }
    let last = u16::from(!plan.stage.embedding && !plan.played.is_empty());
    let shared = ends.shared_keys().cloned();
    let before = [of_images, tape.state().frames.len()];
    let playing = Playing {
        ends,
        layers,
        tables: RefCell::default(),
        shared,
        autocast,
        groups,
        before,
        last,
        is_through: Cell::new(false),
        turns: Cell::new(plan.with.model.beside().is_some()),
    };
    let mut outputs = None;
    let hands_on = plan.with.model.family.modules().shares_indexed_tokens;
    for (at, (layer, tag)) in playing.layers.blocks.iter().zip(1..).enumerate() {
        if ends.turns_at(layer.index) {
            // The decoder behind an encoder begins with its own embedding.
            tape.begin(When::Forward, 0, Kind::Activation);
            embedded = ends.turned(tape, embedded, ids);
        }
        tape.begin(When::Forward, tag, Kind::Activation);
        let of_layer = (plan.with.model, layer.index);
        let tables = ends.given(&embedded.tables[layer.tables], of_layer, plan.input_format());
        groups.before_forward(tag);
        let chosen = if hands_on { outputs.clone() } else { None };
        let source = tables.source.clone().map(|states| groups.hands(states));
        let tables = &Tables { past: cached.get(at).cloned(), chosen, source, ..tables };
        let (next, beside) = playing.run_block(tape, plan, at, (&embedded.hidden, tables));
        groups.after_forward(tag);
        embedded.goes_on(at, next);
        outputs = beside;
    }
    tape.begin(When::Forward, plan.head(), Kind::Activation);
    let ends_tag = groups.of_head();
    if ends_tag != 0 {
        groups.before_forward(ends_tag);
    }
    let around = Around::of(tape, plan, groups);
    let loss = ends.end(tape, (embedded, outputs), &around);
    drop(cached);
    groups.after_forward(ends_tag);
    tape.autocast(None);
    Pass::of(tape, plan, (loss, playing), [input, around.held.take()])
}
