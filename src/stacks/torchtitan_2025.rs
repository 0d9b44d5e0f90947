//! torchtitan 0.1: PyTorch's own models of Llama's kind, under FSDP2.
//!
//! `models/llama3/model/model.py` of torchtitan 0.1.0: queries, keys and values are products of
//! their own; RMS norms are PyTorch's kernel; queries and keys are rotated as complex numbers in
//! fp32, by one buffer of the model; every query head is given a copy of its keys and values; the
//! loss reads logits in fp32 when the model has returned. `models/llama3/infra/parallelize.py`
//! gathers embedding, final norm and head in one group, keeps the last block gathered, and, under
//! `selective`, saves what attention's kernel makes and every second product of a block from the
//! first on.
//!
//! Under tensor parallelism (`apply_tp`) ranks have parts of the tokens between the layers, as
//! DTensors; the embedding has a rank's part of the words, and the loss reads its columns of the
//! logits (`loss_parallel`).

use super::{
    BY_TOKENS_ALONE, BY_TORCH_SCHEDULES, Flash, GroupsOfEnds, MegatronOptions, ModuleKernels,
    NO_DUAL_PIPE, NOT_EVALUATED, NotWith, RotationKernel, SelectiveRecompute, StackOptions,
    StackRule, StackSpec, Stages, StepMemory, TensorParallelism, TokenSender, TokenSplit,
};
use crate::sharding::{CarriedOutBy, FrameworkRule};
use crate::sources;

pub(super) const STACK: StackSpec = StackSpec {
    key: "torchtitan-2025",
    label: "torchtitan 0.1",
    help: "PyTorch's own Llama as of 2025: keys and values copied for every head, logits in fp32 behind the model.",
    place: 7,
    is_default: false,
    step: StepMemory::Played(ModuleKernels {
        fuses_norms: true,
        rotation: RotationKernel::ComplexInFp32 { in_every_block: false },
        repeats_keys: true,
        loss_behind_model: true,
        tokens: TokenSplit::BeforeProducts(TokenSender::DTensor),
        ..ModuleKernels::WRITTEN_OUT
    }),
    runs_modules_of_family: false,
    selective: SelectiveRecompute::AllButSecondProducts,
    // `checkpoint` stops when backward has all that it needs.
    recomputes_to_the_end: false,
    checkpoints_compiled: false,
    groups_of_ends: GroupsOfEnds::Together,
    keeps_last_block: true,
    tensor_parallelism: TensorParallelism::HeadsAndColumns,
    splits_vocabulary: true,
    has_all_degrees: false,
    stages: Stages::OfTorchWithOutputs,
    sharding: CarriedOutBy::Library,
    has_main_gradients: false,
    options: StackOptions::Fixed(MegatronOptions::DEFAULT),
    flash: Flash::Second,
    forbids: &[
        NO_DUAL_PIPE,
        NOT_EVALUATED,
        rule(
            NotWith::OtherModules,
            "torchtitan 0.1 is modelled for models of Llama's kind; use the software stack Hugging Face",
        ),
        rule(NotWith::SplitOtherThanByTokens, BY_TOKENS_ALONE),
        rule(NotWith::OtherSchedules, BY_TORCH_SCHEDULES),
        // `repeat_kv` sees one head as many without a copy, which PyTorch's flash kernel does not
        // take.
        rule(
            NotWith::OneKeyHead,
            "torchtitan 0.1 with one key/value head on a rank runs an attention kernel that is not modelled; use fewer tensor-parallel ranks",
        ),
        rule(
            NotWith::Tuning,
            "torchtitan 0.1 trains all weights on the next token; use the software stack Hugging Face for adapters and other losses",
        ),
    ],
    against_formula: "it lists other saved tensors than PyTorch's modules keep operator by operator",
};

const fn rule(with: NotWith, says: &'static str) -> StackRule {
    StackRule { with, rule: FrameworkRule { says, source: sources::TORCHTITAN_2025 } }
}
