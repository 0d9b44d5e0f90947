//! Megatron-LM: `pretrain_gpt.py` with its arguments, which also state the model's sizes.
//!
//! Read in megatron-core 0.19.2: `megatron/training/arguments.py` (`validate_args` for dependent
//! defaults), `TransformerConfig`.

use super::{FormatRole, FormatSpec};
use crate::launch::shared::tables::megatron_quiet;
use crate::launch::shared::{count, is_on, whole, word};
use crate::launch::shared::{megatron, megatron_flags, megatron_model};
use crate::launch::{Flag, Given, LaunchError, Reading, Stated, Takes, Text, Writing};
use crate::scenario::{FieldId, Value};

pub(super) const FORMAT: FormatSpec = FormatSpec {
    key: "megatron_lm",
    label: "Megatron-LM",
    version: "megatron-core 0.19.2",
    source: "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.19.2/megatron/training/arguments.py",
    place: 33,
    role: FormatRole::Whole,
    open,
    flags: &[
        OWN,
        MODEL,
        megatron_flags::LAYOUT,
        megatron_flags::RUN,
        megatron_flags::NOT_MODELLED,
        megatron_flags::NOT_MODELLED_ALONE,
        megatron_quiet::QUIET,
        megatron_quiet::ALONE,
        megatron_quiet::MANY,
    ],
    begin,
    end,
    write: Some(write),
    further: &[
        FieldId::Model,
        FieldId::Sizes,
        FieldId::Gpus,
        FieldId::GlobalBatchSize,
        FieldId::Precision,
        FieldId::Gradients,
        FieldId::Sharding,
        FieldId::SequenceParallel,
        FieldId::VirtualPipeline,
        FieldId::LossFusion,
        FieldId::Attention,
        FieldId::FusedAttention,
        FieldId::TransformerEngine,
        FieldId::HiddenDropout,
        FieldId::AttentionDropout,
    ],
};

const OWN: &[Flag] = &[
    Flag::sets(&["seq-length"], FieldId::SeqLength),
    Flag::sets(&["make-vocab-size-divisible-by"], FieldId::VocabMultiple),
    Flag::together(&[
        "num-layers-per-virtual-pipeline-stage",
        "num-virtual-stages-per-pipeline-rank",
    ]),
    Flag::by(&["transformer-impl"], |reading, given| {
        match given.text().as_str() {
            "transformer_engine" => {
                reading.read(given, FieldId::TransformerEngine, Value::Flag(true));
            }
            "local" => reading.read(given, FieldId::TransformerEngine, Value::Flag(false)),
            _ => reading.not_modelled(given, "Modules of this kind are not modelled."),
        }
        Ok(())
    }),
    Flag::by(&["use-flash-attn"], |reading, given| {
        reading.read(given, FieldId::Attention, Value::Choice("flash"));
        Ok(())
    })
    .alone(),
    Flag::by(&["hidden-dropout"], |reading, given| dropout(reading, given, FieldId::HiddenDropout)),
    Flag::by(&["attention-dropout"], |reading, given| {
        dropout(reading, given, FieldId::AttentionDropout)
    }),
];

/// The model's sizes, which are interpreted together.
const MODEL: &[Flag] = &[
    Flag::together(&[
        "num-layers",
        "encoder-num-layers",
        "hidden-size",
        "ffn-hidden-size",
        "num-attention-heads",
        "kv-channels",
    ]),
    Flag::together(&[
        "num-query-groups",
        "max-position-embeddings",
        "position-embedding-type",
        "normalization",
        "vocab-size",
    ]),
    Flag::together(&["tokenizer-type", "tokenizer-model", "padded-vocab-size"]),
    Flag::together(&[
        "group-query-attention",
        "use-rotary-position-embeddings",
        "no-position-embedding",
        "swiglu",
    ])
    .alone(),
    Flag::together(&[
        "squared-relu",
        "quick-geglu",
        "disable-bias-linear",
        "add-qkv-bias",
        "qk-layernorm",
    ])
    .alone(),
    Flag::together(&[
        "untie-embeddings-and-output-weights",
        "multi-latent-attention",
        "moe-shared-expert-gate",
    ])
    .alone(),
    Flag::together(&[
        "num-experts",
        "moe-router-topk",
        "moe-ffn-hidden-size",
        "moe-shared-expert-intermediate-size",
    ]),
    Flag::together(&["moe-layer-freq", "moe-router-num-groups", "moe-router-group-topk"]),
    Flag::together(&[
        "q-lora-rank",
        "kv-lora-rank",
        "qk-head-dim",
        "qk-pos-emb-head-dim",
        "v-head-dim",
    ]),
    Flag::not_modelled(
        &["window-size", "window-attn-skip-freq", "no-rope-freq"],
        "Attention windows are not read from here.",
    ),
    Flag::not_modelled(&["spec"], "A layer specification of its own is not known here.")
        .taking(Takes::Many),
    Flag::not_modelled(
        &["hybrid-layer-pattern", "hybrid-override-pattern"],
        "Hybrid models are not read from here.",
    ),
    Flag::not_modelled(
        &["heterogeneous-layers-config-path", "linear-attention-freq"],
        "Layers of this kind are not read from here.",
    ),
    Flag::not_modelled(&["yaml-cfg"], "Arguments in YAML are not read."),
    Flag::not_modelled(
        &["attention-output-gate", "qk-l2-norm"],
        "Attention of this kind is not read from here.",
    )
    .alone(),
    Flag::not_modelled(
        &["apply-residual-connection-post-layernorm"],
        "Blocks of this kind are not modelled.",
    )
    .alone(),
];

fn open(text: &Text<'_>) -> Option<Result<Stated, LaunchError>> {
    let run = text.invocations().iter().find(|run| run.program == "pretrain_gpt.py")?;
    Some(Ok(run.stated(0, FORMAT.flags)))
}

