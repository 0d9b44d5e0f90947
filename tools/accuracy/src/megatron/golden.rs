//! Megatron-LM's functional tests: what its last rank logged, with the arguments of the test.
//!
//! An argument that is not stated has Megatron-LM's default (`megatron/training/arguments.py`):
//! dropout 0.1, a GPT-2 vocabulary, layer norms, biases, learned positions, a tied head, and an
//! attention mask from the data loader.

use std::num::NonZeroU64;

use headroom::config::{
    AttentionKernel, DataSharding, GradientDType, HiddenAct, LayerSet, MegatronOptions, MlpKind,
    ModelConfig, Moe, Normalization, ParallelLayout, PositionEmbedding, Recompute, RecomputeMethod,
    TrainingRun,
};
use headroom::estimator::stage_ledger;
use headroom::units::Bytes;

use super::super::row::{Comparison, Fields, Quantity, sharding, stack};
use super::{MIB, OLD_CUBLAS_WORKSPACE, job};

/// Ids of the GPT-2 tokenizer, the default of the tests.
const GPT2_VOCABULARY: u64 = 50_257;

/// Arguments that change no tensor's size.
const WITHOUT_EFFECT: [&str; 30] = [
    "attention-softmax-in-fp32",
    "bf16",
    "calculate-per-token-loss",
    "check-weight-hash-across-dp-replicas-interval",
    "cp-comm-type",
    "ddp-average-in-collective",
    "deterministic-mode",
    "disable-gloo-process-groups",
    "fim-data",
    "fim-rate",
    "fim-spm-rate",
    "hierarchical-context-parallel-sizes",
    "max-position-embeddings",
    "merge-file",
    "moe-aux-loss-coeff",
    "moe-router-load-balancing-type",
    "no-bias-gelu-fusion",
    "no-ckpt-fully-parallel-save",
    "no-rope-fusion",
    "overlap-grad-reduce",
    "overlap-p2p-communication-warmup-flush",
    "overlap-param-gather",
    "overlap-param-gather-with-optimizer-step",
    "rotary-interleaved",
    "test-mode",
    "tokenizer-type",
    "use-tp-pp-dp-mapping",
    "vocab-file",
    "apply-query-key-layer-scaling",
    "verify-integrity",
];

/// Arguments that are read.
const READ: [&str; 36] = [
    "attention-backend",
    "attention-dropout",
    "context-parallel-size",
    "defer-embedding-wgrad-compute",
    "disable-bias-linear",
    "expert-model-parallel-size",
    "expert-tensor-parallel-size",
    "ffn-hidden-size",
    "global-batch-size",
    "hidden-dropout",
    "hidden-size",
    "micro-batch-size",
    "microbatch-group-size-per-virtual-pipeline-stage",
    "moe-ffn-hidden-size",
    "moe-grouped-gemm",
    "moe-router-topk",
    "no-create-attention-mask-in-dataloader",
    "no-gradient-accumulation-fusion",
    "num-attention-heads",
    "num-experts",
    "num-layers",
    "num-layers-per-virtual-pipeline-stage",
    "pipeline-model-parallel-size",
    "position-embedding-type",
    "qk-layernorm",
    "recompute-granularity",
    "recompute-method",
    "recompute-num-layers",
    "seq-length",
    "sequence-parallel",
    "swiglu",
    "tensor-model-parallel-size",
    "transformer-impl",
    "untie-embeddings-and-output-weights",
    "use-distributed-optimizer",
    "wgrad-deferral-limit",
];

pub fn outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let consistency = row.text("/consistency")?;
    if consistency != "ok" {
        return Err(format!("the row's model or world size is not certain: {consistency}"));
    }
    let arguments = Arguments(row);
    arguments.check()?;
    let layout = layout(arguments)?;
    let job = job(model(arguments)?, run(arguments, &layout)?, layout)?;
    let ledger = stage_ledger(&job, layout.p() - 1).ok_or("no training run")?;
    let measured = row.count("/values/mem_max_allocated_bytes_steady")?;
    Ok(vec![Comparison { quantity: Quantity::Peak, ours: ledger.total().0, measured }])
}

/// The arguments of a test.
#[derive(Clone, Copy)]
struct Arguments<'a>(Fields<'a>);

