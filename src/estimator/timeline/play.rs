//! Plays one step of one pipeline stage on a tape.

use std::cell::RefCell;
use std::rc::Rc;

use super::groups::Groups;
use super::optimizer;
use super::plan::{Plan, Shares};
use crate::config::{LayerKind, Recompute};
use crate::ops::modules::{Block, Build, Ends, OfLayer, SharedKeys, Tables, block, kind};
use crate::ops::tape::{Form, Kind, Model, Param, Tape, Var, When};
use crate::sources;
use crate::units::DType;

/// Storage, shape and format of a table, and whether a gradient is wanted of it.
type Part = ((u32, Form, DType), bool);

/// What a checkpointed block reads beside its input, of which kinds that is, and what the layer is.
type Read = (Vec<Part>, [bool; 4], Option<OfLayer>);

/// The model on the tape.
struct Playing<'t, 'g> {
    layers: Layers,
    /// What each checkpointed block reads.
    tables: RefCell<Vec<Read>>,
    /// Keys and values that layers leave for later ones, held by what is left of checkpointed blocks.
    shared: Option<Rc<SharedKeys>>,
    autocast: Option<DType>,
    groups: &'g Groups<'t>,
    /// The tag of the layer that backward leaves last.
    last: u16,
}

impl Model for Playing<'_, '_> {
    fn recompute<'t>(&self, tape: &'t Tape, frame: usize, input: Var<'t>) {
        let read = self.tables.borrow();
        let Some((parts, kinds, layer)) = read.get(frame) else { return };
        let again = parts.iter().map(|((storage, form, dtype), wanted)| {
            let part = tape.again(*storage, *form, *dtype);
            if *wanted { part.wanted() } else { part }
        });
        let tables = Tables::again(again.collect(), *kinds, layer.clone());
        tape.autocast(self.autocast);
        let output = self.layers.run(tape, frame, (&input, &tables));
        drop((output, tables, input));
        tape.autocast(None);
    }

    fn enters(&self, _tape: &Tape, layer: u16) {
        self.groups.enters(layer);
    }

    fn leaves(&self, tape: &Tape, layer: u16) {
        if let Some(shared) = self.shared.as_ref().filter(|_| layer == 1) {
            shared.clear(tape);
        }
        self.groups.leaves(layer, layer == self.last);
    }
}

/// Plays one step; the tape knows its parameters, stretches and log. The answer is how many storages there were before forward, and
/// which ones ranks share.
pub(super) fn play(tape: &Tape, plan: &Plan<'_>) -> (usize, Shares) {
    let mut shares = Shares::with_capacity(32);
    tape.begin(When::Before, 0, Kind::Parameter);
    tape.share_out(plan.shards());
    tape.arrivals(plan.arrival());
    let build = Build::new(tape, &plan.with);
    let mut ends = Ends::new(&build, plan.stage.embedding, plan.stage.head);
    let layers = layers(tape, plan, &build);
    tape.set_layer(plan.head());
    ends.finish(&build);
    tape.set_layer(0);
    tape.begin(When::Before, 0, Kind::Buffer);
    tape.at("Inputs and buffers", sources::PYTORCH_AUTOGRAD);
    let _buffers = ends.buffers(tape);
    let ids = tape.constant("token ids", build.shapes.text, DType::Int64);
    let _states = optimizer::states(tape, plan, &mut shares);
    let groups = Groups::new(tape, plan);
    if plan.accumulated {
        tape.at("Gradients", sources::PYTORCH_AUTOGRAD);
        if groups.shares_gradients() { groups.gradients_exist() } else { tape.gradients_exist() }
    }
    let before = tape.state().storages.len();
    step(tape, plan, (ends, layers, &groups), &ids);
    optimizer::step(tape, plan, &mut shares);
    tape.close();
    shares.append(&mut groups.shares());
    (before, shares)
}

/// A block of the stage: its modules, and where its parameters lie.
struct Layer {
    modules: usize,
    copies: (Param, Param, u32),
    sliding: bool,
    /// Its place in the model.
    index: u64,
}

