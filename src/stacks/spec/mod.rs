//! The choices by which one software stack differs from another.

mod options;

use serde::{Deserialize, Serialize};

use crate::sharding::{CarriedOutBy, FrameworkRule};

pub use options::{
    LossFusion, MegatronOptions, RecomputeMethod, RecomputeModules, TokenDispatcher,
};

/// Everything that Headroom knows of a software stack.
#[derive(Debug)]
pub struct StackSpec {
    /// Its word in links, saved scenarios and the form.
    pub key: &'static str,
    /// Its name in the form.
    pub label: &'static str,
    /// Which tensors it saves, one sentence.
    pub help: &'static str,
    /// Its place in lists, counted from 0; no two have the same.
    pub place: usize,
    /// True for the stack of a run that names none.
    pub is_default: bool,
    /// How the memory of its step is counted.
    pub step: StepMemory,
    /// True if it runs each family's own modules as transformers writes them. For an unknown family
    /// they are put together from its sizes.
    pub runs_modules_of_family: bool,
    /// The tensors that selective recomputation brings back.
    pub selective: SelectiveRecompute,
    /// True if a recomputed part runs to its end, although backward has all the tensors it needs
    /// earlier.
    pub recomputes_to_the_end: bool,
    /// True if checkpointing wraps blocks that were compiled, so that compiled forwards run again
    /// whole. Otherwise a compiler is given blocks together with the checkpointing in them.
    pub checkpoints_compiled: bool,
    /// In which groups the ends of a model are gathered, where a library gathers weights.
    pub groups_of_ends: GroupsOfEnds,
    /// True if the last block stays gathered from forward to backward, which begins with it, where
    /// a library gathers weights.
    pub keeps_last_block: bool,
    /// How tensor-parallel ranks share layers.
    pub tensor_parallelism: TensorParallelism,
    /// True if tensor-parallel ranks share the vocabulary of embedding and head.
    pub splits_vocabulary: bool,
    /// True if it splits sequences over context ranks, experts over expert ranks and tensor ranks
    /// of their own, and a stage into several chunks of layers.
    pub has_all_degrees: bool,
    /// Who runs its pipeline stages.
    pub stages: Stages,
    /// Whose implementation of sharding it runs.
    pub sharding: CarriedOutBy,
    /// True if gradients are added up in a buffer of their own format (Megatron-LM's main
    /// gradients), from which they are sent, and into which products can write.
    pub has_main_gradients: bool,
    /// The options of Megatron-LM's modules that its time is computed with, where it is not played.
    pub options: StackOptions,
    /// The fused attention kernel of its releases.
    pub flash: Flash,
    /// Runs that it refuses.
    pub forbids: &'static [StackRule],
    /// Why it differs from 34sbh + 5as²b a block: the end of a sentence about a document.
    pub against_formula: &'static str,
}

/// How the memory of a step is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepMemory {
    /// Played on the tape operator by operator, with such kernels.
    Played(ModuleKernels),
    /// Megatron-LM's schedule over its own modules and kernels, with buffers that stand all the
    /// time.
    OwnSchedule,
    /// The saved tensors of the papers' operation list, and nothing beside them.
    Listed,
}

/// The kernels that carry out a model's modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleKernels {
    /// True if a norm is one kernel, which saves its input and statistics.
    pub fuses_norms: bool,
    /// True if the gated activation is one kernel, which saves both of its inputs and nothing
    /// between.
    pub fuses_gated_activation: bool,
    /// True if backward of fused norms and activations writes over gradients and saved tensors,
    /// instead of making tensors of its own.
    pub writes_over: bool,
    /// How the loss of the next token is computed.
    pub loss: LossKernel,
    /// How hidden states between attention and feed-forward can be split by tokens over tensor
    /// ranks.
    pub tokens: TokenSplit,
    /// True if queries, keys and values are one product, whose parts are copied.
    pub joins_projections: bool,
    /// How queries and keys are rotated.
    pub rotation: RotationKernel,
    /// True if heads that share keys and values are given copies of them before attention.
    pub repeats_keys: bool,
    /// True if the loss is computed after the model's `forward` has returned.
    pub loss_behind_model: bool,
    /// True if the model is the stack's own. It has no positions, masks and hooks of transformers
    /// and no casts of peft; its norms run operator by operator in fp32, neighbours in a head are
    /// rotated together by one buffer, and keys are repeated for every query head.
    pub is_own_model: bool,
}

/// How queries and keys are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationKernel {
    /// As the family's modules do it.
    OfFamily,
    /// As complex numbers in fp32, by factors in a buffer.
    ComplexInFp32 {
        /// True if every block has a buffer of its own; otherwise all read the model's.
        in_every_block: bool,
    },
    /// By one kernel, in place.
    InPlace,
    /// Neighbours in a head together, in fp32, operator by operator, by one buffer of all
    /// positions.
    PairsInFp32,
}

