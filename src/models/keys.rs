//! How files state what only some families have: key/value heads, inner widths, states, layers with
//! other heads.

use crate::config::{CachePart, MixerKind, ModelConfig};

/// A size of a file, with the library's default.
pub(crate) type Key = (&'static str, u64);

/// How files state the encoder beside a decoder. Sizes without a key are the decoder's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceKeys {
    pub layers: Key,
    pub hidden: Option<Key>,
    /// Width of a head.
    pub head: Option<Key>,
    pub heads: Option<Key>,
    pub key_heads: Option<Key>,
    pub inner: Option<Key>,
    /// Longest source, and rows that the table of positions has beyond it.
    pub positions: Option<(Key, u64)>,
    /// Rows of a token embedding of its own.
    pub vocab: Option<Key>,
    /// Heads are as wide as the decoder's, rather than the hidden size shared out.
    pub heads_of_decoder: bool,
    /// The decoder has as many blocks as the encoder where its key says nothing.
    pub deep: bool,
    /// The decoder reads the encoder's states as if they had its own width, so that others are
    /// refused.
    pub one_width: bool,
    /// The feed-forward layer where `feed_forward_proj` says nothing; empty: there is no such key.
    pub feed_forward: &'static str,
    /// Both sides share a table of words, and have one each beside it where weights are not tied.
    pub shares_words: bool,
    /// The head is tied whatever the file says; one that says no leaves the output unscaled alone.
    pub always_tied: bool,
    /// The groups of keys that the file has for encoder and decoder: those of the encoder's stand
    /// beside the decoder's, as `encoder.hidden_size`.
    pub groups: Option<[&'static str; 2]>,
    /// How decoders are saved without it.
    pub absent: Absent,
    /// Sets the sizes that follow from others.
    pub finish: fn(&mut ModelConfig),
}

impl SourceKeys {
    /// So many blocks under that key, of the decoder's sizes.
    pub const fn of(layers: Key) -> Self {
        Self {
            layers,
            hidden: None,
            head: None,
            heads: None,
            key_heads: None,
            inner: None,
            positions: None,
            vocab: None,
            heads_of_decoder: true,
            deep: false,
            one_width: false,
            feed_forward: "",
            shares_words: true,
            always_tied: false,
            groups: None,
            absent: Absent::Never,
            finish: |_| {},
        }
    }

    /// The keys of an encoder whose decoder may be saved without it.
    pub const fn or_absent(self) -> Self {
        Self { absent: Absent::MayBe, ..self }
    }

    /// Sizes under keys that begin with `encoder_`.
    pub const fn encoder(layers: u64, heads: u64, inner: u64) -> Self {
        Self {
            heads: Some(("encoder_attention_heads", heads)),
            inner: Some(("encoder_ffn_dim", inner)),
            heads_of_decoder: false,
            ..Self::of(("encoder_layers", layers))
        }
    }
}

/// Names of a decoder's sizes in files that have an encoder's beside them.
pub(crate) const DECODER: &[(&str, &[&str])] = &[
    ("hidden_size", &["hidden_size", "d_model"]),
    ("num_hidden_layers", &["decoder_layers"]),
    ("num_attention_heads", &["decoder_attention_heads"]),
];

/// How decoders are saved without their encoder, with weights of attention to its states that
/// nothing reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The library has no class for that.
    Never,
    /// Where the class says so (`ForCausalLM`).
    MayBe,
    /// The kind is that decoder.
    Always,
}

/// How files state the number of key/value heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyValueHeads {
    /// As a number.
    Stated,
    /// As a number, else by the name of the kind of attention (`multi_query`, `attn_type`).
    StatedOrNamed,
    /// Modules have one for every query head, whatever a file says.
    AsQueryHeads,
    /// `multi_query` switches between one and as many as query heads; the modules look at no
    /// number.
    OneOrAll,
    /// As [`Self::OneOrAll`] without `new_decoder_architecture`, else as a number.
    OneOrAllInOldDecoder,
}

/// How many sizes of its own a family may have whose further parameters are counted alone.
pub(crate) const COUNTED_SIZES: usize = 32;

/// The number of parameters beside embedding, head, norms and feed-forward layers: of an
/// architecture, the sizes of its own, and what the file says under a key (`import/said.rs` lists
/// what can be asked).
pub(crate) type Rest =
    fn(&ModelConfig, &[u64; COUNTED_SIZES], &dyn Fn(&str, &str) -> Option<u64>) -> u64;

/// The parts of a cache, of what [`Rest`] is told.
pub(crate) type Keeps =
    fn(&ModelConfig, &[u64; COUNTED_SIZES], &dyn Fn(&str, &str) -> Option<u64>) -> Vec<CachePart>;