impl Arguments<'_> {
    fn pointer(key: &str) -> String {
        format!("/config/{key}")
    }

    fn check(self) -> Result<(), String> {
        let stated = self.0.value("/config")?.as_object().ok_or("config is no group of keys")?;
        let known =
            |key: &str| READ.contains(&key) || WITHOUT_EFFECT.contains(&key) || key == "vocab-size";
        match stated.keys().find(|key| !known(key.as_str())) {
            Some(key) => Err(format!("the argument {key} is not modelled")),
            None if self.0.is_absent("/config/attention-backend") => {
                Err("the attention backend is left to Transformer Engine and not stated".to_owned())
            }
            None => Ok(()),
        }
    }

    fn has(self, key: &str) -> bool {
        self.0.flag(&Self::pointer(key)).unwrap_or(false)
    }

    fn count(self, key: &str) -> Result<u64, String> {
        self.0.count(&Self::pointer(key))
    }

    fn count_or(self, key: &str, default: u64) -> Result<u64, String> {
        if self.0.is_absent(&Self::pointer(key)) { Ok(default) } else { self.count(key) }
    }

    fn degree(self, key: &str) -> Result<NonZeroU64, String> {
        self.0.degree(&Self::pointer(key))
    }

    fn text_or<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.0.text(&Self::pointer(key)).unwrap_or(default)
    }

    /// True if a dropout probability is above 0; the default is 0.1.
    fn drops(self, key: &str) -> Result<bool, String> {
        let pointer = Self::pointer(key);
        if self.0.is_absent(&pointer) {
            Ok(true)
        } else {
            self.0.number(&pointer).map(|probability| probability > 0.0)
        }
    }
}

fn layout(arguments: Arguments<'_>) -> Result<ParallelLayout, String> {
    let optional = |key| {
        if arguments.0.is_absent(&Arguments::pointer(key)) {
            Ok(None)
        } else {
            arguments.degree(key).map(Some)
        }
    };
    let tensor = arguments.degree("tensor-model-parallel-size")?;
    let mut layout = ParallelLayout {
        tensor_model_parallel_size: tensor,
        pipeline_model_parallel_size: arguments.degree("pipeline-model-parallel-size")?,
        context_parallel_size: arguments.degree("context-parallel-size")?,
        expert_model_parallel_size: arguments.degree("expert-model-parallel-size")?,
        expert_tensor_parallel_size: optional("expert-tensor-parallel-size")?,
        // Megatron-LM's arguments.py switches it off where there is nothing to split.
        sequence_parallel: arguments.has("sequence-parallel") && tensor.get() > 1,
        sharding: if arguments.has("use-distributed-optimizer") {
            sharding("1")?
        } else {
            DataSharding::NOTHING
        },
        ..ParallelLayout::SINGLE
    };
    let ranks = arguments.0.count("/world_size")?;
    layout.data_parallel_size = NonZeroU64::new(ranks / layout.world_size())
        .ok_or("the world is smaller than the layout asks for")?;
    if let Some(blocks) = optional("num-layers-per-virtual-pipeline-stage")? {
        let chunks = arguments.count("num-layers")? / layout.p() / blocks;
        layout.virtual_pipeline_model_parallel_size =
            NonZeroU64::new(chunks).ok_or("a chunk is larger than a stage")?;
    }
    Ok(layout)
}

fn model(arguments: Arguments<'_>) -> Result<ModelConfig, String> {
    let (hidden_size, heads) =
        (arguments.count("hidden-size")?, arguments.count("num-attention-heads")?);
    let gated = arguments.has("swiglu");
    // Megatron-LM's default width, rounded down to a multiple of 64 where a gate shares it.
    let width = if gated { 4 * hidden_size * 2 / 3 / 64 * 64 } else { 4 * hidden_size };
    let intermediate_size = arguments.count_or("ffn-hidden-size", width)?;
    let biased = !arguments.has("disable-bias-linear");
    let position_embedding = match arguments.text_or("position-embedding-type", "learned_absolute")
    {
        "learned_absolute" => PositionEmbedding::Learned,
        "rope" => PositionEmbedding::Rotary,
        other => return Err(format!("positions of type {other} are not modelled")),
    };
    Ok(ModelConfig {
        hidden_size,
        intermediate_size,
        num_hidden_layers: arguments.count("num-layers")?,
        num_attention_heads: heads,
        num_key_value_heads: heads,
        head_dim: hidden_size / heads.max(1),
        vocab_size: arguments.count_or("vocab-size", GPT2_VOCABULARY)?,
        position_rows: arguments
            .count_or("max-position-embeddings", arguments.count("seq-length")?)?,
        normalization: Normalization::LayerNorm,
        mlp: if gated { MlpKind::Gated } else { MlpKind::Plain },
        hidden_act: if gated { HiddenAct::Silu } else { HiddenAct::Gelu },
        position_embedding,
        attention_bias: biased,
        attention_output_bias: biased,
        mlp_bias: biased,
        tie_word_embeddings: !arguments.has("untie-embeddings-and-output-weights"),
        qk_norm: arguments.has("qk-layernorm"),
        moe: moe(arguments, intermediate_size)?,
        ..ModelConfig::plain()
    })
}