/// The tensors that selective recomputation brings back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectiveRecompute {
    /// Scores and probabilities of attention.
    AttentionCore,
    /// All of a block but the results of attention's kernel and of every second product with a
    /// weight, the first included.
    AllButSecondProducts,
}

/// Who runs pipeline stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// Software whose order of allocations is not modelled on the tape.
    Elsewhere,
    /// `torch.distributed.pipelining`. FSDP2 then keeps weights gathered and adds whole gradients
    /// up until all micro-batches of a step are through.
    OfTorch,
    /// As [`Self::OfTorch`]; the last stage keeps the model's outputs of all micro-batches, and
    /// joins them at the end of a step, because its trainer does not say `return_outputs=False`.
    OfTorchWithOutputs,
}

impl Stages {
    /// Returns true if `torch.distributed.pipelining` runs them.
    pub const fn are_of_torch(self) -> bool {
        matches!(self, Self::OfTorch | Self::OfTorchWithOutputs)
    }

    /// Returns true if the outputs of all micro-batches stay.
    pub const fn keep_outputs(self) -> bool {
        matches!(self, Self::OfTorchWithOutputs)
    }
}

/// In which groups the ends of a model are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupsOfEnds {
    /// In one.
    Together,
    /// The embedding in one, final norm and head in another, which stays gathered from forward to
    /// backward.
    Apart,
}

impl RotationKernel {
    /// Returns true if complex numbers are multiplied.
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::ComplexInFp32 { .. })
    }
}

impl ModuleKernels {
    /// Every operator as transformers writes it.
    pub const WRITTEN_OUT: Self = Self {
        fuses_norms: false,
        fuses_gated_activation: false,
        writes_over: false,
        loss: LossKernel::FullLogits,
        tokens: TokenSplit::Never,
        joins_projections: false,
        rotation: RotationKernel::OfFamily,
        repeats_keys: false,
        loss_behind_model: false,
        is_own_model: false,
    };

    /// Returns true if any part runs a kernel that transformers' modules do not call.
    pub const fn are_fused(&self) -> bool {
        self.fuses_norms || self.fuses_gated_activation || self.loss.makes_chunks()
    }
}

/// How the loss of the next token is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKernel {
    /// The head makes all logits, and cross-entropy reads them.
    FullLogits,
    /// The head makes all logits, and cross-entropy reads a copy of them without each sequence's
    /// last token.
    ShiftedLogits,
    /// Head and cross-entropy go over so many tokens at a time, and gradients are made in forward.
    InChunks {
        /// Tokens of a chunk.
        tokens: u64,
    },
    /// The head makes logits of so many parts of each sequence, all of which stay until every part
    /// has its loss.
    OfParts {
        /// How many parts.
        parts: u64,
    },
    /// Head, loss and their backward for so many parts of each sequence, one after the other,
    /// before the backward of the rest.
    ByChunk {
        /// How many parts.
        parts: u64,
    },
    /// Log-probabilities by tiles of so many tokens and columns, whose logits are made again in
    /// backward.
    InTiles {
        /// Tokens of a tile.
        tokens: u64,
        /// Columns of a tile.
        columns: u64,
    },
    /// As in chunks, in one buffer of logits, of about as many bytes as the head's input.
    InEvenChunks,
    /// One kernel reads the head's input and weight, and writes no logits.
    Cut,
}

impl LossKernel {
    /// Returns the tokens of a chunk, of so many tokens of that width; `None` where all logits are
    /// made at once.
    ///
    /// Even chunks are `next_power_of_2(⌈tokens / ⌈v / h⌉⌉)`, at most all (Liger Kernel 0.8.5,
    /// `fused_linear_cross_entropy.py`).
    pub fn chunk_tokens(self, tokens: u64, hidden_size: u64, vocab_size: u64) -> Option<u64> {
        match self {
            Self::FullLogits
            | Self::ShiftedLogits
            | Self::OfParts { .. }
            | Self::ByChunk { .. }
            | Self::InTiles { .. }
            | Self::Cut => None,
            Self::InChunks { tokens: most } => Some(most.min(tokens)),
            Self::InEvenChunks => {
                let factor = vocab_size.div_ceil(hidden_size.max(1)).max(1);
                Some(
                    tokens
                        .div_ceil(factor)
                        .checked_next_power_of_two()
                        .map_or(tokens, |chunk| chunk.min(tokens)),
                )
            }
        }
    }

