//! Rules by which a family's files are read: sizes, flags, positions, windows, experts.

use crate::config::PositionEmbedding;

/// Keys that choose layers with experts, as DeepSeek's files and their relatives have them.
pub(crate) const FROM_FIRST: &[&str] =
    &["mlp_layer_types", "moe_layer_freq", "first_k_dense_replace"];

/// Keys that choose layers with experts in Qwen's files.
pub(crate) const BY_STEP: &[&str] = &["decoder_sparse_step", "mlp_only_layers"];

/// A yes or no of the architecture.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flag {
    /// One answer for every model of the kind.
    Is(bool),
    /// A key of the file, with the library's default.
    Key(&'static str, bool),
    /// Yes where the key holds a number, with the library's default.
    Number(&'static str, bool),
}

/// Sizes that the library takes where the file states none; 0 where it has no fixed one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub hidden: u64,
    /// 0: four times the hidden size.
    pub inner: u64,
    pub layers: u64,
    pub heads: u64,
    /// 0: as many as query heads.
    pub kv_heads: u64,
    /// 0: the hidden size shared out over the query heads.
    pub head: u64,
    pub vocab: u64,
    pub positions: u64,
}

impl Sizes {
    /// Nothing is taken: a file of an unknown kind must state its sizes.
    pub const UNKNOWN: Self = Self {
        hidden: 0,
        inner: 0,
        layers: 0,
        heads: 0,
        kv_heads: 0,
        head: 0,
        vocab: 0,
        positions: 4096,
    };

    /// Hidden and inner width, layers, query heads, vocabulary and positions; heads of the hidden
    /// size shared out.
    pub const fn of(
        [hidden, inner]: [u64; 2],
        layers: u64,
        heads: u64,
        vocab: u64,
        positions: u64,
    ) -> Self {
        Self { hidden, inner, layers, heads, kv_heads: 0, head: 0, vocab, positions }
    }

    /// Sets the number of key/value heads that is taken where the file states none.
    pub const fn kv(self, kv_heads: u64) -> Self {
        Self { kv_heads, ..self }
    }

    /// Sets the width of a head that is taken where the file states none.
    pub const fn head(self, head: u64) -> Self {
        Self { head, ..self }
    }
}

/// How positions enter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Positions {
    /// One way for every model of the kind.
    Are(PositionEmbedding),
    /// A learned table with that many rows more than positions.
    LearnedPlus(u64),
    /// A learned table with a row more than positions and tokens up to that of padding
    /// (`pad_token_id`), with the library's default.
    BehindPadding(u64),
    /// `alibi` or rotary.
    AlibiOrRotary,
    /// Rotary where `position_embedding_type` says so, else none.
    RotaryIfNamed,
    /// Rotary where that key says so, else none.
    RotaryIf(&'static str),
    /// Rotary, unless the file's base of rotation is null.
    RotaryUnlessNull,
    /// By the switches `rope`, `alibi` and `learned_pos_emb`.
    BySwitches,
}

/// Which layers look back on a window only.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Window {
    /// None does.
    None,
    /// All, if `sliding_window` is set; the number is the library's default, 0 for none.
    All(u64),
    /// All, if `use_sliding_window` says so.
    AllIfUsed,
    /// From layer `max_window_layers` on, if `use_sliding_window` says so.
    FromIfUsed,
    /// The layers that `layer_types` lists, else all; the number is the library's default window.
    Listed(u64),
    /// The layers that `layer_types` lists and no others; the number is the library's default
    /// window.
    ListedOnly(u64),
    /// All but every `period`-th, with the library's default window.
    AllButEvery { period: u64, window: u64 },
    /// All but every `period`-th and the last one, with the library's default window.
    AllButEveryAndLast { period: u64, window: u64 },
    /// The layers that the list names, else those of a rule over the layer and the number of
    /// layers.
    Where { slides: fn(u64, u64) -> bool, window: u64 },
    /// The layers that the list names, else all from `max_window_layers` on.
    FromStated { window: u64, first: u64 },
    /// All but the first and every `period`-th behind it (`global_attn_every_n_layers`), unless a
    /// list says so; they look around on half of `local_attention` to either side.
    Around { period: u64, window: u64 },
    /// All but the first and every `period`-th, unless a list says so.
    AllButFirstAndEvery { period: u64, window: u64 },
}

