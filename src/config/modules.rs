//! The modules that run a model: the choices in which the families of transformers 5.23 differ,
//! each named after its effect. A family is a set of these choices; layers ask for a choice and
//! never for a family.

use super::{EncoderModules, ShapeRule};

/// The modules of one family, as choices.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "a list of yes and no, as in the library's code")]
pub struct Modules {
    /// The `model_type` as files write it; `generic` for modules that are assumed.
    pub model_type: &'static str,
    /// The family's name in forms and links.
    pub choice: FamilyChoice,
    /// How a block is put together.
    pub block: BlockLayout,
    /// Linear layers inside blocks.
    pub linear: LinearStyle,
    /// RMS norms.
    pub norm: NormStyle,
    /// Norms of queries and keys.
    pub query_key_norm: QueryKeyNorm,
    /// Norms of queries and keys, and of embedded tokens, have no scale, and raise the mean to a
    /// power.
    pub unscaled_norms: bool,
    /// Projections of queries, keys and values.
    pub projections: Projections,
    /// The feed-forward layer.
    pub feed_forward: FeedForwardStyle,
    /// Experts and their router.
    pub experts: ExpertModules,
    /// Projections into a state by the gated delta rule.
    pub state_projections: StateProjections,
    /// How queries and keys are rotated.
    pub rotation: RotationStyle,
    /// Some layers see the tokens that an earlier one has chosen.
    pub shares_indexed_tokens: bool,
    /// How the indexer's queries and keys are rotated.
    pub index_rotation: IndexRotation,
    /// Tables of rotary cosines and sines.
    pub rotary_tables: RotaryTables,
    /// Sliding layers have rotary tables of their own.
    pub tables_for_each_kind: bool,
    /// Every layer of attention registers frequencies and makes rotary tables for itself.
    pub rotates_in_attention: bool,
    /// Layers with heads of another shape rotate the whole head.
    pub other_heads_rotate_whole: bool,
    /// Sliding layers have a mask of their own; without it all layers share one.
    pub mask_for_each_kind: bool,
    /// Frequencies of rotary tables are registered once more, for tables that are never made.
    pub registers_spare_frequencies: bool,
    /// How attention sinks enter.
    pub sinks: SinkStyle,
    /// How linear biases of the scores are added.
    pub linear_biases: LinearBiases,
    /// Where positions come from.
    pub position_ids: PositionIds,
    /// Blocks are handed position ids, which they do not read.
    pub hands_on_positions: bool,
    /// Layers that keep a state in place of attention are handed rotary tables, which they do not
    /// read.
    pub hands_rotary_to_states: bool,
    /// The factor on embedded tokens.
    pub embedding_scale: EmbeddingScale,
    /// The gate of attention's output, before it is projected.
    pub gate: AttentionGate,
    /// Attention is differential: the output of half of the heads is subtracted from the output of
    /// the other half.
    pub differential: bool,
    /// Attention's output, and the inner values of the feed-forward layer, are normed before the
    /// last product of each.
    pub norms_before_last_products: bool,
    /// Queries are scaled before their product with keys, and the product once more.
    pub scales_queries: bool,
    /// The softmax of scores is in fp32 and cast back; without it, it is in the scores' format.
    pub softmax_in_fp32: bool,
    /// Values are multiplied by a constant; blocks of [`BlockLayout::PreNorm`].
    pub scales_values: bool,
    /// Values make a mask for attention, which learns (blocks of [`BlockLayout::PreNorm`]).
    pub masks_by_values: bool,
    /// The residual stream is multiplied by a number for each channel before each half is added
    /// (blocks of [`BlockLayout::PreNorm`]).
    pub scales_stream: bool,
    /// Each query's largest score is subtracted before the softmax, which is in the scores' format.
    pub subtracts_largest_score: bool,
    /// The output of each half is scaled before it is added.
    pub scales_residuals: bool,
    /// Each half is added to the normed values that it reads, in place of the values before the
    /// norm, and both are scaled; blocks of [`BlockLayout::PreNorm`].
    pub adds_to_norms: bool,
    /// Factors stand before and behind attention and state, on keys, on each column into the state,
    /// and in the feed-forward layer.
    pub scales_branches: bool,
    /// Logits are scaled.
    pub scales_logits: bool,
    /// The residual stream is in fp32 behind the first block; norms and the head read casts of it
    /// (`residual_in_fp32`).
    pub residual_in_fp32: bool,
    /// Logits are cast to fp32 as they are made, so that those of 16 bits are let go.
    pub casts_logits: bool,
    /// Attention and the feed-forward layer beside it are added to each other before they are added
    /// to the residual stream.
    pub adds_branches_first: bool,
    /// Blocks return attention's probabilities, which are held until the next block has returned.
    pub returns_probabilities: bool,
    /// Attention's input and output keep their names until the block ends.
    pub holds_attention: bool,
    /// Norms are registered before the layers that stand before them: a block's first one before
    /// its feed-forward layer, the final one before the blocks.
    pub registers_norms_first: bool,
    /// Without a final norm, the norms of a block stand behind its sums.
    pub norms_follow_without_final: bool,
    /// A bias of the output head that is registered beside the head's own, and is another one where
    /// the head is not tied.
    pub registers_head_bias_twice: bool,
    /// Ranks may have parts of the tokens between attention and feed-forward.
    pub splits_tokens: bool,
    /// Its attention can read learned keys and values from a cache (prefix tuning).
    pub takes_prefix: bool,
    /// peft refuses adapters on the output of its layers that keep a state.
    pub peft_spares_states: bool,
    /// peft turns the names that linear layers of experts and routers once had (`gate_proj`,
    /// `up_proj`, `down_proj`, `gate`) into adapters of the parameters that hold them today
    /// (`utils/transformers_weight_conversion.py`).
    pub peft_finds_experts: bool,
    /// True if a server has slots for adapters beside the embedding and the head, too (vLLM's
    /// `embedding_modules`).
    pub slots_at_both_ends: bool,
    /// True if such slots have one A for gate and up of an expert together (vLLM's
    /// `is_3d_moe_weight`).
    pub slots_of_joint_experts: bool,
    /// Choices that encoders alone have.
    pub encoder: EncoderModules,
    /// The modules of an encoder beside the decoder; `None`: there is none, or it has the
    /// decoder's.
    pub source: Option<&'static Self>,
    /// Queries, keys and values are copied into the order of heads.
    pub orders_heads: bool,
    /// The feed-forward layer's inner values are cast to the format of the last weight, before
    /// autocast casts both.
    pub feeds_as_weights: bool,
    /// The table of positions never learns (sines).
    pub freezes_positions: bool,
    /// Positions are sines in a table that is a buffer.
    pub keeps_sines: bool,
    /// The head's input is scaled, unless the file says that the head is not tied.
    pub scales_output: bool,
    /// A buffer of one number for each token is added to logits (`final_logits_bias`).
    pub adds_buffer_to_logits: bool,
    /// The library's plan for tensor parallelism (`base_model_tp_plan`), if it has one.
    pub tensor_plan: Option<TensorPlan>,
    /// The shapes that the modules can take; `None`: any.
    pub shape: Option<ShapeRule>,
    /// The rows that memory was measured with.
    pub measured: Measured,
    /// How llama.cpp mixes the formats of a GGUF file.
    pub gguf: GgufRules,
}

