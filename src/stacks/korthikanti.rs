//! The operation list of Korthikanti et al. 2022 with dropout masks: the `34sbh + 5as²b` family.

use super::{
    Flash, GroupsOfEnds, MegatronOptions, NOT_COMPILED, NOT_EVALUATED, NOT_IN_FLOAT8,
    SelectiveRecompute, StackOptions, StackSpec, Stages, StepMemory, TensorParallelism,
};
use crate::sharding::CarriedOutBy;

pub(super) const STACK: StackSpec = StackSpec {
    key: "korthikanti",
    label: "Korthikanti et al. 2022",
    help: "What the paper's operation list saves, with dropout masks: 34sbh + 5as²b a block.",
    place: 3,
    is_default: false,
    step: StepMemory::Listed,
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
    // The paper counts no buffers.
    has_main_gradients: false,
    options: StackOptions::Fixed(MegatronOptions {
        hidden_dropout: true,
        attention_dropout: true,
        ..MegatronOptions::DEFAULT
    }),
    flash: Flash::Second,
    forbids: &[NOT_COMPILED, NOT_IN_FLOAT8, NOT_EVALUATED],
    against_formula: "it leaves out what lies outside the blocks: embedding output, last norm, logits and loss",
};