/// All blocks of a stage; those alike share their modules.
struct Layers {
    modules: Vec<Box<dyn Block>>,
    layers: Vec<Layer>,
}

impl Layers {
    /// Runs the block at that place.
    fn run<'t>(&self, tape: &'t Tape, at: usize, (x, tables): (&Var<'t>, &Tables<'t>)) -> (Var<'t>, Option<Var<'t>>) {
        let layer = self.layers.get(at);
        let Some((layer, modules)) = layer.and_then(|layer| Some((layer, self.modules.get(layer.modules)?))) else {
            return (x.clone(), None);
        };
        tape.means(layer.copies);
        let answer = modules.run(tape, x, tables);
        tape.means((0, 0, 0));
        answer
    }
}

/// Declares the blocks of a stage.
fn layers(tape: &Tape, plan: &Plan<'_>, build: &Build<'_>) -> Layers {
    let model = build.model();
    let mut known: Vec<((LayerKind, bool), Param, Param)> = Vec::with_capacity(2);
    let mut all = Layers { modules: Vec::with_capacity(2), layers: Vec::with_capacity(plan.played.len()) };
    for (played, tag) in plan.played.iter().zip(1..) {
        tape.set_layer(tag);
        let kind = kind(model, &plan.with.tuning, played.index);
        let sliding = model.sliding_layers.contains(played.index);
        let (modules, copies) = if let Some(modules) = known.iter().position(|(of, ..)| *of == kind) {
            let (from, to) = known.get(modules).map_or((0, 0), |(_, from, to)| (*from, *to));
            (modules, (from, to, tape.repeat(from, to)))
        } else {
            let from = tape.parameters();
            all.modules.push(block(build, played.index));
            known.push((kind, from, tape.parameters()));
            (known.len() - 1, (0, 0, 0))
        };
        all.layers.push(Layer { modules, copies, sliding, index: played.index });
    }
    all
}

/// Forward and backward.
fn step<'t>(tape: &'t Tape, plan: &Plan<'_>, (ends, layers, groups): (Ends, Layers, &Groups<'t>), ids: &Var<'t>) {
    let autocast = plan.with.autocast.then_some(DType::Bf16);
    tape.begin(When::Forward, 0, Kind::Activation);
    groups.before_forward(0);
    tape.autocast(autocast);
    let cached = ends.past(tape);
    let mut embedded = ends.embed(tape, ids);
    let last = u16::from(!plan.stage.embedding && !plan.played.is_empty());
    let shared = ends.shared_keys().cloned();
    let playing = Playing { layers, tables: RefCell::default(), shared, autocast, groups, last };
    let mut outputs = None;
    for (at, (layer, tag)) in playing.layers.layers.iter().zip(1..).enumerate() {
        tape.begin(When::Forward, tag, Kind::Activation);
        let of_layer = (plan.with.model, layer.index);
        let tables = ends.given(&embedded.tables[usize::from(layer.sliding)], of_layer, plan.input_format());
        groups.before_forward(tag);
        let tables = &Tables { past: cached.get(at).cloned(), ..tables };
        let hidden = &embedded.hidden;
        let (next, beside) = if plan.recompute == Recompute::Full {
            let read = tables.all();
            let parts = read.iter().map(|part| (part.parts(), part.wants_gradient())).collect();
            playing.tables.borrow_mut().push((parts, tables.kinds(), tables.layer.clone()));
            tape.checkpoint(hidden, &read, |tape, input| playing.layers.run(tape, at, (input, tables)))
        } else {
            playing.layers.run(tape, at, (hidden, tables))
        };
        groups.after_forward(tag);
        embedded.hidden = next;
        outputs = beside;
    }
    tape.begin(When::Forward, plan.head(), Kind::Activation);
    let loss = ends.end(tape, embedded, outputs);
    drop(cached);
    groups.after_forward(0);
    tape.autocast(None);
    tape.begin(When::Backward, plan.head(), Kind::Temporary);
    tape.backward(&loss, &playing);
}
