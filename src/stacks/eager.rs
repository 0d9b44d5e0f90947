//! Hugging Face transformers' modules as they are written, on PyTorch's autograd, with full logits.

use super::{
    Flash, GroupsOfEnds, MegatronOptions, ModuleKernels, NO_DUAL_PIPE, NOT_COMPILED, NOT_IN_FLOAT8,
    SelectiveRecompute, StackOptions, StackSpec, Stages, StepMemory, TensorParallelism,
};
use crate::sharding::CarriedOutBy;

pub(super) const STACK: StackSpec = StackSpec {
    key: "eager",
    label: "Hugging Face",
    help: "transformers' modules as they are written, on PyTorch: every operation saves its own tensors, logits in full.",
    place: 0,
    is_default: false,
    step: StepMemory::Played(ModuleKernels::WRITTEN_OUT),
    runs_modules_of_family: true,
    selective: SelectiveRecompute::AttentionCore,
    recomputes_to_the_end: false,
    checkpoints_compiled: false,
    groups_of_ends: GroupsOfEnds::Together,
    keeps_last_block: false,
    tensor_parallelism: TensorParallelism::PlanOfFamily,
    // No plan of transformers 5.23 splits the embedding; where one splits the head, its output is
    // gathered.
    splits_vocabulary: false,
    has_all_degrees: false,
    stages: Stages::Elsewhere,
    sharding: CarriedOutBy::Library,
    has_main_gradients: false,
    options: StackOptions::Fixed(MegatronOptions::DEFAULT),
    flash: Flash::Second,
    forbids: &[NO_DUAL_PIPE, NOT_COMPILED, NOT_IN_FLOAT8],
    against_formula: "it lists other saved tensors than PyTorch's modules keep operator by operator",
};
