//! How data-parallel ranks share model states out among themselves: DDP, DeepSpeed's ZeRO stages,
//! PyTorch's FSDP1 and FSDP2.
//!
//! One way of sharding is one file, which exports one [`ShardingSpec`]. Everything in which they
//! differ is read from there; none of them is named in another file.

use crate::sources::{self, Source};

members::of_folder!("src/sharding", SHARDING: ShardingSpec);

/// Everything that Headroom knows of a way of sharding.
#[derive(Debug)]
pub struct ShardingSpec {
    /// Its word in links, saved scenarios and the form.
    pub key: &'static str,
    /// Its name in the form.
    pub label: &'static str,
    /// One sentence: the states that it shares out.
    pub help: &'static str,
    /// Its place in lists, counted from 0; no two have the same.
    pub place: usize,
    /// Its name in the words of a layout.
    pub short: &'static str,
    /// True if the form begins with this sharding.
    pub starts_form: bool,
    /// True if a search for layouts tries this sharding. One that another has replaced is left to
    /// people who choose it themselves.
    pub is_searched: bool,
    /// The ZeRO stage that shares out as much.
    pub zero_stage: u8,
    /// The states that ranks share out.
    pub shares: Shares,
    /// How the states that are shared out are cut up.
    pub pieces: Pieces,
    /// How weights come together before they are used; `None`: every rank has all of them.
    pub gathers: Option<Gathers>,
    /// Messages of a step between data-parallel ranks.
    pub messages: Messages,
    /// Buckets into which gradients are copied before they are reduced, where a library carries it
    /// out.
    pub buckets: Buckets,
    /// How a model's tensors change before the first step, where a library carries the sharding
    /// out.
    pub building: Building,
    /// True if weights, gradients and optimizer states go to host memory together, where a library
    /// carries the sharding out.
    pub offloads_together: bool,
    /// True if the optimizer's step begins with copies of all gradients in the format of master
    /// weights, where every rank keeps these of the whole model.
    pub casts_all_gradients: bool,
    /// True if weights can be cast to the format of products as they are gathered.
    pub casts_as_it_gathers: bool,
    /// Combinations that it forbids.
    pub forbids: &'static [Forbidden],
    /// Title of the fix that takes it because it shares out more; `None`: it is not offered.
    pub fix: Option<&'static str>,
    /// Title of the change that takes it because a rule forbids a sharding that shares out more;
    /// `None`: it is not offered.
    pub way_out: Option<&'static str>,
}

/// The states that data-parallel ranks share out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Optimizer states and master weights.
    pub optimizer: bool,
    /// Gradients.
    pub gradients: bool,
    /// Weights.
    pub parameters: bool,
}

/// How shared tensors are cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// All tensors in one long vector, of which each rank has an equal part.
    OfOneVector,
    /// Each tensor along its first dimension, rounded up to whole rows.
    RowsOfEachTensor,
    /// All tensors of a group that is gathered together in one long vector, of which each rank has
    /// an equal part.
    OfOneVectorPerGroup,
}

/// Flat buffers into which gradients are copied before they are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buckets {
    /// None of its own, or buffers of a group's size.
    None,
    /// One place for every gradient, from the start and for good; none where the optimizer keeps
    /// master weights.
    EveryGradient,
    /// One of `reduce_bucket_size` elements, from the first gradient of a backward until all are
    /// reduced. Without shared gradients these are reduced with the last micro-batch alone, and the
    /// bucket stays until then.
    WhileReducing,
    /// One of `reduce_bucket_size` elements, from the start and for good.
    Lasting,
}

/// How a library takes over a model that is whole on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Building {
    /// Its tensors stay where they are.
    AsItIs,
    /// The model's tensors are copied into one long vector, and the rank's part of that into the
    /// format of master weights.
    IntoOneVector,
}

impl Buckets {
    /// Returns true if the bucket has `reduce_bucket_size` elements.
    pub const fn is_of_stated_size(self) -> bool {
        matches!(self, Self::WhileReducing | Self::Lasting)
    }
}

/// How a rank comes by whole weights.
#[derive(Debug)]
pub struct Gathers {
    /// Where gathered weights come to lie.
    pub into: GatheredInto,
    /// True if the weights outside the blocks stay gathered between forward and backward, even
    /// where those of blocks do not.
    pub keeps_ends: bool,
    /// True if a block's inputs are cast to the format in which its weights are gathered.
    pub casts_inputs: bool,
    /// True if gathered weights and reduced gradients were checked against measurements, byte by
    /// byte.
    pub was_measured: bool,
    /// True if as many parameters stay gathered as `stage3_max_live_parameters` says. Otherwise a
    /// block's weights are given back as the layout says, and one block is in use at a time beside
    /// those gathered ahead.
    pub is_limited: bool,
    /// A note beside the line of gathered weights.
    pub note: &'static str,
    /// The source of the rule.
    pub source: Source,
}

/// Where weights come to lie as they are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatheredInto {
    /// In tensors of their own, one by one.
    Tensors,
    /// In a buffer, from which they are copied out into tensors of their own. The next block is
    /// gathered ahead, and gradients are joined in a buffer before they are reduced.
    BufferAndTensors,
    /// In one flat tensor that weights are views of. The next block of backward is gathered ahead,
    /// and gradients are joined in one flat gradient.
    FlatTensor,
}

/// Messages between data-parallel ranks in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// How gradients are summed.
    pub gradients: Reduction,
    /// When weights are gathered.
    pub weights: Gathering,
}

/// How gradients are summed over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Every rank gets all sums, once a step.
    AllReduce,
    /// Every rank gets the sums of its part, once a step.
    ScatterOnce,
    /// Every rank gets the sums of its part, with every micro-batch.
    ScatterEveryMicroBatch,
}

