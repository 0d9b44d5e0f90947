//! Model families, and what only some of them have.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The `model_type` of a Hugging Face `config.json`: whose modules run the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// `llama`.
    Llama,
    /// `mistral`.
    Mistral,
    /// `qwen2`.
    Qwen2,
    /// `qwen3`.
    Qwen3,
    /// `gemma`.
    Gemma,
    /// `gemma2`.
    Gemma2,
    /// `gemma3_text`, the text part of `gemma3`.
    #[serde(alias = "gemma3_text")]
    Gemma3,
    /// `gpt2`.
    Gpt2,
    /// `gpt_neox`.
    GptNeox,
    /// `opt`.
    Opt,
    /// `bloom`.
    Bloom,
    /// `falcon`.
    Falcon,
    /// `phi`.
    Phi,
    /// `phi3`.
    Phi3,
    /// `mixtral`.
    Mixtral,
    /// `qwen3_moe`.
    Qwen3Moe,
    /// `deepseek_v2`.
    DeepseekV2,
    /// `deepseek_v3`.
    DeepseekV3,
    /// `gpt_oss`.
    GptOss,
    /// `olmo2`.
    Olmo2,
    /// `cohere`.
    Cohere,
    /// `starcoder2`.
    Starcoder2,
    /// `stablelm`.
    Stablelm,
    /// `granite`.
    Granite,
    /// `glm4`.
    Glm4,
    /// A decoder of no known family, built from the fields alone: assumed.
    #[default]
    Generic,
}

impl Family {
    /// Every family that has modules of its own.
    pub const KNOWN: [Self; 25] = [
        Self::Llama,
        Self::Mistral,
        Self::Qwen2,
        Self::Qwen3,
        Self::Gemma,
        Self::Gemma2,
        Self::Gemma3,
        Self::Gpt2,
        Self::GptNeox,
        Self::Opt,
        Self::Bloom,
        Self::Falcon,
        Self::Phi,
        Self::Phi3,
        Self::Mixtral,
        Self::Qwen3Moe,
        Self::DeepseekV2,
        Self::DeepseekV3,
        Self::GptOss,
        Self::Olmo2,
        Self::Cohere,
        Self::Starcoder2,
        Self::Stablelm,
        Self::Granite,
        Self::Glm4,
    ];

    /// The `model_type` as files write it; `generic` for none.
    pub const fn model_type(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Mistral => "mistral",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
            Self::Gemma => "gemma",
            Self::Gemma2 => "gemma2",
            Self::Gemma3 => "gemma3_text",
            Self::Gpt2 => "gpt2",
            Self::GptNeox => "gpt_neox",
            Self::Opt => "opt",
            Self::Bloom => "bloom",
            Self::Falcon => "falcon",
            Self::Phi => "phi",
            Self::Phi3 => "phi3",
            Self::Mixtral => "mixtral",
            Self::Qwen3Moe => "qwen3_moe",
            Self::DeepseekV2 => "deepseek_v2",
            Self::DeepseekV3 => "deepseek_v3",
            Self::GptOss => "gpt_oss",
            Self::Olmo2 => "olmo2",
            Self::Cohere => "cohere",
            Self::Starcoder2 => "starcoder2",
            Self::Stablelm => "stablelm",
            Self::Granite => "granite",
            Self::Glm4 => "glm4",
            Self::Generic => "generic",
        }
    }
}

impl Family {
    /// Whether transformers 5.23 has a tensor-parallel plan for the family (`base_model_tp_plan`); unknown families are taken to have one.
    pub const fn has_tensor_plan(self) -> bool {
        !matches!(self, Self::Gpt2 | Self::Opt | Self::Bloom | Self::Falcon | Self::GptOss | Self::Stablelm)
    }
}

/// The feed-forward activation function (`hidden_act`), by the operators PyTorch runs for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HiddenAct {
    /// `silu` or `swish`: one operator.
    #[default]
    Silu,
    /// `gelu`, exact or with the tanh approximation (`gelu_pytorch_tanh`): one operator.
    #[serde(alias = "gelu_pytorch_tanh", alias = "gelu_python")]
    Gelu,
    /// `gelu_new`: the tanh approximation written out operator by operator (GPT-2).
    GeluNew,
    /// `gelu_fast`: another spelling of the tanh approximation, operator by operator.
    GeluFast,
    /// `quick_gelu`: `x · sigmoid(1.702 x)`.
    QuickGelu,
    /// `relu`.
    Relu,
    /// `relu2`: squared.
    Relu2,
}

/// Some of the layers, counted from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerSet {
    /// None of them.
    #[default]
    None,
    /// All of them.
    All,
    /// All but every `period`-th: layer `i` belongs unless `(i + 1) % period == 0` (`sliding_window_pattern`).
    AllButEvery(u64),
    /// Every `period`-th: layer `i` belongs if `(i + 1) % period == 0` (`full_attention_interval`).
    Every(u64),
    /// Every layer from this one on.
    From(u64),
    /// Those whose flag is set; layers beyond the list do not belong.
    Listed(Cow<'static, [bool]>),
}

impl LayerSet {
    /// Whether that layer belongs.
    pub fn contains(&self, layer: u64) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::AllButEvery(period) => !layer.saturating_add(1).is_multiple_of((*period).max(1)),
            Self::Every(period) => layer.saturating_add(1).is_multiple_of((*period).max(1)),
            Self::From(first) => layer >= *first,
            Self::Listed(flags) => usize::try_from(layer).ok().and_then(|at| flags.get(at).copied()).unwrap_or(false),
        }
    }
}

/// A mixture of experts in place of the feed-forward layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(clippy::struct_field_names, reason = "Hugging Face keys")]
pub struct Moe {
    /// Routed experts in a layer (`num_experts`, `num_local_experts`, `n_routed_experts`).
    pub num_experts: u64,
    /// Experts each token goes through.
    pub num_experts_per_tok: u64,
    /// Inner width of one expert.
    pub moe_intermediate_size: u64,
    /// Inner width of all shared experts together (`n_shared_experts · moe_intermediate_size`); 0 for none.
    pub shared_expert_intermediate_size: u64,
    /// Whether a gate of one number per token weighs the shared experts' output (`qwen2_moe`).
    #[serde(default)]
    pub shared_expert_gate: bool,
    /// Layers that have experts; the others keep the dense feed-forward layer of `intermediate_size`.
    pub layers: LayerSet,
    /// Groups of experts a token chooses among first (`n_group`); 1 for none.
    pub n_group: u64,
    /// How many of these groups it keeps (`topk_group`).
    pub topk_group: u64,
    /// Whether the chosen experts' weights are made to sum to 1 again.
    pub norm_topk_prob: bool,
    /// Biases on router and experts (gpt-oss).
    pub bias: bool,
}

/// Multi-head latent attention (DeepSeek): queries, keys and values made from narrow projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mla {
    /// Width of the compressed query; `None`: queries are projected directly.
    pub q_lora_rank: Option<u64>,
    /// Width of the compressed key and value, which is what a cache needs per token.
    pub kv_lora_rank: u64,
    /// Rotated part of a query or key head; the key's is shared by all heads.
    pub qk_rope_head_dim: u64,
    /// Unrotated part of a query or key head.
    pub qk_nope_head_dim: u64,
    /// Width of a value head.
    pub v_head_dim: u64,
}

impl Mla {
    /// Width of a query or key head.
    pub const fn qk_head_dim(&self) -> u64 {
        self.qk_nope_head_dim.saturating_add(self.qk_rope_head_dim)
    }
}
