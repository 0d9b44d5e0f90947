//! Compiled parts of a step (`torch.compile`): what becomes of tensors that no kernel needs to have in memory.
//!
//! TorchInductor joins elementwise operators, norms and rotations into the kernels that read them, so that their results exist only
//! where a matrix product, attention's kernel or the end of the part reads them. For backward AOTAutograd keeps a smallest set of
//! tensors from which the others can be made again by such kernels (`min_cut_rematerialization_partition` in
//! `torch/_functorch/partitioners.py`): what such a kernel will read in backward, the results of products and of attention that others
//! are made from, and inputs of the part; of a checkpointed part, inputs and what its policy names. Here a tensor that was fused away
//! remembers what it is made from. It takes memory when something needs it, gives it back in forward as soon as only backward will ask
//! again, and holds what it is made from as long as anybody can still ask.

use super::state::{Entry, Grad, Kind, NONE, Node, Rule, State, Storage, at, count};
use super::{Form, Tape, Var};

/// A tensor that is made from others by a kernel into which it was fused.
#[derive(Clone, Debug, Default)]
pub(super) struct Fusion {
    /// What it is made from, held.
    sources: Vec<u32>,
    /// Of its holders, those who can have it made again: saved for backward, or source of another one.
    weak: u32,
    /// The storage in which it is in memory now.
    made: Option<u32>,
    /// Whether it was in memory before.
    again: bool,
}

impl Tape {
    /// Runs a part of the step as one compiled graph: `part` is given the input and gives the output, which are in memory.
    pub fn compiled<'t>(&'t self, compiles: bool, input: &Var<'t>, part: impl FnOnce(&Var<'t>) -> Var<'t>) -> Var<'t> {
        if !compiles {
            return part(input);
        }
        // The gradient of the input leaves the part here.
        let input = input.clone().view_as(Rule::Pass, input.form());
        self.state.borrow_mut().compiled = true;
        let output = part(&input);
        let mut state = self.state.borrow_mut();
        state.compiled = false;
        if state.recording.is_none() {
            state.settle(output.storage);
        }
        drop(state);
        output
    }

    /// Whether what runs now is compiled.
    pub fn is_compiled(&self) -> bool {
        self.state.borrow().compiled
    }
}

impl Var<'_> {
    /// Saves further numbers of each row beside the operand, as compiled reductions do.
    pub fn saving_rows(&self, rows: Form, names: [&'static str; 2]) {
        let mut state = self.tape.state.borrow_mut();
        for name in names {
            let storage = state.allocate(name, rows, crate::units::DType::Fp32);
            state.save(self.node, storage);
            state.release(storage);
        }
    }
}

impl State {
    /// What is taken next is fused into what reads it, made from those; only in a compiled part.
    pub(super) fn fuse(&mut self, sources: &[u32]) {
        if self.compiled {
            self.fusing = Some(sources.to_vec());
        }
    }

    /// What is taken next is in memory again.
    pub(super) fn fuse_no_more(&mut self) {
        self.fusing = None;
    }

    /// Notes a tensor that is fused away, where that is what is made now; the answer is its place among such.
    pub(super) fn fused_away(&mut self) -> Option<u32> {
        let sources = self.fusing.clone()?;
        for source in &sources {
            self.hold_weakly(*source);
        }
        self.fusions.push(Fusion { sources, ..Fusion::default() });
        Some(count(self.fusions.len()) - 1)
    }

    fn fusion(&mut self, id: u32) -> Option<&mut Fusion> {
        let place = self.storages.get(at(id))?.fusion;
        self.fusions.get_mut(at(place))
    }

    /// Holds a tensor that can be made again as long as it is held so.
    pub(super) fn hold_weakly(&mut self, id: u32) {
        self.hold(id);
        if let Some(fusion) = self.fusion(id) {
            fusion.weak += 1;
        }
    }

