//! Liger Kernel 0.8.5 over transformers' modules (`use_liger_kernel` of Hugging Face's Trainer):
//! norms, rotation and gated activation are kernels that write over what they are given, and the
//! loss is made in chunks together with the head.
//!
//! `liger_kernel/ops`: `rms_norm.py` saves its input and one fp32 number per row, and writes the
//! input's gradient over that of its output; `rope.py` turns queries and keys in place; `swiglu.py`
//! saves gate and up, over which it writes their gradients; `fused_linear_cross_entropy.py` has one
//! buffer of logits for `next_power_of_2(⌈tokens / ⌈v / h⌉⌉)` tokens.

use super::{
    Flash, GroupsOfEnds, LossKernel, MegatronOptions, ModuleKernels, NO_DUAL_PIPE, NOT_COMPILED,
    NOT_IN_FLOAT8, NotWith, RotationKernel, SelectiveRecompute, StackOptions, StackRule, StackSpec,
    Stages, StepMemory, TensorParallelism,
};
use crate::sharding::{CarriedOutBy, FrameworkRule};
use crate::sources;

pub(super) const STACK: StackSpec = StackSpec {
    key: "liger",
    label: "Liger",
    help: "Liger's kernels in transformers' Llama and its like: gradients are written over what was saved, and there are no logits.",
    place: 5,
    is_default: false,
    step: StepMemory::Played(ModuleKernels {
        fuses_norms: true,
        fuses_gated_activation: true,
        writes_over: true,
        loss: LossKernel::InEvenChunks,
        rotation: RotationKernel::InPlace,
        ..ModuleKernels::WRITTEN_OUT
    }),
    runs_modules_of_family: false,
    keeps_last_block: false,
    selective: SelectiveRecompute::AttentionCore,
    recomputes_to_the_end: false,
    checkpoints_compiled: false,
    groups_of_ends: GroupsOfEnds::Together,
    tensor_parallelism: TensorParallelism::PlanOfFamily,
    splits_vocabulary: false,
    has_all_degrees: false,
    stages: Stages::Elsewhere,
    sharding: CarriedOutBy::Library,
    has_main_gradients: false,
    options: StackOptions::Fixed(MegatronOptions::DEFAULT),
    flash: Flash::Second,
    forbids: &[
        NO_DUAL_PIPE,
        NOT_COMPILED,
        NOT_IN_FLOAT8,
        rule(
            NotWith::ModulesUnlikeLlama,
            "Liger is modelled for blocks of Llama's parts, in their order, with norms behind each half, or with joint projections; use the software stack Hugging Face",
        ),
        rule(
            NotWith::SplitModel,
            "Liger is modelled without tensor and pipeline parallelism; use data-parallel ranks alone",
        ),
    ],
    against_formula: "it lists other saved tensors than Liger's kernels keep",
};

const fn rule(with: NotWith, says: &'static str) -> StackRule {
    StackRule { with, rule: FrameworkRule { says, source: sources::FUSED_KERNELS } }
}