/// Norms in a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Norms {
    /// So many in every block.
    Are(u64),
    /// Two, or one where attention and feed-forward run side by side.
    OneIfParallel,
    /// Four, or two where that key says no.
    FourUnless(&'static str),
    /// By `new_decoder_architecture`, `parallel_attn` and `num_ln_in_parallel_attn`.
    ByDecoder,
}

/// The library's defaults of a mixture of experts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Experts {
    pub count: u64,
    pub per_token: u64,
    /// The library has no default for that: it is the number of the published files.
    pub as_published: bool,
    /// The router picks so many whatever the file says.
    pub always: bool,
    /// A single expert is a dense layer.
    pub dense_if_one: bool,
    /// There are experts only where this key says so.
    pub only_if: Option<&'static str>,
    /// The dense layer stays, beside the experts: as a shared one.
    pub beside_dense: bool,
    /// Inner width of an expert; 0: `intermediate_size`.
    pub width: u64,
    /// The inner width is `intermediate_size` whatever else the file says.
    pub width_is_inner: bool,
    /// The width may be a list of two: of experts for texts, and for images.
    pub first_of_two: bool,
    /// Shared experts of that width.
    pub shared: u64,
    /// Inner width of one shared expert, where it has a key of its own; 0: none.
    pub shared_width: u64,
    /// The key of one shared expert's inner width, where it is not that of the others, with the
    /// library's default.
    pub one_shared: Option<(&'static str, u64)>,
    /// Files may state shared experts although the library takes none.
    pub may_share: bool,
    /// Keys that say which layers have experts.
    pub chosen_by: &'static [&'static str],
    /// A gate weighs the shared experts' output.
    pub shared_gate: bool,
    /// Dense layers before the first one with experts.
    pub first_dense: u64,
    pub groups: [u64; 2],
    pub norm_topk: Flag,
    pub bias: bool,
    /// Files may state a narrower width for the vectors that experts read (`moe_latent_size`).
    pub narrows: bool,
}

impl Experts {
    /// So many experts of the feed-forward layer's width.
    pub const fn of(count: u64, per_token: u64) -> Self {
        Self {
            count,
            per_token,
            as_published: false,
            always: false,
            dense_if_one: false,
            only_if: None,
            beside_dense: false,
            width: 0,
            width_is_inner: true,
            first_of_two: false,
            shared: 0,
            shared_width: 0,
            one_shared: None,
            may_share: false,
            chosen_by: &[],
            shared_gate: false,
            first_dense: 0,
            groups: [1, 1],
            norm_topk: Flag::Is(true),
            bias: false,
            narrows: false,
        }
    }
}

/// The library's defaults of latent attention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latent {
    pub query_rank: u64,
    pub rank: u64,
    pub rope: u64,
    pub nope: u64,
    pub value: u64,
}

/// A key of which the modules are known for some values alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Only {
    pub key: &'static str,
    /// The values as files write them; a file that states none is fine.
    pub values: &'static [&'static str],
    pub otherwise: Otherwise,
    /// A further key under which the value means nothing.
    pub unless: Option<&'static str>,
}

impl Only {
    /// A file with another value under the key is refused, as having this.
    pub const fn else_refused(
        key: &'static str,
        values: &'static [&'static str],
        has: &'static str,
    ) -> Self {
        Self { key, values, otherwise: Otherwise::Refused(has), unless: None }
    }
}

/// The reading of a file with another value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Otherwise {
    /// The file is refused, because its model has this part.
    Refused(&'static str),
    /// The key is named as one that is not counted.
    NotCounted,
    /// The file is counted as a model that needs at least as much, as this sentence says.
    UpperBound(&'static str),
}

/// Positions in a learned table of as many rows.
pub(crate) const LEARNED: Positions = Positions::LearnedPlus(0);

/// A bias that `attention_bias` switches on.
pub(crate) const ATTENTION_BIAS: Flag = Flag::Key("attention_bias", false);