/// How files state the sizes that a family's own modules alone know.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnSizes {
    /// Under the keys that the family lists.
    Stated,
    /// Rows of several tables of token types (`type_vocab_sizes`), together.
    TableTypes,
    /// Columns of all languages' adapters together, and languages (`languages`,
    /// `adapter_reduction_factor`).
    Adapters,
    /// Languages that have an embedding, where there are several (`n_langs`).
    Languages,
    /// Under the keys that the family lists; the last one is the number of parameters of parts that
    /// are counted alone.
    Rest(Rest),
    /// As [`Self::Rest`], from keys that no input holds: what goes by keys of the kind holds the
    /// number itself (`further_parameters`).
    RestOfFile(Rest),
    /// 1 where masked tokens are dropped (`token_dropout`); positions must be rotated.
    DroppedTokens,
}

/// How files state the feed-forward layer's inner width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InnerWidth {
    /// Under one of these names.
    Stated(&'static [&'static str]),
    /// As a multiple of the hidden size (`expansion_ratio`), else under one of these names.
    RatioOrStated(&'static [&'static str]),
    /// Not at all: it is four times the hidden size.
    FourTimes,
    /// Under one of these names, for gate and up together.
    HalfOf(&'static [&'static str]),
    /// As a multiple of the hidden size under that key, with the library's default.
    Multiple(Key),
    /// As a factor on the hidden size, rounded up to whole 64s (`ffn_proj_factor`).
    Factor(f64),
    /// As two thirds of a multiple of the hidden size (`hidden_ratio`, with the library's default),
    /// rounded up to whole 256s, unless the file states it; where it may not, its
    /// `intermediate_size` is the width of something else.
    TwoThirds { may_be_stated: bool, default: u64 },
}

/// Which layers of a kind of model have attention, where its files list none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attends {
    /// None has.
    Never,
    /// The file has to say it.
    MustBeListed,
    /// All have, beside a state.
    Beside,
    /// Every so many-th (`full_attention_interval`).
    Every(u64),
    /// The last of every so many (`layer_group_size`).
    LastOfGroup(u64),
    /// Every so many-th, or else the last; files list the others.
    EveryOrLast(u64),
    /// The first of two, then every second.
    Alternate,
    /// By a period and an offset (`attn_layer_period`, `attn_layer_offset`).
    Period,
    /// Every third; files list three that are repeated (`block_types`).
    InTurn,
    /// The layers for which a rule over their number holds.
    Where(fn(u64) -> bool),
    /// The layers that are listed, or else these, run a block that they share before their state.
    /// Without any here, these are the third layer and those of a period and an offset behind it.
    Shared { otherwise: &'static [u64], adapted: bool },
    /// The layers whose indices are listed; else all or none.
    Listed { otherwise: bool },
}

/// The layers that a kind of model has in place of attention, or beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct States {
    pub kind: MixerKind,
    pub attends: Attends,
    /// Heads, width of a head, heads of keys, width of a key, tokens of the convolution: the
    /// library's defaults, 0 where they follow from other sizes.
    pub sizes: [u64; 5],
    /// Tokens that training computes at once where the file does not say.
    pub chunk: u64,
    /// Attention's output has a gate.
    pub gate: bool,
    /// The state is kept in fp32 unless the file says otherwise.
    pub fp32: bool,
    /// How the names of the state's sizes begin in files of the kind; empty for those of several
    /// beginnings.
    pub prefix: &'static str,
}

impl States {
    /// Without a gate, in the format of activations.
    pub const fn of(kind: MixerKind, attends: Attends, sizes: [u64; 5]) -> Self {
        Self { kind, attends, sizes, chunk: 256, gate: false, fp32: false, prefix: "" }
    }

    /// Of these names those that the kind's files have.
    pub fn names(&self, all: &[&'static str]) -> Vec<&'static str> {
        all.iter().copied().filter(|name| name.starts_with(self.prefix)).collect()
    }
}

/// The library's defaults of several residual streams and of the layers' own embeddings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ManyStreams {
    pub num_inputs: u64,
    pub laurel_rank: u64,
    pub hidden_size_per_layer_input: u64,
    pub vocab_size_per_layer_input: u64,
    pub num_kv_shared_layers: u64,
    /// The first layers, whose feed-forward layer keeps the largest activations alone; none of a
    /// model that has no more layers.
    pub first_sparse: u64,
}

/// The layers of a kind whose attention has heads of its own, and the keys that state them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heads {
    /// Layers that see the whole text have wider heads, fewer of which are keys
    /// (`global_head_dim`).
    WiderWithoutWindow,
    /// Layers that slide have another number of query heads, and rotate the whole head
    /// (`num_attention_heads_per_layer`).
    QueriesByLayer,
    /// Layers that slide have more key/value heads; values are narrower than keys everywhere (keys
    /// that begin with `swa_`).
    MoreKeysInWindow,
}

/// Who says whether the head reuses the embedding.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ties {
    /// The file around a text part, and the text part where that says nothing.
    Stated,
    /// The text part alone.
    OfText,
    /// The file around a text part or the text part, whichever says yes.
    Either,
    /// The whole file alone; where it says nothing, the library's default of the whole, whatever
    /// its text part says.
    OfWhole(bool),
    /// Nobody: the modules never do it.
    Never,
    /// Nobody: there is no head.
    Always,
}
