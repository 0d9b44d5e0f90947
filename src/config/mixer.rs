//! The state that layers keep in place of attention or beside it, and its sizes.

use serde::{Deserialize, Serialize};

use super::LayerSet;

/// The modules that a layer's state belongs to (transformers 5.23).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MixerKind {
    /// `MambaMixer`: a state space for every channel.
    Mamba,
    /// `ZambaMambaMixer`: Mamba's state space by heads, each with projections and a scan of its
    /// own.
    Zamba,
    /// `FalconMambaMixer`: Mamba's state space with norms without a scale on step, input and
    /// output.
    FalconMamba,
    /// `JambaMambaMixer`: Mamba's state space with norms on step, input and output.
    Jamba,
    /// `Mamba2Mixer`: a state space for every head, with a gated norm behind it.
    Mamba2,
    /// `FalconH1Mixer`: Mamba 2's state space without the norm.
    FalconH1,
    /// `Qwen3NextGatedDeltaNet`: linear attention by the gated delta rule.
    Qwen3Next,
    /// `KimiLinearDeltaAttention`: linear attention by the gated delta rule with a decay for every
    /// channel.
    KimiLinear,
    /// `BailingHybridDeltaAttention`: as [`Self::KimiLinear`], with one matrix each for decay and
    /// gate.
    KimiWhole,
    /// `MiniMaxLightningAttention`: linear attention with one decay for each head.
    Minimax,
    /// `Lfm2ShortConv`: a gated convolution over a few tokens.
    Lfm2,
    /// `RecurrentGemmaRecurrentBlock`: a gated linear recurrence of every channel.
    RgLru,
    /// `RwkvSelfAttention`, and the weighted sums of every channel that `RwkvFeedForward` has
    /// beside a feed-forward layer.
    Rwkv,
    /// `xLSTMLayer`: a matrix of every head, with gates in the exponent.
    Mlstm,
}

/// A state of fixed size, which some layers keep in place of attention's keys and values of every
/// token, or beside them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mixer {
    /// The modules that the state belongs to.
    pub kind: MixerKind,
    /// Layers that have a state.
    pub layers: LayerSet,
    /// Heads of the state (`linear_num_value_heads`, `mamba_n_heads`); the channels where each has
    /// a state of its own.
    pub num_heads: u64,
    /// Width of a head of the state (`linear_value_head_dim`, `mamba_d_head`); 1 where each channel
    /// has a state of its own.
    pub head_dim: u64,
    /// Heads of keys, or groups that share input and output of the state (`linear_num_key_heads`,
    /// `mamba_n_groups`); for Zamba its heads, among which the channels are shared out
    /// (`n_mamba_heads`).
    pub num_key_heads: u64,
    /// Width of a key, or of the state (`linear_key_head_dim`, `mamba_d_state`).
    pub state_size: u64,
    /// Tokens that the convolution before the state sees (`linear_conv_kernel_dim`,
    /// `mamba_d_conv`); 0 for none.
    pub conv_kernel: u64,
    /// Width of the step's narrow projection (`mamba_dt_rank`); Mamba and Jamba only.
    pub time_step_rank: u64,
    /// Tokens that are computed at once in training (`chunk_size`, `mamba_chunk_size`); Mamba 2
    /// only.
    pub chunk_size: u64,
    /// True if the state is kept in fp32 rather than in the format of activations
    /// (`mamba_ssm_dtype`; always with Kimi Linear).
    pub fp32_state: bool,
}

impl Mixer {
    /// Returns the width of the state's output, all heads together: `num_heads · head_dim`.
    pub const fn inner(&self) -> u64 {
        self.num_heads.saturating_mul(self.head_dim)
    }

    /// Returns the width of all keys, or of all groups' input: `num_key_heads · state_size`.
    pub const fn keys(&self) -> u64 {
        self.num_key_heads.saturating_mul(self.state_size)
    }

    /// Returns the channels of the convolution; a cache keeps their last tokens.
    pub const fn conv_dim(&self) -> u64 {
        match self.kind {
            MixerKind::Mamba
            | MixerKind::Zamba
            | MixerKind::FalconMamba
            | MixerKind::Jamba
            | MixerKind::Lfm2
            | MixerKind::RgLru => self.inner(),
            MixerKind::Minimax | MixerKind::Rwkv | MixerKind::Mlstm => 0,
            _ => self.inner().saturating_add(self.keys().saturating_mul(2)),
        }
    }
}
