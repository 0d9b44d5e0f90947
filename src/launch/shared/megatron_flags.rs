//! Arguments of Megatron-Core that Megatron-LM and ms-swift share: layout, recomputation, formats,
//! kernels, experts.
//!
//! Read in megatron-core 0.19.2 (`megatron/training/arguments.py`, `TransformerConfig`,
//! `ModelParallelConfig`, `OptimizerConfig`) and ms-swift 4.6.0
//! (`megatron/arguments/megatron_args.py`). ms-swift writes `_` for `-`.

use crate::launch::{Flag, Given, Reading, Takes};
use crate::scenario::{FieldId, Value};

/// Parallel degrees, batches, and the sharding of gradients and optimizer states.
pub const LAYOUT: &[Flag] = &[
    Flag::sets(&["tensor-model-parallel-size"], FieldId::TensorParallel),
    Flag::sets(&["pipeline-model-parallel-size"], FieldId::PipelineParallel),
    Flag::sets(&["context-parallel-size"], FieldId::ContextParallel),
    Flag::sets(&["expert-model-parallel-size"], FieldId::ExpertParallel),
    Flag::sets(&["expert-tensor-parallel-size"], FieldId::ExpertTensorParallel),
    Flag::together(&["sequence-parallel"]).alone(),
    Flag::sets(&["micro-batch-size"], FieldId::MicroBatchSize),
    Flag::together(&["global-batch-size"]),
    Flag::by(&["decoder-first-pipeline-num-layers"], |reading, given| {
        stage(reading, given, FieldId::FirstStageLayers)
    }),
    Flag::by(&["decoder-last-pipeline-num-layers"], |reading, given| {
        stage(reading, given, FieldId::LastStageLayers)
    }),
    Flag::together(&[
        "account-for-embedding-in-pipeline-split",
        "account-for-loss-in-pipeline-split",
    ])
    .alone(),
    Flag::by(&["use-distributed-optimizer"], |reading, given| {
        let on = given.is_on() != Some(false);
        reading.read(given, FieldId::Sharding, Value::Choice(if on { "1" } else { "none" }));
        Ok(())
    })
    .alone(),
    Flag::switch(&["overlap-grad-reduce"], FieldId::OverlapGradReduce),
];

/// Recomputation, formats, kernels and experts.
pub const RUN: &[Flag] = &[
    Flag::words(
        &["recompute-granularity"],
        FieldId::Recompute,
        &[("full", "full"), ("selective", "selective"), ("none", "none")],
    ),
    Flag::by(&["recompute-activations"], |reading, given| {
        reading.read(given, FieldId::Recompute, Value::Choice("selective"));
        Ok(())
    })
    .alone(),
    Flag::by(&["checkpoint-activations"], |reading, given| {
        reading.derive(
            given,
            FieldId::Recompute,
            Value::Choice("full"),
            "The name that Megatron-LM had for it before 2023.",
        );
        Ok(())
    })
    .alone(),
    Flag::words(
        &["recompute-method"],
        FieldId::RecomputeMethod,
        &[("uniform", "uniform"), ("block", "block")],
    ),
    Flag::sets(&["recompute-num-layers"], FieldId::RecomputeLayers),
    Flag::by(&["recompute-modules"], modules).taking(Takes::Many),
    Flag::by(&["bf16"], |reading, given| precision(reading, given, "bf16")).alone(),
    Flag::by(&["fp16"], |reading, given| precision(reading, given, "fp16")).alone(),
    Flag::together(&["grad-reduce-in-bf16", "accumulate-allreduce-grads-in-fp32"]).alone(),
    Flag::together(&["cross-entropy-fusion-impl"]),
    Flag::together(&["cross-entropy-loss-fusion"]).alone(),
    Flag::switch(&["gradient-accumulation-fusion"], FieldId::GradientFusion),
    Flag::by(&["attention-backend"], attention),
    Flag::words(&["optimizer"], FieldId::Optimizer, &[("adam", "adamw"), ("sgd", "sgdm")]),
    Flag::words(
        &["moe-token-dispatcher-type"],
        FieldId::TokenDispatcher,
        &[("allgather", "allgather"), ("alltoall", "alltoall")],
    ),
    Flag::by(&["optimizer-cpu-offload"], states_on_the_host).alone(),
    Flag::by(&["use-precision-aware-optimizer"], precision_aware).alone(),
    Flag::together(&["optimizer-offload-fraction"]),
    Flag::together(&["moe-shared-expert-overlap"]).alone(),
    Flag::switch(&["moe-grouped-gemm"], FieldId::GroupedExperts),
    Flag::switch(&["moe-permute-fusion"], FieldId::PermuteFusion),
    Flag::switch(&["moe-pad-expert-input-to-capacity"], FieldId::PadExperts),
];

