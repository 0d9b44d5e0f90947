//! The description of a family's `config.json` files of its kind: which facts are fixed, which the
//! file states, and what the library takes where it does not.

use super::gguf::Gguf;
use super::keys::{
    Heads, InnerWidth, Keeps, KeyValueHeads, ManyStreams, OwnSizes, SourceKeys, States, Ties,
};
use super::rules::{Experts, Flag, Latent, Norms, Only, Positions, Sizes, Window};
use crate::config::{
    Encoder, Family, HiddenAct, MlpKind, Modules, Normalization, PositionEmbedding,
};

/// One family: the kind of model that a `model_type` stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FamilySpec {
    /// `model_type`, and other names for the same.
    pub names: &'static [&'static str],
    /// The class under `architectures`, without `ForCausalLM` or `LMHeadModel`.
    pub class: &'static str,
    /// Further classes that its files may name: those of a family whose modules it shares.
    pub saved_with: &'static [&'static str],
    /// The `model_type`s of files that are told to be of this kind by their class alone.
    pub told_by_class: &'static [&'static str],
    /// Usual spellings of names that do not follow from them, such as "GLM-4.5" of `glm4_moe`.
    pub labels: &'static [(&'static str, &'static str)],
    /// The modules that run it, as choices: its own, those of another family, or
    /// [`Modules::GENERIC`].
    pub modules: &'static Modules,
    /// Its files may give sizes the names of other kinds, such as `n_embd`.
    pub older_names: bool,
    /// The keys of sizes that its files have under names of their own, each behind the usual one.
    pub own_names: &'static [(&'static str, &'static [&'static str])],
    /// The encoder beside its decoder.
    pub source: Option<SourceKeys>,
    pub sizes: Sizes,
    /// How its files state the number of key/value heads.
    pub key_value_heads: KeyValueHeads,
    /// How its files state the feed-forward layer's inner width.
    pub inner: InnerWidth,
    /// Heads that do not fill the hidden size are refused.
    pub heads_fill_hidden: bool,
    /// Where the file states no width of a head, it is the hidden size by the number of heads,
    /// rounded down.
    pub rounds_heads_down: bool,
    pub normalization: Normalization,
    pub mlp: MlpKind,
    pub act: HiddenAct,
    pub positions: Positions,
    /// Rotated share of a head, per cent.
    pub rotary_percent: f64,
    pub tied: bool,
    /// Who says whether the head reuses the embedding.
    pub ties: Ties,
    pub attention_bias: Flag,
    pub output_bias: Flag,
    pub mlp_bias: Flag,
    pub qk_norm: Flag,
    pub parallel: Flag,
    pub norms: Norms,
    pub final_norm: bool,
    pub embedding_norm: bool,
    pub window: Window,
    /// Both ends of an encoder, with the library's defaults.
    pub encoder: Option<Encoder>,
    /// The key of an encoder's embedding width, with the library's default.
    pub embedding_size: Option<(&'static str, u64)>,
    /// Keys of the sizes that the family's own modules alone know, with the library's defaults.
    pub own_sizes: &'static [(&'static str, u64)],
    /// Groups of keys, and lists, of which some members are such sizes, behind those: a member of a
    /// group, the number of items of a list under no name, or how often it has one.
    pub own_groups: &'static [(&'static str, &'static [(&'static str, u64)])],
    /// How files state these sizes.
    pub own_rule: OwnSizes,
    /// The parts of the cache of a kind whose parameters are counted alone; `None`: serving it is
    /// refused.
    pub keeps: Option<Keeps>,
    /// Keys are compressed in layers of its own kinds, and blocks mix several streams: its own
    /// sizes are those of
    /// [`crate::config::Compressed`] in their order, its first group the rates.
    pub compresses: bool,
    /// The key of the rank of norms' gates, with the library's default.
    pub norm_gate: Option<(&'static str, u64)>,
    /// Words of layers by the rates at which files say that they compress keys (`compress_ratios`).
    pub layers_by_rate: &'static [(u64, &'static str)],
    pub experts: Option<Experts>,
    pub latent: Option<Latent>,
    /// The library's defaults of an indexer's heads, their width, and the tokens that a query sees.
    pub indexer: Option<[u64; 3]>,
    /// The library's default of a block's tokens, where the indexer chooses blocks.
    pub index_block: Option<u64>,
    /// A state in place of keys and values, in some layers.
    pub states: Option<States>,
    /// Heads of another shape, in some layers.
    pub heads: Option<Heads>,
    /// Several residual streams, and an embedding of its own for every layer.
    pub streams: Option<ManyStreams>,
    pub sinks: bool,
    /// Most layers see chunks of the text, unless `attention_chunk_size` is null.
    pub chunks: bool,
    pub attention_cap: Flag,
    pub logit_cap: Flag,
    pub head_bias: Flag,
    /// The key that lists layers which attend to images alone: texts pass by them, and they belong
    /// to the projector.
    pub crossed: Option<&'static str>,
    /// The library's decoders of its kind classify texts and tokens by one matrix in place of the
    /// head.
    pub classifies: bool,
    /// Keys of parts that every model of the kind has, stated or not, and that are not counted.
    pub never_counted: &'static [&'static str],
    /// Keys of parts that checkpoints of the kind have beside the model, stated or not, and that
    /// are named as left out.
    pub always_left_out: &'static [&'static str],
    /// Its own class holds the layers that predict further tokens, which the classes of other kinds
    /// leave in the checkpoint.
    pub predicts_further: bool,
    /// The group of keys that its sizes stand in, where that is no part for text with a kind of its
    /// own; empty: the file itself.
    pub within: &'static str,
    /// A class that its files may name, and the groups of keys that describe parts which that class
    /// does not have.
    pub alone: (&'static str, &'static [&'static str]),
    /// How llama.cpp's files write this kind, where they do.
    pub gguf: Option<Gguf>,
    /// The key of dense layers' inner width where `intermediate_size` is that of experts, with the
    /// library's default; 0: as experts.
    pub dense_inner: Option<(&'static str, u64)>,
    /// `do_layer_norm_before` moves the norms and `word_embed_proj_dim` narrows the embedding.
    pub moves_norms_and_narrows_embedding: bool,
    /// Every layer has an embedding of its own, unless the file says that there is none.
    pub embeds_each_layer: bool,
    /// Further widths, whose keys end in `dim` or `dim_out`, repeat the hidden size.
    pub further_widths_repeat_hidden: bool,
    /// Keys of which the modules are known for some values alone.
    pub only: &'static [Only],
    /// Keys that sound as if they were about a shape, and that its modules do not look at.
    pub not_looked_at: &'static [&'static str],
    /// Files that go by its name and are of another kind: a key, its value as files write it
    /// (empty: whatever switches it on), and the kind.
    pub instead: &'static [(&'static str, &'static str, &'static str)],
}

