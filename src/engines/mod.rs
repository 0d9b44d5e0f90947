//! The programs that serve models: how each takes memory for its cache, and how it names the
//! settings for that.
//!
//! One engine is one file, which exports one [`EngineSpec`]. Everything in which engines differ is
//! read from there; an engine's name stands in no other file.

use std::fmt;
use std::ops::Deref;

use crate::sources::{self, Source};
use crate::units::{CacheFormat, WeightFormat};

members::of_folder!("src/engines", ENGINE: EngineSpec);

/// Everything that Headroom knows of an engine.
#[derive(Debug)]
pub struct EngineSpec {
    /// Its word in links, saved scenarios and the form.
    pub key: &'static str,
    /// Its name in the form.
    pub label: &'static str,
    /// How it takes memory, one sentence.
    pub help: &'static str,
    /// Its place in lists, counted from 0; no two engines have the same.
    pub place: usize,
    /// How answers say by whose rule they are counted.
    pub by_its_rule: &'static str,
    /// The memory for its cache.
    pub cache: CacheMemory,
    /// True if the engine keeps its own reserve against gaps between tensors, in place of the
    /// user's.
    pub keeps_own_reserve: bool,
    /// The share of memory that it is told to use; `None`: it takes what it needs.
    pub share: Option<Share>,
    /// Tokens of one block of its cache unless the user says otherwise; 1 where nothing is rounded.
    pub block_size: u64,
    /// Returns true if the engine loads weights of that format.
    pub loads: fn(WeightFormat) -> bool,
    /// The cache in 8 bits, as this engine offers it.
    pub smaller_cache: SmallerCache,
    /// Times of its steps beside the kernels of the model, and how steps are put together.
    pub steps: Steps,
    /// Those of earlier releases, from old to new: measurements are compared with the release that
    /// they were made with.
    pub earlier: &'static [Earlier],
    /// Its use of what lies in the host's memory.
    pub host: OnHost,
    /// Its slots for adapters on accelerators; `None`: not known.
    pub adapter_slots: Option<AdapterSlots>,
    /// Speculative decoding, as it carries it out.
    pub speculation: Speculation,
    /// Formats of fewer bits that are offered for more requests, with their titles, from many bits
    /// to few.
    pub smaller_weights: &'static [(WeightFormat, &'static str)],
}

/// Times of a step beside the model's kernels, and its parts.
#[derive(Debug)]
pub struct Steps {
    /// Seconds of the processor for every step: schedule, inputs, sampling, output.
    pub host: f64,
    /// Seconds of the processor for every sequence of a step.
    pub sequence: f64,
    /// Seconds from a client's request to the engine's queue, beside its tokens.
    pub arrival: f64,
    /// Seconds of each token of a prompt on that way.
    pub per_prompt_token: f64,
    /// True if sums over ranks are the engine's own kernels; otherwise they are NCCL's.
    pub own_sums: bool,
    /// True if the processor prepares a step while the accelerator runs the one before.
    pub overlaps: bool,
    /// Seconds of the processor to launch a kernel of a step that is no captured graph.
    pub launch: f64,
    /// Tokens of a step up to which it runs as a captured graph.
    pub captured: u64,
    /// Tokens of a sequence up to which its steps do.
    pub captured_length: u64,
    /// True if steps that read prompts do, too; otherwise those that only decode.
    pub captures_prompts: bool,
    /// Kernels of a layer that only stream: norms, sums, rotation, activation, the cache's new row.
    pub small_kernels: f64,
    /// The column of its attention in tables of measured operations (`Kernels::own`); `None`: the
    /// quickest of all engines.
    pub column: Option<usize>,
    /// How query heads of a group read their keys.
    pub groups: Groups,
    /// The release of ggml whose kernels it runs; `None`: it runs those of servers' libraries.
    pub ggml: Option<GgmlRelease>,
    /// True if matrices that multiply the same input are one.
    pub fuses: bool,
    /// True if a step holds parts of prompts beside further tokens; otherwise these wait for
    /// prompts.
    pub mixes: bool,
    /// Tokens of a step unless told otherwise.
    pub most_tokens: u64,
    /// Sequences of a step unless told otherwise.
    pub most_sequences: u64,
}

/// Query heads of a group, which have one head of keys, while one token is added to a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// A kernel reads keys once for all of them.
    Together,
    /// It does where heads have 128 numbers and look back on everything; otherwise each reads them.
    Of128,
    /// Each reads them, all but one from the last cache.
    Apart,
}

/// Seconds of the processor from one kernel to the next where Python calls PyTorch for each:
/// 35 µs in TensorRT-LLM (NVIDIA/TensorRT-LLM pull request 12653, 8 GPUs), of which a bare call
/// takes 12 to 20 (`tests/data/rates/h200.jsonl`).
const BY_PYTHON: f64 = 35e-6;