fn begin(reading: &mut Reading<'_>) {
    let choice = Value::Choice;
    reading.scenario.set(FieldId::Mode, choice("train"));
    megatron::begin(reading);
    reading.default("params-dtype", FieldId::Precision, choice("fp32"));
    reading.default("params-dtype", FieldId::Gradients, choice("as-weights"));
    reading.default("hidden-dropout", FieldId::HiddenDropout, Value::Flag(true));
    reading.default("attention-dropout", FieldId::AttentionDropout, Value::Flag(true));
    reading.default("recompute-granularity", FieldId::Recompute, choice("none"));
    reading.default("use-distributed-optimizer", FieldId::Sharding, choice("none"));
    reading.default("cross-entropy-loss-fusion", FieldId::LossFusion, choice("none"));
    reading.default("attention-backend", FieldId::Attention, choice("flash"));
    reading.default("attention-backend", FieldId::FusedAttention, Value::Flag(true));
    reading.default("moe-token-dispatcher-type", FieldId::TokenDispatcher, choice("allgather"));
    reading.default("moe-grouped-gemm", FieldId::GroupedExperts, Value::Flag(false));
    reading.default("moe-permute-fusion", FieldId::PermuteFusion, Value::Flag(false));
    reading.default("make-vocab-size-divisible-by", FieldId::VocabMultiple, Value::Integer(128));
}

fn dropout(reading: &mut Reading<'_>, given: &Given, id: FieldId) -> Result<(), String> {
    let on = given.number()? > 0.0;
    reading.read(given, id, Value::Flag(on));
    Ok(())
}

fn end(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    megatron_model::read(reading)?;
    let own_modules = !is_on(&reading.scenario, FieldId::TransformerEngine);
    if own_modules {
        // Without Transformer Engine or Apex, Megatron-Core uses PyTorch's optimizer
        // (`core/optimizer/__init__.py`), and its own attention unless FlashAttention is requested.
        let how = "Without Transformer Engine, Megatron-Core takes PyTorch's.";
        reading.follows(
            "transformer-impl",
            FieldId::OptimizerImplementation,
            Value::Choice("foreach"),
            how,
        );
        if reading.stated(&["use-flash-attn", "attention-backend"]).is_none() {
            reading.follows(
                "transformer-impl",
                FieldId::Attention,
                Value::Choice("standard"),
                "Megatron-Core's own.",
            );
        }
    }
    stages(reading)?;
    megatron::end(reading, None)?;
    megatron::shared_experts(reading);
    Ok(())
}

/// The number of model chunks of a pipeline stage.
fn stages(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let chunks = count(reading, &["num-virtual-stages-per-pipeline-rank"])?;
    let each = count(reading, &["num-layers-per-virtual-pipeline-stage"])?.filter(|each| *each > 0);
    let stages = whole(&reading.scenario, FieldId::PipelineParallel).max(1);
    let layers = whole(&reading.scenario, FieldId::NumHiddenLayers);
    let found =
        chunks.or_else(|| each.map(|each| layers / stages / each)).filter(|chunks| *chunks > 0);
    if let Some(chunks) = found {
        let how = "Layers of a stage ÷ layers of a chunk.";
        reading.follows(
            "num-layers-per-virtual-pipeline-stage",
            FieldId::VirtualPipeline,
            Value::Integer(chunks),
            how,
        );
    }
    Ok(())
}

/// A switch of Megatron-LM: `--name`, or `--no-name` where it is on by default.
fn switch(writing: &mut Writing<'_>, name: &str, on: bool, fields: &[FieldId]) {
    match (name, on) {
        (_, true) => writing.say(name, None, fields),
        ("gradient-accumulation-fusion", false) => {
            writing.say("no-gradient-accumulation-fusion", None, fields);
        }
        _ => {}
    }
}

fn write(writing: &mut Writing<'_>) -> String {
    let scenario = writing.scenario;
    megatron_model::write(writing);
    let length = whole(scenario, FieldId::SeqLength).to_string();
    writing.say("seq-length", Some(length), &[FieldId::SeqLength]);
    megatron::write(writing, switch);
    if writing.differs(FieldId::TransformerEngine) && !is_on(scenario, FieldId::TransformerEngine) {
        writing.say("transformer-impl", Some("local".to_owned()), &[FieldId::TransformerEngine]);
    }
    for (key, id) in [
        ("hidden-dropout", FieldId::HiddenDropout),
        ("attention-dropout", FieldId::AttentionDropout),
    ] {
        if writing.differs(id) {
            writing.say(
                key,
                Some(if is_on(scenario, id) { "0.1" } else { "0.0" }.to_owned()),
                &[id],
            );
        }
    }
    let chunks = whole(scenario, FieldId::VirtualPipeline);
    if chunks > 1 {
        writing.say(
            "num-virtual-stages-per-pipeline-rank",
            Some(chunks.to_string()),
            &[FieldId::VirtualPipeline],
        );
    }
    writing.table();
    let gpus = whole(scenario, FieldId::Gpus);
    writing.is_said(&[FieldId::Gpus]);
    let node = whole(scenario, FieldId::AcceleratorsPerNode).max(1);
    let nodes = if gpus > node && gpus.is_multiple_of(node) { gpus / node } else { 1 };
    let several = if nodes > 1 { format!(" --nnodes {nodes}") } else { String::new() };
    let is_trained = word(scenario, FieldId::Mode) == "train";
    if !is_trained {
        writing.lacks("Megatron-LM trains all weights: what the scenario tunes is not said.");
    }
    format!(
        "torchrun --nproc_per_node {}{several} pretrain_gpt.py{}\n",
        gpus / nodes,
        writing.as_flags()
    )
}