impl Modules {
    /// The choices of `llama`, which most families share, without a name.
    pub const PLAIN: Self = Self {
        model_type: "",
        choice: FamilyChoice { rank: u16::MAX, word: "", label: "" },
        block: BlockLayout::PreNorm,
        linear: LinearStyle::Linear,
        norm: NormStyle::ScaledAfterCast,
        query_key_norm: QueryKeyNorm::HeadByHead,
        unscaled_norms: false,
        projections: Projections::Separate,
        feed_forward: FeedForwardStyle::Separate,
        experts: ExpertModules::PLAIN,
        state_projections: StateProjections::Apart,
        rotation: RotationStyle::Whole,
        shares_indexed_tokens: false,
        index_rotation: IndexRotation::Halves,
        rotary_tables: RotaryTables::Whole,
        tables_for_each_kind: false,
        rotates_in_attention: false,
        other_heads_rotate_whole: false,
        mask_for_each_kind: true,
        registers_spare_frequencies: false,
        sinks: SinkStyle::Column,
        linear_biases: LinearBiases::InPlaceOfPositions,
        position_ids: PositionIds::Counted,
        hands_on_positions: true,
        hands_rotary_to_states: true,
        embedding_scale: EmbeddingScale::None,
        gate: AttentionGate::None,
        differential: false,
        norms_before_last_products: false,
        scales_queries: false,
        softmax_in_fp32: true,
        scales_values: false,
        masks_by_values: false,
        scales_stream: false,
        subtracts_largest_score: false,
        scales_residuals: false,
        adds_to_norms: false,
        scales_branches: false,
        scales_logits: false,
        residual_in_fp32: false,
        casts_logits: false,
        adds_branches_first: false,
        returns_probabilities: false,
        holds_attention: false,
        registers_norms_first: false,
        norms_follow_without_final: false,
        registers_head_bias_twice: false,
        splits_tokens: true,
        takes_prefix: true,
        peft_spares_states: false,
        peft_finds_experts: false,
        slots_at_both_ends: false,
        slots_of_joint_experts: false,
        encoder: EncoderModules::PLAIN,
        source: None,
        orders_heads: false,
        feeds_as_weights: false,
        freezes_positions: false,
        keeps_sines: false,
        scales_output: false,
        adds_buffer_to_logits: false,
        tensor_plan: Some(TensorPlan::PLAIN),
        shape: Some(ShapeRule::PLAIN),
        measured: Measured { written_out: true, fused_kernels: false, tensor_parallel: false },
        gguf: GgufRules { rows_of_odd_length: false, eighty_layers_are_70b: false },
    };

