//! torchtune 0.6.1: its own models of llama's kind, in recipes for one device.
//!
//! `modules/rms_norm.py` norms an fp32 copy by PyTorch's composite;
//! `models/llama3_1/_position_embeddings.py` rotates neighbours in fp32 by one buffer of all
//! positions; `modules/attention.py` repeats keys and values for every query head;
//! `modules/peft/lora.py` adds adapters without casts; torchao 0.9 makes weights of four bits whole
//! by index; `modules/loss/ce_chunked_output_loss.py` has logits of eight parts of each sequence.
//! Compiled (`training/_compile.py`), each layer is a graph of its own before the recipes put
//! checkpointing around it, and of the loss each part's cast and cross-entropy are one.

use super::{
    Flash, GroupsOfEnds, LossKernel, MegatronOptions, ModuleKernels, NO_DUAL_PIPE, NOT_EVALUATED,
    NOT_IN_FLOAT8, NotWith, RotationKernel, SelectiveRecompute, StackOptions, StackRule, StackSpec,
    Stages, StepMemory, TensorParallelism,
};
use crate::sharding::{CarriedOutBy, FrameworkRule};
use crate::sources;

/// Parts of a sequence whose logits are made one by one (`num_output_chunks`).
const PARTS: u64 = 8;

pub(super) const STACK: StackSpec = StackSpec {
    key: "torchtune",
    label: "torchtune",
    help: "PyTorch's own Llama for fine-tuning: norms and rotation in fp32, keys repeated, the loss in eight parts.",
    place: 6,
    is_default: false,
    step: StepMemory::Played(ModuleKernels {
        rotation: RotationKernel::PairsInFp32,
        loss: LossKernel::OfParts { parts: PARTS },
        is_own_model: true,
        ..ModuleKernels::WRITTEN_OUT
    }),
    runs_modules_of_family: false,
    keeps_last_block: false,
    selective: SelectiveRecompute::AttentionCore,
    recomputes_to_the_end: false,
    checkpoints_compiled: true,
    groups_of_ends: GroupsOfEnds::Together,
    tensor_parallelism: TensorParallelism::HeadsAndColumns,
    splits_vocabulary: false,
    has_all_degrees: false,
    stages: Stages::Elsewhere,
    sharding: CarriedOutBy::Library,
    has_main_gradients: false,
    options: StackOptions::Fixed(MegatronOptions::DEFAULT),
    flash: Flash::Second,
    forbids: &[
        NO_DUAL_PIPE,
        NOT_EVALUATED,
        NOT_IN_FLOAT8,
        rule(
            NotWith::OtherModules,
            "torchtune is modelled for models of Llama's kind; use the software stack Hugging Face",
        ),
        rule(
            NotWith::SplitModel,
            "torchtune is modelled without tensor and pipeline parallelism; use data-parallel ranks alone",
        ),
    ],
    against_formula: "it lists other saved tensors than PyTorch's modules keep operator by operator",
};

const fn rule(with: NotWith, says: &'static str) -> StackRule {
    StackRule { with, rule: FrameworkRule { says, source: sources::TORCHTUNE } }
}
