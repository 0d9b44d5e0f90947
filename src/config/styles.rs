//! Choices in which families' blocks differ, and the parts of these.

/// How a block is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockLayout {
    /// Norm, attention, sum, norm, feed-forward or experts, sum.
    PreNorm,
    /// A norm before and behind each half.
    Sandwich,
    /// As [`Self::Sandwich`], with three differences: queries and keys are normed and rotated
    /// before heads and tokens change places; values are normed too; behind both halves come an
    /// input of the layer's own, where there is one, and a factor.
    SandwichWithInput,
    /// A norm behind each half alone.
    NormsBehind,
    /// As [`Self::NormsBehind`] where a layer has attention, as [`Self::PreNorm`] where it keeps a
    /// state.
    NormsBehindAttention,
    /// A norm and a state, behind a block that several layers share where the layer has attention.
    BehindSharedBlock,
    /// Residual streams that each half collapses and mixes, attention to one key that is the value
    /// too and to compressed ones, experts.
    CompressedInStreams,
    /// Layers that keep sums of every channel, and feed-forward layers with a gate, both of which
    /// read mixes of two tokens; the first block norms embedded tokens.
    TimeMixed,
    /// Dense parts with choices of their own, one after the other or side by side: joint
    /// projections, scaled queries and sums, partly rotated heads.
    OwnOrder,
    /// Norm, attention, sum, norm, feed-forward, sum; attention's output keeps its name to the
    /// block's end.
    HeldHalves,
    /// One projection whose columns hold query, key and value of each head; attention may stand
    /// beside the feed-forward layer.
    JointByHead,
    /// As [`Self::JointByHead`], with scores that are always written out and a bias behind the last
    /// block's attention.
    JointByHeadWritten,
    /// As [`Self::JointByHead`], with linear biases added in the product of the scores and each
    /// half adding the residual itself.
    JointByHeadBiased,
    /// One projection whose columns hold the query heads, key and value of each group; products
    /// with transposed weights.
    JointByGroup,
}

/// Linear layers inside blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearStyle {
    /// `nn.Linear`.
    Linear,
    /// `Conv1D`, which keeps its weight transposed and adds the bias in the product.
    Conv1d,
}

/// How RMS norms are written; one kernel in fused stacks, and `nn.LayerNorm` where the model has
/// layer norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormStyle {
    /// fp32 inside, cast back, times the weight (`LlamaRMSNorm`).
    ScaledAfterCast,
    /// Scaled in fp32, then cast back (`GptOssRMSNorm`, `Olmo2RMSNorm`).
    ScaledInFp32,
    /// Scaled in fp32 by a copy of the scale, then cast back (`NemotronHRMSNorm`).
    ScaledByCopy,
    /// fp32 inside, cast back, without a scale (`NanoChatRMSNorm`).
    Unscaled,
    /// The input itself by a root mean square in fp32, cast to 16-bit weights' format, times the
    /// weight (`T5LayerNorm`).
    ScaledInput,
    /// All in fp32, scaled by one plus the weight (`Gemma2RMSNorm`).
    OnePlusScale,
    /// fp32 inside, by the mean square to the power of -1/2; scaled in fp32, then cast back
    /// (`Gemma3nRMSNorm`).
    ScaledByPower,
    /// `nn.LayerNorm` by one plus the weight; autocast casts its operands to 16 bits
    /// (`NemotronLayerNorm1P`).
    LayerOfOnePlusScale,
    /// Mean and variance in fp32, operator by operator, without a bias, in fused stacks too
    /// (`CohereLayerNorm`).
    MeanAndVariance,
    /// `layer_norm` of an fp32 copy, without scale and bias, then cast back (no parameters).
    LayerOfFp32,
}

/// Where queries and keys are normed, in models that do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKeyNorm {
    /// Each head by the same scale, before heads and tokens change places.
    HeadByHead,
    /// As [`Self::HeadByHead`], once queries, keys and values are all made.
    OnceAllAreMade,
    /// Each head by the same scale, after heads and tokens have changed places.
    AfterTransposing,
    /// Each head by the same scale, after heads and tokens have changed places and the heads are
    /// rotated; blocks of
    /// [`BlockLayout::PreNorm`].
    AfterRotation,
    /// All heads together, by one scale over all their columns.
    AllHeadsTogether,
    /// Each head by a scale of its own, before heads and tokens change places; blocks of
    /// [`BlockLayout::OwnOrder`].
    OwnScales,
    /// Each head by a norm of its own, after heads and tokens have changed places; blocks of
    /// [`BlockLayout::OwnOrder`].
    OwnNorms,
}

/// Projections of queries, keys and values, in blocks that do not fix them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projections {
    /// One each.
    Separate,
    /// One for all, of which slices are taken; blocks of [`BlockLayout::HeldHalves`] split it.
    Joint,
    /// One for all, which is split by heads, or in three where queries share one key; blocks of
    /// [`BlockLayout::HeldHalves`].
    JointByHead,
    /// One for all, of which query, key and value of each head are taken one by one; blocks of
    /// [`BlockLayout::OwnOrder`].
    JointOfHeads,
    /// One for all in four equal parts, of which queries, keys and values are copies; blocks of
    /// [`BlockLayout::OwnOrder`].
    JointInFours,
    /// One for all with the heads of each behind those of the others, taken apart without copies.
    JointUnbound,
}

/// How attention that is written out makes probabilities of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreStyle {
    /// Scores in the format of queries: scaled, then masked.
    AsQueries,
    /// Scores in fp32: scaled, then masked.
    InFp32,
    /// Scores in fp32: masked, then scaled.
    InFp32MaskedFirst,
    /// Scores in fp32 without a scale, of which a buffer of each layer chooses; then masked.
    InFp32ByBuffer,
}

/// The feed-forward layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedForwardStyle {
    /// A module with a matrix each for gate, up and down.
    Separate,
    /// As [`Self::Separate`], with a bias on down alone.
    SeparateBiasedDown,
    /// A module with gate and up in one matrix; blocks of [`BlockLayout::OwnOrder`].
    JointGateAndUp,
    /// A module with gate and up in one matrix, both kept within limits.
    JointWithinLimits,
    /// Written into the block: each tensor is let go when the next has taken its name; blocks of
    /// [`BlockLayout::OwnOrder`].
    InLine,
}

/// Projections into a state by the gated delta rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateProjections {
    /// Queries, keys and values by one matrix; gate, strength and decay by one each.
    Apart,
    /// Each by a matrix of its own; the gate behind the rule, and updates twice as strong.
    OneEach,
    /// All but strength and decay by one matrix, whose columns lie by heads of keys, and these by
    /// another.
    ByKeyHead,
}

/// How attention sinks enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkStyle {
    /// Sinks are one more column of scores, which is dropped after the softmax.
    Column,
    /// Each query's output is scaled by the sigmoid of its scores' log-sum-exp less the sink.
    OutputScale,
}

/// The gate of attention's output, before it is projected, in blocks of llama's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionGate {
    /// Nothing, or a gate that is made with the queries.
    None,
    /// A sigmoid for every column, from a matrix of its own that runs beside those of queries, keys
    /// and values.
    OfColumns,
    /// A softplus in fp32 for every head, from a matrix of its own that runs once the output is
    /// there.
    OfHeads,
    /// A sigmoid in fp32 for every column, which latent attention makes with its queries, of narrow
    /// queries before and behind their norm.
    WithLatentQueries,
    /// A sigmoid for every head, from a matrix of its own that runs once the output is there.
    SigmoidOfHeads,
    /// As [`Self::SigmoidOfHeads`], in fp32.
    SigmoidOfHeadsInFp32,
}
