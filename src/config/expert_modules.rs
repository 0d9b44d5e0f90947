//! Choices in which families' experts and their routers differ.

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
