//! One optimizer step played on a tape: what is taken and freed, and when it is most.

mod optimizer;

use crate::config::{Job, OptimizerImplementation, Recompute, TrainingRun};
use crate::ops::modules::{Block, Build, Ends, Tables, block};
use crate::ops::tape::{Kind, Model, Tape, Var, When};
use crate::ops::{self, Lowering};
use crate::units::DType;

/// Memory taken (positive) or freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The operation it happens in.
    pub op: &'static str,
    /// The tensor.
    pub name: &'static str,
    /// Bytes.
    pub bytes: i128,
}

/// Everything that one training step of a job takes and frees on one rank, in order; empty when serving.
pub fn events(job: &Job) -> Vec<Event> {
    let Some(run) = job.training() else { return Vec::new() };
    let with = ops::lowering(job);
    let layers = u16::try_from(job.model().num_hidden_layers).unwrap_or(u16::MAX - 2);
    let plan = Plan { layers, ..Plan::of(job, run) };
    let tape = play(&with, &plan);
    let state = tape.state();
    let event = |event: &u32| {
        let storage = state.storages.get(usize::try_from(event >> 1).unwrap_or(usize::MAX))?;
        let bytes = i128::from(storage.bytes);
        Some(Event { op: state.op_name(storage.op).0, name: storage.name, bytes: if event & 1 == 0 { bytes } else { -bytes } })
    };
    state.log.iter().filter_map(event).collect()
}

/// For tests: memory after forward and at the peak, bytes by kind (parameters, gradients, states, activations, temporary, buffers).
pub fn measured(job: &Job) -> Option<([u64; 6], [u64; 6])> {
    let run = job.training()?;
    let with = ops::lowering(job);
    let layers = u16::try_from(job.model().num_hidden_layers).unwrap_or(u16::MAX - 2);
    let tape = play(&with, &Plan { layers, ..Plan::of(job, run) });
    let state = tape.state();
    let after = state.segments.iter().rfind(|segment| segment.when == When::Forward)?.end;
    let peak = state.segments.iter().max_by_key(|segment| segment.peak_sum)?.peak;
    Some((after, peak))
}

impl Plan {
    fn of(job: &Job, run: &TrainingRun) -> Self {
        Self {
            recompute: run.recompute,
            accumulated: job.gradient_accumulation_steps() > 1,
            optimizer: run.optimizer,
            implementation: run.optimizer_implementation,
            state: run.recipe().optimizer_state,
            layers: 0,
        }
    }
}

/// What is played.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Whether blocks are recomputed.
    pub recompute: Recompute,
    /// Whether gradients exist already when the micro-batch begins.
    pub accumulated: bool,
    /// The optimizer.
    pub optimizer: crate::config::Optimizer,
    /// How it walks over the parameters.
    pub implementation: OptimizerImplementation,
    /// Format of its states.
    pub state: DType,
    /// Layers to play.
    pub layers: u16,
}

/// The model on the tape.
struct Playing {
    layers: Vec<Box<dyn Block>>,
    tables: [(Vec<(u32, u16, DType)>, [bool; 3]); 2],
    sliding: Vec<bool>,
    autocast: Option<DType>,
}

impl Model for Playing {
    fn recompute<'t>(&self, tape: &'t Tape, frame: usize, input: Var<'t>) {
        let Some(layer) = self.layers.get(frame) else { return };
        let sliding = self.sliding.get(frame).copied().unwrap_or_default();
        let (parts, kinds) = &self.tables[usize::from(sliding)];
        let again = parts.iter().map(|(storage, form, dtype)| tape.again(*storage, *form, *dtype));
        let tables = Tables::again(again.collect(), *kinds);
        tape.autocast(self.autocast);
        let output = layer.run(tape, &input, &tables);
        drop((output, tables, input));
        tape.autocast(None);
    }

    fn crosses(&self, _tape: &Tape, _from: Option<u16>, _to: Option<u16>) {}
}

/// Plays one step; the tape knows its parameters, segments and log.
pub(crate) fn play(with: &Lowering, plan: &Plan) -> Tape {
    let tape = Tape::default();
    run(&tape, with, plan);
    tape
}

fn run(tape: &Tape, with: &Lowering, plan: &Plan) {
    tape.begin(When::Before, 0, Kind::Parameter);
    let build = Build::new(tape, with);
    let mut ends = Ends::new(&build);
    let mut layers = Vec::new();
    for layer in 0..plan.layers {
        tape.set_layer(layer + 1);
        layers.push(block(&build, u64::from(layer)));
    }
    tape.set_layer(plan.layers + 1);
    ends.finish(&build);
    tape.begin(When::Before, 0, Kind::Buffer);
    let _buffers = ends.buffers(tape);
    let ids = tape.constant("token ids", build.shapes.tokens, DType::Int64);
    optimizer::states(tape, plan);
    if plan.accumulated {
        tape.gradients_exist();
    }
    tape.begin(When::Forward, 0, Kind::Activation);
    let autocast = with.autocast.then_some(DType::Bf16);
    tape.autocast(autocast);
    let mut embedded = ends.embed(tape, &ids);
    let tables = [0, 1].map(|kind: usize| {
        let tables = &embedded.tables[kind];
        (tables.all().iter().map(Var::parts).collect(), tables.kinds())
    });
    let sliding = (0..plan.layers).map(|layer| with.model.sliding_layers.contains(u64::from(layer))).collect();
    let playing = Playing { layers, tables, sliding, autocast };
    let mut outputs = None;
    for ((layer, sliding), number) in playing.layers.iter().zip(&playing.sliding).zip(1..) {
        tape.begin(When::Forward, number, Kind::Activation);
        let (hidden, tables) = (&embedded.hidden, &embedded.tables[usize::from(*sliding)]);
        let (next, beside) = if plan.recompute == Recompute::Full {
            tape.checkpoint(hidden, &tables.all(), |tape, input| layer.run(tape, input, tables))
        } else {
            layer.run(tape, hidden, tables)
        };
        embedded.hidden = next;
        outputs = beside;
    }
    tape.begin(When::Forward, plan.layers + 1, Kind::Activation);
    let hidden = ends.last_norm(tape, embedded, outputs);
    let Some(loss) = ends.loss(tape, hidden) else { return };
    tape.autocast(None);
    tape.begin(When::Backward, plan.layers + 1, Kind::Temporary);
    tape.backward(&loss, &playing);
    drop(loss);
    optimizer::step(tape, plan);
    tape.close();
}
