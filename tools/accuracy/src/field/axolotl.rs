//! axolotl's example recipes, with the memory that their authors wrote beside them: `device_mem_reserved` of its log, GiB.
//!
//! Read in axolotl 0.16: `utils/schemas/config.py` (defaults), `loaders/model.py` (formats), `core/trainers/base.py` (packing).

use serde_json::{Map, Value, json};

use super::super::pretend;
use super::super::row::Fields;
use super::{Found, reserved, runs};

/// Settings that are read, or that change no tensor: `yaml` names the file.
const READ: [&str; 26] = [
    "base_model",
    "adapter",
    "sequence_len",
    "sample_packing",
    "micro_batch_size",
    "gradient_accumulation_steps",
    "optimizer",
    "gradient_checkpointing",
    "lora_r",
    "lora_target_modules",
    "lora_target_linear",
    "lora_dropout",
    "lora_mlp_kernel",
    "lora_qkv_kernel",
    "lora_o_kernel",
    "load_in_8bit",
    "load_in_4bit",
    "bf16",
    "tf32",
    "attn_implementation",
    "flash_attention",
    "plugins",
    "deepspeed",
    "fsdp_config",
    "gpus",
    "yaml",
];

/// The flags by which the plugin of Liger puts all of its kernels in.
const LIGER: [&str; 4] = ["liger_rope", "liger_rms_norm", "liger_glu_activation", "liger_fused_linear_cross_entropy"];

/// Keys of the kernels that stand in for peft's adapters. Where none is set, axolotl sets all.
const KERNELS: [&str; 3] = ["lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"];

/// A recipe. Lengths are known where samples are packed: each row then has `micro_batch_size` times `sequence_len` tokens.
pub fn found(row: Fields<'_>) -> Found {
    let recipe = Recipe(row);
    let complete = recipe.is_on("sample_packing");
    let outcome = || {
        if !complete {
            return Err("without packing the longest batch decides, and it is not known".to_owned());
        }
        let figures = row.value("/measured/per_gpu")?.as_array().ok_or("the figures are no list")?;
        let [gib] = figures.as_slice() else { return Err("several figures of one recipe".to_owned()) };
        let ours = pretend::expressed(Fields(&recipe.described()?))?;
        runs(&ours.job)?;
        reserved(&ours, gib.as_f64().ok_or("a figure is no number")?)
    };
    Found { software: "axolotl", complete, outcome: outcome() }
}

/// The keys of a recipe.
#[derive(Clone, Copy)]
struct Recipe<'a>(Fields<'a>);

impl<'a> Recipe<'a> {
    fn has(self, key: &str) -> bool {
        !self.0.is_absent(&format!("/settings/{key}"))
    }

    fn is_on(self, key: &str) -> bool {
        self.0.flag(&format!("/settings/{key}")).unwrap_or(false)
    }

