//! ms-swift's example scripts, with the memory that their authors wrote beside them: `max_memory_reserved` of its log, GiB.
//!
//! It is the highest of the whole run, evaluations included, of which the rows' `settings` say nothing. Without Liger an evaluation of
//! one sequence takes less than a step. Under Liger it writes the logits of every token that has a label (`skip_logits` of its
//! `lce_forward` is for training alone; transformers 5.10 does not ask for it in evaluations, 5.15 does), which a step does not. Two of the
//! scripts evaluate, as stored copies of them at other commits show. On the pretended GPU, under the Trainer:
//!
//! | script | of steps | with an evaluation in which all tokens have labels | published |
//! |---|---|---|---|
//! | `agent/qwen2_5.sh` (`eval_steps 100`) | 26.57 GiB | 35.32 GiB | 35 |
//! | `flash_attention_3/transformers.sh` (`eval_steps 200`) | 36.90 GiB | 57.66 GiB | 43 |
//!
//! `22GB` of `packing/llm.sh` (Qwen2.5-7B, adapters of rank 8, 2,048 tokens) is no measurement of that run: `lora_sft.sh`,
//! `early_stop/lora_sft.sh` and `notebook/qwen2_5-self-cognition/sft.sh` bear the same comment, the last of them for Qwen2.5-3B, whose weights
//! are 8.5 GiB smaller. The Trainer with ms-swift's loss takes 19.54 GiB on the pretended GPU, with and without evaluations.
//!
//! Adapters under Megatron-Core: the job of `flash_attention_3/mcore.sh` (48 and 49 GiB) reserves 37.6 GiB on the pretended GPU, where every
//! expert gets equally many tokens (`a145eec6c9` in `tests/data/cuda/megatron_lora.jsonl`), and that of `lora/moe.sh` 62.3 GiB (published: 62).

use serde_json::{Map, Value, json};

use super::super::pretend;
use super::super::row::Fields;
use super::{Found, reserved, runs};

/// Settings that change no tensor, and those of the launch that `measured.gpus` repeats.
const WITHOUT_EFFECT: [&str; 4] = ["CUDA_VISIBLE_DEVICES", "NPROC_PER_NODE", "packing", "verb"];

/// Settings of runs that read images, sounds and films, and of the towers that read them. The catalog has the texts' part of a model.
const OF_TOWERS: [&str; 7] = [
    "MAX_PIXELS",
    "VIDEO_MAX_PIXELS",
    "FPS_MAX_FRAMES",
    "freeze_llm",
    "freeze_vit",
    "freeze_aligner",
    "vit_gradient_checkpointing",
];

/// Settings of Megatron-Core that change memory in a way that is not modelled.
const NOT_MODELLED: [(&str, &str); 3] = [
    ("optimizer_cpu_offload", "Megatron-Core's optimizer in host memory is not modelled"),
    ("fp8_format", "Megatron-Core's weights and products in fp8 are not modelled"),
    ("exp_avg_dtype", "Megatron-Core's moments in 16 bits are not modelled"),
];

/// Settings of the Transformers side that are read.
const TRANSFORMERS: [&str; 18] = [
    "model",
    "tuner_type",
    "torch_dtype",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "max_length",
    "deepspeed",
    "use_liger_kernel",
    "attn_impl",
    "lora_rank",
    "target_modules",
    "PYTORCH_CUDA_ALLOC_CONF",
    "gradient_checkpointing",
    "padding_free",
    "split_dataset_ratio",
    "eval_strategy",
    "eval_steps",
    "per_device_eval_batch_size",
];

/// Settings of the Megatron side that are read.
const MEGATRON: [&str; 22] = [
    "model",
    "tuner_type",
    "lora_rank",
    "target_modules",
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "micro_batch_size",
    "global_batch_size",
    "recompute_granularity",
    "recompute_method",
    "recompute_num_layers",
    "cross_entropy_loss_fusion",
    "max_length",
    "sequence_parallel",
    "attention_backend",
    "PYTORCH_CUDA_ALLOC_CONF",
    "padding_free",
    "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers",
];

/// A row of ms-swift. Lengths are known where sequences are packed: each then has `max_length` tokens.
pub fn found(row: Fields<'_>) -> Found {
    let settings = Settings(row);
    let verb = settings.text("verb").unwrap_or("");
    let software = if verb.starts_with("megatron") { "ms-swift, Megatron" } else { "ms-swift, Transformers" };
    let complete = settings.is_on("packing");
    let outcome = || {
        if !complete {
            return Err("without packing the longest batch decides, and it is not known".to_owned());
        }
        let gib = row.number("/measured/per_gpu")?;
        if [24.0, 80.0, 90.0].iter().any(|card: &f64| card.to_bits() == gib.to_bits()) {
            return Err("the figure can be the card's memory".to_owned());
        }
        if OF_TOWERS.iter().any(|key| settings.text(key).is_ok()) {
            return Err("towers that see or hear are not modelled".to_owned());
        }
        let described = match verb {
            "megatron sft" | "megatron pt" => megatron(settings)?,
            "swift sft" | "swift pt" => transformers(settings)?,
            other => return Err(format!("{other} is not mapped")),
        };
        let mut ours = pretend::expressed(Fields(&described))?;
        // Megatron's log has the highest of all ranks (`reduce_max_stat_across_model_parallel_group`).
        ours.rank = None;
        runs(&ours.job)?;
        reserved(&ours, gib)
    };
    Found { software, complete, outcome: outcome() }
}

