//! The field table: one entry per input. Form, reading, ranges, link keys, defaults, help and documentation come from it.

mod read;
mod table;

pub(super) use read::EMPTY;
pub use read::{parse, range_text, show};

use super::words::Word;
use crate::config::LayerSet;

/// The name of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldId {
    /// Train or serve.
    Mode,
    /// The scenario's name.
    Name,
    /// GB or GiB: how memory is shown.
    MemoryUnit,
    /// The model the architecture starts from.
    Model,
    /// The model's own name.
    ModelName,
    /// The `model_type` of the file that the architecture was read from.
    ModelType,
    /// Whether that kind is not known and is counted as a generic decoder.
    AsGeneric,
    /// Keys of the file that may change the answer and are not counted.
    NotCounted,
    /// Parts of the model that are not counted.
    LeftOut,
    /// `hidden_size`.
    HiddenSize,
    /// `num_hidden_layers`.
    NumHiddenLayers,
    /// `num_attention_heads`.
    NumAttentionHeads,
    /// `num_key_value_heads`.
    NumKeyValueHeads,
    /// `head_dim`.
    HeadDim,
    /// `intermediate_size`.
    IntermediateSize,
    /// `vocab_size`.
    VocabSize,
    /// `max_position_embeddings`.
    MaxPositionEmbeddings,
    /// Rows of a learned position table.
    PositionRows,
    /// The normalisation layer.
    Normalization,
    /// The feed-forward layer.
    Mlp,
    /// How positions enter.
    PositionEmbedding,
    /// Bias on queries, keys and values.
    AttentionBias,
    /// Bias on the attention's output.
    AttentionOutputBias,
    /// Bias on the feed-forward matrices.
    MlpBias,
    /// Whether the head reuses the embedding.
    TieWordEmbeddings,
    /// Norms over each query and key head.
    QkNorm,
    /// A norm after the embedding.
    EmbeddingNorm,
    /// Norms in a block.
    NormsPerBlock,
    /// A norm before the head.
    FinalNorm,
    /// Whose modules run the model.
    Family,
    /// Activation function of the feed-forward layer.
    HiddenAct,
    /// Rotated part of a head.
    RotaryDim,
    /// Tokens a sliding layer looks back on.
    SlidingWindow,
    /// Layers that slide.
    SlidingLayers,
    /// Attention and feed-forward side by side.
    ParallelResidual,
    /// One learned extra score per head.
    AttentionSinks,
    /// Scores squashed by a tanh.
    AttentionSoftcap,
    /// Logits squashed by a tanh.
    LogitSoftcap,
    /// Bias on the output head.
    HeadBias,
    /// Width of the token embedding where it is not the hidden size.
    EmbeddingWidth,
    /// Falcon's newer decoder.
    NewDecoder,
    /// A dense layer in place of a head.
    Pooler,
    /// Routed experts in a layer.
    NumExperts,
    /// Experts each token goes through.
    ExpertsPerToken,
    /// Inner width of one expert.
    ExpertWidth,
    /// Inner width of all shared experts together.
    SharedExpertWidth,
    /// Whether a gate weighs the shared experts.
    SharedExpertGate,
    /// Layers that have experts.
    ExpertLayers,
    /// Groups of experts.
    ExpertGroups,
    /// Groups a token keeps.
    ExpertGroupsKept,
    /// Whether the chosen experts' weights sum to 1 again.
    ExpertNorm,
    /// Biases on router and experts.
    ExpertBias,
    /// Width of the compressed keys and values.
    KvLoraRank,
    /// Width of the compressed query.
    QLoraRank,
    /// Rotated part of a query or key head.
    QkRopeHeadDim,
    /// Unrotated part of a query or key head.
    QkNopeHeadDim,
    /// Width of a value head.
    VHeadDim,
    /// State in place of keys and values.
    Mixer,
    /// Layers that keep a state.
    MixerLayers,
    /// Heads of the state.
    MixerHeads,
    /// Width of one of them.
    MixerHeadDim,
    /// Heads of its keys, or groups.
    MixerKeyHeads,
    /// Width of a key, or of the state.
    MixerState,
    /// Tokens of the convolution before it.
    MixerKernel,
    /// Width of the step's narrow projection.
    MixerRank,
    /// A state in fp32.
    MixerFp32,
    /// Layers with attention.
    AttentionLayers,
    /// Layers with a feed-forward layer.
    FeedForwardLayers,
    /// Layers that read an earlier layer's keys and values.
    SharedKeyLayers,
    /// A gate on attention's output.
    AttentionGate,
    /// Width of a value head where it is another than a query head's.
    ValueHeadDim,
    /// Layers whose attention has other heads.
    OtherHeadLayers,
    /// Query heads of these.
    OtherHeads,
    /// Key/value heads of these.
    OtherKvHeads,
    /// Width of a head of these.
    OtherHeadDim,
    /// Width of a value head of these.
    OtherValueDim,
    /// Sinks in these.
    OtherSinks,
    /// One matrix for keys and values in these.
    OtherJointKeys,
    /// Norms of their own around experts.
    ExpertsNormed,
    /// Tokens per training sequence.
    SeqLength,
    /// Sequences per optimizer step.
    GlobalBatchSize,
    /// Sequences a rank holds at once.
    MicroBatchSize,
    /// Activation recomputation.
    Recompute,
    /// Tokens of the whole training.
    TrainingTokens,
    /// Tokens of the whole fine-tuning.
    TuningTokens,
    /// Model FLOPs utilisation, per cent.
    Mfu,
    /// Tokens kept per sequence when serving.
    ContextLength,
    /// Sequences one instance serves at once.
    ConcurrentSequences,
    /// Tokens processed at once in prefill.
    PrefillChunkSize,
    /// Tokens of a prompt.
    PromptLength,
    /// Tokens that all sequences have in common.
    SharedPrefix,
    /// Tokens of the mean sequence.
    MeanTokens,
    /// Tokens that 95 of 100 sequences do not exceed.
    TailTokens,
    /// Users served at once by all instances.
    Users,
    /// By which rule memory is taken for the cache.
    Server,
    /// vLLM's `gpu_memory_utilization`.
    MemoryUtilization,
    /// `SGLang`'s `mem_fraction_static`.
    StaticFraction,
    /// Tokens of one block of the cache.
    BlockSize,
    /// Memory of captured graphs, GiB.
    CudaGraphs,
    /// Weights that share a scale.
    GroupSize,
    /// Tensor ranks hold whole experts.
    WholeExperts,
    /// Tensor ranks keep a part of the tokens each.
    TokensSent,
    /// Attention kernel.
    Attention,
    /// Software profile.
    Kernels,
    /// What learns when fine-tuning.
    Method,
    /// Rank of adapters.
    Rank,
    /// Factor of what adapters add.
    LoraAlpha,
    /// Adapters on queries.
    AdaptQuery,
    /// Adapters on keys.
    AdaptKey,
    /// Adapters on values.
    AdaptValue,
    /// Adapters on attention's output.
    AdaptOutput,
    /// Adapters on the feed-forward layer's gate.
    AdaptGate,
    /// Adapters on its up projection.
    AdaptUp,
    /// Adapters on its down projection.
    AdaptDown,
    /// Tokens that learn.
    VirtualTokens,
    /// Dropout before adapters.
    LoraDropout,
    /// Format of adapters.
    AdapterDType,
    /// Scales of four-bit weights are quantised themselves.
    DoubleQuant,
    /// Optimizer states in pages.
    PagedOptimizer,
    /// First blocks that do not learn.
    FrozenLayers,
    /// Embeddings do not learn.
    FrozenEmbeddings,
    /// What is learned, and from what.
    Objective,
    /// A reference model beside the one that learns.
    Reference,
    /// Where answers are generated.
    Rollout,
    /// Answers generated at once.
    RolloutSequences,
    /// Tokens of the mean text.
    TextTokens,
    /// Several texts share a sequence.
    Packing,
    /// Number formats of training.
    Precision,
    /// Gradient format.
    Gradients,
    /// Optimizer.
    Optimizer,
    /// How the optimizer walks over the parameters.
    OptimizerImplementation,
    /// Format of served weights.
    WeightDType,
    /// Format of the key/value cache.
    KvCacheDType,
    /// The accelerator the hardware starts from.
    Accelerator,
    /// Memory of one accelerator, GiB.
    AcceleratorMemory,
    /// Dense 16-bit peak, TFLOP/s.
    PeakRate,
    /// Memory bandwidth, GB/s.
    MemoryBandwidth,
    /// Board power of one accelerator, watts.
    BoardPower,
    /// Accelerators in one node.
    AcceleratorsPerNode,
    /// Number of accelerators.
    Gpus,
    /// Tensor-parallel degree.
    TensorParallel,
    /// Pipeline-parallel degree.
    PipelineParallel,
    /// Context-parallel degree.
    ContextParallel,
    /// Expert-parallel degree.
    ExpertParallel,
    /// Ranks that split one expert.
    ExpertTensorParallel,
    /// Chunks of blocks on each pipeline stage.
    VirtualPipeline,
    /// How micro-batches take turns on the pipeline stages.
    PipelineSchedule,
    /// Blocks of the first pipeline stage.
    FirstStageLayers,
    /// Blocks of the last pipeline stage.
    LastStageLayers,
    /// Whether embedding and loss count as a block each.
    AccountForEnds,
    /// Sequence parallelism.
    SequenceParallel,
    /// What data-parallel ranks share out.
    Sharding,
    /// Whether FSDP gives gathered weights back after forward.
    ReshardAfterForward,
    /// Whether FSDP reduces gradients in fp32.
    ReduceInFp32,
    /// Groups of data-parallel ranks that each hold everything.
    Replicas,
    /// Optimizer states in host memory.
    OffloadOptimizer,
    /// Shares of the weights in host memory.
    OffloadParameters,
    /// Saved activations in host memory.
    OffloadActivations,
    /// Elements of the buffer in which gradients are reduced.
    ReduceBucket,
    /// Megatron-LM's modules are Transformer Engine's.
    TransformerEngine,
    /// How the cross-entropy is computed.
    LossFusion,
    /// Weight gradients are added by the matrix product itself.
    GradientFusion,
    /// Dropout after attention, feed-forward and embedding.
    HiddenDropout,
    /// Dropout of the probabilities.
    AttentionDropout,
    /// What the vocabulary is padded to a multiple of.
    VocabMultiple,
    /// Which blocks full recomputation covers.
    RecomputeMethod,
    /// How many of them.
    RecomputeLayers,
    /// Selective recomputation of attention's core.
    RecomputeCore,
    /// Of the norms.
    RecomputeNorms,
    /// Of the dense feed-forward layer.
    RecomputeMlp,
    /// Of latent attention's projections.
    RecomputeLatent,
    /// Of all experts.
    RecomputeExperts,
    /// Of the experts' activation function.
    RecomputeExpertAct,
    /// Of the shared experts.
    RecomputeShared,
    /// How tokens reach their experts.
    TokenDispatcher,
    /// Experts in one grouped product.
    GroupedExperts,
    /// Every expert gets the same number of tokens.
    PadExperts,
    /// Tokens of the busiest expert-parallel rank, as a multiple of an even share.
    LoadImbalance,
    /// Framework context, GiB.
    FrameworkContext,
    /// Fragmentation reserve, per cent.
    FragmentationReserve,
    /// Buffers of one communicator, MiB.
    CommunicatorBuffers,
    /// Inference overhead, per cent of the weights.
    ServingOverhead,
    /// Price of one accelerator for one hour.
    PricePerHour,
    /// Network of one accelerator to other nodes, GB/s in one direction.
    NetworkBandwidth,
    /// Emissions of the electricity, grams of CO₂ per kWh.
    GridEmissions,
}