/// Arguments that change memory or time and are not modelled, with a value.
pub const NOT_MODELLED: &[Flag] = &[
    Flag::not_modelled(
        &["fp8-format"],
        "Weights and products in fp8 are not modelled for Megatron-Core.",
    ),
    Flag::not_modelled(
        &["fp4-format", "fp4-recipe"],
        "Weights and products in fp4 are not modelled for Megatron-Core.",
    ),
    Flag::not_modelled_unless(
        &["main-grads-dtype"],
        &["fp32"],
        "Main gradients in this format are not modelled.",
    ),
    Flag::not_modelled_unless(
        &["main-params-dtype"],
        &["fp32"],
        "Main weights in this format are not modelled.",
    ),
    Flag::not_modelled_unless(
        &["exp-avg-dtype", "exp-avg-sq-dtype"],
        &["fp32"],
        "Moments in this format are not modelled.",
    ),
    Flag::not_modelled_unless(
        &["moe-expert-capacity-factor"],
        &["1", "1.0"],
        "Experts are counted with a capacity of 1.",
    ),
    Flag::not_modelled_unless(
        &["mtp-num-layers"],
        &["0"],
        "Heads that predict further tokens are not modelled for Megatron-Core.",
    ),
    Flag::not_modelled(
        &["microbatch-group-size-per-virtual-pipeline-stage"],
        "Groups of micro-batches are as many as stages here.",
    ),
    Flag::not_modelled(
        &["microbatch-group-size-per-vp-stage"],
        "Groups of micro-batches are as many as stages here.",
    ),
    Flag::not_modelled(
        &["pipeline-model-parallel-layout"],
        "Layers in an order of their own are not modelled.",
    ),
    Flag::not_modelled(
        &["wgrad-deferral-limit"],
        "Weight gradients that wait are not modelled from here.",
    ),
    Flag::not_modelled_unless(
        &["num-distributed-optimizer-instances"],
        &["1"],
        "Several groups of the optimizer are not modelled.",
    ),
    Flag::not_modelled(
        &["data-parallel-sharding-strategy", "outer-dp-sharding-strategy"],
        "Megatron-FSDP is not modelled.",
    ),
    Flag::not_modelled(
        &["hierarchical-context-parallel-sizes", "max-seqlen-per-dp-cp-rank"],
        "This layout is not modelled.",
    ),
    Flag::not_modelled(
        &["ddp-num-buckets", "ddp-bucket-size"],
        "Buckets of gradients are Megatron-Core's own here.",
    ),
    Flag::not_modelled(
        &["cpu-offloading-num-layers", "activation-offload-fraction"],
        "Activations in host memory are not modelled.",
    ),
    Flag::not_modelled_unless(
        &["cuda-graph-impl"],
        &["none"],
        "CUDA graphs keep memory of their own.",
    ),
    Flag::not_modelled(
        &["rampup-batch-size", "step-batch-size-schedule"],
        "The last batch counts here.",
    )
    .taking(Takes::Many),
    Flag::not_modelled(
        &["offload-modules", "cuda-graph-scope", "cuda-graph-modules"],
        "It is not modelled.",
    )
    .taking(Takes::Many),
    Flag::not_modelled(
        &["experimental-attention-variant", "dsa-indexer-topk"],
        "This kind of attention is not read from here.",
    ),
    Flag::not_modelled(
        &["dsa-indexer-n-heads", "dsa-indexer-head-dim"],
        "This kind of attention is not read from here.",
    ),
    Flag::not_modelled(
        &["moe-latent-size", "moe-expert-rank-capacity-factor"],
        "Experts of this kind are not read from here.",
    ),
    Flag::not_modelled_unless(
        &["eval-micro-batch-size"],
        &[],
        "Evaluations are not modelled for Megatron-Core.",
    ),
    Flag::not_modelled_unless(
        &["empty-unused-memory-level"],
        &["0"],
        "The allocator gives memory back between steps.",
    ),
];

