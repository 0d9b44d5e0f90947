//! Low-rank adapters beside the linear layers of Transformer Engine, as ms-swift 4.0 puts them
//! there (`swift/megatron/tuners/lora.py`).
//!
//! Beside a layer whose columns ranks share, `A` is whole on every rank and `B` has the layer's
//! columns; beside one that ranks share by what it reads, `A` reads this rank's part and `B` is
//! whole. Experts have a pair each, in grouped products. Both are Transformer Engine's layers: `A`
//! keeps what it reads, `B` the narrow rows between the two, under sequence parallelism this rank's
//! part of them. The frozen layer keeps nothing but its weight; a norm in front of it gives its
//! output to the adapter.

use super::RankOp;
use super::kernels::Names;
use super::layers::Linear;
use super::rank::{Rank, Rows, count, step};
use crate::config::Targets;
use crate::ops::tensor::{Dim, Role, Tensor};
use crate::ops::work::{Behind, Collective, Operands, Product};
use crate::units::DType;

/// Names of an adapter's matrices.
pub const MATRICES: [&str; 2] = ["adapter A", "adapter B"];

/// The operation of the adapter beside the layer with that weight, and the layers of
/// `target_modules` whose work this does: Megatron-LM has one layer for queries, keys and values,
/// and one for gate and up.
fn beside(weight: &str) -> Option<(&'static str, Targets)> {
    let up = Targets::GATE.and(Targets::UP);
    Some(match weight {
        "query, key and value weight" => (
            "Adapter of queries, keys and values",
            Targets::QUERY.and(Targets::KEY).and(Targets::VALUE),
        ),
        "output weight" => ("Adapter of the output projection", Targets::OUTPUT),
        "up weight" => ("Adapter of feed-forward up", up),
        "down weight" => ("Adapter of feed-forward down", Targets::DOWN),
        "shared up weight" => ("Adapter of shared experts, up", up),
        "shared down weight" => ("Adapter of shared experts, down", Targets::DOWN),
        "expert up weights" => ("Adapters of experts, up", up),
        "expert down weights" => ("Adapters of experts, down", Targets::DOWN),
        _ => return None,
    })
}

/// Returns the name of the operation of the adapter beside the layer with that weight, if such
/// layers can have one.
pub fn adapter_beside(weight: &str) -> Option<&'static str> {
    beside(weight).map(|(op, _)| op)
}

/// Tensors that an adapter reads and makes: the rows of its input and of its output, and those
/// between its matrices.
struct Passage {
    input: Rows,
    between: Rows,
    output: Rows,
}

