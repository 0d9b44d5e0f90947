//! Megatron-Core with Transformer Engine.

use super::{
    Flash, GroupsOfEnds, NOT_COMPILED, NOT_EVALUATED, NOT_IN_FLOAT8, NotWith, SelectiveRecompute,
    StackOptions, StackRule, StackSpec, Stages, StepMemory, TensorParallelism,
};
use crate::sharding::{CarriedOutBy, FrameworkRule};
use crate::sources;

pub(super) const STACK: StackSpec = StackSpec {
    key: "megatron",
    label: "Megatron-LM",
    help: "Megatron-Core's modules with Transformer Engine's kernels.",
    place: 2,
    is_default: false,
    step: StepMemory::OwnSchedule,
    runs_modules_of_family: false,
    selective: SelectiveRecompute::AttentionCore,
    recomputes_to_the_end: false,
    checkpoints_compiled: false,
    groups_of_ends: GroupsOfEnds::Together,
    keeps_last_block: false,
    tensor_parallelism: TensorParallelism::HeadsAndColumns,
    splits_vocabulary: true,
    has_all_degrees: true,
    stages: Stages::Elsewhere,
    sharding: CarriedOutBy::Stack,
    has_main_gradients: true,
    options: StackOptions::OfRun,
    flash: Flash::Newest,
    forbids: &[
        NOT_COMPILED,
        NOT_IN_FLOAT8,
        NOT_EVALUATED,
        // megatron/core/model_parallel_config.py.
        rule(
            NotWith::SequenceParallelismAlone,
            "Megatron-LM has no sequence parallelism without tensor parallelism; use 2 tensor-parallel ranks or more, or switch it off",
        ),
        rule(
            NotWith::WeightsInHostMemory,
            "Megatron-LM does not keep weights in host memory; offload the optimizer, or use FSDP with another stack",
        ),
        // megatron/core/transformer/transformer_config.py, cpu_offloading.
        rule(
            NotWith::ActivationsInHostMemoryOverStages,
            "Megatron-LM does not offload activations with pipeline parallelism; use 1 stage",
        ),
        rule(
            NotWith::RecomputedActivationsInHostMemory,
            "Megatron-LM does not offload activations that it recomputes; use one of the two",
        ),
    ],
    against_formula: "it lists dropout masks, which Megatron-Core without dropout does not keep",
};

const fn rule(with: NotWith, says: &'static str) -> StackRule {
    StackRule { with, rule: FrameworkRule { says, source: sources::MEGATRON_CORE } }
}
