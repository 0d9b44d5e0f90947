//! Options that Megatron-LM alone has: fusions, dropout, how recomputation is cut, how tokens reach
//! their experts.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Bytes of one MiB.
const MIB: u64 = 1 << 20;

/// How the vocabulary-parallel cross-entropy is computed (`cross_entropy_loss_fusion`,
/// `cross_entropy_fusion_impl`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossFusion {
    /// Operator by operator: the logits and an fp32 copy of them, which becomes the softmax.
    #[default]
    None,
    /// Megatron-Core's own functions, compiled: as operator by operator, and a copy of the softmax
    /// while it becomes the gradient.
    Native,
    /// Transformer Engine's kernel: the gradient is written over the logits.
    TransformerEngine,
}

/// How tokens reach their experts (`moe_token_dispatcher_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenDispatcher {
    /// Every rank of the expert group sees all tokens and picks its own.
    #[default]
    AllGather,
    /// Every rank is sent the tokens of its experts.
    AllToAll,
}

/// Which blocks full recomputation covers (`recompute_method`, `recompute_num_layers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecomputeMethod {
    /// All blocks, so many of them between two saved inputs.
    Uniform(NonZeroU64),
    /// So many blocks of every pipeline chunk; the others keep everything.
    Block(u64),
}

/// Modules that selective recomputation recomputes (`recompute_modules`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "Megatron-LM's list of modules, each there or not"
)]
pub struct RecomputeModules {
    /// Attention's scores, probabilities and output (`core_attn`).
    pub core_attn: bool,
    /// Outputs of the norms (`layernorm`).
    pub layernorm: bool,
    /// Queries, keys and values made from the compressed ones (`mla_up_proj`).
    pub mla_up_proj: bool,
    /// The dense feed-forward layer (`mlp`).
    pub mlp: bool,
    /// The whole mixture of experts (`moe`).
    pub moe: bool,
    /// The experts' activation function (`moe_act`).
    pub moe_act: bool,
    /// The shared experts (`shared_experts`).
    pub shared_experts: bool,
}

impl RecomputeModules {
    /// Megatron-LM's default: attention's core only.
    pub const CORE_ATTENTION: Self = Self {
        core_attn: true,
        layernorm: false,
        mla_up_proj: false,
        mlp: false,
        moe: false,
        moe_act: false,
        shared_experts: false,
    };
}

/// Settings of a Megatron-LM run. Other stacks have them fixed, where their time is computed with
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "Megatron-LM's own switches")]
pub struct MegatronOptions {
    /// `hidden_dropout` above 0: one byte of mask per element after attention, feed-forward and
    /// embedding.
    pub hidden_dropout: bool,
    /// `attention_dropout` above 0: a mask and a dropped copy beside the probabilities where scores
    /// are written to memory.
    pub attention_dropout: bool,
    /// The vocabulary is padded to a multiple of this number times the tensor degree
    /// (`make_vocab_size_divisible_by`).
    pub make_vocab_size_divisible_by: NonZeroU64,
    /// Cross-entropy.
    pub cross_entropy_loss_fusion: LossFusion,
    /// Weight gradients are added to the main gradients by the matrix product itself; dummies stand
    /// in for them.
    pub gradient_accumulation_fusion: bool,
    /// Bias and activation function run as one kernel, which saves its input alone
    /// (`bias_swiglu_fusion`).
    pub bias_activation_fusion: bool,
    /// Attention runs in cuDNN, which reads `[s, b, a, d]`; otherwise FlashAttention's package,
    /// whose output is copied back.
    pub fused_attention: bool,
    /// Modules of Transformer Engine (`transformer_impl`); otherwise Megatron-Core's own.
    pub transformer_engine: bool,
    /// Which blocks full recomputation covers.
    pub recompute_method: RecomputeMethod,
    /// Modules that selective recomputation covers.
    pub recompute_modules: RecomputeModules,
    /// Consecutive micro-batches of one chunk under interleaving; `None`: the pipeline degree.
    pub microbatch_group_size_per_vp_stage: Option<NonZeroU64>,
    /// How tokens reach their experts.
    pub moe_token_dispatcher: TokenDispatcher,
    /// All experts of a rank in one grouped product (`moe_grouped_gemm`).
    pub moe_grouped_gemm: bool,
    /// Tokens are put in the order of experts by Transformer Engine's kernels
    /// (`moe_permute_fusion`); otherwise by PyTorch's operators, which keep indices and masks.
    pub moe_permute_fusion: bool,
    /// Every expert gets the same number of tokens, rounded up (`moe_expert_capacity_factor` 1,
    /// padded).
    pub moe_pad_expert_input_to_capacity: bool,
    /// Tokens of the busiest expert-parallel rank, per cent of an even share; 100: balanced.
    pub moe_load_percent: u64,
    /// Micro-batches for which the output layer's weight gradient waits until the pipeline drains
    /// (`wgrad_deferral_limit` of `defer_embedding_wgrad_compute`): each keeps its input and its
    /// logits' gradient. 0: none waits.
    pub wgrad_deferral_limit: u64,
    /// The data loader makes an attention mask of one byte per pair of tokens
    /// (`create_attention_mask_in_dataloader`).
    pub create_attention_mask: bool,
    /// Workspace of one stream of Transformer Engine's matrix products.
    pub transformer_engine_workspace: Bytes,
    /// Workspace of one cuBLAS handle of PyTorch: one in the forward thread, one in the backward
    /// thread.
    pub cublas_workspace: Bytes,
}

impl MegatronOptions {
    /// Megatron-LM's defaults on a Hopper or Blackwell GPU, without dropout.
    ///
    /// The workspaces are those of Transformer Engine (`get_cublas_workspace_size_bytes`: 32 MiB
    /// from compute capability 9 on, 4 MiB before) and PyTorch (`CublasHandlePool.cpp`: 32 MiB on
    /// Hopper and Blackwell, 8.125 MiB before).
    pub const DEFAULT: Self = Self {
        hidden_dropout: false,
        attention_dropout: false,
        make_vocab_size_divisible_by: NonZeroU64::MIN.saturating_add(127),
        cross_entropy_loss_fusion: LossFusion::None,
        gradient_accumulation_fusion: true,
        bias_activation_fusion: true,
        fused_attention: true,
        transformer_engine: true,
        recompute_method: RecomputeMethod::Uniform(NonZeroU64::MIN),
        recompute_modules: RecomputeModules::CORE_ATTENTION,
        microbatch_group_size_per_vp_stage: None,
        moe_token_dispatcher: TokenDispatcher::AllGather,
        moe_grouped_gemm: false,
        // Megatron-Core's default is off. On is what every link before this input meant.
        moe_permute_fusion: true,
        moe_pad_expert_input_to_capacity: false,
        moe_load_percent: 100,
        wgrad_deferral_limit: 0,
        create_attention_mask: false,
        transformer_engine_workspace: Bytes(32 * MIB),
        cublas_workspace: Bytes(32 * MIB),
    };

    /// Returns the rows of the token embedding and the output head after padding, over all of `t`
    /// tensor ranks: the vocabulary rounded up to a multiple of `make_vocab_size_divisible_by · t`.
    pub const fn padded_vocab_size(&self, vocab_size: u64, t: u64) -> u64 {
        let multiple = self.make_vocab_size_divisible_by.get().saturating_mul(t);
        vocab_size.div_ceil(multiple).saturating_mul(multiple)
    }
}

impl Default for MegatronOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}