/// When weights are gathered from ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathering {
    /// Never: every rank updates all of them.
    Never,
    /// Once a step, after each rank updated its part.
    OnceAStep,
    /// Block by block before they are used, with every micro-batch; again for backward if they were
    /// given back.
    BeforeUse,
}

/// A combination that a framework forbids.
#[derive(Debug, PartialEq, Eq)]
pub struct FrameworkRule {
    /// One sentence: who forbids which combination, and a way out.
    pub says: &'static str,
    /// Where.
    pub source: Source,
}

/// A combination with something else that is forbidden.
#[derive(Debug)]
pub struct Forbidden {
    /// The other part of the combination.
    pub with: With,
    /// Under whose implementation.
    pub by: CarriedOutBy,
    /// The rule.
    pub rule: FrameworkRule,
}

/// Settings that a sharding may be forbidden with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// Several groups that each hold everything (hybrid sharding).
    Groups,
    /// Weights in host memory.
    WeightsInHostMemory,
    /// Optimizer states in host memory.
    OptimizerInHostMemory,
    /// Optimizer states in host memory, but not the weights.
    OptimizerAloneInHostMemory,
    /// Several pipeline stages.
    Pipeline,
    /// Several expert-parallel ranks.
    Experts,
    /// Weights of four bits, shared out over several ranks.
    PackedWeights,
    /// Parameters of two formats that learn.
    TwoFormats,
    /// Anything: that implementation does not have it.
    Anything,
}

/// Whose implementation of sharding runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedOutBy {
    /// Any software stack.
    Anyone,
    /// The software stack's own, as Megatron-LM's distributed optimizer.
    Stack,
    /// DeepSpeed's or PyTorch's.
    Library,
}

/// The rule of those that keep all weights on every rank. deepspeed/runtime/zero/config.py:
/// `offload_param` is valid with stage 3 only.
const WEIGHTS_STAY: Forbidden = Forbidden {
    with: With::WeightsInHostMemory,
    by: CarriedOutBy::Library,
    rule: FrameworkRule {
        says: "DeepSpeed and PyTorch keep weights in host memory under ZeRO stage 3 and FSDP only; use one of these",
        source: sources::DEEPSPEED,
    },
};

/// The rule of ZeRO stages that do not share out weights. deepspeed/runtime/zero/mics.py builds on
/// stage 3.
const NO_GROUPS: Forbidden = Forbidden {
    with: With::Groups,
    by: CarriedOutBy::Library,
    rule: FrameworkRule {
        says: "DeepSpeed shards within groups (MiCS) under ZeRO stage 3 only; use stage 3, or 1 group",
        source: sources::DEEPSPEED,
    },
};

/// The rule of ZeRO stages that share out gradients. deepspeed/runtime/pipe/engine.py asserts a
/// stage below 2.
const NO_PIPELINE: Forbidden = Forbidden {
    with: With::Pipeline,
    by: CarriedOutBy::Anyone,
    rule: FrameworkRule {
        says: "DeepSpeed does not combine pipeline parallelism with ZeRO stage 2 or 3; use stage 1 or FSDP",
        source: sources::DEEPSPEED,
    },
};

reference_to_member! {
    /// A way of sharding.
    ///
    /// ```
    /// # use headroom::sharding::DataSharding;
    /// assert_eq!(DataSharding::named("3").map(|sharding| sharding.zero_stage), Some(3));
    /// ```
    DataSharding: ShardingSpec, "way of sharding"
}

impl DataSharding {
    /// The one that shares nothing out: every rank holds everything.
    pub const NOTHING: Self = Self::ALL[first_where!(Self::SPECS, spec => !spec.shares.optimizer)];

    /// The first that casts weights as it gathers them.
    pub const CASTING: Self =
        Self::ALL[first_where!(Self::SPECS, spec => spec.casts_as_it_gathers)];

    /// The one that the form begins with.
    pub const FORM_START: &'static ShardingSpec =
        Self::SPECS[first_where!(Self::SPECS, spec => spec.starts_form)];

    /// Returns true if optimizer states are shared out.
    pub const fn shards_optimizer(self) -> bool {
        self.0.shares.optimizer
    }

    /// Returns true if gradients are shared out.
    pub const fn shards_gradients(self) -> bool {
        self.0.shares.gradients
    }

    /// Returns true if weights are shared out.
    pub const fn shards_parameters(self) -> bool {
        self.0.shares.parameters
    }

    /// Returns the rule of that implementation which forbids it together with something.
    pub fn forbidden(self, with: With, by: CarriedOutBy) -> Option<&'static FrameworkRule> {
        self.0
            .forbids
            .iter()
            .find(|forbidden| forbidden.with == with && forbidden.by == by)
            .map(|forbidden| &forbidden.rule)
    }
}

impl Default for DataSharding {
    fn default() -> Self {
        Self::NOTHING
    }
}

#[cfg(test)]
mod tests {
    use super::DataSharding;

    #[test]
    fn each_has_its_own_place_and_one_starts_the_form() {
        assert!(
            DataSharding::SPECS.iter().enumerate().all(|(place, spec)| spec.place == place),
            "two have one place"
        );
        let words: std::collections::BTreeSet<_> =
            DataSharding::SPECS.iter().map(|spec| spec.key).collect();
        assert_eq!(words.len(), DataSharding::SPECS.len());
        assert_eq!(DataSharding::SPECS.iter().filter(|spec| spec.starts_form).count(), 1);
        assert!(
            DataSharding::NOTHING.buckets == super::Buckets::EveryGradient,
            "DDP is the first that shares nothing out"
        );
        assert!(
            DataSharding::FORM_START.casts_as_it_gathers && DataSharding::CASTING.starts_form,
            "the first is the form's"
        );
    }
}