    fn text(self, key: &str) -> Result<&'a str, String> {
        self.0.text(&format!("/settings/{key}"))
    }

    fn count(self, key: &str) -> Result<u64, String> {
        self.0.degree(&format!("/settings/{key}")).map(std::num::NonZeroU64::get)
    }

    /// The row of the pretended GPU that it amounts to. Weights are loaded in bf16; `prepare_model_for_kbit_training` makes norms and
    /// embeddings fp32, and `_convert_embedding_modules_dtype` bf16 again.
    fn described(self) -> Result<Value, String> {
        self.is_expressible()?;
        let mut flags = self.plugins()?;
        flags.insert("optim".to_owned(), json!(self.optimizer()?));
        flags.extend(self.adapters()?);
        Ok(json!({
            "kind": "pretend_framework", "framework": "trainer", "catalog": self.text("base_model")?, "rank": 0,
            "run": {
                // `multipack_real_batches` is off under flash attention: all samples of a batch stand in one row.
                "seq_length": self.count("sequence_len")? * self.count("micro_batch_size")?, "micro_batch_size": 1,
                "precision": "bf16", "recompute": if self.is_on("gradient_checkpointing") { "full" } else { "none" },
                // `set_pytorch_cuda_alloc_conf`, from PyTorch 2.9 on.
                "alloc_conf": "expandable_segments:True",
                "gradient_accumulation_steps": self.count("gradient_accumulation_steps")?,
            },
            "parallel": { "size": self.count("gpus")? },
            "flags": flags,
        }))
    }

    /// Fails for what the engine does not know, and for keys that are not read.
    fn is_expressible(self) -> Result<(), String> {
        for (key, reason) in [
            ("load_in_8bit", "weights of 8 bits under adapters are not modelled"),
            ("quantize_moe_experts", "experts of 4 bits are not modelled"),
            ("activation_offloading", "activations that the Trainer moves to host memory are not modelled"),
            ("use_kernels", "kernels of the hub are not modelled"),
            ("unfrozen_parameters", "weights that partly learn are not mapped"),
            ("deepspeed", "axolotl's files of DeepSpeed are not mapped"),
            ("fsdp_config", "FSDP through accelerate is not mapped"),
        ] {
            if self.is_on(key) || self.has(key) && self.0.flag(&format!("/settings/{key}")).is_err() {
                return Err(reason.to_owned());
            }
        }
        let stated = self.0.value("/settings")?.as_object().ok_or("settings is no group of keys")?;
        let known = |key: &str| READ.contains(&key) || LIGER.contains(&key);
        if let Some(key) = stated.iter().find_map(|(key, value)| (!known(key) && is_set(value)).then_some(key)) {
            return Err(format!("axolotl's setting {key} is not mapped"));
        }
        if !self.is_on("flash_attention") && self.text("attn_implementation") != Ok("flash_attention_2") {
            return Err("packed samples under attention without a flash kernel are not modelled".to_owned());
        }
        if !self.is_on("bf16") && self.text("bf16") != Ok("auto") {
            return Err("axolotl's training in another format than bf16 is not mapped".to_owned());
        }
        Ok(())
    }

    /// Loss and kernels that the plugins put in.
    fn plugins(self) -> Result<Map<String, Value>, String> {
        let mut flags = Map::new();
        let plugins = self.0.0.pointer("/settings/plugins").and_then(Value::as_array);
        for plugin in plugins.into_iter().flatten().filter_map(Value::as_str) {
            match plugin.rsplit('.').next() {
                Some("CutCrossEntropyPlugin") => flags.insert("loss".to_owned(), json!("cut")),
                Some("LigerPlugin") if LIGER.iter().all(|flag| self.is_on(flag)) => flags.insert("liger".to_owned(), json!(true)),
                Some("LigerPlugin") => return Err("some of Liger's kernels without the others are not modelled".to_owned()),
                _ => return Err(format!("axolotl's plugin {plugin} is not modelled")),
            };
        }
        Ok(flags)
    }

    /// The Trainer's name of the optimizer; transformers knows bitsandbytes' by two.
    fn optimizer(self) -> Result<&'a str, String> {
        match self.text("optimizer")? {
            "adamw_bnb_8bit" => Ok("adamw_8bit"),
            name => Ok(name),
        }
    }

    /// Adapters, and the format of the weights below them.
    fn adapters(self) -> Result<Map<String, Value>, String> {
        if !self.has("adapter") {
            return Ok(Map::new());
        }
        if !KERNELS.iter().any(|kernel| self.has(kernel)) || KERNELS.iter().any(|kernel| self.is_on(kernel)) {
            return Err("axolotl's own kernels of adapters are not modelled".to_owned());
        }
        let mut lora = json!({ "r": self.count("lora_r")?, "dropout": self.0.number("/settings/lora_dropout").unwrap_or(0.0) });
        if !self.is_on("lora_target_linear") {
            let targets = self.0.value("/settings/lora_target_modules")?;
            if !targets.is_array() {
                return Err("targets of adapters by a pattern are not mapped".to_owned());
            }
            lora["targets"] = targets.clone();
        }
        let mut flags = Map::from_iter([("lora".to_owned(), lora)]);
        match (self.text("adapter")?, self.is_on("load_in_4bit")) {
            ("lora", false) => {}
            ("qlora", true) => {
                flags.insert("quantize".to_owned(), json!({ "double": true }));
                flags.insert("prepare_kbit".to_owned(), json!(false));
            }
            (other, _) => return Err(format!("axolotl's adapter {other} is not mapped")),
        }
        Ok(flags)
    }
}

/// Whether a key says anything.
fn is_set(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}