/// The value of one input.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(u64),
    /// A finite number.
    Decimal(f64),
    /// One of the field's words.
    Choice(&'static str),
    /// Yes or no.
    Flag(bool),
    /// The scenario's name, or the id of a model or accelerator.
    Text(String),
    /// Some of the layers.
    Layers(LayerSet),
    /// Nothing: allowed where the field is optional.
    Empty,
}

impl Value {
    /// The choice that stands for that case.
    ///
    /// ```
    /// # use headroom::{config::Recompute, scenario::Value};
    /// assert_eq!(Value::choice(Recompute::Full), Value::Choice("full"));
    /// ```
    pub fn choice<T: Word>(case: T) -> Self {
        Self::Choice(case.word())
    }
}

/// One option of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word in links.
    pub value: &'static str,
    /// What the form shows.
    pub label: &'static str,
}

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldKind {
    /// A whole number.
    Integer {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// How far one press of an arrow key goes; 0: it doubles or halves.
        step_hint: u64,
        /// Whether it can be left empty.
        optional: bool,
    },
    /// A number.
    Decimal {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Whether it can be left empty.
        optional: bool,
    },
    /// One of a few words.
    Choice(&'static [Choice]),
    /// Yes or no.
    Flag,
    /// Some of the layers.
    Layers,
    /// A model of the catalog, by id.
    Model,
    /// An accelerator of the catalog, by id.
    Accelerator,
    /// Text of at most that many characters.
    Text {
        /// Longest text, characters.
        max_len: usize,
    },
    /// Names of keys, with commas between them.
    Keys {
        /// Longest list, characters.
        max_len: usize,
    },
}

/// Where the form shows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Which model.
    Model,
    /// Its architecture.
    Architecture,
    /// What only some architectures have: windows, experts, latent attention.
    Structure,
    /// What is done with it.
    Run,
    /// Number formats and optimizer.
    Precision,
    /// The accelerator.
    Hardware,
    /// How many, and how the model is spread.
    Layout,
    /// What only Megatron-LM asks.
    Megatron,
    /// Memory outside the model.
    Reserve,
    /// Time and money.
    Cost,
}

