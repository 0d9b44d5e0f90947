//! Model families, and the parts that only some of them have.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::Modules;

/// The family whose modules run a model: a reference to their description. Two families are equal
/// if their `model_type` is equal.
#[derive(Clone, Copy)]
pub struct Family(pub(crate) &'static Modules);

/// A decoder of no known family, built from the fields alone: assumed.
pub const GENERIC: Family = Family(&Modules::GENERIC);

impl Family {
    /// Returns the choices in which the family's modules differ from others.
    pub const fn modules(self) -> &'static Modules {
        self.0
    }

    /// Returns the `model_type` as files write it; `generic` for none.
    pub const fn model_type(self) -> &'static str {
        self.0.model_type
    }

    /// Returns true if the family's modules are assumed, because no known family has this
    /// architecture.
    pub fn is_generic(self) -> bool {
        self == GENERIC
    }
}

impl Default for Family {
    fn default() -> Self {
        GENERIC
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.model_type() == other.model_type()
    }
}

impl Eq for Family {}

impl Hash for Family {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.model_type().hash(state);
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_tuple("Family").field(&self.model_type()).finish()
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
    /// `xielu`: a parabola above 0 and an exponential below, each with a curvature that is learned
    /// (two parameters for each function).
    Xielu,
}

/// Some of the layers, counted from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerSet {
    /// No layer.
    #[default]
    None,
    /// Every layer.
    All,
    /// All but every `period`-th: layer `i` belongs to the set unless `(i + 1) % period == 0`
    /// (`sliding_window_pattern`).
    AllButEvery(u64),
    /// Every `period`-th: layer `i` belongs to the set if `(i + 1) % period == 0`
    /// (`full_attention_interval`).
    Every(u64),
    /// Every layer from this one on.
    From(u64),
    /// The layers whose flag is set; layers beyond the list do not belong to the set.
    Listed(Cow<'static, [bool]>),
}

impl LayerSet {
    /// Returns true if layer `layer` belongs to the set.
    pub fn contains(&self, layer: u64) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::AllButEvery(period) => !layer.saturating_add(1).is_multiple_of((*period).max(1)),
            Self::Every(period) => layer.saturating_add(1).is_multiple_of((*period).max(1)),
            Self::From(first) => layer >= *first,
            Self::Listed(flags) => {
                usize::try_from(layer).ok().and_then(|at| flags.get(at).copied()).unwrap_or(false)
            }
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
    /// Inner width of all shared experts together (`n_shared_experts · moe_intermediate_size`); 0
    /// for none.
    pub shared_expert_intermediate_size: u64,
    /// True if a gate of one number per token weighs the shared experts' output (`qwen2_moe`).
    #[serde(default)]
    pub shared_expert_gate: bool,
    /// Layers that have experts; the others keep the dense feed-forward layer of
    /// `intermediate_size`.
    pub layers: LayerSet,
    /// Groups of experts a token chooses among first (`n_group`); 1 for none.
    pub n_group: u64,
    /// Groups that a token keeps (`topk_group`).
    pub topk_group: u64,
    /// True if the chosen experts' weights are scaled so that they sum to 1 again.
    pub norm_topk_prob: bool,
    /// Biases on router and experts (gpt-oss).
    pub bias: bool,
    /// Width of the routed experts' input and output, where it is narrower than the model: a matrix
    /// before the experts narrows the hidden states and one behind them widens them again
    /// (`moe_latent_size`); 0 for none.
    #[serde(default)]
    pub latent: u64,
}

/// Multi-head latent attention (DeepSeek): queries, keys and values made from narrow projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mla {
    /// Width of the compressed query; `None`: queries are projected directly.
    pub q_lora_rank: Option<u64>,
    /// Width of the compressed key and value, which a cache keeps for every token.
    pub kv_lora_rank: u64,
    /// Rotated part of a query or key head; the key's is shared by all heads.
    pub qk_rope_head_dim: u64,
    /// Unrotated part of a query or key head.
    pub qk_nope_head_dim: u64,
    /// Width of a value head.
    pub v_head_dim: u64,
}

impl Mla {
    /// Returns the width of a query or key head: `qk_nope_head_dim + qk_rope_head_dim`.
    pub const fn qk_head_dim(&self) -> u64 {
        self.qk_nope_head_dim.saturating_add(self.qk_rope_head_dim)
    }
}
