//! The software that runs a training: which kernels carry out the layers of a model, and who splits
//! and sends its tensors.
//!
//! One stack is one file, which exports one [`StackSpec`]. Everything in which stacks differ is
//! read from there; none of them is named in another file. Two rooms carry out the schedule of the
//! stack that has one: the lists of its operations (`ops`) and its ledger (`estimator`).

mod spec;

use crate::sharding::FrameworkRule;
use crate::sources;

pub use spec::{
    Flash, GroupsOfEnds, LossFusion, LossKernel, MegatronOptions, ModuleKernels, NotWith,
    RecomputeMethod, RecomputeModules, RotationKernel, SelectiveRecompute, StackOptions, StackRule,
    StackSpec, Stages, StepMemory, TensorParallelism, TokenDispatcher, TokenSender, TokenSplit,
};

members::of_folder!("src/stacks", STACK: StackSpec);

/// The rule of stacks that run PyTorch's own pipelines.
const NO_DUAL_PIPE: StackRule = StackRule {
    with: NotWith::DualPipe,
    rule: FrameworkRule {
        says: "DualPipe places two stages on every rank, which transformers and PyTorch's own pipelines do not; use the software stack Megatron-LM, or one forward, one backward",
        source: sources::DEEPSEEK_V3_2024,
    },
};

/// The rule of torchtitan's stacks against other ways to split a model.
const BY_TOKENS_ALONE: &str = "torchtitan's tensor parallelism is modelled with sequence parallelism, and without torch.compile and float8; use these alone, or another stack";

/// The rule of torchtitan's stacks against other schedules than they are modelled with.
const BY_TORCH_SCHEDULES: &str = "torchtitan's pipelines are modelled with GPipe, and with 1F1B, which needs as many micro-batches as stages, and without torch.compile and float8; use these, or another stack";

/// The rule of stacks whose compiled step nobody has compared with PyTorch's.
const NOT_COMPILED: StackRule = StackRule {
    with: NotWith::Compiling,
    rule: FrameworkRule {
        says: "torch.compile is modelled for torchtitan and torchtune alone, whose compiled steps were compared with PyTorch's; without it the step takes at least as much",
        source: sources::TORCH_COMPILE,
    },
};

/// The rule of stacks whose products in float8 nobody has compared with PyTorch's.
const NOT_IN_FLOAT8: StackRule = StackRule {
    with: NotWith::Float8,
    rule: FrameworkRule {
        says: "Products in float8 are modelled as torchtitan runs them, by torchao; use the software stack torchtitan, or products in the format of weights",
        source: sources::TORCHAO_FLOAT8,
    },
};

/// The rule of stacks that do not carry out transformers' Trainer.
const NOT_EVALUATED: StackRule = StackRule {
    with: NotWith::Evaluating,
    rule: FrameworkRule {
        says: "Evaluations between steps are modelled for Hugging Face's Trainer; use the software stack Hugging Face or Liger, or leave the evaluation batch empty",
        source: sources::TRANSFORMERS_TRAINER,
    },
};

reference_to_member! {
    /// One of the software stacks.
    ///
    /// ```
    /// # use headroom::stacks::Stack;
    /// assert!(Stack::named("eager").is_some_and(Stack::is_played));
    /// assert!(Stack::named("magic").is_none());
    /// ```
    Stack: StackSpec, "software stack"
}

impl Stack {
    /// The stack of a run that names none. Serving engines fuse and split their layers as it does.
    pub const DEFAULT: Self = Self::ALL[first_where!(Self::SPECS, spec => spec.is_default)];

    /// The stack whose options the form asks for.
    pub const WITH_OPTIONS: &'static StackSpec =
        Self::SPECS[first_where!(Self::SPECS, spec => spec.options.are_asked_for())];

    /// Returns the names of all stacks that split layers over context and expert ranks and over
    /// several chunks of a stage.
    pub fn names_with_all_degrees() -> String {
        let names: Vec<_> =
            Self::SPECS.iter().filter(|spec| spec.has_all_degrees).map(|spec| spec.label).collect();
        names.join(" and ")
    }

    /// Returns true if the stack's step is played operator by operator on the tape.
    pub const fn is_played(self) -> bool {
        matches!(self.0.step, StepMemory::Played(_))
    }

    /// Returns true if the stack's step follows Megatron-LM's schedule and buffers.
    pub const fn has_own_schedule(self) -> bool {
        matches!(self.0.step, StepMemory::OwnSchedule)
    }

    /// Returns true if the stack's step holds exactly the tensors of the papers' operation list.
    pub const fn is_listed(self) -> bool {
        matches!(self.0.step, StepMemory::Listed)
    }

    /// Returns the kernels of modules on the tape. Of stacks that are not played, modules as they
    /// are written say parameters and FLOPs.
    pub const fn modules(self) -> ModuleKernels {
        match self.0.step {
            StepMemory::Played(modules) => modules,
            StepMemory::OwnSchedule | StepMemory::Listed => ModuleKernels::WRITTEN_OUT,
        }
    }

    /// Returns its own rule against such a run; `None` where it has none.
    pub fn forbidden(self, with: NotWith) -> Option<&'static FrameworkRule> {
        self.0
            .forbids
            .iter()
            .find(|forbidden| forbidden.with == with)
            .map(|forbidden| &forbidden.rule)
    }
}

impl Default for Stack {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::Stack;

    #[test]
    fn each_has_its_own_place_and_key_and_one_is_the_default() {
        assert!(
            Stack::SPECS.iter().enumerate().all(|(place, spec)| spec.place == place),
            "two have one place"
        );
        let words: std::collections::BTreeSet<_> =
            Stack::SPECS.iter().map(|spec| spec.key).collect();
        assert_eq!(words.len(), Stack::SPECS.len());
        assert_eq!(Stack::SPECS.iter().filter(|spec| spec.is_default).count(), 1);
        assert_eq!(
            Stack::SPECS.iter().filter(|spec| spec.options.are_asked_for()).count(),
            1,
            "the form has one's options"
        );
    }

    #[test]
    fn saved_stacks_are_read_by_their_key() {
        for stack in Stack::ALL {
            assert_eq!(serde_json::to_string(&stack).ok(), Some(format!("\"{}\"", stack.key)));
            assert_eq!(
                serde_json::from_str::<Stack>(&format!("\"{}\"", stack.key)).ok(),
                Some(stack)
            );
        }
        assert!(serde_json::from_str::<Stack>("\"magic\"").is_err());
    }
}
