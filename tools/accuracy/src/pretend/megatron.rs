//! Rows of Megatron-Core: its GPT model, schedules and distributed optimizer.

use std::num::NonZeroU64;

use headroom::config::{
    BaseFormat, GradientDType, LossFusion, MegatronOptions, Offload, OptimizerImplementation,
    Overlap, ParallelLayout, PipelineSplit, RecomputeMethod, RecomputeModules, Targets,
    TokenDispatcher, TrainingRun, Tuning,
};
use headroom::units::Bytes;
use serde_json::Value;

use super::super::row::{Fields, sharding, stack};
use super::{Pretended, is_plain_run, job, only_known, plain_run};

/// The flags of a row. Without effect on tensors is `overlap_param_gather`, which sends from the
/// buffers that are there; `expandable` repeats the allocator's setting.
const FLAGS: [&str; 21] = [
    "spec",
    "expandable",
    "distributed_optimizer",
    "overlap_grad_reduce",
    "overlap_param_gather",
    "grad_reduce_in_fp32",
    "cross_entropy_fusion",
    "cross_entropy_impl",
    "recompute_modules",
    "recompute_method",
    "recompute_num_layers",
    "distribute_saved_activations",
    "dispatcher",
    "permute_fusion",
    "optimizer",
    "gradient_accumulation_fusion",
    "bias_activation_fusion",
    "attention",
    "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers",
    "lora",
];

/// The row as a job on its rank.
pub fn pretended(row: Fields<'_>) -> Result<Pretended, String> {
    is_plain_run(row, &[])?;
    only_known(row, "/parallel", &["size", "tp", "pp", "cp", "ep", "etp", "vpp", "sp"])?;
    only_known(row, "/flags", &FLAGS)?;
    let layout = layout(row)?;
    if row.text("/run/precision")? != "bf16" {
        return Err("Megatron-Core in another precision than bf16 is not modelled".to_owned());
    }
    let has = |flag: &str, default: bool| row.flag(&format!("/flags/{flag}")).unwrap_or(default);
    let transformer_engine = spec(row)?;
    let run = TrainingRun {
        gradients: if has("grad_reduce_in_fp32", true) {
            GradientDType::Fp32
        } else {
            GradientDType::AsWeights
        },
        stack: stack("megatron")?,
        // Without Transformer Engine or Apex, Megatron-Core takes PyTorch's optimizer
        // (`core/optimizer/__init__.py`).
        optimizer_implementation: if transformer_engine {
            OptimizerImplementation::Fused
        } else {
            OptimizerImplementation::Foreach
        },
        megatron: options(row, transformer_engine)?,
        tuning: lora(row)?.unwrap_or(Tuning::FULL),
        overlap: Overlap { gradients: has("overlap_grad_reduce", false), ..Overlap::DEFAULT },
        ..plain_run(row)?
    };
    Ok(Pretended { rank: Some(row.count("/rank")?), ..job(row, &run, layout)? })
}

/// Adapters as ms-swift puts them beside Megatron-Core's layers; `Float16Module` casts them to the
/// weights' format.
fn lora(row: Fields<'_>) -> Result<Option<Tuning>, String> {
    if row.is_absent("/flags/lora") {
        return Ok(None);
    }
    only_known(row, "/flags/lora", &["r", "dropout", "targets"])?;
    let named = |name: &str| match name {
        "all-linear" => Ok(Targets::ALL),
        "linear_qkv" => Ok(Targets::QUERY.and(Targets::KEY).and(Targets::VALUE)),
        "linear_proj" => Ok(Targets::OUTPUT),
        "linear_fc1" => Ok(Targets::GATE.and(Targets::UP)),
        "linear_fc2" => Ok(Targets::DOWN),
        other => Err(format!("the target {other} is not modelled")),
    };
    let target_modules = match row.0.pointer("/flags/lora/targets") {
        None => Targets::ALL,
        Some(Value::String(name)) => named(name)?,
        Some(names) => {
            let names = names.as_array().ok_or("targets is no list")?;
            names
                .iter()
                .filter_map(Value::as_str)
                .try_fold(Targets::NONE, |all, name| named(name).map(|more| all.and(more)))?
        }
    };
    let dropout = row.number("/flags/lora/dropout")? > 0.0;
    Ok(Some(Tuning {
        r: row.count("/flags/lora/r")?,
        target_modules,
        dropout,
        ..Tuning::FULL.with_adapters(BaseFormat::Weights)
    }))
}

/// True if modules are Transformer Engine's; false if they are Megatron-Core's own.
fn spec(row: Fields<'_>) -> Result<bool, String> {
    match row.text("/flags/spec").unwrap_or("local") {
        "te" => Ok(true),
        "local" => Ok(false),
        other => Err(format!("Megatron-Core's layer spec {other} is not modelled")),
    }
}

