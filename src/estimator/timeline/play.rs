//! Plays one step of one pipeline stage on a tape.

use super::groups::Groups;
use super::optimizer;
use super::plan::Plan;
use crate::config::Recompute;
use crate::ops::modules::{Block, Build, Embedded, Ends, Tables, block};
use crate::ops::tape::{Form, Kind, Model, Tape, Var, When};
use crate::sources;
use crate::units::DType;

/// Storage, shape and format of a table.
type Part = (u32, Form, DType);

/// The model on the tape.
struct Playing<'t, 'g> {
    layers: Vec<Box<dyn Block>>,
    tables: [(Vec<Part>, [bool; 3]); 2],
    sliding: Vec<bool>,
    autocast: Option<DType>,
    groups: &'g Groups<'t>,
    /// The tag of the layer that backward leaves last.
    last: u16,
}

impl Model for Playing<'_, '_> {
    fn recompute<'t>(&self, tape: &'t Tape, frame: usize, input: Var<'t>) {
        let Some(layer) = self.layers.get(frame) else { return };
        let sliding = self.sliding.get(frame).copied().unwrap_or_default();
        let [whole, narrow] = &self.tables;
        let (parts, kinds) = if sliding { narrow } else { whole };
        let again = parts.iter().map(|(storage, form, dtype)| tape.again(*storage, *form, *dtype));
        let tables = Tables::again(again.collect(), *kinds);
        tape.autocast(self.autocast);
        let output = layer.run(tape, &input, &tables);
        drop((output, tables, input));
        tape.autocast(None);
    }

    fn enters(&self, _tape: &Tape, layer: u16) {
        self.groups.enters(layer);
    }

    fn leaves(&self, _tape: &Tape, layer: u16) {
        self.groups.leaves(layer, layer == self.last);
    }
}

/// Plays one step; the tape knows its parameters, stretches and log. The answer is how many storages there were before forward.
pub(super) fn play(tape: &Tape, plan: &Plan<'_>) -> usize {
    tape.begin(When::Before, 0, Kind::Parameter);
    tape.share_out(plan.shards());
    tape.arrivals(plan.arrival());
    let build = Build::new(tape, &plan.with);
    let mut ends = Ends::new(&build, plan.stage.embedding, plan.stage.head);
    let mut layers = Vec::with_capacity(plan.played.len());
    for (played, tag) in plan.played.iter().zip(1..) {
        tape.set_layer(tag);
        layers.push(block(&build, played.index));
    }
    tape.set_layer(plan.head());
    ends.finish(&build);
    tape.set_layer(0);
    tape.begin(When::Before, 0, Kind::Buffer);
    tape.at("Inputs and buffers", sources::PYTORCH_AUTOGRAD);
    let _buffers = ends.buffers(tape);
    let ids = tape.constant("token ids", build.shapes.tokens, DType::Int64);
    let _states = optimizer::states(tape, plan);
    let groups = Groups::new(tape, plan);
    if plan.accumulated {
        tape.at("Gradients", sources::PYTORCH_AUTOGRAD);
        if groups.shares_gradients() { groups.gradients_exist() } else { tape.gradients_exist() }
    }
    let before = tape.state().storages.len();
    step(tape, plan, &build, (ends, layers, &groups), &ids);
    optimizer::step(tape, plan);
    tape.close();
    before
}

/// Forward and backward.
fn step<'t>(
    tape: &'t Tape,
    plan: &Plan<'_>,
    build: &Build<'_>,
    (ends, layers, groups): (Ends, Vec<Box<dyn Block>>, &Groups<'t>),
    ids: &Var<'t>,
) {
    let autocast = plan.with.autocast.then_some(DType::Bf16);
    tape.begin(When::Forward, 0, Kind::Activation);
    groups.before_forward(0);
    tape.autocast(autocast);
    let mut embedded = ends.embed(tape, ids);
    let tables = [0, 1].map(|kind: usize| table_parts(&embedded, kind));
    let sliding = plan.played.iter().map(|played| build.model().sliding_layers.contains(played.index)).collect();
    let last = u16::from(!plan.stage.embedding && !plan.played.is_empty());
    let playing = Playing { layers, tables, sliding, autocast, groups, last };
    let mut outputs = None;
    for ((layer, sliding), tag) in playing.layers.iter().zip(&playing.sliding).zip(1..) {
        tape.begin(When::Forward, tag, Kind::Activation);
        groups.before_forward(tag);
        let (hidden, tables) = (&embedded.hidden, &embedded.tables[usize::from(*sliding)]);
        let (next, beside) = if plan.recompute == Recompute::Full {
            tape.checkpoint(hidden, &tables.all(), |tape, input| layer.run(tape, input, tables))
        } else {
            layer.run(tape, hidden, tables)
        };
        groups.after_forward(tag);
        embedded.hidden = next;
        outputs = beside;
    }
    tape.begin(When::Forward, plan.head(), Kind::Activation);
    let loss = ends.end(tape, embedded, outputs);
    groups.after_forward(0);
    tape.autocast(None);
    tape.begin(When::Backward, plan.head(), Kind::Temporary);
    tape.backward(&loss, &playing);
}

fn table_parts(embedded: &Embedded<'_>, kind: usize) -> (Vec<Part>, [bool; 3]) {
    let tables = &embedded.tables[usize::from(kind > 0)];
    (tables.all().iter().map(Var::parts).collect(), tables.kinds())
}