    /// The modules of a decoder whose attention and further parts are not put together: only their
    /// parameters are counted.
    pub const COUNTED: Self = Self {
        encoder: EncoderModules::COUNTED,
        tensor_plan: None,
        takes_prefix: false,
        shape: None,
        measured: Measured { written_out: false, ..Self::PLAIN.measured },
        ..Self::PLAIN
    };

    /// The modules that are assumed for a decoder of no known family, of whatever shape.
    pub const GENERIC: Self = Self {
        model_type: "generic",
        choice: FamilyChoice { rank: u16::MAX, word: "generic", label: "Generic" },
        shape: None,
        ..Self::PLAIN
    };
}

/// The name of a family in forms and links.
#[derive(Clone, Copy, Debug)]
pub struct FamilyChoice {
    /// Families are listed in this order.
    pub rank: u16,
    /// The word in links and saved scenarios.
    pub word: &'static str,
    /// The name in forms.
    pub label: &'static str,
}

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
    /// One projection makes queries, keys and values one behind the other, and is split in three.
    JointThirds,
    /// One projection whose columns hold query, key and value of each head; attention may stand
    /// beside the feed-forward layer.
    JointByHead,
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
    /// Mean and variance in fp32, operator by operator, without a bias, in fused stacks too
    /// (`CohereLayerNorm`).
    MeanAndVariance,
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
    /// One for all, of which slices are taken.
    Joint,
    /// One for all with the heads of each behind those of the others, taken apart without copies.
    JointUnbound,
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

