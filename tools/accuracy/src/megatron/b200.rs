//! Peaks of Megatron-LM on eight B200, as SimuMax measured them.
//!
//! Settings that all rows share are in their `source` and in the launch scripts of SimuMax
//! (`simu_tools/megatron_scripts`): bf16, distributed optimizer, fp32 main gradients, Transformer
//! Engine's fused cross-entropy, no dropout, no biases, `NullTokenizer` (which adds one id to the
//! vocabulary), and for mixtures of experts the all-to-all dispatcher with grouped products and
//! padding to capacity 1. The image is of PyTorch 2.10, whose cuBLAS workspace is 32 MiB on compute
//! capability 9.0 only.

use headroom::config::{
    Flash, GradientDType, LayerSet, LossFusion, MegatronOptions, Mla, ModelConfig, Moe, Overlap,
    ParallelLayout, TokenDispatcher, TrainingRun,
};
use headroom::estimator::estimate;
use headroom::units::{Bytes, to_f64};

use super::super::row::{Comparison, Fields, Quantity, rounded, sharding, stack};
use super::super::speed;
use super::{OLD_CUBLAS_WORKSPACE, job};

pub fn outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let model = model(row)?;
    let tensor = row.degree("/tensor_model_parallel_size")?;
    let layout = ParallelLayout {
        tensor_model_parallel_size: tensor,
        pipeline_model_parallel_size: row.degree("/pipeline_model_parallel_size")?,
        context_parallel_size: row.degree("/context_parallel_size")?,
        expert_model_parallel_size: row.degree("/expert_model_parallel_size")?,
        data_parallel_size: row.degree("/data_parallel_size")?,
        // Megatron-LM's arguments.py switches it off where there is nothing to split.
        sequence_parallel: row.flag("/sequence_parallel")? && tensor.get() > 1,
        sharding: sharding("1")?,
        ..ParallelLayout::SINGLE
    };
    let micro_batch_size = row.count("/micro_batch_size")?;
    let options = MegatronOptions {
        cross_entropy_loss_fusion: LossFusion::TransformerEngine,
        moe_token_dispatcher: TokenDispatcher::AllToAll,
        moe_grouped_gemm: model.moe.is_some(),
        moe_pad_expert_input_to_capacity: true,
        cublas_workspace: OLD_CUBLAS_WORKSPACE,
        ..MegatronOptions::DEFAULT
    };
    let run = TrainingRun {
        seq_length: row.count("/seq_length")?,
        global_batch_size: micro_batch_size * micro_batches(row)? * layout.d(),
        micro_batch_size: Some(micro_batch_size),
        gradients: GradientDType::Fp32,
        stack: stack("megatron")?,
        flash: Flash::Newest,
        megatron: options,
        ..TrainingRun::plain()
    };
    let measured = rounded(row.number("/measured_peak_allocated_gib")? * to_f64(Bytes::GIB));
    let ours = estimate(&job(model.clone(), run.clone(), layout)?).total().0;
    let mut found = vec![Comparison { quantity: Quantity::Peak, ours, measured }];
    let timed = row
        .value("/iteration_ms_by_num_micro_batches")?
        .as_object()
        .ok_or("no micro-batches are named")?;
    for (count, milliseconds) in timed {
        let (Ok(count), Some(milliseconds)) = (count.parse::<u64>(), milliseconds.as_f64()) else {
            continue;
        };
        // The launch script asks for no overlap of the distributed optimizer's messages.
        let overlap = Overlap { gradients: false, parameters: false, ..Overlap::DEFAULT };
        let run = TrainingRun {
            global_batch_size: micro_batch_size * count * layout.d(),
            overlap,
            ..run.clone()
        };
        found.push(speed::compare(model.clone(), run, layout, "b200", milliseconds / 1e3)?);
    }
    Ok(found)
}

/// The fewest micro-batches that were timed; memory was measured once for all of them.
fn micro_batches(row: Fields<'_>) -> Result<u64, String> {
    let timed = row
        .value("/iteration_ms_by_num_micro_batches")?
        .as_object()
        .ok_or("no micro-batches are named")?;
    let fewest = timed.keys().filter_map(|count| count.parse().ok()).min();
    fewest.ok_or_else(|| "no micro-batches are named".to_owned())
}

fn model(row: Fields<'_>) -> Result<ModelConfig, String> {
    if row.is_absent("/config") {
        return named_model(row.text("/model")?);
    }
    let count = |key: &str| row.count(&format!("/config/{key}"));
    Ok(ModelConfig {
        hidden_size: count("hidden_size")?,
        intermediate_size: count("intermediate_size")?,
        num_hidden_layers: count("num_hidden_layers")?,
        num_attention_heads: count("num_attention_heads")?,
        num_key_value_heads: count("num_key_value_heads")?,
        head_dim: count("head_dim")?,
        vocab_size: count("vocab_size")? + 1,
        ..ModelConfig::plain()
    })
}

/// `deepseek-v2 shapes, 4 layers`: the published shape cut to so many layers, of which the first is
/// dense.
fn named_model(name: &str) -> Result<ModelConfig, String> {
    let unknown = || format!("the row has no config, and {name} is not a known shape");
    let (shape, rest) = name.split_once(" shapes, ").ok_or_else(unknown)?;
    let layers =
        rest.split_whitespace().next().and_then(|count| count.parse().ok()).ok_or_else(unknown)?;
    let mla = Mla {
        q_lora_rank: Some(1536),
        kv_lora_rank: 512,
        qk_rope_head_dim: 64,
        qk_nope_head_dim: 128,
        v_head_dim: 128,
    };
    let (hidden_size, intermediate_size, vocab_size, (experts, chosen), expert, shared) =
        match shape {
            "deepseek-v2" => (5120, 12288, 102_400, (160, 6), 1536, 3072),
            "deepseek-v3" => (7168, 18432, 129_280, (256, 8), 2048, 2048),
            _ => return Err(unknown()),
        };
    Ok(ModelConfig {
        hidden_size,
        intermediate_size,
        num_hidden_layers: layers,
        num_attention_heads: 128,
        num_key_value_heads: 128,
        head_dim: 192,
        vocab_size: vocab_size + 1,
        mla: Some(mla),
        moe: Some(Moe {
            num_experts: experts,
            num_experts_per_tok: chosen,
            moe_intermediate_size: expert,
            shared_expert_intermediate_size: shared,
            shared_expert_gate: false,
            layers: LayerSet::From(1),
            n_group: 1,
            topk_group: 1,
            norm_topk_prob: false,
            bias: false,
            latent: 0,
        }),
        ..ModelConfig::plain()
    })
}
