//! The costs in time of every part of a model on one rank: its modules are played once, forward and
//! backward.

use super::builder::Lowering;
use super::modules::{BESIDE, Tables};
use super::record::{Modules, behind};
use super::tape::{Kind, Model, Param, Tape, Var, When};
use super::work::PassWork;
use crate::config::{Feed, Recompute};
use crate::units::DType;

/// The kernels and messages that one part of a model runs for a micro-batch on one rank.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// How many layers the part stands for; 0 for the embedding and the head.
    pub layers: u64,
    /// True if these layers have experts.
    pub has_experts: bool,
    /// Kernels and messages of each operation, in the order in which they run.
    pub operations: Vec<(&'static str, Vec<PassWork>)>,
    /// Parameters of one rank.
    pub parameters: u64,
    /// Elements of the first of them.
    pub first: u64,
}

/// A model of which nothing is checkpointed, and whose layers nobody waits for.
struct Plain;

impl Model for Plain {
    fn recompute<'t>(&self, _tape: &'t Tape, _frame: usize, _input: Var<'t>) {}

    fn enters(&self, _tape: &Tape, _layer: u16) {}

    fn leaves(&self, _tape: &Tape, _layer: u16) {}

    fn arrives(&self, _tape: &Tape, _param: Param) {}
}

/// The embedding, a block of each kind, and the head, without recomputation.
pub(crate) fn played(with: &Lowering) -> Vec<Played> {
    let with = Lowering { recompute: Recompute::None, compiled: false, ..*with };
    let kinds = super::kinds(with.model);
    let tape = Tape::new();
    let modules = Modules::declare(&tape, &with, &kinds);
    let head = behind(&kinds);
    step(&tape, &modules, head);
    let mut parts: Vec<Played> = (0..=head).map(|_| Played::default()).collect();
    for (part, (kind, layers)) in parts.iter_mut().skip(1).zip(&kinds) {
        (part.layers, part.has_experts) = (*layers, kind.feed == Feed::Experts);
    }
    let state = tape.state();
    for parameter in state.parameters.iter().filter(|found| !found.beside) {
        // Parameters that blocks of several layers share are there once, as the embedding is.
        let (layer, times) = if parameter.shared {
            (0, with.model.shared_blocks())
        } else {
            (usize::from(parameter.layer), 1)
        };
        let Some(part) = parts.get_mut(layer) else { continue };
        let elements = state.elements(parameter.form).saturating_mul(times);
        part.parameters = part.parameters.saturating_add(elements);
        part.first = if part.first > 0 { part.first } else { elements };
    }
    for ((op, layer), cost) in state.costs() {
        // A tower runs while tokens are embedded.
        let layer = if *layer >= BESIDE { 0 } else { usize::from(*layer) };
        let Some(Played { operations, .. }) = parts.get_mut(layer) else { continue };
        let (name, _) = state.op_name(*op);
        match operations.iter_mut().find(|(known, _)| *known == name) {
            Some((_, costs)) => costs.push(*cost),
            None => operations.push((name, vec![*cost])),
        }
    }
    parts
}

/// Forward and backward, as a step of the timeline runs them.
fn step<'t>(tape: &'t Tape, modules: &Modules<'t>, head: u16) {
    let Modules { build, ends, blocks, .. } = modules;
    let with = build.with;
    let ids = tape.constant("token ids", build.shapes.text, DType::Int64);
    tape.record_costs(with.sight());
    // Kinds of layers have an order of their own; those of an encoder run first.
    let side = |encodes: bool| {
        blocks
            .iter()
            .zip(1_u16..)
            .filter(move |((layer, _), _)| with.model.is_of_source(*layer) == encodes)
    };
    side(true).for_each(|(_, tag)| tape.sees_source(tag));
    tape.begin(When::Forward, 0, Kind::Activation);
    tape.autocast(with.autocast.then_some(DType::Bf16));
    let cached = ends.past(tape);
    let mut embedded = ends.embed(tape, &ids, &|_, _| {});
    let mut outputs = None;
    let hands_on = with.model.family.modules().shares_indexed_tokens;
    for ((layer, block), tag) in side(true).chain(side(false)) {
        if ends.turns_at(*layer) {
            tape.begin(When::Forward, 0, Kind::Activation);
            embedded = ends.turned(tape, embedded, &ids);
        }
        tape.begin(When::Forward, tag, Kind::Activation);
        let tables = &embedded.tables[with.model.tables_of(*layer)];
        let tables = Tables {
            past: cached.first().cloned(),
            chosen: outputs.filter(|_| hands_on),
            ..ends.given(tables, (with.model, *layer), None)
        };
        let (next, beside) = block.run(tape, &embedded.hidden, &tables);
        embedded.hidden = next;
        outputs = beside;
    }
    tape.begin(When::Forward, head, Kind::Activation);
    let loss = ends.end(tape, (embedded, outputs), &());
    drop(cached);
    tape.autocast(None);
    tape.begin(When::Backward, head, Kind::Temporary);
    tape.costs_of_backward();
    tape.backward(&loss, &Plain);
}
