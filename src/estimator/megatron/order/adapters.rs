//! Low-rank adapters beside Transformer Engine's layers (`LoraParallelLinear.forward` of ms-swift
//! 4.0): dropout, both matrices, the scaled sum; backward comes to the adapter before it comes to
//! the layer.

use super::engine::Matrix;
use super::{Order, Taken};
use crate::ops::Role;
use crate::ops::megatron::{RankModel, adapter_beside, is_of_adapter};

/// Rows and columns of an adapter's matrices.
pub(super) type Pair = [[u64; 2]; 2];

/// The adapters of a rank, by the layer that they stand beside.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairs([Option<Pair>; 6]);

/// Layers that can have an adapter, by their weight.
const LAYERS: [(Matrix, &str); 6] = [
    (Matrix::Projection, "query, key and value weight"),
    (Matrix::Output, "output weight"),
    (Matrix::Up, "up weight"),
    (Matrix::Down, "down weight"),
    (Matrix::ExpertUp, "expert up weights"),
    (Matrix::ExpertDown, "expert down weights"),
];

impl Pairs {
    pub fn of(model: &RankModel) -> Self {
        Self(LAYERS.map(|(_, weight)| {
            let op = adapter_beside(weight)?;
            let step = model.dense.iter().chain(&model.experts).find(|step| step.op.name == op)?;
            let matrices = step
                .op
                .tensors
                .iter()
                .filter(|tensor| tensor.role == Role::Parameter && is_of_adapter(tensor));
            let mut shapes = matrices.map(|tensor| {
                let dims: Vec<u64> = tensor.shape.dims().map(|dim| dim.1).collect();
                if let [.., rows, columns] = *dims { [rows, columns] } else { [0; 2] }
            });
            shapes.next().zip(shapes.next()).map(|(a, b)| [a, b])
        }))
    }

    /// The adapter beside that layer.
    pub fn beside(&self, matrix: Matrix) -> Option<Pair> {
        let place = LAYERS.iter().position(|(layer, _)| *layer == matrix)?;
        self.0.get(place).copied().flatten()
    }
}

/// Where a layer's adapter reads and makes tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// The layer.
    pub layer: Matrix,
    /// Bytes of the tensors that it reads and makes.
    pub input: u64,
    pub output: u64,
    /// How its narrow rows travel.
    pub between: Between,
}

/// The narrow rows between both matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// Beside a column-parallel layer: gathered for `B` under sequence parallelism.
    Gathered,
    /// Beside a row-parallel layer: summed behind `A`, of which ranks keep parts under sequence
    /// parallelism.
    Scattered,
    /// Beside experts.
    Routed,
}

/// Tensors that an adapter keeps for backward.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adapter {
    /// The input after dropout and the mask, or the input as it is where nothing is dropped and
    /// nobody else keeps it.
    input: [Taken; 2],
    narrow: Taken,
}

impl Adapter {
    pub const NONE: Self = Self { input: [Taken::NOTHING; 2], narrow: Taken::NOTHING };
}

impl Order<'_> {
    /// True if the model's own weights stay as they are.
    pub(super) const fn is_frozen(&self) -> bool {
        self.run.tuning.freezes_model()
    }

    /// True if something else than an adapter without dropout keeps a layer's input.
    pub(super) fn keeps_input(&self, layer: Matrix) -> bool {
        !self.is_frozen() || (self.adapters.beside(layer).is_some() && !self.run.tuning.dropout)
    }

    /// Bytes of the narrow rows that `A` makes, and of those that `B` reads.
    fn narrow(&self, between: Between) -> [u64; 2] {
        let r = self.run.tuning.r.saturating_mul(2);
        let [local, all] =
            [self.sizes.statistic / 4, self.sizes.mask].map(|tokens| tokens.saturating_mul(r));
        match between {
            Between::Gathered => [local, all],
            Between::Scattered => [all, local],
            Between::Routed => [self.routing.each_row / 4 * r; 2],
        }
    }

    /// The layer's output and, beside it, that of its adapter: their sum.
    pub(super) fn adapted(
        &mut self,
        passage: Passage,
        result: Taken,
        keeps: bool,
    ) -> (Taken, Adapter) {
        if self.adapters.beside(passage.layer).is_none() {
            return (result, Adapter::NONE);
        }
        let [made, read] = self.narrow(passage.between);
        let travels = passage.between != Between::Routed && self.sizes.split;
        let drops = self.run.tuning.dropout;
        let player = &mut self.player;
        let mask = player.take_if(drops, "dropout mask", passage.input / 2);
        let dropped = player.take_if(drops, "adapter input after dropout", passage.input);
        player.free_unless(keeps, [mask]);
        let mut narrow = player.take("adapter's narrow output", made);
        let mut gathered = Taken::NOTHING;
        if travels && passage.between == Between::Scattered {
            let part = player.take("adapter's narrow output, this rank's part", read);
            player.free(narrow);
            narrow = part;
        }
        player.free_unless(keeps, [dropped]);
        if travels && passage.between == Between::Gathered {
            gathered = player.take("adapter's narrow output, gathered", read);
        }
        let output = player.take("adapter output", passage.output);
        player.free(gathered);
        player.free_unless(keeps, [narrow]);
        let scaled = player.take("adapter output, scaled", passage.output);
        player.free(output);
        let sum = player.take("adapted output", passage.output);
        player.free_all([result, scaled]);
        if !keeps {
            return (sum, Adapter::NONE);
        }
        (sum, Adapter { input: [dropped, mask], narrow })
    }

    /// Backward of an adapter, from the gradient of the layer's output, which stays: the gradient
    /// of the input.
    ///
    /// `input` is the layer's input, where the adapter alone keeps it.
    pub(super) fn adapter_back(
        &mut self,
        passage: Passage,
        adapter: &Adapter,
        input: Taken,
    ) -> Taken {
        let Some([a, b]) = self.adapters.beside(passage.layer) else { return Taken::NOTHING };
        let [made, read] = self.narrow(passage.between);
        let travels = passage.between != Between::Routed && self.sizes.split;
        let [dropped, mask] = adapter.input;
        let scaled = self.player.take("gradient of the output, scaled", passage.output);
        let gathers = travels && passage.between == Between::Gathered;
        let gathered = self.player.take_if(gathers, "adapter's narrow output, gathered", read);
        let mut of_narrow = self.player.take("gradient of the narrow output", read);
        if gathers {
            let part = self.player.take("gradient of the narrow output, this rank's part", made);
            self.player.free(of_narrow);
            of_narrow = part;
        }
        self.player.free_all([gathered, adapter.narrow]);
        self.stand_in(Matrix::Adapter(b));
        self.player.free(scaled);
        let scatters = travels && passage.between == Between::Scattered;
        let whole = self.player.take_if(scatters, "gradient of the narrow output, gathered", made);
        let mut of_input = self.player.take("gradient of the adapter's input", passage.input);
        self.player.free_all([if self.run.tuning.dropout { dropped } else { input }, whole]);
        self.stand_in(Matrix::Adapter(a));
        self.player.free(of_narrow);
        if self.run.tuning.dropout {
            let before = self.player.take("gradient before dropout", passage.input);
            self.player.free_all([of_input, mask]);
            of_input = before;
        }
        of_input
    }
}