fn moe(arguments: Arguments<'_>, intermediate_size: u64) -> Result<Option<Moe>, String> {
    let num_experts = arguments.count_or("num-experts", 0)?;
    if num_experts == 0 {
        return Ok(None);
    }
    Ok(Some(Moe {
        num_experts,
        num_experts_per_tok: arguments.count_or("moe-router-topk", 2)?,
        moe_intermediate_size: arguments.count_or("moe-ffn-hidden-size", intermediate_size)?,
        shared_expert_intermediate_size: 0,
        shared_expert_gate: false,
        layers: LayerSet::All,
        n_group: 1,
        topk_group: 1,
        norm_topk_prob: false,
        bias: false,
        latent: 0,
    }))
}

fn run(arguments: Arguments<'_>, layout: &ParallelLayout) -> Result<TrainingRun, String> {
    let (attention, fused_attention) = match arguments.text_or("attention-backend", "auto") {
        "unfused" => (AttentionKernel::Standard, false),
        "flash" => (AttentionKernel::Flash, false),
        "fused" => (AttentionKernel::Flash, true),
        other => return Err(format!("the attention backend {other} is not modelled")),
    };
    let recompute = match arguments.text_or("recompute-granularity", "none") {
        "none" => Recompute::None,
        "selective" => Recompute::Selective,
        "full" => Recompute::Full,
        other => return Err(format!("recomputation of {other} is not modelled")),
    };
    Ok(TrainingRun {
        seq_length: arguments.count("seq-length")?,
        global_batch_size: arguments.count("global-batch-size")?,
        micro_batch_size: Some(arguments.count("micro-batch-size")?),
        gradients: GradientDType::Fp32,
        stack: stack("megatron")?,
        attention,
        recompute,
        megatron: options(arguments, layout, fused_attention)?,
        ..TrainingRun::plain()
    })
}

fn options(
    arguments: Arguments<'_>,
    layout: &ParallelLayout,
    fused_attention: bool,
) -> Result<MegatronOptions, String> {
    let blocks = arguments.degree("recompute-num-layers")?;
    let group = "microbatch-group-size-per-virtual-pipeline-stage";
    let grouped = !arguments.0.is_absent(&Arguments::pointer(group)) && layout.chunks() > 1;
    let (transformer_engine_workspace, cublas_workspace) = workspaces(arguments)?;
    Ok(MegatronOptions {
        hidden_dropout: arguments.drops("hidden-dropout")?,
        attention_dropout: arguments.drops("attention-dropout")?,
        gradient_accumulation_fusion: !arguments.has("no-gradient-accumulation-fusion"),
        fused_attention,
        transformer_engine: arguments.text_or("transformer-impl", "transformer_engine")
            == "transformer_engine",
        recompute_method: match arguments.text_or("recompute-method", "uniform") {
            "block" => RecomputeMethod::Block(blocks.get()),
            _ => RecomputeMethod::Uniform(blocks),
        },
        microbatch_group_size_per_vp_stage: if grouped {
            Some(arguments.degree(group)?)
        } else {
            None
        },
        moe_grouped_gemm: arguments.has("moe-grouped-gemm"),
        wgrad_deferral_limit: if arguments.has("defer-embedding-wgrad-compute") {
            arguments.count("wgrad-deferral-limit")?
        } else {
            0
        },
        create_attention_mask: !arguments.has("no-create-attention-mask-in-dataloader"),
        transformer_engine_workspace,
        cublas_workspace,
        ..MegatronOptions::DEFAULT
    })
}

/// Workspaces by platform. Deterministic runs set `CUBLAS_WORKSPACE_CONFIG=:4096:8`, which is 32
/// MiB.
fn workspaces(arguments: Arguments<'_>) -> Result<(Bytes, Bytes), String> {
    let deterministic = arguments.has("deterministic-mode");
    match arguments.0.text("/platform")? {
        "dgx_a100" => {
            Ok((Bytes(4 * MIB), if deterministic { Bytes(32 * MIB) } else { OLD_CUBLAS_WORKSPACE }))
        }
        "dgx_h100" | "dgx_gb200" => Ok((Bytes(32 * MIB), Bytes(32 * MIB))),
        other => Err(format!("the platform {other} is not known")),
    }
}
