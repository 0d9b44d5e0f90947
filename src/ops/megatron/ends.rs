//! Embedding, final norm, output layer and vocabulary-parallel cross-entropy.

use super::layers::has;
use super::rank::{Rank, count, step, tensor};
use super::{Module, RankOp};
use crate::config::LossFusion;
use crate::ops::OpList;
use crate::ops::tensor::{Dim, Kept, Role, Tensor};
use crate::ops::work::{Behind, Collective, Operands, Product};
use crate::units::DType;

fn always(tensor: Tensor) -> Tensor {
    Tensor { kept: Kept::Always, ..tensor }
}

impl Rank<'_> {
    /// Rows of embedding and head on this rank, padded.
    const fn vocabulary(&self) -> Dim {
        Dim(
            "padded vocabulary on this rank",
            self.options().padded_vocab_size(self.model.vocab_size, self.t()).div_ceil(self.t()),
        )
    }

    /// `LanguageModelEmbedding`: token ids are kept for the embedding's gradient, with dropout a
    /// mask.
    pub fn embedding(&self, list: &OpList) -> RankOp {
        let positions = list
            .embedding
            .iter()
            .flat_map(|op| &op.tensors)
            .find(|tensor| tensor.name == "position embedding");
        let rows = positions.and_then(|table| table.shape.dims().next());
        let positions = rows.map(|rows| self.weight("position embedding", [*rows, self.h()]));
        let step = step("Embedding", Module::Rest)
            .with([self.weight("token embedding", [self.vocabulary(), self.h()])]);
        let ids = || always(tensor("token ids", Role::Saved, self.all(), DType::Int64));
        let step = step.with(positions).with((!self.run.tuning.freezes_embedding()).then(ids));
        let step = step.with(self.options().hidden_dropout.then(|| always(self.hidden_mask())));
        // Rows are read and written; the gradient is a matrix of the table's shape, zeroed, filled
        // and added to the main gradient.
        let table = self.vocabulary().1.saturating_mul(self.model.hidden_size);
        let piece = self.hidden_bytes();
        let back = piece.saturating_mul(2).saturating_add(table.saturating_mul(12));
        let scatter = (Collective::ReduceScatter, false, Behind::Nothing);
        let whole = (Collective::AllReduce, false, Behind::Nothing);
        if self.run.tuning.freezes_embedding() && self.run.stack.has_own_schedule() {
            return step
                .streams([piece.saturating_mul(3), 0], [3, 0])
                .sends(self.among_tensor_ranks([scatter], whole));
        }
        let messages = self
            .among_tensor_ranks([scatter, (Collective::AllGather, true, Behind::Nothing)], whole);
        step.streams([piece.saturating_mul(3), back], [3, 4]).sends(messages)
    }

    /// Final norm, output layer, loss.
    pub fn head(&self, list: &OpList) -> Vec<RankOp> {
        let norm = || {
            let tensors = self.norm_tensors([always(self.hidden("last block's output"))]);
            step("Final norm", Module::Rest)
                .with(tensors)
                .with([self.residual_gradient()])
                .norms(self.hidden_bytes(), 1)
        };
        let ends = [self.output_layer(), self.loss()];
        let transform = self
            .model
            .encoder
            .filter(|encoder| encoder.head_transform)
            .map(|_| self.head_transform());
        has(&list.head, "Final norm").then(norm).into_iter().chain(transform).chain(ends).collect()
    }

    /// The square matrix before an encoder's head.
    fn head_transform(&self) -> RankOp {
        let (rows, width, of) = (self.all(), self.h(), Operands::Weight);
        let product = Product {
            count: 1,
            at_once: 1,
            rows: count(rows),
            columns: width.1,
            depth: width.1,
            of,
            narrow: false,
        };
        let step = step("Layer before the output head", Module::Rest)
            .with([self.weight("dense weight", [width, width])]);
        step.multiplies(product, self)
    }

    /// The output layer, Megatron-Core's own: its weight's gradient, or the dummy in its place, is
    /// made anew each time.
    ///
    /// Under sequence parallelism its input is gathered into a buffer that stays for the whole
    /// training.
    fn output_layer(&self) -> RankOp {
        let (rows, columns, depth) = (self.all(), self.vocabulary(), self.h());
        let own = (!self.model.tie_word_embeddings)
            .then(|| self.weight("output weight", [columns, depth]));
        // A frozen one keeps nothing but its weight (`LinearWithFrozenWeight`).
        let of_weight = || {
            let gradient =
                tensor("gradient of the weight", Role::Workspace, [columns, depth], self.parameter);
            [always(self.hidden("normed output")), gradient]
        };
        let learns = (!self.run.tuning.freezes_model()).then(of_weight);
        let step = step("Output layer", Module::Rest).with(own).with(learns.into_iter().flatten());
        let step = step.with([
            self.alive("gradient of the logits", rows, columns),
            self.gradient_of_input(rows, depth),
        ]);
        let step = step.with(self.splits_tokens().then(|| self.residual_gradient()));
        let (rows, columns, depth, of) = (count(rows), columns.1, depth.1, Operands::Weight);
        let product = Product { count: 1, at_once: 1, rows, columns, depth, of, narrow: false };
        step.multiplies(product, self).sends(self.column_messages())
    }

    /// Cross-entropy. Unfused: the fp32 softmax is saved, beside it stand first the logits, then
    /// their gradient.
    fn loss(&self) -> RankOp {
        let (rows, columns) = (self.all(), self.vocabulary());
        let softmax = || {
            tensor("softmax of the logits", Role::Saved, [rows[0], rows[1], columns], DType::Fp32)
        };
        let name = "logits, then their gradient";
        // Bytes read and written for each logit. Transformer Engine's kernel reads them twice and
        // writes the gradient over them. Megatron-LM's own runs operator by operator in fp32: copy
        // (2+4), maximum (4), difference (4+4), exponential (4+4), sum (4), quotient (4+4) forward;
        // gradient (4+4) and cast (4+2) backward. Compiled it runs in three kernels: copy and
        // maximum (2+4), difference, exponential and sum (4+4), quotient (4+4); backward copies the
        // softmax (4+4), whose gradient is cast (4+2).
        let beside = || Some(self.alive(name, rows, columns));
        let (tensors, bytes, kernels) = match self.options().cross_entropy_loss_fusion {
            LossFusion::None => ([Some(always(softmax())), beside(), None], [34, 14], [8, 3]),
            LossFusion::Native => {
                let copy = tensor(
                    "copy of the softmax",
                    Role::Workspace,
                    [rows[0], rows[1], columns],
                    DType::Fp32,
                );
                ([Some(always(softmax())), beside(), Some(copy)], [22, 14], [3, 2])
            }
            LossFusion::TransformerEngine => {
                ([Some(always(self.saved(name, rows, columns))), None, None], [6, 4], [2, 1])
            }
        };
        let logits = count(rows).saturating_mul(columns.1);
        let step = step("Cross-entropy", Module::Rest).with(tensors.into_iter().flatten());
        step.streams(bytes.map(|each: u64| logits.saturating_mul(each)), kernels)
    }
}
