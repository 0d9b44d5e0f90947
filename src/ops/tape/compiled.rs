//! Compiled parts of a step (`torch.compile`): what becomes of tensors that no kernel needs to have
//! in memory.
//!
//! TorchInductor joins elementwise operators, norms and rotations into the kernels that read them,
//! so that their results exist only where a matrix product, attention's kernel or the end of the
//! part reads them. For backward AOTAutograd keeps a smallest set of tensors from which the others
//! can be made again by such kernels (`min_cut_rematerialization_partition` in
//! `torch/_functorch/partitioners.py`): what such a kernel will read in backward, the results of
//! products and of attention that others are made from, and inputs of the part; of a checkpointed
//! part, inputs and what its policy names. Here a tensor that was fused away remembers what it is
//! made from. It takes memory when something needs it, gives it back in forward as soon as only
//! backward will ask again, and holds what it is made from as long as anybody can still ask.

mod gradients;
use super::state::{Entry, Grad, Kind, NONE, Rule, State, Storage, at, count};
use super::{Form, Tape, Var};
use crate::units::DType;

/// A tensor that is made from others by a kernel into which it was fused.
#[derive(Clone, Debug, Default)]
pub(super) struct Fusion {
    /// The tensors from which this one is made, held.
    sources: Vec<u32>,
    /// Holders that can have the tensor made again: it was saved for backward, or another fused
    /// tensor is made from it.
    weak: u32,
    /// The storage that the tensor is in memory in now.
    made: Option<u32>,
    /// True if the tensor was in memory before.
    again: bool,
    /// True if the tensor is in memory while another one is made from it, because PyTorch's own
    /// kernel reads or writes it.
    called: bool,
}

impl Tape {
    /// Runs a part of the step as one compiled graph: `part` is given the input and gives the
    /// output, which are in memory.
    pub fn compiled<'t>(
        &'t self,
        compiles: bool,
        input: &Var<'t>,
        part: impl FnOnce(&Var<'t>) -> Var<'t>,
    ) -> Var<'t> {
        if !compiles {
            return part(input);
        }
        // The gradient of the input leaves the part here.
        let input = input.clone().view_as(Rule::Pass, input.form());
        {
            let mut state = self.state.borrow_mut();
            (state.compiled, state.compiled_from) = (true, count(state.storages.len()));
        }
        let output = part(&input);
        let mut state = self.state.borrow_mut();
        state.compiled = false;
        if state.recording.is_none() || state.whole_again {
            state.settle(output.storage);
        }
        drop(state);
        output
    }

    /// Checkpointing wraps compiled parts: forward's kernels, which save what they save without
    /// checkpointing, run again whole. Otherwise the compiler sees what is checkpointed in a part.
    pub fn checkpoints_compiled(&self, whole_again: bool) {
        self.state.borrow_mut().whole_again = whole_again;
    }

    /// True if the operations that run now are compiled.
    pub fn is_compiled(&self) -> bool {
        self.state.borrow().compiled
    }
}

impl Var<'_> {
    /// Saves further numbers of each row beside the operand, as compiled reductions do.
    pub fn saving_rows(&self, rows: Form, names: [&'static str; 2]) {
        let mut state = self.tape.state.borrow_mut();
        for name in names {
            let storage = state.allocate(name, rows, DType::Fp32);
            state.save(self.node, storage);
            state.release(storage);
        }
    }
}

impl State {
    /// In a compiled part, tensors taken from now on are fused into the kernels that read them.
    /// They are made from `sources`.
    pub(super) fn fuse(&mut self, sources: &[u32]) {
        if self.compiled {
            self.fusing = Some(sources.to_vec());
        }
    }

    /// Tensors taken from now on are in memory again.
    pub(super) fn fuse_no_more(&mut self) {
        self.fusing = None;
    }