impl Group {
    /// All groups in the order of the form.
    pub const ALL: [Self; 10] = [
        Self::Model,
        Self::Architecture,
        Self::Structure,
        Self::Run,
        Self::Precision,
        Self::Hardware,
        Self::Layout,
        Self::Megatron,
        Self::Reserve,
        Self::Cost,
    ];

    /// Whether its fields belong to the model's architecture.
    pub const fn is_architecture(self) -> bool {
        matches!(self, Self::Architecture | Self::Structure)
    }

    /// The heading.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Architecture => "Architecture",
            Self::Structure => "Experts and special layers",
            Self::Run => "Run",
            Self::Precision => "Precision",
            Self::Hardware => "Hardware",
            Self::Layout => "Layout",
            Self::Megatron => "Megatron-LM",
            Self::Reserve => "Reserve",
            Self::Cost => "Cost",
        }
    }
}

/// In which mode a field counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Applies {
    /// Training and serving.
    Both,
    /// Training and fine-tuning.
    Train,
    /// Training alone.
    Scratch,
    /// Fine-tuning only.
    Tune,
    /// Serving only.
    Serve,
}

impl Applies {
    /// Whether it counts in that mode.
    pub const fn in_mode(self, mode: super::Mode) -> bool {
        use super::Mode;
        matches!(
            (self, mode),
            (Self::Both, _)
                | (Self::Train, Mode::Train | Mode::Tune)
                | (Self::Scratch, Mode::Train)
                | (Self::Tune, Mode::Tune)
                | (Self::Serve, Mode::Serve)
        )
    }
}