/// How a release of ggml multiplies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GgmlRelease {
    /// Bytes per second of weights in 16 bits, and in blocks, that one multiprocessor keeps on
    /// their way to a kernel for vectors. It is the limit of accelerators whose memory is faster
    /// than that (Little's law).
    pub in_flight: [f64; 2],
    /// True if it widens weights in blocks to 16 bits for every step of many tokens, and multiplies
    /// these.
    pub widens: bool,
}

/// An engine's use of what lies in the host's memory.
#[derive(Debug)]
pub enum OnHost {
    /// The processor computes the layers, the experts and the attention whose tensors lie there.
    /// The token table always does. In a step of many tokens weights are copied to the accelerator,
    /// which multiplies them then; nothing hides the copy.
    Computed {
        /// The fewest tokens of such a step.
        copied_from: u64,
        /// The source of the rule.
        source: Source,
    },
    /// So many bytes of each rank's layers, parameter by parameter from the first, are read over
    /// the link in every step.
    Streamed {
        /// True if kernels read them where they are, each number once; otherwise a layer's are
        /// copied before it runs, and nothing hides the copy.
        in_place: bool,
        /// The source of the rule.
        source: Source,
    },
    /// Nothing lies there by a rule that is modelled.
    Nothing,
}

/// Slots for low-rank adapters: as many matrices of the largest rank, whatever is loaded, in the
/// format of activations.
///
/// Beside each matrix A is `slots × rank × input` and B `slots × output × rank`. Where ranks share
/// a matrix by its output they share B, and where by its input A; the other is whole on each, and
/// so are both at an embedding and a head, where a model has slots there.
#[derive(Debug)]
pub struct AdapterSlots {
    /// The source of the rule.
    pub source: Source,
}

/// The part that proposes tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DraftMethod {
    /// A smaller model with the same vocabulary.
    Model,
    /// The model's own layer that predicts further tokens (multi-token prediction).
    Mtp,
    /// One layer that was trained on the model's last hidden states.
    Eagle,
    /// One layer that was trained on hidden states of three of the model's layers.
    Eagle3,
}

impl DraftMethod {
    /// Returns the share of proposed tokens that is accepted, where the user states none, with its
    /// source. It is an assumption: acceptance depends on the texts.
    pub const fn assumed_acceptance(self) -> (f64, Source) {
        match self {
            // 0.53 to 0.75 with T5-small before T5-XXL (table 2).
            Self::Model => (0.65, sources::SPECULATIVE_2022),
            // The second token: 85 to 90 % (section 5.4.3).
            Self::Mtp => (0.85, sources::MTP_2024),
            // About 0.8 of first tokens (section 1), fewer of further ones.
            Self::Eagle | Self::Eagle3 => (0.75, sources::EAGLE_2024),
        }
    }

    /// Returns true if a part of the model itself proposes, which reads the model's hidden states.
    pub const fn is_head(self) -> bool {
        match self {
            Self::Model => false,
            Self::Mtp | Self::Eagle | Self::Eagle3 => true,
        }
    }

    /// Returns how many vectors as wide as the model's stream are joined into the head's input; 0
    /// for a model of its own.
    pub const fn joined(self) -> u64 {
        match self {
            Self::Model => 0,
            Self::Mtp | Self::Eagle => 2,
            Self::Eagle3 => 3,
        }
    }
}

/// Tokens that a quick draft proposes and the model checks, as an engine carries it out.
#[derive(Debug)]
pub struct Speculation {
    /// The ways of proposing that it has.
    pub methods: &'static [DraftMethod],
    /// Tokens by which the vocabularies of model and draft may differ; `None`: by any number.
    pub vocabularies_differ_by: Option<u64>,
    /// True if the first pass of the draft reads every token that the model has checked; otherwise
    /// its cache has them already, and it reads one.
    pub reads_checked: bool,
    /// True if it works with pipeline stages.
    pub in_stages: bool,
    /// The source of these rules.
    pub source: Source,
}

/// The steps of releases before a day.
#[derive(Debug)]
pub struct Earlier {
    /// The day of the change, as 2025-03-19.
    pub until: &'static str,
    /// Their steps.
    pub steps: Steps,
}

impl EngineSpec {
    /// The steps of the release of that day, such as 2024-05-01.
    pub fn steps_on(&self, day: &str) -> &Steps {
        let earlier = self.earlier.iter().find(|earlier| day < earlier.until);
        earlier.map_or(&self.steps, |earlier| &earlier.steps)
    }
}

impl Steps {
    /// A server: its own sums, and a tokenizer that reads a million tokens a second on one thread
    /// (a gigabyte in less than 20 seconds on all of a server's,
    /// github.com/huggingface/tokenizers), behind some milliseconds of HTTP and of messages between
    /// processes: assumed.
    pub const SERVER: Self =
        Self { arrival: 5e-3, per_prompt_token: 1e-6, own_sums: true, ..Self::NONE };