    /// Undoes [`Self::hold_weakly`].
    pub(super) fn release_weakly(&mut self, id: u32) {
        if let Some(fusion) = self.fusion(id) {
            fusion.weak = fusion.weak.saturating_sub(1);
        }
        self.release(id);
    }

    /// Takes memory for a tensor that a kernel reads, if it has none.
    pub(super) fn need(&mut self, id: u32) {
        if self.stopped || self.fusion(id).is_none_or(|fusion| fusion.made.is_some()) {
            return;
        }
        let kind = self.kind;
        let again = self.fusion(id).is_some_and(|fusion| fusion.again);
        let other = self.storages.get(at(id)).filter(|found| again || found.kind != kind).cloned();
        let made = match other {
            // Made in another part of the step it is another tensor.
            Some(found) => {
                let (op, layer) = (self.op, self.layer);
                self.storages.push(Storage { kind, born: kind, op, taken_in: op, layer, fusion: NONE, ..found });
                count(self.storages.len()) - 1
            }
            None => id,
        };
        self.log.push(Entry::Taken(made));
        if let Some(fusion) = self.fusion(id) {
            (fusion.made, fusion.again) = (Some(made), true);
        }
    }

    /// A product or attention's kernel reads it. Backward's kernels will read it again, so that it is kept as it is
    /// (`ban_if_materialized_backward`), but in a checkpointed part, of which nothing is kept that the policy does not name.
    pub(super) fn kernel_reads(&mut self, id: u32) {
        if self.open_frame.is_none() && self.recording.is_none() { self.settle(id) } else { self.need(id) }
    }

    /// Makes it an ordinary tensor in memory, made from nothing.
    pub(super) fn settle(&mut self, id: u32) {
        self.need(id);
        let Some(fusion) = self.fusion(id).filter(|fusion| fusion.made == Some(id)) else { return };
        let sources = std::mem::take(&mut fusion.sources);
        if let Some(storage) = self.storages.get_mut(at(id)) {
            storage.fusion = NONE;
        }
        for source in sources {
            self.release_weakly(source);
        }
    }

    /// One holder less of a tensor that can be made again, of which that many are left.
    pub(super) fn release_fused(&mut self, id: u32, left: u32) {
        let in_forward = self.kind == Kind::Activation;
        let Some(fusion) = self.fusion(id) else { return };
        if left > 0 && !(in_forward && left == fusion.weak) {
            return;
        }
        let made = fusion.made.take();
        let sources = if left == 0 { std::mem::take(&mut fusion.sources) } else { Vec::new() };
        if let Some(made) = made {
            self.log.push(Entry::Freed(made));
        }
        for source in sources {
            self.release_weakly(source);
        }
    }

    /// The gradients of a node's operands. In a compiled graph those of elementwise operators are fused into what reads them.
    pub(super) fn compiled_formula(&mut self, node: &Node, grad: Grad) -> [Option<Grad>; 3] {
        self.compiled = node.compiled;
        if !node.compiled || Self::is_called(node.rule) {
            self.need(grad.storage);
            for storage in node.saved.iter().take(usize::from(node.saves)) {
                self.need(*storage);
            }
            if !node.compiled {
                self.settle(grad.storage);
            }
        } else {
            let parts = node.parts.iter().flatten().map(|part| part.storage);
            let saved = node.saved.iter().take(usize::from(node.saves)).copied();
            let sources: Vec<u32> = parts.chain(saved).chain([grad.storage]).filter(|storage| *storage != NONE).collect();
            self.fuse(&sources);
        }
        self.formula(node, grad)
    }

    /// Whether the kernels of backward of that rule are not the compiler's own, so that they read and write memory.
    pub(super) const fn is_called(rule: Rule) -> bool {
        match rule {
            Rule::Kernel { attends, .. } => !matches!(attends, super::Attends::No),
            // TorchInductor does not generate code for complex numbers.
            Rule::Times | Rule::Linear { .. } | Rule::Grouped(_) | Rule::Matmul { .. } | Rule::Packed(_) => true,
            _ => false,
        }
    }
}