impl FamilySpec {
    /// The family whose modules run it.
    pub const fn family(&self) -> Family {
        Family(self.modules)
    }

    /// True for the classes that its files may name under `architectures`.
    pub fn may_be_saved_as(&self, class: &str) -> bool {
        self.class == class || self.saved_with.contains(&class)
    }

    /// True if the kind has modules of its own.
    pub const fn has_own_modules(&self) -> bool {
        let mut at = 0;
        while at < self.names.len() {
            if super::choices::same(self.names[at], self.modules.model_type) {
                return true;
            }
            at += 1;
        }
        false
    }

    /// A decoder of RMS norms, gated feed-forward, rotary positions and a head of its own; without
    /// sizes.
    pub const PLAIN: Self = Self {
        names: &[],
        class: "",
        saved_with: &[],
        told_by_class: &[],
        labels: &[],
        modules: &Modules::GENERIC,
        older_names: false,
        own_names: &[],
        source: None,
        sizes: Sizes::UNKNOWN,
        key_value_heads: KeyValueHeads::Stated,
        inner: InnerWidth::Stated(&["intermediate_size"]),
        heads_fill_hidden: false,
        rounds_heads_down: false,
        normalization: Normalization::RmsNorm,
        mlp: MlpKind::Gated,
        act: HiddenAct::Silu,
        positions: Positions::Are(PositionEmbedding::Rotary),
        rotary_percent: 100.0,
        tied: false,
        ties: Ties::Stated,
        attention_bias: Flag::Is(false),
        output_bias: Flag::Is(false),
        mlp_bias: Flag::Is(false),
        qk_norm: Flag::Is(false),
        parallel: Flag::Is(false),
        norms: Norms::Are(2),
        final_norm: true,
        embedding_norm: false,
        window: Window::None,
        encoder: None,
        embedding_size: None,
        own_sizes: &[],
        own_groups: &[],
        own_rule: OwnSizes::Stated,
        keeps: None,
        compresses: false,
        norm_gate: None,
        layers_by_rate: &[],
        experts: None,
        latent: None,
        indexer: None,
        index_block: None,
        states: None,
        heads: None,
        streams: None,
        sinks: false,
        chunks: false,
        attention_cap: Flag::Is(false),
        logit_cap: Flag::Is(false),
        head_bias: Flag::Is(false),
        crossed: None,
        classifies: true,
        never_counted: &[],
        always_left_out: &[],
        predicts_further: false,
        within: "",
        alone: ("", &[]),
        gguf: None,
        dense_inner: None,
        moves_norms_and_narrows_embedding: false,
        embeds_each_layer: false,
        further_widths_repeat_hidden: false,
        only: &[],
        not_looked_at: &[],
        instead: &[],
    };

    /// A decoder of layer norms and a plain feed-forward layer with biases everywhere.
    pub const CLASSIC: Self = Self {
        normalization: Normalization::LayerNorm,
        mlp: MlpKind::Plain,
        act: HiddenAct::Gelu,
        attention_bias: Flag::Is(true),
        output_bias: Flag::Is(true),
        mlp_bias: Flag::Is(true),
        ..Self::PLAIN
    };

    /// The names of a size that this kind's files have: all that there are for older kinds and for
    /// unknown ones, else the library's own.
    pub fn names_of<'a>(&self, keys: &'a [&'static str]) -> &'a [&'static str] {
        if self.older_names {
            keys
        } else {
            self.own_names_of(keys)
                .get(..)
                .filter(|own| *own != keys)
                .or_else(|| keys.get(..1))
                .unwrap_or(keys)
        }
    }

    /// The names of a size that are this kind's alone, or all that there are.
    pub fn own_names_of<'a>(&self, keys: &'a [&'static str]) -> &'a [&'static str] {
        let usual = keys.first();
        self.own_names.iter().find(|(name, _)| Some(name) == usual).map_or(keys, |(_, own)| *own)
    }
}
