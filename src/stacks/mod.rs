//! The software that runs a training: which kernels carry out the layers of a model, and who splits and sends its tensors.
//!
//! One stack is one file, which exports one [`StackSpec`]. Everything in which stacks differ is read from there; none of them is named
//! in another file. Two rooms carry out the schedule of the stack that has one: the lists of its operations (`ops`) and its ledger
//! (`estimator`).

mod spec;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::sharding::FrameworkRule;
use crate::sources;

pub use spec::{
    Flash, LossFusion, LossKernel, MegatronOptions, ModuleKernels, NotWith, RecomputeMethod, RecomputeModules, StackOptions,
    StackRule, StackSpec, StepMemory, TensorParallelism, TokenDispatcher,
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

/// One of the software stacks, told apart by its key.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub struct Stack(&'static StackSpec);

impl Stack {
    /// The description of each stack, in the order of lists.
    pub const SPECS: [&'static StackSpec; MEMBERS.len()] = {
        let mut specs = MEMBERS;
        let mut at = 0;
        while at < MEMBERS.len() {
            specs[MEMBERS[at].place] = MEMBERS[at];
            at += 1;
        }
        specs
    };

    /// All stacks, in the order of lists.
    pub const ALL: [Self; MEMBERS.len()] = {
        let mut all = [Self(Self::SPECS[0]); MEMBERS.len()];
        let mut at = 0;
        while at < MEMBERS.len() {
            all[at] = Self(Self::SPECS[at]);
            at += 1;
        }
        all
    };

    /// The stack of a run that names none. Serving engines fuse and split their layers as it does.
    pub const DEFAULT: Self = {
        let mut at = 0;
        while !Self::SPECS[at].is_default {
            at += 1;
        }
        Self::ALL[at]
    };

    /// The stack whose options the form asks for.
    pub const WITH_OPTIONS: &'static StackSpec = {
        let mut at = 0;
        while !Self::SPECS[at].options.are_asked_for() {
            at += 1;
        }
        Self::SPECS[at]
    };

    /// Its word in links and forms.
    pub const fn key(self) -> &'static str {
        self.0.key
    }

    /// The stack of that key; `None` if there is none.
    ///
    /// ```
    /// # use headroom::stacks::Stack;
    /// assert!(Stack::named("eager").is_some_and(Stack::is_played));
    /// assert!(Stack::named("magic").is_none());
    /// ```
    pub fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stack| stack.key == key)
    }

    /// The names of all stacks that split layers over context and expert ranks and over several chunks of a stage.
    pub fn names_with_all_degrees() -> String {
        let names: Vec<_> = Self::SPECS.iter().filter(|spec| spec.has_all_degrees).map(|spec| spec.label).collect();
        names.join(" and ")
    }

    /// Whether its step is played operator by operator on the tape.
    pub const fn is_played(self) -> bool {
        matches!(self.0.step, StepMemory::Played(_))
    }

    /// Whether its step follows Megatron-LM's schedule and buffers.
    pub const fn has_own_schedule(self) -> bool {
        matches!(self.0.step, StepMemory::OwnSchedule)
    }

    /// Whether its step holds exactly the tensors of the papers' operation list.
    pub const fn is_listed(self) -> bool {
        matches!(self.0.step, StepMemory::Listed)
    }

    /// The kernels of modules on the tape. Of stacks that are not played, modules as they are written say parameters and FLOPs.
    pub const fn modules(self) -> ModuleKernels {
        match self.0.step {
            StepMemory::Played(modules) => modules,
            StepMemory::OwnSchedule | StepMemory::Listed => ModuleKernels::WRITTEN_OUT,
        }
    }

    /// Its own rule against such a run; `None` where it has none.
    pub fn forbidden(self, with: NotWith) -> Option<&'static FrameworkRule> {
        self.0.forbids.iter().find(|forbidden| forbidden.with == with).map(|forbidden| &forbidden.rule)
    }
}

impl Deref for Stack {
    type Target = StackSpec;

    fn deref(&self) -> &StackSpec {
        self.0
    }
}

impl Default for Stack {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl PartialEq for Stack {
    fn eq(&self, other: &Self) -> bool {
        self.0.place == other.0.place
    }
}

impl Eq for Stack {}

impl Hash for Stack {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.0.place);
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.key)
    }
}

impl From<Stack> for &'static str {
    fn from(stack: Stack) -> Self {
        stack.0.key
    }
}

impl TryFrom<String> for Stack {
    type Error = String;

    fn try_from(key: String) -> Result<Self, String> {
        Self::named(&key).ok_or_else(|| format!("there is no software stack “{key}”"))
    }
}

#[cfg(test)]
mod tests {
    use super::Stack;

    #[test]
    fn each_has_its_own_place_and_key_and_one_is_the_default() {
        assert!(Stack::SPECS.iter().enumerate().all(|(place, spec)| spec.place == place), "two have one place");
        let words: std::collections::BTreeSet<_> = Stack::SPECS.iter().map(|spec| spec.key).collect();
        assert_eq!(words.len(), Stack::SPECS.len());
        assert_eq!(Stack::SPECS.iter().filter(|spec| spec.is_default).count(), 1);
        assert_eq!(Stack::SPECS.iter().filter(|spec| spec.options.are_asked_for()).count(), 1, "the form has one's options");
    }

    #[test]
    fn saved_stacks_are_read_by_their_key() {
        for stack in Stack::ALL {
            assert_eq!(serde_json::to_string(&stack).ok(), Some(format!("\"{}\"", stack.key)));
            assert_eq!(serde_json::from_str::<Stack>(&format!("\"{}\"", stack.key)).ok(), Some(stack));
        }
        assert!(serde_json::from_str::<Stack>("\"magic\"").is_err());
    }
}
