//! The words that stand for choices in forms, links and files.

use crate::config::{
    AttentionKernel, CacheFormat, DataSharding, DraftMethod, Family, Float8Recipe, GENERIC,
    GradientDType, HiddenAct, Loss, LossFusion, MixerKind, MlpKind, Normalization, Objective,
    Optimizer, OptimizerImplementation, OverlapComm, PipelineSchedule, PositionEmbedding,
    Recompute, Rollout, TokenDispatcher, TrainingPrecision, WeightFormat,
};
use crate::models::FAMILIES;
use crate::stacks::Stack;
use crate::units::MemoryUnit;

/// The work that the scenario does with the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Trains it.
    #[default]
    Train,
    /// Teaches a trained one.
    Tune,
    /// Serves it.
    Serve,
}

/// A domain choice with one word per case, the same in form values, links and saved scenarios.
pub trait Word: Copy + PartialEq + 'static {
    /// Every case that can be chosen, with its word.
    const WORDS: &'static [(Self, &'static str)];

    /// The word of this case; empty for a case that cannot be chosen.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(case, _)| *case == self).map_or("", |(_, word)| *word)
    }

    /// The case of that word.
    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(case, _)| *case)
    }
}

impl Word for Optimizer {
    const WORDS: &'static [(Self, &'static str)] = &{
        let mut words = [(Self::DEFAULT, ""); Self::ALL.len()];
        let mut place = 0;
        while place < words.len() {
            words[place] = (Self::ALL[place], Self::ALL[place].key());
            place += 1;
        }
        words
    };
}

macro_rules! words {
    ($($type:ident: $($case:ident = $word:literal),+;)*) => {
        $(impl Word for $type {
            const WORDS: &'static [(Self, &'static str)] = &[$((Self::$case, $word)),+];
        })*
    };
}

impl Word for Stack {
    const WORDS: &'static [(Self, &'static str)] = &{
        let mut words = [(Self::DEFAULT, ""); Self::ALL.len()];
        let mut at = 0;
        while at < words.len() {
            words[at] = (Self::ALL[at], Self::SPECS[at].key);
            at += 1;
        }
        words
    };
}

impl Word for DataSharding {
    const WORDS: &'static [(Self, &'static str)] = &{
        let mut words = [(Self::NOTHING, ""); Self::ALL.len()];
        let mut at = 0;
        while at < words.len() {
            words[at] = (Self::ALL[at], Self::SPECS[at].key);
            at += 1;
        }
        words
    };
}

words! {
    Mode: Train = "train", Tune = "tune", Serve = "serve";
    MemoryUnit: Gb = "gb", Gib = "gib";
    Normalization: LayerNorm = "layernorm", RmsNorm = "rmsnorm";
    MlpKind: Plain = "plain", Gated = "gated";
    PositionEmbedding: Learned = "learned", Rotary = "rotary", Alibi = "alibi", None = "none";
    TrainingPrecision: Bf16Mixed = "bf16", Fp16Mixed = "fp16", Fp32 = "fp32", Bf16Pure = "bf16-pure",
        AmpBf16 = "amp-bf16", FsdpMixed = "fsdp-mixed";
    GradientDType: AsWeights = "as-weights", Fp32 = "fp32", Fp32Copy = "fp32-copy";
    OptimizerImplementation: ForLoop = "for-loop", Foreach = "foreach", Fused = "fused";
    LossFusion: None = "none", Native = "native", TransformerEngine = "te";
    TokenDispatcher: AllGather = "allgather", AllToAll = "alltoall";
    HiddenAct: Silu = "silu", Gelu = "gelu", GeluNew = "gelu-new", GeluFast = "gelu-fast", QuickGelu = "quick-gelu",
        Relu = "relu", Relu2 = "relu2", Xielu = "xielu";
    MixerKind: Mamba = "mamba", FalconMamba = "falcon-mamba", Jamba = "jamba", Mamba2 = "mamba2", FalconH1 = "falcon-h1", Qwen3Next = "qwen3-next",
        KimiLinear = "kimi-linear", Minimax = "minimax", Lfm2 = "lfm2", RgLru = "rg-lru", Rwkv = "wkv", Mlstm = "mlstm", Zamba = "mamba-heads", KimiWhole = "kda-whole";
    Loss: OfStack = "stack", Transformers4 = "transformers-4", Trl = "trl", NotCompiled = "not-compiled",
        Cut = "cut", TorchtitanChunks = "torchtitan-chunks";
    Float8Recipe: None = "none", Tensorwise = "tensorwise", Rowwise = "rowwise", RowwiseWithGwHp = "rowwise-with-gw-hp";
    AttentionKernel: Flash = "flash", Standard = "standard";
    OverlapComm: Auto = "auto", On = "on", Off = "off";
    Objective: NextToken = "sft", Preference = "dpo", Reward = "reward", Ppo = "ppo", Grpo = "grpo";
    Rollout: Apart = "apart", Colocated = "colocated", Sleeping = "sleeping";
    Recompute: None = "none", Selective = "selective", Full = "full";
    PipelineSchedule: GPipe = "gpipe", OneForwardOneBackward = "1f1b", ZeroBubbleH1 = "zb-h1", ZeroBubbleH2 = "zb-h2",
        DualPipe = "dualpipe";
    WeightFormat: Bf16 = "bf16", Fp16 = "fp16", Fp32 = "fp32", Fp8 = "fp8", Int8 = "int8", Int4 = "int4",
        Fp8Tensor = "fp8-tensor", Fp8Channel = "fp8-column", Fp8Block = "fp8-block", Int8Channel = "w8a8", Gptq = "gptq", Awq = "awq",
        Nf4 = "nf4", Nf4Double = "nf4-dq", Mxfp4 = "mxfp4", Nvfp4 = "nvfp4", Gguf16 = "gguf-16",
        Q8_0 = "q8-0", Q6K = "q6-k", Q5KM = "q5-k-m", Q5KS = "q5-k-s", Q5_1 = "q5-1", Q5_0 = "q5-0",
        Q4KM = "q4-k-m", Q4KS = "q4-k-s", Q4_1 = "q4-1", Q4_0 = "q4-0", Iq4Nl = "iq4-nl", Iq4Xs = "iq4-xs",
        Q3KL = "q3-k-l", Q3KM = "q3-k-m", Q3KS = "q3-k-s", Iq3M = "iq3-m", Iq3S = "iq3-s", Iq3Xs = "iq3-xs",
        Iq3Xxs = "iq3-xxs", Q2K = "q2-k", Q2KS = "q2-k-s", Iq2M = "iq2-m", Iq2S = "iq2-s", Iq2Xs = "iq2-xs",
        Iq2Xxs = "iq2-xxs", Iq1M = "iq1-m", Iq1S = "iq1-s", Mxfp4Moe = "mxfp4-moe";
    DraftMethod: Model = "draft-model", Mtp = "mtp", Eagle = "eagle", Eagle3 = "eagle3";
    CacheFormat: Bf16 = "bf16", Fp32 = "fp32", Fp8 = "fp8", Int8 = "int8", Int4 = "int4", Q8_0 = "q8-0", Q4_0 = "q4-0";
}

/// Every family with its word.
const FAMILY_WORDS: [(Family, &str); FAMILIES.len()] = {
    let mut words = [(GENERIC, ""); FAMILIES.len()];
    let mut at = 0;
    while at < FAMILIES.len() {
        words[at] = (FAMILIES[at], FAMILIES[at].modules().choice.word);
        at += 1;
    }
    words
};

impl Word for Family {
    const WORDS: &'static [(Self, &'static str)] = &FAMILY_WORDS;
}
