//! The model on the tape, as backward calls it: blocks run again, groups told where backward is.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::config::Recompute;
use crate::estimator::timeline::blocks::Layers;
use crate::estimator::timeline::groups::Groups;
use crate::estimator::timeline::plan::Plan;
use crate::ops::modules::{Ends, OfLayer, SharedKeys, Tables};
use crate::ops::tape::{Form, Model, Param, Tape, Var};
use crate::stacks::SelectiveRecompute;
use crate::units::DType;

/// Storage, shape and format of a table, and whether a gradient is wanted of it.
type Part = ((u32, Form, DType), bool);

/// Everything that a checkpointed block, or a part of one, reads beside its input.
pub(super) struct Read {
    parts: Vec<Part>,
    /// The kinds of these.
    kinds: [bool; 9],
    /// The place of the layer among those that share its modules.
    layer: Option<OfLayer>,
    /// The block's place in the stage.
    at: usize,
    /// True if it is the block's first part alone.
    before: bool,
}

/// The model on the tape.
pub(super) struct Playing<'t, 'g> {
    pub ends: &'g Ends,
    pub layers: &'g Layers,
    /// The inputs of each checkpointed block, beside the hidden states.
    pub tables: RefCell<Vec<Read>>,
    /// Keys and values that layers leave for later ones, held by what is left of checkpointed
    /// blocks.
    pub shared: Option<Rc<SharedKeys>>,
    pub autocast: Option<DType>,
    pub groups: &'g Groups<'t>,
    /// Blocks that micro-batches before checkpointed, and those with the blocks of a vision tower.
    pub before: [usize; 2],
    /// The tag of the layer that backward leaves last.
    pub last: u16,
    /// True once backward has left that layer. Backward never reaches an embedding that does not
    /// learn.
    pub is_through: Cell<bool>,
    /// True while backward has still to come to the embedding of a decoder, which stands between
    /// its blocks and those of its encoder.
    pub turns: Cell<bool>,
}

impl Playing<'_, '_> {
    /// The whole backward has ended. FSDP's root then gives its weights back, wherever backward has
    /// been (`_root_post_backward_final_callback`).
    pub fn end(&self) {
        if !self.is_through.get() {
            self.groups.leaves(self.last, true);
        }
    }

    /// The block at that place in forward, run so that backward can run it again where it must: its
    /// output, and what it returns beside.
    pub fn run_block<'t>(
        &self,
        tape: &'t Tape,
        plan: &Plan<'_>,
        at: usize,
        (hidden, tables): (&Var<'t>, &Tables<'t>),
    ) -> (Var<'t>, Option<Var<'t>>) {
        let selective = plan.recompute == Recompute::Selective;
        let keeps_products =
            selective && plan.with.stack.selective == SelectiveRecompute::AllButSecondProducts;
        if plan.recompute != Recompute::Full && !keeps_products {
            return self.layers.run(tape, at, (hidden, tables));
        }
        let apart = !keeps_products && self.layers.has_part_before(at);
        let before = apart.then(|| {
            let read = self.reads(at, tables, true);
            tape.checkpoint(hidden, &read, |tape, input| {
                self.layers.run_before(tape, at, (input, tables))
            })
        });
        let rest =
            before.flatten().map(|before| Tables { before: Some(before), ..Tables::default() });
        let tables = rest.as_ref().unwrap_or(tables);
        let read = self.reads(at, tables, false);
        let block = |tape: &'t Tape, input: &Var<'t>| self.layers.run(tape, at, (input, tables));
        let made = if keeps_products {
            tape.checkpoint_but_products(hidden, &read, block)
        } else {
            tape.checkpoint(hidden, &read, block)
        };
        if rest.is_some() {
            tape.lies_within();
        }
        made
    }
}

impl Playing<'_, '_> {
    /// Notes the tensors that the block at that place reads beside its input, or that its first
    /// part alone reads.
    fn reads<'t>(&self, at: usize, tables: &Tables<'t>, before: bool) -> Vec<Var<'t>> {
        let read = tables.all();
        let parts = read.iter().map(|part| (part.parts(), part.wants_gradient())).collect();
        self.tables.borrow_mut().push(Read {
            parts,
            kinds: tables.kinds(),
            layer: tables.layer.clone(),
            at,
            before,
        });
        read
    }
}

impl Model for Playing<'_, '_> {
    fn recompute<'t>(&self, tape: &'t Tape, frame: usize, input: Var<'t>) {
        let Some(frame) = frame.checked_sub(self.before[1]) else {
            tape.autocast(self.autocast);
            self.ends.recompute_image(tape, frame.saturating_sub(self.before[0]), &input);
            drop(input);
            tape.autocast(None);
            return;
        };
        let read = self.tables.borrow();
        let Some(Read { parts, kinds, layer, at, before }) = read.get(frame) else { return };
        let again = parts.iter().map(|((storage, form, dtype), wanted)| {
            let part = tape.again(*storage, *form, *dtype);
            if *wanted { part.wanted() } else { part }
        });
        let tables = Tables::again(again.collect(), *kinds, layer.clone());
        tape.autocast(self.autocast);
        if *before {
            drop(self.layers.run_before(tape, *at, (&input, &tables)));
        } else {
            drop(self.layers.run(tape, *at, (&input, &tables)));
        }
        drop((tables, input));
        tape.autocast(None);
    }

    fn enters(&self, _tape: &Tape, layer: u16) {
        self.groups.enters(layer);
    }

    fn arrives(&self, _tape: &Tape, param: Param) {
        self.groups.arrives(param);
    }

    fn leaves(&self, tape: &Tape, layer: u16) {
        if let Some(shared) = self.shared.as_ref().filter(|_| layer == 1) {
            shared.clear(tape);
        }
        let between = layer == 0 && self.turns.take();
        let last = layer == self.last && !between;
        self.groups.leaves(layer, last);
        self.is_through.set(self.is_through.get() || last);
    }
}
