//! Encoders: sizes of their two ends, and choices of their modules.

use serde::{Deserialize, Serialize};

use super::TaskHeads;

/// The most sizes of its own that a family may have: sizes that only its own modules know.
pub const OWN_SIZES: usize = 7;

/// Sizes of an encoder, as BERT and its relatives have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Encoder {
    /// A token sees only those before it: the modules are used as a decoder (`is_decoder`).
    pub is_decoder: bool,
    /// Rows of a learned table of token types, added to the embedding; 0 for none
    /// (`type_vocab_size`).
    pub type_vocab_size: u64,
    /// A dense layer, the activation function and a norm stand before the output head
    /// (`predictions.transform`).
    pub head_transform: bool,
    /// Width of the embedding, which a dense layer brings to `hidden_size`; 0: it is that itself
    /// (`embedding_size`).
    #[serde(default)]
    pub embedding_size: u64,
    /// Sizes that only the family's own modules know, in the order in which its description names
    /// their keys.
    #[serde(default)]
    pub own: [u64; OWN_SIZES],
}

impl Encoder {
    /// Two token types, and a layer before the output head.
    pub const BERT: Self = Self {
        is_decoder: false,
        type_vocab_size: 2,
        head_transform: true,
        embedding_size: 0,
        own: [0; OWN_SIZES],
    };

    /// A decoder's ends.
    pub const DECODER: Self =
        Self { is_decoder: true, type_vocab_size: 0, head_transform: false, ..Self::BERT };

    /// BERT's ends without token types.
    pub const UNTYPED: Self = Self { type_vocab_size: 0, ..Self::BERT };
}

/// Choices of modules that encoders alone have.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "a list of yes and no, as in the library's code")]
pub struct EncoderModules {
    /// The parts of the input that are embedded.
    pub embedding: EmbeddedParts,
    /// Buffers that the embedding registers.
    pub buffers: PositionBuffers,
    /// Types of tokens are made for each sequence, rather than read from a buffer.
    pub makes_types: bool,
    /// How types and positions are added to embedded tokens.
    pub added: AddedParts,
    /// The mask of tokens that the model's `forward` makes.
    pub mask: TokenMask,
    /// A dense layer follows the embedding even where both widths are the same.
    pub always_widens: bool,
    /// The embedding is a module of its own, whose intermediate tensors are freed when it returns.
    pub embeds_in_module: bool,
    /// Width of the input of the output head.
    pub head_width: HeadWidth,
    /// The activation function before the output head is `gelu`, whatever the file says.
    pub head_takes_gelu: bool,
    /// The dense layer before the output head has a bias.
    pub head_bias: bool,
    /// `gelu` is written out operator by operator.
    pub writes_gelu: bool,
    /// The head's bias is added behind its product.
    pub adds_head_bias: bool,
    /// Rotary frequencies are registered once.
    pub registers_frequencies_once: bool,
    /// Logits are copied to fp32 before the loss.
    pub loss_in_fp32: bool,
    /// Attention is written out, whatever kernel is asked for.
    pub writes_attention: bool,
    /// The library's modules can be run again in backward (`supports_gradient_checkpointing`).
    pub runs_again: bool,
    /// Norms have no bias.
    pub norms_without_bias: bool,
    /// The first block has no norm before attention.
    pub first_block_unnormed: bool,
    /// The head has a weight of its own, whatever the file says.
    pub never_ties: bool,
    /// Keys are projected without a bias, those of distances too.
    pub keys_without_bias: bool,
    /// Parameters beside those of BERT's modules, which are counted and never run.
    pub further: &'static [Further],
    /// Training is modelled; without it parameters are counted alone.
    pub trains: bool,
    /// Attention is among the parameters of [`Self::further`], and its layers are not put together.
    pub counts_attention: bool,
    /// Feed-forward layers are among those parameters, too.
    pub counts_feed_forward: bool,
    /// Layers before the classes of other tasks.
    pub tasks: TaskHeads,
    /// A dense layer reads the first token beside the output head (`pooler`).
    pub pools: bool,
    /// All blocks are one, whose parameters are there once.
    pub shares_blocks: bool,
}

impl EncoderModules {
    /// The choices of `bert`.
    pub const PLAIN: Self = Self {
        embedding: EmbeddedParts::Tokens,
        buffers: PositionBuffers::OfPositionsAndTypes,
        makes_types: false,
        added: AddedParts::Anew,
        mask: TokenMask::None,
        always_widens: false,
        embeds_in_module: true,
        head_width: HeadWidth::OfHidden,
        head_takes_gelu: false,
        head_bias: true,
        writes_gelu: false,
        adds_head_bias: false,
        registers_frequencies_once: false,
        loss_in_fp32: false,
        writes_attention: false,
        runs_again: true,
        norms_without_bias: false,
        first_block_unnormed: false,
        never_ties: false,
        keys_without_bias: false,
        further: &[],
        trains: true,
        counts_attention: false,
        counts_feed_forward: false,
        tasks: TaskHeads::UNKNOWN,
        pools: false,
        shares_blocks: false,
    };
}