/// The settings of a row: texts, as a shell has them.
#[derive(Clone, Copy)]
struct Settings<'a>(Fields<'a>);

impl<'a> Settings<'a> {
    fn text(self, key: &str) -> Result<&'a str, String> {
        self.0.text(&format!("/settings/{key}"))
    }

    /// Whether a setting is on. A figure that was taken without some settings of its script says so: "Not using use_liger_kernel and packing".
    fn is_on(self, key: &str) -> bool {
        let without = self.0.text("/question").ok().and_then(|question| question.split_once("Not using "));
        let is_left_out = without.is_some_and(|(_, named)| named.split(':').next().is_some_and(|named| named.contains(key)));
        self.text(key) == Ok("true") && !is_left_out
    }

    fn count(self, key: &str) -> Result<u64, String> {
        let text = self.text(key)?;
        text.parse().map_err(|_| format!("{key} {text} is no whole number"))
    }

    fn count_or_one(self, key: &str) -> Result<u64, String> {
        if self.0.is_absent(&format!("/settings/{key}")) { Ok(1) } else { self.count(key) }
    }

    /// Fails with the first setting that is not read.
    fn only_known(self, known: &[&str]) -> Result<(), String> {
        let stated = self.0.value("/settings")?.as_object().ok_or("settings is no group of keys")?;
        match stated.keys().find(|key| !known.contains(&key.as_str()) && !WITHOUT_EFFECT.contains(&key.as_str())) {
            Some(key) => Err(format!("the setting {key} is not mapped")),
            None => Ok(()),
        }
    }

    fn allocator(self) -> &'a str {
        self.text("PYTORCH_CUDA_ALLOC_CONF").unwrap_or("")
    }
}

/// `swift sft`: the Trainer with ms-swift's defaults, which recompute every layer and take fused AdamW.
fn transformers(settings: Settings<'_>) -> Result<Value, String> {
    settings.only_known(&TRANSFORMERS)?;
    if settings.text("torch_dtype")? != "bfloat16" {
        return Err("weights in another format than bf16 are not mapped".to_owned());
    }
    if !settings.text("attn_impl")?.starts_with("flash_att") {
        return Err("attention without a flash kernel is not mapped".to_owned());
    }
    let mut flags = Map::new();
    flags.insert("liger".to_owned(), json!(settings.is_on("use_liger_kernel")));
    if let Some(batch) = evaluation_batch(settings)? {
        // The scripts ran under transformers up to 5.10.
        flags.insert("eval".to_owned(), json!({ "batch": batch, "logits": true }));
    }
    match settings.text("tuner_type")? {
        "full" => {}
        "lora" => {
            // Where a script is silent: rank 8 beside every linear layer (`arguments/tuner_args.py`).
            let named: Vec<&str> = settings.text("target_modules").unwrap_or("all-linear").split_whitespace().collect();
            let targets = if let [one] = named.as_slice() { json!(one) } else { json!(named) };
            let r = if settings.text("lora_rank").is_ok() { settings.count("lora_rank")? } else { 8 };
            flags.insert("lora".to_owned(), json!({ "r": r, "targets": targets }));
        }
        other => return Err(format!("the tuner {other} is not mapped")),
    }
    if let Ok(file) = settings.text("deepspeed") {
        flags.insert("deepspeed".to_owned(), zero(file)?);
    }
    let recompute = if settings.text("gradient_checkpointing").unwrap_or("true") == "true" { "full" } else { "none" };
    Ok(json!({
        "kind": "pretend_framework", "framework": "trainer", "catalog": settings.text("model")?, "rank": 0,
        "run": {
            "seq_length": settings.count("max_length")?, "micro_batch_size": settings.count("per_device_train_batch_size")?,
            "precision": "bf16", "recompute": recompute, "alloc_conf": settings.allocator(),
            "gradient_accumulation_steps": settings.count_or_one("gradient_accumulation_steps")?,
        },
        "parallel": { "size": settings.0.count("/measured/gpus")? },
        "flags": flags,
    }))
}