    /// Returns true if logits are made chunk by chunk.
    pub const fn makes_chunks(self) -> bool {
        match self {
            Self::FullLogits | Self::ShiftedLogits => false,
            Self::InChunks { .. }
            | Self::InEvenChunks
            | Self::OfParts { .. }
            | Self::ByChunk { .. }
            | Self::InTiles { .. }
            | Self::Cut => true,
        }
    }

    /// Returns the tokens beyond which memory follows one law of their number; `None` where chunks
    /// change with it again and again.
    pub const fn bend(self) -> Option<u64> {
        match self {
            Self::FullLogits | Self::ShiftedLogits | Self::Cut => Some(0),
            // One sequence without its last token fills a tile from there on.
            Self::InTiles { tokens, .. } => Some(tokens.saturating_add(1)),
            Self::InChunks { tokens } => Some(tokens),
            Self::InEvenChunks | Self::OfParts { .. } | Self::ByChunk { .. } => None,
        }
    }
}

/// How tensor-parallel ranks share layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorParallelism {
    /// By the plan that transformers has for the family (`base_model_tp_plan`); families without
    /// one are refused.
    PlanOfFamily,
    /// Attention by heads, feed-forward layers and experts by columns, in every family.
    HeadsAndColumns,
}

/// How tensor-parallel ranks share the tokens between attention and feed-forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSplit {
    /// Every rank has all tokens.
    Never,
    /// Every product gathers its input, and again in backward.
    InProducts,
    /// Attention and feed-forward layer gather their input once, for all their products, which save
    /// it.
    BeforeProducts(TokenSender),
}

/// The collectives that gather and scatter parts of the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSender {
    /// Those of spmd_types 0.2.3 (`_collectives.py`): what is gathered is put in the order of tokens
    /// in a second tensor, and of several sequences what is scattered in the order of ranks, in
    /// which the result stays.
    SpmdTypes,
    /// DTensor's (PyTorch 2.15, `_functional_collectives.py`): what is scattered is always put in
    /// the order of ranks in a second tensor, and of several sequences what is gathered in that of
    /// tokens. Selective recomputation keeps what was scattered.
    DTensor,
}

/// Where the options of Megatron-LM's modules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackOptions {
    /// The run states them, and the form asks for them.
    OfRun,
    /// The stack has them fixed.
    Fixed(MegatronOptions),
}

impl StackOptions {
    /// Returns true if the form asks for the options.
    pub const fn are_asked_for(&self) -> bool {
        matches!(self, Self::OfRun)
    }

    /// Returns the options of a run that states those.
    pub const fn of(&self, stated: MegatronOptions) -> MegatronOptions {
        match self {
            Self::OfRun => stated,
            Self::Fixed(options) => *options,
        }
    }
}

/// The generation of the fused attention kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flash {
    /// FlashAttention 1 and Triton's kernels of 2023.
    First,
    /// FlashAttention 2, PyTorch's own.
    #[default]
    Second,
    /// cuDNN's, FlashAttention 3 and 4, made for Hopper and Blackwell.
    Newest,
}

/// A kind of run that a stack may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotWith {
    /// The schedule that places two stages on every rank.
    DualPipe,
    /// Sequence parallelism without tensor parallelism.
    SequenceParallelismAlone,
    /// Weights in host memory.
    WeightsInHostMemory,
    /// Activations in host memory under several pipeline stages.
    ActivationsInHostMemoryOverStages,
    /// Activations in host memory that are recomputed.
    RecomputedActivationsInHostMemory,
    /// Modules other than llama's: norm, attention by rotated heads, norm, gated feed-forward,
    /// without biases and tied ends.
    OtherModules,
    /// Modules that differ from llama's in more than biases, tied ends, windows, and norms of each
    /// query's and key's head.
    ModulesUnlikeLlama,
    /// Several tensor-parallel ranks, or several pipeline stages.
    SplitModel,
    /// Tensor-parallel ranks that each have all tokens or run compiled blocks or products in
    /// float8.
    SplitOtherThanByTokens,
    /// Several pipeline stages that take turns otherwise than by all forward passes first, or by
    /// one forward, one backward with at least as many micro-batches as stages, or that run
    /// compiled blocks or products in float8.
    OtherSchedules,
    /// One key/value head on each rank, which several query heads share.
    OneKeyHead,
    /// Anything but all weights that learn the next token.
    Tuning,
    /// Blocks and loss compiled one by one.
    Compiling,
    /// Evaluations between steps.
    Evaluating,
    /// Products in float8.
    Float8,
    /// Products in float8 with one scale for a tensor.
    TensorwiseFloat8,
}

/// A run that a stack refuses.
#[derive(Debug)]
pub struct StackRule {
    /// The run.
    pub with: NotWith,
    /// Its rule.
    pub rule: FrameworkRule,
}