/// How the router scores experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterScores {
    /// A softmax over all experts, of which the largest are picked.
    Softmax,
    /// The largest are picked, and the softmax is over these.
    SoftmaxOfPicked,
    /// As [`Self::SoftmaxOfPicked`], in fp32.
    SoftmaxOfPickedInFp32,
    /// As [`Self::SoftmaxOfPicked`], but only the scores of the picked experts are cast to fp32.
    SoftmaxInFp32OfPicked,
    /// Sigmoids, corrected for the choice alone.
    CorrectedSigmoid,
    /// As [`Self::CorrectedSigmoid`], in the scores' format, and scaled.
    CorrectedSigmoidAsScored,
    /// A softmax over all experts, corrected for the choice alone by a parameter that never learns;
    /// in fp32 under autocast too.
    CorrectedSoftmax,
}

/// The format of the router's weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterWeights {
    /// The format of all weights.
    AsOthers,
    /// fp32 in models of 16 bits too, unless the software that trains casts every parameter.
    Fp32,
}

/// The format of the picked experts' weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertWeights {
    /// The format of the scores before they were made wider. Under autocast it differs from the
    /// input's, because autocast casts the product alone.
    AsScores,
    /// The format of the router's input.
    AsInput,
    /// fp32.
    Fp32,
}

/// When shared experts run. The output of those that run first is held while the others run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedTurn {
    /// Before the router.
    First,
    /// Between the router and the routed experts.
    BehindRouter,
    /// Behind the routed experts.
    Last,
}

/// Experts and their router.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "a list of yes and no, as in the library's code")]
pub struct ExpertModules {
    /// How the router scores experts.
    pub scores: RouterScores,
    /// The format of the router's weights.
    pub router_weights: RouterWeights,
    /// The correction of [`RouterScores::CorrectedSigmoid`] is kept in fp32, whatever the format of
    /// weights.
    pub corrects_in_fp32: bool,
    /// The format of the picked experts' weights.
    pub weights_in: ExpertWeights,
    /// The router's weights are left as they are, whatever `norm_topk_prob` says.
    pub ignores_norm_topk_prob: bool,
    /// Scores are made in fp32, and experts are chosen among groups of them, without shared experts
    /// too.
    pub routes_by_groups: bool,
    /// One group of experts is none: nothing is chosen among groups.
    pub one_group_is_none: bool,
    /// The router is registered before the experts.
    pub router_first: bool,
    /// When shared experts run.
    pub shared_turn: SharedTurn,
    /// The router is that of layers without shared experts.
    pub routes_without_groups: bool,
    /// The correction of scores is a parameter that never learns, and no buffer.
    pub correction_is_parameter: bool,
    /// The routed experts' sum is scaled, whatever the router has scaled.
    pub scales_sum: bool,
    /// The sum of routed and shared experts is scaled.
    pub scales_total: bool,
    /// The sum of routed and shared experts is normed.
    pub norms_output: bool,
    /// The layer returns the weights beside its output.
    pub returns_weights: bool,
    /// Gate and up alternate, and are kept within limits.
    pub clamps_gates: bool,
    /// Gate and up are kept within limits before the activation function, in shared experts too.
    pub limits_gates: bool,
    /// The router is a linear layer, which adapters find and quantisation packs; others hold a
    /// parameter.
    pub router_is_linear: bool,
}

impl ExpertModules {
    /// The choices of `qwen3_moe`.
    pub const PLAIN: Self = Self {
        scores: RouterScores::Softmax,
        router_weights: RouterWeights::AsOthers,
        corrects_in_fp32: false,
        weights_in: ExpertWeights::AsScores,
        ignores_norm_topk_prob: false,
        routes_by_groups: false,
        one_group_is_none: false,
        router_first: false,
        shared_turn: SharedTurn::Last,
        routes_without_groups: false,
        correction_is_parameter: false,
        scales_sum: false,
        scales_total: false,
        norms_output: false,
        returns_weights: false,
        clamps_gates: false,
        limits_gates: false,
        router_is_linear: false,
    };

    /// The choices of `granitemoe`: a router before the experts, and a softmax in fp32 over those
    /// that it picks.
    pub const OF_PICKED_IN_FP32: Self = Self {
        scores: RouterScores::SoftmaxOfPickedInFp32,
        weights_in: ExpertWeights::AsInput,
        router_first: true,
        ..Self::PLAIN
    };
}

