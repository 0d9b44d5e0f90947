//! Embedding, final norm, output layer and vocabulary-parallel cross-entropy.

use super::{Module, Rank, Step, step, tensor};
use crate::config::{LossFusion, PositionEmbedding};
use crate::ops::tensor::{Dim, Kept, Role, Tensor};
use crate::ops::work::{Behind, Collective, Operands, Product};
use crate::units::DType;

/// `LanguageModelEmbedding`: token ids are kept for the embedding's gradient, with dropout a mask.
pub(super) fn embedding(rank: &Rank) -> Vec<Step> {
    let mut tensors = vec![rank.weight("token embedding", [rank.vocabulary(), rank.h()])];
    if matches!(rank.model.position_embedding, PositionEmbedding::Learned) {
        tensors.push(rank.weight("position embedding", [Dim("position_rows", rank.model.position_rows), rank.h()]));
    }
    tensors.push(always(tensor("token ids", Role::Saved, [rank.s(), rank.b()], DType::Int64)));
    if rank.options.hidden_dropout {
        tensors.push(always(tensor("dropout mask", Role::Saved, [rank.local_s(), rank.b(), rank.h()], DType::Mask)));
    }
    // Rows are read and written; the gradient is a matrix of the table's shape, zeroed, filled and added to the main gradient.
    let table = rank.vocabulary().1.saturating_mul(rank.model.hidden_size);
    let piece = rank.hidden_bytes();
    let bytes = [piece.saturating_mul(3), piece.saturating_mul(2).saturating_add(table.saturating_mul(12))];
    let collective = if rank.splits_tokens() { Collective::ReduceScatter } else { Collective::AllReduce };
    let back = rank.splits_tokens().then(|| rank.tensor_message(Collective::AllGather, true, Behind::Nothing)).flatten();
    let step = step("Embedding", Module::Rest, tensors).streams(bytes, [3, 4]);
    vec![step.sends(rank.tensor_message(collective, false, Behind::Nothing)).sends(back)]
}

/// Final norm, output layer, loss.
pub(super) fn head(rank: &Rank) -> Vec<Step> {
    let mut steps = Vec::with_capacity(3);
    if rank.model.final_norm {
        steps.push(final_norm(rank));
    }
    steps.push(output_layer(rank));
    steps.push(loss(rank));
    steps
}

fn always(tensor: Tensor) -> Tensor {
    Tensor { kept: Kept::Always, ..tensor }
}

fn final_norm(rank: &Rank) -> Step {
    let mut tensors = Vec::new();
    rank.norm_weights(rank.h(), &mut tensors);
    tensors.push(always(rank.hidden("last block's output")));
    rank.statistics([rank.local_s(), rank.b()], &mut tensors);
    tensors.push(rank.residual_gradient());
    tensors.push(rank.residual_gradient());
    let (bytes, kernels) = Rank::norm_stream(rank.hidden_bytes());
    step("Final norm", Module::Rest, tensors).streams(bytes, kernels)
}

/// The output layer, Megatron-Core's own: its weight's gradient, or the dummy in its place, is made anew each time.
///
/// Under sequence parallelism its input is gathered into a buffer that stays for the whole training.
fn output_layer(rank: &Rank) -> Step {
    let mut tensors = Vec::new();
    if !rank.model.tie_word_embeddings {
        tensors.push(rank.weight("output weight", [rank.vocabulary(), rank.h()]));
    }
    tensors.push(always(rank.hidden("normed output")));
    tensors.push(rank.alive("gradient of the logits", logits(rank)));
    tensors.push(rank.full_gradient("gradient of the normed output"));
    tensors.extend(rank.splits_tokens().then(|| rank.residual_gradient()));
    tensors.push(tensor("gradient of the weight", Role::Workspace, [rank.vocabulary(), rank.h()], rank.parameter));
    let (columns, depth) = (rank.vocabulary().1, rank.model.hidden_size);
    let product = Product { count: 1, at_once: 1, rows: rank.tokens(), columns, depth, of: Operands::Weight, narrow: false };
    let [gather, reduce, again] = rank.column_messages();
    step("Output layer", Module::Rest, tensors).multiplies(product, rank).sends(gather).sends(reduce).sends(again)
}

fn logits(rank: &Rank) -> [Dim; 3] {
    [rank.s(), rank.b(), rank.vocabulary()]
}

/// Cross-entropy. Unfused: the fp32 softmax is saved, beside it stand first the logits, then their gradient.
fn loss(rank: &Rank) -> Step {
    let tensors = match rank.options.cross_entropy_loss_fusion {
        LossFusion::None => vec![
            always(tensor("softmax of the logits", Role::Saved, logits(rank), DType::Fp32)),
            rank.alive("logits, then their gradient", logits(rank)),
        ],
        LossFusion::TransformerEngine => vec![always(rank.saved("logits, then their gradient", logits(rank)))],
    };
    let logits = rank.tokens().saturating_mul(rank.vocabulary().1);
    // Bytes read and written for each logit. Transformer Engine's kernel reads them twice and writes the gradient over them.
    // Megatron-LM's own runs operator by operator in fp32: copy (2+4), maximum (4), difference (4+4), exponential (4+4), sum (4),
    // quotient (4+4) forward; gradient (4+4) and cast (4+2) backward.
    let (bytes, kernels) = match rank.options.cross_entropy_loss_fusion {
        LossFusion::TransformerEngine => ([6, 4], [2, 1]),
        LossFusion::None => ([34, 14], [8, 3]),
    };
    step("Cross-entropy", Module::Rest, tensors).streams(bytes.map(|each: u64| logits.saturating_mul(each)), kernels)
}