/// Arguments of that kind without a value.
pub const NOT_MODELLED_ALONE: &[Flag] = &[
    Flag::not_modelled(
        &["optimizer-cuda-graph", "enable-cuda-graph", "external-cuda-graph"],
        "CUDA graphs keep memory.",
    )
    .alone(),
    Flag::not_modelled(
        &["fp8-param-gather", "fp4-param-gather", "first-last-layers-bf16"],
        "It belongs to fp8 or fp4.",
    )
    .alone(),
    Flag::not_modelled(
        &["reuse-grad-buf-for-mxfp8-param-ag", "keep-fp8-transpose-cache"],
        "It belongs to fp8.",
    )
    .alone(),
    Flag::not_modelled(
        &["use-megatron-fsdp", "use-torch-fsdp2", "use-custom-fsdp"],
        "FSDP under Megatron is not modelled.",
    )
    .alone(),
    Flag::not_modelled(
        &["fsdp-double-buffer", "use-nccl-ub", "enable-full-sharding-in-hsdp"],
        "It is not modelled.",
    )
    .alone(),
    Flag::not_modelled(
        &["distribute-saved-activations"],
        "Saved activations are counted whole on each GPU.",
    )
    .alone(),
    Flag::not_modelled(
        &["fine-grained-activation-offloading"],
        "Activations in host memory are not modelled.",
    )
    .alone(),
    Flag::not_modelled(
        &["overlap-param-gather-with-optimizer-step"],
        "Its buffers are not modelled.",
    )
    .alone(),
    Flag::not_modelled(
        &["defer-embedding-wgrad-compute", "delay-wgrad-compute"],
        "Weight gradients that wait take memory.",
    )
    .alone(),
    Flag::not_modelled(&["overlap-moe-expert-parallel-comm"], "It keeps more at once.").alone(),
    Flag::not_modelled(&["moe-enable-deepep", "moe-layer-recompute"], "It is not modelled.")
        .alone(),
    Flag::not_modelled(
        &["moe-apply-probs-on-input", "moe-paged-stash", "moe-use-upcycling"],
        "It is not modelled.",
    )
    .alone(),
    Flag::not_modelled(
        &["tp-comm-overlap"],
        "Buffers of products that overlap messages are not modelled.",
    )
    .alone(),
    Flag::not_modelled(&["fp32-residual-connection"], "The residual stream is counted in 16 bits.")
        .alone(),
    Flag::not_modelled(
        &["mtp-standalone", "mtp-use-repeated-layer", "hybrid-context-parallel"],
        "It is not modelled.",
    )
    .alone(),
    Flag::not_modelled(
        &["decrease-batch-size-if-needed", "freeze-all-layers"],
        "It is not modelled.",
    )
    .alone(),
    Flag::not_modelled(
        &["use-transformer-engine-op-fuser", "fused-residual-rmsnorm"],
        "Other kernels keep other tensors.",
    )
    .alone(),
    Flag::not_modelled(
        &["ddp-reduce-scatter-with-fp32-accumulation"],
        "Its buffers are not modelled.",
    )
    .alone(),
    // These are on by default; switching them off, with `--no-`, is not modelled.
    Flag { names: &["bias-swiglu-fusion", "bias-gelu-fusion", "bias-activation-fusion"], ..FUSION },
    Flag { names: &["bias-dropout-fusion"], ..FUSION },
    Flag {
        names: &["apply-rope-fusion", "masked-softmax-fusion", "persist-layer-norm"],
        ..NO_FUSION
    },
];