fn layout(row: Fields<'_>) -> Result<ParallelLayout, String> {
    let has = |flag: &str, default: bool| row.flag(&format!("/flags/{flag}")).unwrap_or(default);
    let tensor = row.degree("/parallel/tp")?;
    let etp =
        if row.is_absent("/parallel/etp") { None } else { Some(row.degree("/parallel/etp")?) };
    let mut layout = ParallelLayout {
        tensor_model_parallel_size: tensor,
        pipeline_model_parallel_size: row.degree("/parallel/pp")?,
        context_parallel_size: row.degree("/parallel/cp")?,
        expert_model_parallel_size: row.degree("/parallel/ep")?,
        expert_tensor_parallel_size: etp,
        virtual_pipeline_model_parallel_size: row.degree("/parallel/vpp")?,
        sequence_parallel: row.flag("/parallel/sp").unwrap_or(false) && tensor.get() > 1,
        sharding: sharding(if has("distributed_optimizer", true) { "1" } else { "none" })?,
        offload: Offload { optimizer: states_on_the_host(row)?, ..Offload::NONE },
        pipeline_split: split(row)?,
        ..ParallelLayout::SINGLE
    };
    let ranks = row.count("/parallel/size")?;
    layout.data_parallel_size = NonZeroU64::new(ranks / layout.world_size().max(1))
        .ok_or("the world is smaller than the layout asks for")?;
    Ok(layout)
}

/// True if the optimizer's states lie on the host; other settings of the optimizer than these are
/// not modelled.
fn states_on_the_host(row: Fields<'_>) -> Result<bool, String> {
    if row.is_absent("/flags/optimizer") {
        return Ok(false);
    }
    only_known(
        row,
        "/flags/optimizer",
        &["optimizer_cpu_offload", "optimizer_offload_fraction", "use_precision_aware_optimizer"],
    )?;
    let share = row.number("/flags/optimizer/optimizer_offload_fraction")?;
    if row.flag("/flags/optimizer/optimizer_cpu_offload")? && share.to_bits() == 1.0_f64.to_bits() {
        return Ok(true);
    }
    Err("Megatron-Core's optimizer with these settings is not modelled".to_owned())
}

/// How many blocks the first and the last stage hold, where a row says it.
fn split(row: Fields<'_>) -> Result<PipelineSplit, String> {
    let blocks = |stage: &str| {
        let at = format!("/flags/decoder_{stage}_pipeline_num_layers");
        if row.is_absent(&at) { Ok(None) } else { row.degree(&at).map(Some) }
    };
    Ok(match (blocks("first")?, blocks("last")?) {
        (None, None) => PipelineSplit::Even,
        (first, last) => PipelineSplit::Ends { first, last },
    })
}

fn options(row: Fields<'_>, transformer_engine: bool) -> Result<MegatronOptions, String> {
    let has = |flag: &str, default: bool| row.flag(&format!("/flags/{flag}")).unwrap_or(default);
    if has("distribute_saved_activations", false) {
        return Err(
            "Megatron-Core's saved activations distributed over tensor ranks are not modelled"
                .to_owned(),
        );
    }
    if row.text("/flags/attention").unwrap_or("sdpa") != "sdpa" {
        return Err("Megatron-Core's own attention is not modelled here".to_owned());
    }
    let blocks = row.degree("/flags/recompute_num_layers")?;
    let is_block = row.text("/flags/recompute_method").unwrap_or("uniform") == "block";
    Ok(MegatronOptions {
        // `GPTModel` is given the vocabulary as it is.
        make_vocab_size_divisible_by: NonZeroU64::MIN,
        cross_entropy_loss_fusion: match row.text("/flags/cross_entropy_impl").unwrap_or("native") {
            _ if !has("cross_entropy_fusion", true) => LossFusion::None,
            "native" => LossFusion::Native,
            "te" => LossFusion::TransformerEngine,
            other => {
                return Err(format!("Megatron-Core's cross-entropy by {other} is not modelled"));
            }
        },
        gradient_accumulation_fusion: has("gradient_accumulation_fusion", transformer_engine),
        bias_activation_fusion: has("bias_activation_fusion", true),
        // PyTorch's flash kernel stands between the projections: it reads values where the joint
        // projection has them, as FlashAttention's package does. (Its output needs no copy, which
        // the order of allocations knows and the ledger does not.)
        fused_attention: false,
        transformer_engine,
        recompute_method: if is_block {
            RecomputeMethod::Block(blocks.get())
        } else {
            RecomputeMethod::Uniform(blocks)
        },
        recompute_modules: modules(row)?,
        moe_token_dispatcher: match row.text("/flags/dispatcher").unwrap_or("alltoall") {
            "alltoall" => TokenDispatcher::AllToAll,
            "allgather" => TokenDispatcher::AllGather,
            other => return Err(format!("Megatron-Core's dispatcher {other} is not modelled")),
        },
        moe_grouped_gemm: true,
        moe_permute_fusion: has("permute_fusion", true),
        // PyTorch 2.15 takes a product's workspace when it needs it and gives it back.
        cublas_workspace: Bytes::ZERO,
        ..MegatronOptions::DEFAULT
    })
}

fn modules(row: Fields<'_>) -> Result<RecomputeModules, String> {
    if row.is_absent("/flags/recompute_modules") {
        return Ok(RecomputeModules::CORE_ATTENTION);
    }
    let mut modules = RecomputeModules { core_attn: false, ..RecomputeModules::CORE_ATTENTION };
    let names =
        row.value("/flags/recompute_modules")?.as_array().ok_or("recompute_modules is no list")?;
    for name in names.iter().filter_map(Value::as_str) {
        match name {
            "core_attn" => modules.core_attn = true,
            "layernorm" => modules.layernorm = true,
            "mla_up_proj" => modules.mla_up_proj = true,
            "mlp" => modules.mlp = true,
            "moe" => modules.moe = true,
            "moe_act" => modules.moe_act = true,
            "shared_experts" => modules.shared_experts = true,
            other => return Err(format!("recomputation of {other} is not modelled")),
        }
    }
    Ok(modules)
}
