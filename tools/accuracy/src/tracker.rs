//! Memory that PyTorch's trackers count besides that of a step. No GPU holds it, so the engine does
//! not know it, but measured rows contain it.

use headroom::config::{
    AttentionKernel, EmbeddedParts, Job, OptimizerImplementation, Recompute, TrainingPrecision,
};
use headroom::estimator::{Phase, estimate};
use headroom::ops::{self, Op, Role, Shape, Tensor};

/// Bytes that the tracker itself keeps alive. Under checkpointing a gradient of the embedding's
/// output is asked for, and the tracker's hooks on modules then hold the output and its gradient
/// from one step into the next. Without the tracker both are freed when backward ends.
pub fn kept_alive(job: &Job) -> u64 {
    let Some(run) = job.training() else { return 0 };
    if !run.tuning.freezes_embedding() || run.recompute != Recompute::Full {
        return 0;
    }
    let model = job.model();
    let width = model.word_embed_proj_dim.unwrap_or(model.hidden_size);
    job.micro_batch_size() * run.seq_length * width * run.recipe().parameter.bits() / 8
}

/// The peak where the tracker's hooks hold a gradient that nothing else does; `None` of models
/// without such modules.
///
/// BERT's modules for the output of a half take two tensors, the half's output and the residual
/// (`BertSelfOutput`, `BertOutput`). The tracker waits for the gradients of both, and holds that of
/// the first, of the width of hidden states, until that of the residual is there: at the end of the
/// block's backward (`torch/autograd/graph.py`, `register_multi_grad_hook`). Followed without hooks
/// on modules, the step holds as much as the engine says.
pub fn held_by_hooks(job: &Job) -> Option<u64> {
    let run = job.training()?;
    let model = job.model();
    let kind = model.family.model_type();
    // DeBERTa's blocks hold most when their attention runs again, before any gradient has come.
    let again = kind == "deberta-v2" && run.recompute == Recompute::Full;
    // A decoder with an encoder's ends has blocks of its own, which no such module is part of.
    if model.encoder.is_none()
        || model.compressed.is_some()
        || again
        || ADD_RESIDUALS_THEMSELVES.contains(&kind)
    {
        return None;
    }
    let bits = if run.precision == TrainingPrecision::Fp32 { 32 } else { 16 };
    // Where `gelu` is written out the peak lies in its backward, while the gradient of what the
    // second half's module is given is held.
    let written = model.family.modules().encoder.writes_gelu;
    let width = if written { model.intermediate_size } else { model.hidden_size };
    let held = job.micro_batch_size() * run.seq_length * width * bits / 8;
    let timeline = estimate(job).timeline?;
    let blocks = timeline
        .stretches
        .iter()
        .filter(|stretch| stretch.phase == Phase::Backward && stretch.layer.is_some());
    let of_last = of_last_block(job).filter(|_| !written);
    let of_block = |layer: Option<u64>| {
        of_last.filter(|_| layer == model.num_hidden_layers.checked_sub(1)).unwrap_or(held)
    };
    blocks
        .map(|stretch| {
            stretch.peak.into_iter().map(|bytes| bytes.0).sum::<u64>() + of_block(stretch.layer)
        })
        .max()
}

/// The surplus of the last block, which nothing behind it has left a gradient to: while the first
/// matrix of its second half gets its gradients, that of the second one's input is still held. The
/// engine's peak has that input beside it, which is gone by then. `None` where casts, a run again
/// or scores make other moments the highest.
fn of_last_block(job: &Job) -> Option<u64> {
    let (run, model) = (job.training()?, job.model());
    let written = run.attention == AttentionKernel::Standard;
    if written || run.recompute == Recompute::Full || run.precision == TrainingPrecision::AmpBf16 {
        return None;
    }
    let tokens = job.micro_batch_size() * run.seq_length;
    let (h, inner) = (model.hidden_size, model.intermediate_size);
    Some(
        (tokens * h + h * inner + inner).saturating_sub(tokens * inner)
            * run.recipe().parameter.bits()
            / 8,
    )
}