/// Sequences of an evaluation; `None` where nothing is set apart for one, or none is wanted (`arguments/base_args/data_args.py`).
fn evaluation_batch(settings: Settings<'_>) -> Result<Option<u64>, String> {
    let sets_apart = settings.text("split_dataset_ratio").is_ok_and(|ratio| ratio.parse::<f64>().is_ok_and(|ratio| ratio > 0.0));
    if !sets_apart || settings.text("eval_strategy") == Ok("no") {
        return Ok(None);
    }
    settings.count_or_one("per_device_eval_batch_size").map(Some)
}

/// `zero_optimization` of a file of DeepSpeed that ms-swift 4.0 brings along (`config/zero*.json`).
fn zero(file: &str) -> Result<Value, String> {
    let (name, offloads) = file.strip_suffix("_offload").map_or((file, false), |name| (name, true));
    match (name, offloads) {
        ("zero0", false) => Ok(replicated(0, false)),
        ("zero1", false) => Ok(replicated(1, false)),
        ("zero2", _) => Ok(replicated(2, offloads)),
        ("zero3", _) => Ok(json!({
            "stage": 3, "overlap_comm": false, "contiguous_gradients": true, "sub_group_size": 1_000_000_000,
            "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
            "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 1_000_000_000,
            "stage3_max_reuse_distance": 1_000_000_000, "offload_optimizer": offloads, "offload_param": offloads,
        })),
        _ => Err(format!("DeepSpeed's file {file} is not mapped")),
    }
}

/// The stages that keep all weights on every rank.
fn replicated(stage: u64, offloads: bool) -> Value {
    json!({
        "stage": stage, "overlap_comm": false, "contiguous_gradients": true, "allgather_partitions": true,
        "allgather_bucket_size": 200_000_000, "reduce_scatter": true, "reduce_bucket_size": 200_000_000,
        "offload_optimizer": offloads,
    })
}

/// Adapters of `megatron sft`: rank 8 beside every linear layer, with dropout, where a script is silent (`arguments/megatron_args.py`).
fn megatron_adapters(settings: Settings<'_>) -> Result<Option<Value>, String> {
    match settings.text("tuner_type").unwrap_or("full") {
        "full" => return Ok(None),
        "lora" => {}
        other => return Err(format!("the tuner {other} is not mapped")),
    }
    let targets = settings.text("target_modules").unwrap_or("all-linear");
    if targets.contains("all-router") {
        return Err("adapters beside routers are not modelled".to_owned());
    }
    let r = if settings.text("lora_rank").is_ok() { settings.count("lora_rank")? } else { 8 };
    Ok(Some(json!({ "r": r, "dropout": 0.05, "targets": targets })))
}

/// `megatron sft`: Megatron-Core with Transformer Engine and the distributed optimizer.
fn megatron(settings: Settings<'_>) -> Result<Value, String> {
    if let Some((_, reason)) = NOT_MODELLED.iter().find(|(key, _)| settings.text(key).is_ok()) {
        return Err((*reason).to_owned());
    }
    settings.only_known(&MEGATRON)?;
    let degree = |key: &str| settings.count_or_one(&format!("{key}_parallel_size"));
    let (tp, pp, cp) = (degree("tensor_model")?, degree("pipeline_model")?, degree("context")?);
    let gpus = settings.0.count("/measured/gpus")?;
    let ranks = gpus / (tp * pp * cp).max(1);
    let batch = settings.count("micro_batch_size")?;
    let steps = settings.count("global_batch_size")? / (batch * ranks).max(1);
    let mut parallel = json!({
        "size": gpus, "tp": tp, "pp": pp, "cp": cp, "ep": degree("expert_model")?, "sp": settings.is_on("sequence_parallel"),
    });
    if let (Some(parallel), Ok(etp)) = (parallel.as_object_mut(), settings.count("expert_tensor_parallel_size")) {
        parallel.insert("etp".to_owned(), json!(etp));
    }
    let mut flags = json!({
        "spec": "te", "cross_entropy_fusion": settings.is_on("cross_entropy_loss_fusion"),
        "recompute_method": settings.text("recompute_method").unwrap_or("uniform"),
        "recompute_num_layers": settings.count_or_one("recompute_num_layers")?,
    });
    if let (Some(flags), Some(lora)) = (flags.as_object_mut(), megatron_adapters(settings)?) {
        flags.insert("lora".to_owned(), lora);
    }
    for key in ["decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"] {
        if let (Some(flags), Ok(blocks)) = (flags.as_object_mut(), settings.count(key)) {
            flags.insert(key.to_owned(), json!(blocks));
        }
    }
    Ok(json!({
        "kind": "pretend_framework", "framework": "megatron", "catalog": settings.text("model")?, "rank": 0,
        "run": {
            "seq_length": settings.count("max_length")?, "micro_batch_size": batch, "precision": "bf16",
            "recompute": settings.text("recompute_granularity").unwrap_or("selective"),
            "gradient_accumulation_steps": steps, "alloc_conf": settings.allocator(),
        },
        "parallel": parallel,
        "flags": flags,
    }))
}
