//! Fused norms, fused SwiGLU and a chunked linear cross-entropy (Liger Kernel) on PyTorch, split as
//! Megatron-Core splits layers.

use super::{
    Flash, GroupsOfEnds, LossKernel, MegatronOptions, ModuleKernels, NO_DUAL_PIPE, NOT_COMPILED,
    NOT_EVALUATED, NOT_IN_FLOAT8, SelectiveRecompute, StackOptions, StackSpec, Stages, StepMemory,
    TensorParallelism, TokenSplit,
};
use crate::sharding::CarriedOutBy;

/// Tokens of one chunk of the fused linear cross-entropy.
const LOSS_CHUNK_TOKENS: u64 = 1024;

pub(super) const STACK: StackSpec = StackSpec {
    key: "fused",
    label: "Fused",
    help: "Fused norms and activation and a loss in chunks save far fewer tensors, and no logits.",
    place: 1,
    is_default: true,
    step: StepMemory::Played(ModuleKernels {
        fuses_norms: true,
        fuses_gated_activation: true,
        loss: LossKernel::InChunks { tokens: LOSS_CHUNK_TOKENS },
        tokens: TokenSplit::InProducts,
        ..ModuleKernels::WRITTEN_OUT
    }),
    runs_modules_of_family: false,
    selective: SelectiveRecompute::AttentionCore,
    recomputes_to_the_end: false,
    checkpoints_compiled: false,
    groups_of_ends: GroupsOfEnds::Together,
    keeps_last_block: false,
    tensor_parallelism: TensorParallelism::HeadsAndColumns,
    splits_vocabulary: true,
    has_all_degrees: false,
    stages: Stages::Elsewhere,
    sharding: CarriedOutBy::Library,
    has_main_gradients: false,
    options: StackOptions::Fixed(MegatronOptions::DEFAULT),
    flash: Flash::Second,
    forbids: &[NO_DUAL_PIPE, NOT_COMPILED, NOT_IN_FLOAT8, NOT_EVALUATED],
    against_formula: "it lists other saved tensors than fused kernels keep, which need no dropout masks",
};
