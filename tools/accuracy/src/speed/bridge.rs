//! Megatron-Bridge's performance summary: Megatron-Core on Hopper and Blackwell, in formats below
//! 16 bit.
//!
//! Recomputation and offload are not in the rows; where the recipes beside the table
//! (`scripts/performance/configs`) have none, none is taken.

use std::num::NonZeroU64;

use headroom::catalog;
use headroom::config::{
    Flash, GradientDType, LossFusion, MegatronOptions, ModelConfig, Narrow, Overlap,
    ParallelLayout, ProductFormat, TokenDispatcher, TrainingRun,
};
use headroom::units::to_f64;

use super::super::row::{Comparison, Fields, sharding, stack};
use super::compare;

pub fn outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let raw = Raw(row);
    let system = raw.text("System")?;
    let gpu = match system.trim_start_matches("DGX-") {
        "GB300" => "gb300",
        "GB200" => "gb200",
        "B300" => "b300",
        "B200" => "b200",
        "H100" => "h100-80",
        _ => return Err("the row's columns are shifted and the system is not in it".to_owned()),
    };
    let model = model(row.text("/model")?)?;
    let products = match raw.text("Precision")? {
        "BF16" => ProductFormat::Activations,
        "FP8" => ProductFormat::Narrow(Narrow::Fp8),
        "MXFP8" => ProductFormat::Narrow(Narrow::Mxfp8),
        "NVFP4" => ProductFormat::Narrow(Narrow::Nvfp4),
        other => return Err(format!("products in {other} are not modelled")),
    };
    let gpus = raw.count("#-GPUs")?;
    let (t, p, cp) = (raw.degree("TP")?, raw.degree("PP")?, raw.degree("CP")?);
    let group = t.get() * p.get() * cp.get();
    let fsdp = raw.count("FSDP").unwrap_or(0) > 1;
    let layout = ParallelLayout {
        tensor_model_parallel_size: t,
        pipeline_model_parallel_size: p,
        context_parallel_size: cp,
        data_parallel_size: NonZeroU64::new(gpus / group)
            .ok_or("fewer GPUs than the layout asks for")?,
        virtual_pipeline_model_parallel_size: raw.degree("VP")?,
        expert_model_parallel_size: raw.degree("EP")?,
        expert_tensor_parallel_size: Some(NonZeroU64::MIN),
        sequence_parallel: t.get() > 1,
        sharding: if fsdp { sharding("fsdp")? } else { sharding("1")? },
        ..ParallelLayout::SINGLE
    };
    let (s, batch) = (raw.count("Sequence Length")?, raw.count("GBS")?);
    let run = TrainingRun {
        seq_length: s,
        global_batch_size: batch,
        micro_batch_size: Some(raw.count("MBS")?),
        gradients: GradientDType::Fp32,
        stack: stack("megatron")?,
        products,
        flash: Flash::Newest,
        overlap: Overlap { products: true, ..Overlap::DEFAULT },
        megatron: MegatronOptions {
            cross_entropy_loss_fusion: LossFusion::TransformerEngine,
            moe_token_dispatcher: TokenDispatcher::AllToAll,
            moe_grouped_gemm: true,
            ..MegatronOptions::DEFAULT
        },
        ..TrainingRun::plain()
    };
    // Trained adapters have no gradients of weights: four FLOPs for each parameter and token
    // instead of six.
    let flops_per_token =
        raw.number("Model TFLOP / sec / GPU")? * 1e12 / raw.number("Tokens / sec / GPU")?;
    if model.moe.is_none() && flops_per_token < 5.0 * to_f64(parameters(&model)) {
        return Err("adapters are trained, which is not modelled".to_owned());
    }
    let seconds = to_f64(batch) * to_f64(s) / (raw.number("Tokens / sec / GPU")? * to_f64(gpus));
    Ok(vec![compare(model, run, layout, gpu, seconds)?])
}

/// True if the row is one of a mixture of experts, whose settings the row does not state in full.
pub fn lacks_configuration(row: Fields<'_>) -> bool {
    row.text("/model").and_then(model).is_ok_and(|model| model.moe.is_some())
}

fn parameters(model: &ModelConfig) -> u64 {
    headroom::ops::lower(&headroom::ops::Lowering::parameters_only(model)).parameters()
}

fn model(name: &str) -> Result<ModelConfig, String> {
    let id = match name {
        "LLAMA3_8B" => "llama3-8b",
        "LLAMA3_70B" => "llama3-70b",
        "LLAMA3.1_405B" => "llama3.1-405b",
        "DeepSeekV3" => "deepseek-v3",
        "GPT OSS 120B" => "gpt-oss-120b",
        "Qwen3_30B_a3B" => "qwen3-30b-a3b",
        "Qwen3_235B_a22B" => "qwen3-235b-a22b",
        "Kimi_K2" => "kimi-k2",
        _ => return Err(format!("{name}: state-space or other layers that are not modelled")),
    };
    catalog::model(id)
        .map(|row| row.config.clone())
        .ok_or_else(|| format!("the catalog has no {id}"))
}

/// The table's cells, as text.
struct Raw<'a>(Fields<'a>);

impl Raw<'_> {
    /// A cell; the key's slashes are escaped as a pointer asks.
    fn text(&self, key: &str) -> Result<&str, String> {
        self.0.text(&format!("/raw/{}", key.replace('/', "~1")))
    }

    fn count(&self, key: &str) -> Result<u64, String> {
        let text = self.text(key)?;
        text.trim().parse().map_err(|_| format!("{key} is {text}, no whole number"))
    }

    fn number(&self, key: &str) -> Result<f64, String> {
        let text = self.text(key)?;
        text.trim().replace(',', "").parse().map_err(|_| format!("{key} is {text}, no number"))
    }

    /// A degree; `n/a` is 1.
    fn degree(&self, key: &str) -> Result<NonZeroU64, String> {
        match self.text(key)?.trim() {
            "n/a" | "" => Ok(NonZeroU64::MIN),
            _ => NonZeroU64::new(self.count(key)?).ok_or_else(|| format!("{key} is 0")),
        }
    }
}