    /// Notes a tensor that is fused away, where that is what is made now; the answer is its place
    /// among such.
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
        let Some(storage) = self.storages.get_mut(at(id)) else { return };
        storage.refs += 1;
        if let Some(fusion) = self.fusions.get_mut(at(storage.fusion)) {
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

    /// True inside a compiled part of which more is kept than checkpointing says.
    pub(super) fn keeps_of_compiled(&self) -> bool {
        let within = self.open_frame.is_some() || self.recording.is_some();
        self.compiled && (!within || self.whole_again)
    }

    /// A tensor is saved: kept is the smallest cut between it and what the part made for it.
    pub(super) fn keep_if_smaller(&mut self, id: u32) {
        if self.keeps_of_compiled() && self.fusion(id).is_some() {
            for kept in self.cut(id) {
                self.settle(kept);
            }
        }
    }

    /// The tensors made in this part that are kept for that one. One that is fused away counts
    /// double, and of equals the later is kept (`get_node_weight`); inputs of the part are there
    /// all the same.
    pub(super) fn cut(&self, id: u32) -> Vec<u32> {
        let Some(storage) = self.storages.get(at(id)) else { return Vec::new() };
        let Some(sources) = self.unmade(storage.fusion) else {
            return if id >= self.compiled_from { vec![id] } else { Vec::new() };
        };
        let mut before: Vec<u32> = sources.iter().flat_map(|source| self.cut(*source)).collect();
        before.sort_unstable();
        before.dedup();
        let weighed =
            |kept: &Storage| kept.bytes.saturating_mul(1 + u64::from(kept.fusion != NONE));
        let weight = |id: &u32| self.storages.get(at(*id)).map_or(0, weighed);
        let of_these = before.iter().map(weight).fold(0, u64::saturating_add);
        if before.is_empty() || of_these < weight(&id) { before } else { vec![id] }
    }

    /// The tensors from which a fused tensor is made; `None` if it is in memory, or if a kernel of
    /// PyTorch makes it.
    pub(super) fn unmade(&self, fusion: u32) -> Option<&[u32]> {
        let found = self.fusions.get(at(fusion))?;
        (found.made.is_none() && !found.called).then_some(&found.sources)
    }

    /// Takes memory for a tensor that a kernel reads, if it has none.
    pub(super) fn need(&mut self, id: u32) {
        if self.fusions.is_empty()
            || self.stopped
            || self.fusion(id).is_none_or(|fusion| fusion.made.is_some())
        {
            return;
        }
        let kind = self.kind;
        let mut read = Vec::new();
        self.called_before(id, &mut read);
        for source in &read {
            self.need(*source);
        }
        let again = self.fusion(id).is_some_and(|fusion| fusion.again);
        let other = self.storages.get(at(id)).filter(|found| again || found.kind != kind).cloned();
        let made = match other {
            // Made in another part of the step it is another tensor.
            Some(found) => {
                let (op, layer) = (self.op, self.layer);
                self.storages.push(Storage {
                    kind,
                    born: kind,
                    op,
                    taken_in: op,
                    layer,
                    fusion: NONE,
                    ..found
                });
                count(self.storages.len()) - 1
            }
            None => id,
        };
        let Some(fusion) = self.fusion(id) else { return };
        (fusion.made, fusion.again) = (Some(made), true);
        // In backward nothing is made twice.
        let mut sources =
            if kind == Kind::Activation { Vec::new() } else { std::mem::take(&mut fusion.sources) };
        // The tensor is written over one that nobody reads any more (`can_inplace` in
        // `torch/_inductor/scheduler.py`).
        let bytes = |id: u32| {
            self.storages.get(at(id)).map(|storage| (storage.bytes, storage.refs, storage.fusion))
        };
        let size = bytes(id).map(|(bytes, ..)| (bytes, 1, NONE));
        if let Some(over) =
            sources.iter().position(|source| size.is_some() && bytes(*source) == size)
        {
            let over = sources.swap_remove(over);
            self.release_weakly(over);
        }
        self.log.push(Entry::Taken(made));
        for source in sources {
            self.release_weakly(source);
        }
        for source in read {
            let holders = self.storages.get(at(source)).map_or(0, |storage| storage.refs);
            if holders > 0 {
                self.release_fused(source, holders);
            }
        }
    }

    /// The tensors that must be in memory while that one is made.
    fn called_before(&self, id: u32, found: &mut Vec<u32>) {
        let fusion = |id: u32| {
            self.fusions
                .get(at(self.storages.get(at(id))?.fusion))
                .filter(|fusion| fusion.made.is_none())
        };
        for source in fusion(id).map_or(&[][..], |unmade| &unmade.sources) {
            match fusion(*source) {
                Some(unmade) if unmade.called => found.push(*source),
                Some(_) => self.called_before(*source, found),
                None => {}
            }
        }
    }

    /// PyTorch's own kernel reads or writes the tensor that is made there, though it can run again.
    pub(super) fn called(&mut self, id: u32) {
        if let Some(fusion) = self.fusion(id) {
            fusion.called = true;
        }
    }

    /// Copies of what attention's kernel reads in a part that runs again: backward's kernel reads
    /// others, which are made beside (TorchInductor fixes the layout of a called kernel's operands
    /// for each call).
    pub(super) fn copies_for_attention(&mut self, operands: &[u32]) -> Vec<u32> {
        if self.recording.is_none() || self.stopped || self.whole_again {
            return Vec::new();
        }
        let unmade: Vec<u32> = operands
            .iter()
            .copied()
            .filter(|id| self.fusion(*id).is_some_and(|found| found.made.is_none()))
            .collect();
        let shapes = unmade.iter().filter_map(|id| {
            self.storages.get(at(*id)).map(|found| (found.name, found.form, found.dtype))
        });
        let shapes: Vec<_> = shapes.collect();
        shapes.into_iter().map(|(name, form, dtype)| self.allocate(name, form, dtype)).collect()
    }

    /// A product reads those. In a part that runs again it waits until somebody reads its result.
    pub(super) fn product_reads(&mut self, [x, weight]: [u32; 2]) {
        if self.compiled && self.recording.is_some() && !self.whole_again {
            self.called(x);
            self.called(weight);
            self.fuse(&[x, weight]);
        } else if !self.finds_kept(true) {
            self.kernel_reads(x);
            self.need(weight);
        }
    }

    /// A product or attention's kernel reads it. Backward's kernels will read it again, so that it
    /// is kept as it is (`ban_if_materialized_backward`), but in a checkpointed part, of which
    /// nothing is kept that the policy does not name.
    pub(super) fn kernel_reads(&mut self, id: u32) {
        if self.whole_again || (self.open_frame.is_none() && self.recording.is_none()) {
            self.settle(id);
        } else {
            self.need(id);
        }
    }

    /// Makes it an ordinary tensor in memory, made from nothing.
    pub(super) fn settle(&mut self, id: u32) {
        if self.fusions.is_empty() {
            return;
        }
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

    /// True for a tensor that is fused away, and true if it is in no memory now.
    pub(super) fn is_fused(&self, id: u32) -> (bool, bool) {
        let fusion =
            self.storages.get(at(id)).and_then(|storage| self.fusions.get(at(storage.fusion)));
        (fusion.is_some(), fusion.is_some_and(|fusion| fusion.made.is_none()))
    }

    /// Gives parameters the sums that waited for the end of the compiled part.
    fn settle_sums(&mut self) {
        for (param, grad) in std::mem::take(&mut self.at_the_end) {
            self.settle(grad.storage);
            if self.wait(param, grad) {
                self.arrive(param);
            }
        }
    }

    /// True if a parameter's gradient is a sum that a compiled part adds up in its last kernel,
    /// with the sum of its input. The gradient is noted and waits for that kernel.
    pub(super) fn waits_for_the_end(&mut self, param: u32, grad: Grad) -> bool {
        let waits =
            self.compiled && self.fusion(grad.storage).is_some_and(|fusion| fusion.made.is_none());
        if waits {
            self.at_the_end.push((param, grad));
        }
        waits
    }

    /// The activations in memory that a tensor which was fused away is made from.
    fn origins(&self, id: u32, found: &mut Vec<u32>) {
        let Some(storage) = self.storages.get(at(id)) else { return };
        if let Some(sources) = self.unmade(storage.fusion) {
            for source in sources {
                self.origins(*source, found);
            }
        } else if matches!(storage.kind, Kind::Activation | Kind::Recomputed) {
            found.push(id);
        }
    }

    /// True if backward of that rule runs kernels that are not the compiler's own, so that they
    /// read and write memory.
    pub(super) const fn is_called(rule: Rule) -> bool {
        match rule {
            Rule::Kernel { attends, .. } => !matches!(attends, super::Attends::No),
            // TorchInductor does not generate code for complex numbers.
            Rule::Times
            | Rule::Linear { .. }
            | Rule::Grouped(_)
            | Rule::Matmul { .. }
            | Rule::Packed(_)
            | Rule::Float8(_) => true,
            _ => false,
        }
    }
}