impl Rank<'_> {
    /// True if the layer with that weight has an adapter.
    pub fn is_adapted(&self, weight: &str) -> bool {
        let tuning = &self.run.tuning;
        // Times of other stacks are reckoned with these operations too, where peft puts its
        // adapters elsewhere.
        let stands = tuning.method.adapts_linears() && self.run.stack.has_own_schedule();
        stands && beside(weight).is_some_and(|(_, targets)| targets.meets(tuning.target_modules))
    }

    /// True if the layer's input, as it is, is kept for its weight or for an adapter that drops
    /// nothing.
    pub fn keeps_input(&self, weight: &str) -> bool {
        let tuning = &self.run.tuning;
        !tuning.freezes_model() || (self.is_adapted(weight) && !tuning.dropout)
    }

    /// The gradient that an adapter has made of the input while the frozen layer makes its own.
    pub fn waiting(&self, weight: &str, rows: Rows, depth: Dim) -> Option<Tensor> {
        self.is_adapted(weight).then(|| self.alive("gradient of the adapter's input", rows, depth))
    }

    /// The adapter beside a column-parallel layer. What it reads is kept by the norm before it, if
    /// it drops nothing of it.
    pub fn beside_column(&self, names: &Names, part: &Linear) -> Option<RankOp> {
        let input = self.saved("input", self.local(), part.depth);
        let passage = Passage { input: self.local(), between: self.local(), output: self.all() };
        let step = self.adapter(names, part, &passage, input)?;
        let split = [
            (Collective::AllGather, false, Behind::Nothing),
            (Collective::ReduceScatter, true, Behind::Nothing),
            (Collective::AllGather, true, Behind::Nothing),
        ];
        let whole = (Collective::AllReduce, true, Behind::Nothing);
        Some(step.sends(self.messages(self.run.tuning.r, split, whole)))
    }

    /// The adapter beside a row-parallel layer.
    pub fn beside_row(&self, names: &Names, part: &Linear, input: Tensor) -> Option<RankOp> {
        let passage = Passage { input: self.all(), between: self.local(), output: self.local() };
        let step = self
            .adapter(names, part, &passage, input)?
            .with((!self.run.tuning.dropout).then_some(input));
        let split = [
            (Collective::ReduceScatter, false, Behind::Nothing),
            (Collective::AllGather, true, Behind::Nothing),
        ];
        let whole = (Collective::AllReduce, false, Behind::Nothing);
        Some(step.sends(self.messages(self.run.tuning.r, split, whole)))
    }

    /// The adapters beside the experts of a rank.
    pub fn beside_experts(
        &self,
        names: &Names,
        part: &Linear,
        (rows, input): (Rows, Tensor),
    ) -> Option<RankOp> {
        let passage = Passage { input: rows, between: rows, output: rows };
        Some(
            self.adapter(names, part, &passage, input)?
                .with((!self.run.tuning.dropout).then_some(input)),
        )
    }

    /// Both matrices, what they keep, and their products; dropout keeps what it makes of the input,
    /// and a mask.
    fn adapter(
        &self,
        names: &Names,
        part: &Linear,
        passage: &Passage,
        input: Tensor,
    ) -> Option<RankOp> {
        let Names(_, module, weight, _) = *names;
        let (op, _) = beside(weight).filter(|_| self.is_adapted(weight))?;
        let (Linear { experts, columns, depth, .. }, r) = (*part, Dim("r", self.run.tuning.r));
        let [a, b] = MATRICES;
        let matrices = match experts {
            Some(experts) => {
                [self.weight(a, [experts, r, depth]), self.weight(b, [experts, columns, r])]
            }
            None => [self.weight(a, [r, depth]), self.weight(b, [columns, r])],
        };
        let narrow = Tensor {
            kept: input.kept,
            ..self.saved("adapter's narrow output", passage.between, r)
        };
        let narrow = self.droppable(narrow, module);
        let dropped = self.run.tuning.dropout.then(|| {
            let kept = Tensor { name: "adapter input after dropout", role: Role::Saved, ..input };
            [
                self.droppable(kept, module),
                self.droppable(Tensor { name: "dropout mask", dtype: DType::Mask, ..kept }, module),
            ]
        });
        let step =
            step(op, module).with(matrices).with([narrow]).with(dropped.into_iter().flatten());
        let step = step.with(self.backward_of_adapter(part, passage));
        let product = |rows: Rows, columns: Dim, depth: Dim| {
            let count_of = experts.map_or(1, |experts| experts.1);
            let rows = count(rows).div_ceil(count_of.max(1));
            let at_once = self.experts_at_once(count_of);
            Product {
                count: count_of,
                at_once,
                rows,
                columns: columns.1,
                depth: depth.1,
                of: Operands::Weight,
                narrow: false,
            }
        };
        let step = step.learns(product(passage.input, r, depth)).learns(product(
            passage.output,
            columns,
            r,
        ));
        // The adapter's output is scaled, then added; backward scales the gradient, and adds that
        // of the input.
        let [made, read] = [(passage.output, columns), (passage.input, depth)]
            .map(|(rows, width)| self.bytes(count(rows).saturating_mul(width.1)));
        let dropout = if self.run.tuning.dropout {
            read.saturating_mul(2).saturating_add(read / 2)
        } else {
            0
        };
        let forward = made.saturating_mul(5).saturating_add(dropout);
        let backward =
            made.saturating_mul(2).saturating_add(read.saturating_mul(3)).saturating_add(dropout);
        Some(step.streams([forward, backward], [2, 2]))
    }

    /// The most that is alive while backward goes through an adapter, beside the gradient of the
    /// layer's output: that gradient scaled, or the gradient of the input before and after dropout.
    fn backward_of_adapter(&self, part: &Linear, passage: &Passage) -> Vec<Tensor> {
        let columns = count(passage.output).saturating_mul(part.columns.1);
        let copies = if self.run.tuning.dropout { 2 } else { 1 };
        let depth = count(passage.input).saturating_mul(part.depth.1).saturating_mul(copies);
        let output = self.alive("gradient of the output", passage.output, part.columns);
        if columns >= depth {
            return vec![
                output,
                self.alive("gradient of the output, scaled", passage.output, part.columns),
            ];
        }
        let of_input = self.gradient_of_input(passage.input, part.depth);
        let before = self
            .run
            .tuning
            .dropout
            .then(|| self.alive("gradient before dropout", passage.input, part.depth));
        [output, of_input].into_iter().chain(before).collect()
    }
}

/// Returns true for a parameter of an adapter.
pub fn is_of_adapter(tensor: &Tensor) -> bool {
    MATRICES.contains(&tensor.name)
}