/// How queries and keys are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationStyle {
    /// The whole head, or its first part, joined with the rest.
    Whole,
    /// The whole head, the other way round: its first half is negated.
    Backwards,
    /// The whole head in fp32.
    InFp32,
    /// As [`Self::InFp32`], with a copy in fp32 for each of the two products.
    InFp32ByTwoCopies,
    /// The first part, by the attention itself, which holds the parts to its end.
    HeldParts,
    /// The first part, joined with the rest even if that is empty.
    Joined,
    /// As [`Self::Joined`], with cosines and sines repeated in every block.
    RepeatedTables,
    /// The whole head: turned, then multiplied in fp32, with cosines and sines repeated in every
    /// block.
    RepeatedTablesInFp32,
}

/// How an indexer's queries and keys are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexRotation {
    /// Each number is rotated with its counterpart in the other half.
    Halves,
    /// Each number is rotated with its neighbour.
    Pairs,
}

/// Tables of rotary cosines and sines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotaryTables {
    /// As wide as the rotated part, in the format of hidden states.
    Whole,
    /// Half as wide as the rotated part, whose halves are rotated one by one.
    Halves,
    /// As wide as the rotated part, in fp32; the rotated queries and keys are cast back.
    InFp32,
    /// One table of complex numbers.
    Complex,
    /// As wide as the rotated part, with a copy for each sequence, although all are alike.
    OfSequences,
    /// As wide as the rotated part, for each sequence, put together from tables of time, height and
    /// width.
    OfGrids,
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

/// How linear biases of the scores are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearBiases {
    /// The model with them makes neither position ids nor rotary tables.
    InPlaceOfPositions,
    /// Position ids and rotary tables are made all the same, and the mask takes up the biases.
    BesidePositions,
}

/// Where positions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionIds {
    /// One list for all sequences, counted from 0.
    Counted,
    /// One list for each sequence, counted from the mask of its tokens.
    FromMask,
    /// One list for all sequences, counted from 0, and a mask of their tokens beside it.
    BesideMask,
    /// A buffer of all positions there are, and one of as many token types.
    Buffer,
    /// One list for each sequence, counted from its tokens; beside the buffers of [`Self::Buffer`].
    FromTokens,
    /// Nowhere: models without attention count no positions, and make no masks.
    Nowhere,
    /// No list is made: only the masks count positions.
    Untold,
}

/// The factor on embedded tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingScale {
    /// None.
    None,
    /// A number.
    Number,
    /// A buffer, which the product saves in the embedding's format.
    Buffer,
    /// A buffer in bf16, whatever the model's format is.
    NarrowBuffer,
    /// A buffer of one whole number, whose format stays when the model's is changed.
    WholeBuffer,
}

/// How tensor-parallel ranks share a part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Every rank has all of it.
    Whole,
    /// Weights are divided, and so are their products.
    Divided,
    /// Weights are divided; their products are gathered.
    Gathered,
}

/// The library's plan for tensor parallelism; experts are divided by columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorPlan {
    /// How attention is shared.
    pub attention: Division,
    /// How feed-forward layers are shared.
    pub feed_forward: Division,
}

impl TensorPlan {
    /// Attention by heads, feed-forward by columns.
    pub const PLAIN: Self = Self { attention: Division::Divided, feed_forward: Division::Divided };
}

/// The rows that memory was measured with (`tests/data/truth` and `tests/data/measured`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The modules as transformers writes them.
    pub written_out: bool,
    /// Fused kernels.
    pub fused_kernels: bool,
    /// Tensor parallelism.
    pub tensor_parallel: bool,
}

/// How llama.cpp mixes the formats of a GGUF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgufRules {
    /// Rows are no multiple of 256 numbers, for which llama.cpp has mixes of its own.
    pub rows_of_odd_length: bool,
    /// 80 layers are taken for its 70B model, whose values get more bits.
    pub eighty_layers_are_70b: bool,
}
