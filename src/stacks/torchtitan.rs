//! torchtitan 0.3: PyTorch's own models of llama's kind, under FSDP2.
//!
//! `models/common` of torchtitan 0.3.0: one product makes queries, keys and values, which are
//! copied apart; RMS norms are PyTorch's kernel; queries and keys are rotated as complex numbers in
//! fp32, by a buffer of every block; the loss reads the logits when the model has returned.
//! `distributed/fsdp.py` gathers the embedding in one group, final norm and head in another.
//! `distributed/activation_checkpoint.py` saves, under `selective`, what attention's kernel makes
//! and every second product of a block from the first on, and recomputes to the end of a block. The
//! loss is in one piece (`CrossEntropyLoss`) unless a run asks for chunks (`ChunkedLossWrapper`,
//! torchtitan's default).
//!
//! Tensor-parallel ranks (`models/common/decoder_sharding.py` with its default, `enable_sp`) have
//! parts of the tokens between the layers. Attention, feed-forward layer and head are given all of
//! them, which are gathered once and saved; the last product of each is scattered, and so are the
//! embedded tokens of a rank's part of the words (`models/common/embedding.py`). The loss is
//! computed from a rank's columns of the logits (`_LossParallelCrossEntropy`).

use super::{
    BY_TOKENS_ALONE, BY_TORCH_SCHEDULES, Flash, GroupsOfEnds, MegatronOptions, ModuleKernels,
    NO_DUAL_PIPE, NOT_EVALUATED, NotWith, RotationKernel, SelectiveRecompute, StackOptions,
    StackRule, StackSpec, Stages, StepMemory, TensorParallelism, TokenSender, TokenSplit,
};
use crate::sharding::{CarriedOutBy, FrameworkRule};
use crate::sources;

pub(super) const STACK: StackSpec = StackSpec {
    key: "torchtitan",
    label: "torchtitan",
    help: "PyTorch's own Llama: one kernel for a norm, rotation in fp32, the loss in one piece behind the model.",
    place: 4,
    is_default: false,
    step: StepMemory::Played(ModuleKernels {
        fuses_norms: true,
        joins_projections: true,
        rotation: RotationKernel::ComplexInFp32 { in_every_block: true },
        loss_behind_model: true,
        tokens: TokenSplit::BeforeProducts(TokenSender::SpmdTypes),
        ..ModuleKernels::WRITTEN_OUT
    }),
    runs_modules_of_family: false,
    selective: SelectiveRecompute::AllButSecondProducts,
    recomputes_to_the_end: true,
    checkpoints_compiled: false,
    groups_of_ends: GroupsOfEnds::Apart,
    keeps_last_block: false,
    tensor_parallelism: TensorParallelism::HeadsAndColumns,
    splits_vocabulary: true,
    has_all_degrees: false,
    stages: Stages::OfTorch,
    sharding: CarriedOutBy::Library,
    has_main_gradients: false,
    options: StackOptions::Fixed(MegatronOptions::DEFAULT),
    flash: Flash::Second,
    forbids: &[
        NO_DUAL_PIPE,
        NOT_EVALUATED,
        rule(
            NotWith::OtherModules,
            "torchtitan is modelled for models of Llama's kind; use the software stack Hugging Face",
        ),
        rule(NotWith::SplitOtherThanByTokens, BY_TOKENS_ALONE),
        rule(NotWith::OtherSchedules, BY_TORCH_SCHEDULES),
        rule(
            NotWith::TensorwiseFloat8,
            "torchtitan 0.3 has the recipes rowwise and rowwise_with_gw_hp alone; choose one of them, or the software stack torchtitan 0.1",
        ),
        rule(
            NotWith::Tuning,
            "torchtitan trains all weights on the next token; use the software stack Hugging Face for adapters and other losses",
        ),
    ],
    against_formula: "it lists other saved tensors than PyTorch's modules keep operator by operator",
};

const fn rule(with: NotWith, says: &'static str) -> StackRule {
    StackRule { with, rule: FrameworkRule { says, source: sources::TORCHTITAN } }
}