/// A field's value while nobody has set it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldDefault {
    /// A whole number.
    Integer(u64),
    /// A number.
    Decimal(f64),
    /// A word.
    Choice(&'static str),
    /// Yes or no.
    Flag(bool),
    /// A text or an id.
    Text(&'static str),
    /// Nothing.
    Empty,
    /// The value of the model or accelerator it starts from.
    Preset,
}

/// One input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Which input.
    pub id: FieldId,
    /// Its key in links: 1 to 6 lower-case letters, never changed.
    pub key: &'static str,
    /// Its Hugging Face or Megatron-LM name.
    pub name: &'static str,
    /// What the form calls it.
    pub label: &'static str,
    /// Its unit; empty where there is none.
    pub unit: &'static str,
    /// What it takes.
    pub kind: FieldKind,
    /// What `k` means when typed: 1024 for lengths in tokens, 1000 elsewhere.
    pub kilo: u64,
    /// Its value until set.
    pub default: FieldDefault,
    /// Where the form shows it.
    pub group: Group,
    /// In which mode it counts.
    pub applies: Applies,
    /// Whether the form hides it behind its group's summary line.
    pub folded: bool,
}

impl Field {
    /// One sentence: what it is and what it does to memory or time.
    pub fn help(&self) -> &'static str {
        table::help(self)
    }

    /// What one of its options does to memory, one sentence.
    pub fn option_help(&self, option: &Choice) -> &'static str {
        let FieldKind::Choice(options) = self.kind else { return "" };
        let place = options.iter().position(|of| of == option);
        place.map_or("", |place| table::option_help(self, place))
    }
}

/// All fields, in the order of the form and of links.
pub fn fields() -> &'static [Field] {
    &table::FIELDS
}

/// The entry of one input.
pub fn field(id: FieldId) -> &'static Field {
    table::FIELDS.iter().find(|field| field.id == id).unwrap_or(&table::FIELDS[0])
}

/// The field with that link key.
pub fn field_of_key(key: &str) -> Option<&'static Field> {
    table::FIELDS.iter().find(|field| field.key == key)
}

/// The table of all inputs in Markdown, for the documentation.
pub fn reference() -> String {
    let row = |field: &Field| {
        let takes = range_text(field.id);
        format!("| `{}` | `{}` | {} | {takes} | {} |\n", field.key, field.name, field.label, field.help())
    };
    let head = "| key | name | input | takes | what it does |\n|---|---|---|---|---|\n";
    std::iter::once(head.to_owned()).chain(fields().iter().map(row)).collect()
}
