//! Structures that the estimates do not cover, told apart so that the message can name them.

use super::ImportError;
use super::reader::Reader;
use super::value::{Object, Value};

/// Refuses a kind or a key that means a structure outside dense decoders.
pub(super) fn not_modelled(model_type: &str, file: &Object) -> Result<(), ImportError> {
    let by_key = from_keys(file);
    match by_key.or_else(|| from_kind(model_type).map(|what| format!("{what} (model_type {model_type})"))) {
        Some(what) => Err(ImportError::not_modelled(what)),
        None => Ok(()),
    }
}

/// What the keys give away.
fn from_keys(file: &Object) -> Option<String> {
    let is_set = |key: &str| !matches!(file.get(key), None | Some(Value::Null | Value::Bool(false) | Value::Whole(0)));
    let many = |key: &str| matches!(file.get(key), Some(Value::Whole(count)) if *count > 1);
    let named = |what: &str, key: &str| Some(format!("{what} ({key})"));
    if is_set("kv_lora_rank") {
        return named("multi-head latent attention", "kv_lora_rank");
    }
    for key in ["num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", "num_moe_experts"] {
        if many(key) {
            return named("a mixture of experts", key);
        }
    }
    if is_set("is_encoder_decoder") {
        return named("an encoder beside its decoder", "is_encoder_decoder");
    }
    for key in ["add_cross_attention", "cross_attention_layers"] {
        if is_set(key) {
            return named("cross-attention", key);
        }
    }
    for key in ["ssm_cfg", "mamba_d_state", "mamba_d_conv", "state_size", "layers_block_type", "hybrid_override_pattern"] {
        if is_set(key) {
            return named("state-space layers", key);
        }
    }
    for key in ["linear_attn_config", "linear_num_value_heads", "full_attention_interval"] {
        if is_set(key) {
            return named("layers of linear attention", key);
        }
    }
    if is_set("vision_config") && !is_set("text_config") && !is_set("vocab_size") {
        return named("only a vision part", "vision_config");
    }
    None
}

/// What the kind alone gives away.
fn from_kind(model_type: &str) -> Option<&'static str> {
    let what = match model_type {
        "gemma2" | "gemma3" | "gemma3_text" | "gemma3n" | "gemma3n_text" | "cohere2" => {
            "layers with a sliding window mixed with full ones, or further norms"
        }
        "bert" | "roberta" | "distilbert" | "albert" | "electra" | "deberta" | "deberta-v2" | "xlm-roberta" | "modernbert"
        | "nomic_bert" | "mpnet" => "an encoder instead of a decoder",
        "t5" | "mt5" | "umt5" | "bart" | "mbart" | "pegasus" | "marian" | "whisper" | "m2m_100" | "led" => {
            "an encoder beside its decoder"
        }
        "vit"
        | "clip"
        | "clip_vision_model"
        | "clip_text_model"
        | "siglip"
        | "siglip_vision_model"
        | "dinov2"
        | "swin"
        | "convnext" => "a vision model's structure",
        "mamba" | "mamba2" | "falcon_mamba" | "jamba" | "zamba" | "zamba2" | "bamba" | "falcon_h1" | "nemotron_h" | "rwkv"
        | "recurrent_gemma" | "granitemoehybrid" => "state-space or recurrent layers",
        "mixtral" | "qwen2_moe" | "qwen3_moe" | "deepseek_v2" | "deepseek_v3" | "gpt_oss" | "olmoe" | "phimoe" | "dbrx"
        | "granitemoe" | "llama4" | "llama4_text" | "glm4_moe" => "a mixture of experts",
        "mllama" | "mllama_text_model" => "cross-attention",
        _ => return None,
    };
    Some(what)
}

/// Refuses layers with a window mixed with layers without.
pub(super) fn mixed_windows(file: &mut Reader<'_>, layers: u64) -> Result<(), ImportError> {
    const MIXED: &str = "layers with a sliding window mixed with full ones";
    if let Some(Value::List(types)) = file.peek("layer_types") {
        let is = |name: &str| types.iter().filter(|kind| matches!(kind, Value::Text(text) if text == name)).count();
        let (full, sliding) = (is("full_attention"), is("sliding_attention"));
        if full + sliding < types.len() {
            return Err(ImportError::not_modelled("layers of different kinds (layer_types)"));
        }
        if full > 0 && sliding > 0 {
            return Err(ImportError::not_modelled(format!("{MIXED} (layer_types)")));
        }
        file.done_with(&["layer_types"]);
    }
    let windows_on = matches!(file.peek("use_sliding_window"), Some(Value::Bool(true)));
    if let (true, Some(Value::Whole(full))) = (windows_on, file.peek("max_window_layers"))
        && (1..layers).contains(full)
    {
        return Err(ImportError::not_modelled(format!("{MIXED} (max_window_layers)")));
    }
    Ok(())
}