const FUSION: Flag = Flag::by(&[""], |reading, given| {
    if given.is_on() == Some(false) {
        reading.not_modelled(given, "Bias and activation function are counted as one kernel.");
    }
    Ok(())
})
.alone();

/// Fused kernels that change only short-lived tensors.
const NO_FUSION: Flag = Flag::no_effect(&[""]).alone();

fn stage(reading: &mut Reading<'_>, given: &Given, id: FieldId) -> Result<(), String> {
    let layers = given.whole()?;
    reading.read(given, id, Value::Integer(layers));
    Ok(())
}

fn precision(reading: &mut Reading<'_>, given: &Given, format: &'static str) -> Result<(), String> {
    if given.is_on() == Some(true) {
        reading.read(given, FieldId::Precision, Value::Choice(format));
    }
    Ok(())
}

/// Modules that selective recomputation covers, with the words of `recompute_modules`.
pub const MODULES: [(&str, FieldId); 7] = [
    ("core_attn", FieldId::RecomputeCore),
    ("layernorm", FieldId::RecomputeNorms),
    ("mlp", FieldId::RecomputeMlp),
    ("mla_up_proj", FieldId::RecomputeLatent),
    ("moe", FieldId::RecomputeExperts),
    ("moe_act", FieldId::RecomputeExpertAct),
    ("shared_experts", FieldId::RecomputeShared),
];

fn modules(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let names = given.list();
    for (name, id) in MODULES {
        reading.scenario.set(id, Value::Flag(names.iter().any(|own| own == name)));
    }
    let unknown: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| MODULES.iter().all(|(own, _)| own != name))
        .collect();
    if unknown.is_empty() {
        reading.tell(given, crate::launch::Way::Read, String::new());
    } else {
        reading.not_modelled(
            given,
            &format!("Recomputation of {} is not modelled.", unknown.join(", ")),
        );
    }
    Ok(())
}

/// Optimizer states in the host's memory: all of them, which is the default of
/// `optimizer_offload_fraction` in both tools.
fn states_on_the_host(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let share = reading.stated(&["optimizer-offload-fraction"]).cloned();
    if given.is_on() == Some(false) {
        reading.read(given, FieldId::OffloadOptimizer, Value::Flag(false));
    } else if let Some(share) = share.filter(|share| share.number() != Ok(1.0)) {
        reading.not_modelled(&share, "A part of the states in host memory is not modelled.");
    } else {
        reading.read(given, FieldId::OffloadOptimizer, Value::Flag(true));
    }
    Ok(())
}

/// Megatron-Core's optimizer that keeps states in other formats. In host memory it makes no
/// difference to the device: `HybridDeviceOptimizer` is given none of those formats.
fn precision_aware(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let on_the_host = reading
        .stated(&["optimizer-cpu-offload"])
        .is_some_and(|offload| offload.is_on() != Some(false));
    if on_the_host || given.is_on() == Some(false) {
        reading.tell(given, crate::launch::Way::Read, String::new());
    } else {
        reading.not_modelled(given, "This optimizer is not modelled.");
    }
    Ok(())
}

/// The attention kernel. `auto` leaves the choice to Transformer Engine, which takes cuDNN's on
/// Hopper and later (`dot_product_attention/utils.py`, `get_attention_backend`).
fn attention(reading: &mut Reading<'_>, given: &Given) -> Result<(), String> {
    let text = given.text();
    let (kernel, fused) = match text.rsplit('.').next().unwrap_or_default() {
        "flash" | "flash_2" | "flash_3" | "flash_4" => ("flash", false),
        "fused" | "auto" => ("flash", true),
        "unfused" | "local" => ("standard", true),
        _ => return Err("takes flash, fused, unfused, local or auto".to_owned()),
    };
    reading.read(given, FieldId::Attention, Value::Choice(kernel));
    reading.derive(given, FieldId::FusedAttention, Value::Flag(fused), "");
    Ok(())
}