/// The peak where the tracker's hooks hold gradients of a decoder's blocks; `None` of models
/// without an encoder beside the decoder.
///
/// Every block of the decoder takes hidden states and the encoder's last states. The tracker waits
/// for the gradients of both, and the latter is there when the whole decoder is through: until then
/// it holds the gradient of each block's input.
pub fn held_beside_source(job: &Job) -> Option<u64> {
    let run = job.training()?;
    let model = job.model();
    let source = model.beside()?;
    let narrow =
        matches!(run.precision, TrainingPrecision::Bf16Pure | TrainingPrecision::FsdpMixed);
    let bits = if narrow { 16 } else { 32 };
    let each = job.micro_batch_size() * run.seq_length * model.hidden_size * bits / 8;
    // Blocks that share biases of distances take these, too.
    let biased = model.family.modules().encoder.embedding == EmbeddedParts::WithBiases;
    let format = if run.precision == TrainingPrecision::Fp32 { 32 } else { bits };
    let biases = if biased {
        model.num_attention_heads * run.seq_length * run.seq_length * format / 8
    } else {
        0
    };
    let timeline = estimate(job).timeline?;
    let (mut blocks, mut most) = (0, 0);
    for stretch in timeline.stretches.iter().filter(|stretch| stretch.phase == Phase::Backward) {
        let held = match stretch.layer {
            Some(layer) if layer < source.layers => 0,
            // A block that runs again holds most before the gradient of its output is used.
            Some(_) if run.recompute == Recompute::Full => u64::saturating_sub(blocks, 1) * each,
            Some(_) => blocks * each,
            // Behind all of the decoder's blocks its embedding comes.
            None if blocks > 0 => blocks * each + if blocks > 1 { biases } else { 0 },
            None => 0,
        };
        blocks = match stretch.layer {
            Some(layer) if layer >= source.layers => blocks + 1,
            _ if blocks > 0 && stretch.layer.is_some() => 0,
            _ => blocks,
        };
        most = most.max(stretch.peak.into_iter().map(|bytes| bytes.0).sum::<u64>() + held);
    }
    Some(most)
}

/// Encoders whose blocks have no modules that take a half's output and the residual.
const ADD_RESIDUALS_THEMSELVES: [&str; 9] = [
    "distilbert",
    "eurobert",
    "nomic_bert",
    "gte",
    "jina_embeddings_v3",
    "modernbert",
    "modernbert-decoder",
    "mpnet",
    "albert",
];

/// The optimizer whose first step on split parameters was looked through.
const LOOKED_THROUGH: &str = "adamw";

/// Bytes that are counted when the optimizer updates the largest split parameter for the first
/// time; `None` where no parameter is split, or where the optimizer does not go through them in a
/// loop.
///
/// `torch.optim.AdamW` in a loop updates each parameter with `addcdiv_`. To learn the result's
/// shape, `DTensor` runs it once on stand-ins of its three arguments in their whole size
/// (`torch/distributed/tensor/_sharding_prop.py`, `_propagate_tensor_meta_non_cached`). They are
/// fake tensors, without memory, but under a tracker every tensor is one. Beside them there is the
/// denominator of this rank's share, which is real.
pub fn stand_ins(job: &Job) -> Option<u64> {
    let run = job.training()?;
    if run.optimizer.key() != LOOKED_THROUGH
        || run.optimizer_implementation != OptimizerImplementation::ForLoop
    {
        return None;
    }
    let (whole, share) = largest_split(job)?;
    let timeline = estimate(job).timeline?;
    let before = timeline.stretches.iter().find(|stretch| stretch.phase == Phase::Step)?;
    let counted = (3 * whole + share) * run.recipe().optimizer_state.bits() / 8;
    Some(before.start.into_iter().map(|bytes| bytes.0).sum::<u64>() + counted)
}

/// Elements of the largest parameter that is split over ranks, and of one rank's share of it.
/// PyTorch's plan of tensor parallelism leaves embeddings and head whole.
fn largest_split(job: &Job) -> Option<(u64, u64)> {
    let list = ops::lower(&ops::lowering(job));
    let (t, d) = (job.layout().t(), job.layout().d());
    let largest = |ops: &mut dyn Iterator<Item = &Op>, share: &dyn Fn(&Tensor) -> u64| {
        let parameters =
            ops.flat_map(|op| &op.tensors).filter(|tensor| tensor.role == Role::Parameter);
        let split = parameters.filter(|tensor| share(tensor) < tensor.shape.elements().0);
        split.map(|tensor| (tensor.shape.elements().0, share(tensor))).max()
    };
    if job.layout().sharding.shards_parameters() {
        largest(&mut list.all(), &|tensor| first_rows(&tensor.shape, d))
    } else {
        largest(&mut list.kinds.iter().flat_map(|kind| &kind.ops), &|tensor| {
            tensor.elements_per_rank(t, false).0
        })
    }
}

/// Elements of the largest share of a tensor that is split by its first dimension.
fn first_rows(shape: &Shape, ranks: u64) -> u64 {
    let first = shape.dims().next().map_or(1, |dim| dim.1);
    shape.elements().0 / first.max(1) * first.div_ceil(ranks.max(1))
}