impl EncoderModules {
    /// The choices of a decoder of which only the feed-forward layers are put together: all other
    /// parts are one number of parameters, the last of its own sizes.
    pub const COUNTED: Self = Self {
        buffers: PositionBuffers::None,
        embeds_in_module: false,
        further: &[Further::vector_of_model(
            "parts that are counted alone",
            Extent::Own(OWN_SIZES - 1),
        )],
        trains: false,
        counts_attention: true,
        ..Self::PLAIN
    };
}

/// The parts that an encoder embeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddedParts {
    /// Tokens, with their types and positions.
    Tokens,
    /// Tokens with their types and positions, and the places of four edges, a width and a height in
    /// a page: rows of one further size.
    InPage,
    /// Tokens with their sound and their shape, joined and brought to the model's width: rows and
    /// widths of the four further sizes.
    WithSoundAndShape,
    /// Tokens; masked ones are dropped and the others scaled up where the first further size says
    /// so.
    WithDroppedTokens,
    /// Tokens and positions, and a table, shared by all blocks, of how far keys lie from queries,
    /// with as many rows as the first further size.
    WithDistances,
    /// Frames in place of tokens, of as many numbers as the first further size; two convolutions
    /// over three frames halve their number.
    Frames,
    /// Tokens, and a table of how far keys lie from queries, with as many rows as the first further
    /// size, which all blocks read as it is; scores are not scaled.
    WithBiases,
    /// Tokens and positions, and how far keys lie from queries, from which scores are made. The
    /// four choices: distances that have an embedding, and whether this embedding meets queries,
    /// meets keys, goes through the tokens' projections, and is normed.
    WithEmbeddedDistances,
}

/// Buffers of all positions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionBuffers {
    /// No buffer.
    None,
    /// A buffer of positions.
    OfPositions,
    /// A buffer of positions, and one of as many types of tokens where there are types.
    OfPositionsAndTypes,
}

/// Width of the input of the output head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadWidth {
    /// The model's.
    OfHidden,
    /// The embedding's.
    OfEmbedding,
    /// The first of the family's own sizes.
    Own,
}

/// The mask of tokens that an encoder makes where it is given none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenMask {
    /// None.
    None,
    /// Ones, of which a mask of all tokens is made unless all are seen to be ones.
    Ones,
    /// Ones, whose products say which pairs of tokens see each other.
    OfPairs,
    /// Ones, turned into what is added to the scores of each key.
    Added,
}

/// How types and positions are added to embedded tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedParts {
    /// Each sum is a tensor of its own.
    Anew,
    /// Positions in place.
    PositionsInPlace,
    /// Both in place, in the format that embedded tokens have.
    AllInPlace,
}

/// Parameters that are counted and never run.
#[derive(Clone, Copy, Debug)]
pub struct Further {
    /// Their name.
    pub name: &'static str,
    /// Every block has these parameters, rather than the model.
    pub in_blocks: bool,
    /// The number of copies.
    pub times: Extent,
    /// Their shape, of two dimensions at most.
    pub shape: [Extent; 2],
}

/// A dimension of parameters that are counted and never run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A stated number.
    Of(u64),
    /// `hidden_size`.
    Hidden,
    /// `intermediate_size`.
    Inner,
    /// `num_attention_heads`.
    Heads,
    /// The width of a head.
    Head,
    /// `max_position_embeddings`.
    Positions,
    /// `type_vocab_size`.
    Types,
    /// `vocab_size`.
    Words,
    /// One of the family's own sizes.
    Own(usize),
    /// The heads of all blocks together.
    HeadsOfAllBlocks,
}

impl Further {
    /// Returns a matrix of every block.
    pub const fn in_blocks(name: &'static str, shape: [Extent; 2]) -> Self {
        Self { name, in_blocks: true, times: Extent::Of(1), shape }
    }

    /// Returns a vector of every block.
    pub const fn vector_in_blocks(name: &'static str, width: Extent) -> Self {
        Self { name, in_blocks: true, times: Extent::Of(1), shape: [width, Extent::Of(1)] }
    }

    /// Returns a matrix of the model.
    pub const fn of_model(name: &'static str, shape: [Extent; 2]) -> Self {
        Self { name, in_blocks: false, times: Extent::Of(1), shape }
    }

    /// Returns `times` matrices of the model.
    pub const fn times(times: Extent, name: &'static str, shape: [Extent; 2]) -> Self {
        Self { name, in_blocks: false, times, shape }
    }

    /// Returns `times` vectors of the model.
    pub const fn vectors(times: Extent, name: &'static str, width: Extent) -> Self {
        Self { name, in_blocks: false, times, shape: [width, Extent::Of(1)] }
    }

    /// Returns a vector of the model.
    pub const fn vector_of_model(name: &'static str, width: Extent) -> Self {
        Self { name, in_blocks: false, times: Extent::Of(1), shape: [width, Extent::Of(1)] }
    }
}
