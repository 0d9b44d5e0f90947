//! The blocks of a pipeline stage on a tape: those alike share their modules, and parameters of
//! some are there once.

use super::plan::Plan;
use crate::config::LayerKind;
use crate::ops::modules::{Block, Build, Tables, block, kind};
use crate::ops::tape::{Param, Tape, Var};

/// A block of the stage: its modules, and where its parameters lie.
pub(super) struct Layer {
    modules: usize,
    copies: (Param, Param, u32),
    pub tables: usize,
    /// Its place in the model.
    pub index: u64,
}

/// All blocks of a stage; those alike share their modules.
pub(super) struct Layers {
    modules: Vec<Box<dyn Block>>,
    pub blocks: Vec<Layer>,
    /// True if each is one compiled graph.
    compiled: bool,
}

impl Layers {
    /// True if a first part of the block at that place is checkpointed apart from the rest.
    pub fn has_part_before(&self, at: usize) -> bool {
        let modules = self.blocks.get(at).and_then(|layer| self.modules.get(layer.modules));
        modules.is_some_and(|modules| modules.has_part_before())
    }

    /// Runs that part.
    pub fn run_before<'t>(
        &self,
        tape: &'t Tape,
        at: usize,
        (x, tables): (&Var<'t>, &Tables<'t>),
    ) -> Option<Var<'t>> {
        let layer = self.blocks.get(at)?;
        let modules = self.modules.get(layer.modules)?;
        tape.means(layer.copies);
        let made = modules.part_before(tape, x, tables);
        tape.means((0, 0, 0));
        made
    }

    /// Runs the block at that place.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        at: usize,
        (x, tables): (&Var<'t>, &Tables<'t>),
    ) -> (Var<'t>, Option<Var<'t>>) {
        let layer = self.blocks.get(at);
        let Some((layer, modules)) =
            layer.and_then(|layer| Some((layer, self.modules.get(layer.modules)?)))
        else {
            return (x.clone(), None);
        };
        tape.means(layer.copies);
        let mut beside = None;
        let output = tape.compiled(self.compiled, x, |x| {
            let (output, other) = modules.run(tape, x, tables);
            beside = other;
            output
        });
        tape.means((0, 0, 0));
        (output, beside)
    }
}

/// Blocks of a kind that learn or do not, with the shared block that they run; and where their own
/// parameters lie.
type Known = (((LayerKind, bool), Option<u64>), Param, Param);

/// Declares the blocks of a stage.
pub(super) fn layers(tape: &Tape, plan: &Plan<'_>, build: &Build<'_>) -> Layers {
    let model = build.model();
    let mut known: Vec<Known> = Vec::with_capacity(2);
    let mut all = Layers {
        modules: Vec::with_capacity(2),
        blocks: Vec::with_capacity(plan.played.len()),
        compiled: plan.with.compiled,
    };
    for (played, tag) in plan.played.iter().zip(1..) {
        tape.set_layer(tag);
        let kind =
            (kind(model, &plan.with.tuning, played.index), model.shared_block_of(played.index));
        let tables = model.tables_of(played.index);
        let (modules, copies) = if let Some(modules) = known.iter().position(|(of, ..)| *of == kind)
        {
            let (from, to) = known.get(modules).map_or((0, 0), |(_, from, to)| (*from, *to));
            // Blocks that are one have their parameters once.
            (
                modules,
                if model.shares_blocks() { (0, 0, 0) } else { (from, to, tape.repeat(from, to)) },
            )
        } else {
            let from = tape.parameters();
            all.modules.push(block(build, played.index));
            known.push((kind, tape.own_parameters(from), tape.parameters()));
            (known.len() - 1, (0, 0, 0))
        };
        all.blocks.push(Layer { modules, copies, tables, index: played.index });
    }
    all
}