    /// Nothing but the kernels, launched as one graph.
    pub const NONE: Self = Self {
        host: 0.0,
        sequence: 0.0,
        arrival: 0.0,
        per_prompt_token: 0.0,
        own_sums: false,
        overlaps: false,
        launch: 0.0,
        captured: u64::MAX,
        captured_length: u64::MAX,
        captures_prompts: true,
        small_kernels: 4.0,
        column: None,
        groups: Groups::Together,
        ggml: None,
        fuses: true,
        mixes: true,
        most_tokens: 8192,
        most_sequences: 1024,
    };
}

/// How much memory an engine's cache has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMemory {
    /// All that is left beside everything else.
    AllThatIsLeft,
    /// As much as the sequences need that are asked for.
    AsAskedFor,
}

/// A share of memory that an engine stays within; it leaves the rest free.
///
/// With `share` σ, `free = (memory − context) · (1 − σ) − (working sets + graphs)`: context and
/// working sets count as said below, captured graphs always.
#[derive(Debug)]
pub struct Share {
    /// Its key in links.
    pub key: &'static str,
    /// The engine's own name of the setting.
    pub flag: &'static str,
    /// Its name in the form.
    pub label: &'static str,
    /// The setting in one sentence.
    pub help: &'static str,
    /// Its value unless the user says otherwise.
    pub default: f64,
    /// True if the share is one of the memory beside the framework's context, not of all memory.
    pub is_beside_context: bool,
    /// True if working sets are taken from the memory that is left free, as captured graphs are.
    pub leaves_room_for_working_sets: bool,
    /// True if the share is one of what weights, working sets and all else leave free, not of all
    /// memory.
    pub is_of_the_rest: bool,
    /// A note beside the line of the memory that is left free.
    pub note: &'static str,
    /// The source of the rule.
    pub source: Source,
}

/// A cache of 8 bits a number.
#[derive(Debug)]
pub struct SmallerCache {
    /// Its format.
    pub format: CacheFormat,
    /// Title of the fix.
    pub title: &'static str,
    /// Title of the change with which more requests find room.
    pub more: &'static str,
}

const FP8_CACHE: SmallerCache = SmallerCache {
    format: CacheFormat::Fp8,
    title: "KV cache in fp8",
    more: "With the KV cache in fp8",
};

const SMALLER_TENSORS: &[(WeightFormat, &str)] = &[
    (WeightFormat::Fp8Channel, "With weights in fp8"),
    (WeightFormat::Awq, "With weights in 4 bit (AWQ)"),
];

/// An engine with the share of memory that it is told to use.
#[derive(Clone, Copy)]
pub struct Engine {
    spec: &'static EngineSpec,
    /// The share of memory, from 0 to 1; counts where the engine has a [`Share`].
    pub memory_share: f64,
}

impl Engine {
    /// Every engine, in the order of lists.
    pub const SPECS: [&'static EngineSpec; MEMBERS.len()] = in_order_of_place!(MEMBERS);

    /// The first of the list, which counts until another is chosen.
    pub const DEFAULT: Self = Self { spec: Self::SPECS[0], memory_share: 1.0 };

    /// Returns the engine of that key with such a share of memory; `None` if no engine has the key.
    ///
    /// ```
    /// # use headroom::engines::Engine;
    /// assert_eq!(Engine::named("vllm", 0.9).map(|engine| engine.block_size), Some(16));
    /// ```
    pub fn named(key: &str, memory_share: f64) -> Option<Self> {
        Self::SPECS.into_iter().find(|spec| spec.key == key).map(|spec| Self { spec, memory_share })
    }

    /// The setting of that key in links. No engine may lack it: the search then runs past the list,
    /// which the compiler reports.
    pub(crate) const fn share_of_key(key: &str) -> &'static Share {
        let mut at = 0;
        loop {
            if let Some(share) = &Self::SPECS[at].share
                && is_same(share.key, key)
            {
                return share;
            }
            at += 1;
        }
    }

    /// Returns all that is known of it.
    pub const fn spec(self) -> &'static EngineSpec {
        self.spec
    }

    /// Returns true if the engine loads weights of that format.
    pub fn loads(self, format: WeightFormat) -> bool {
        (self.spec.loads)(format)
    }
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

impl Deref for Engine {
    type Target = EngineSpec;

    fn deref(&self) -> &EngineSpec {
        self.spec
    }
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.memory_share == other.memory_share
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.key, self.memory_share)
    }
}

#[cfg(test)]
mod tests {
    use super::Engine;

    #[test]
    fn each_has_its_own_place_and_key() {
        assert!(
            Engine::SPECS.iter().enumerate().all(|(place, spec)| spec.place == place),
            "two have one place"
        );
        let words: std::collections::BTreeSet<_> =
            Engine::SPECS.iter().map(|spec| spec.key).collect();
        assert_eq!(words.len(), Engine::SPECS.len());
    }
}
