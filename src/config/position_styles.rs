//! Choices in which families embed tokens and their positions.

/// How queries and keys are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationStyle {
    /// The whole head, or its first part, joined with the rest.
    Whole,
    /// The whole head, the other way round: its first half is negated.
    Backwards,
    /// The whole head in fp32.
    InFp32,
    /// As [`Self::InFp32`], with a copy in fp32 for each of the two products.
    InFp32ByTwoCopies,
    /// The first part, by the attention itself, which holds the parts to its end.
    HeldParts,
    /// The first part, joined with the rest even if that is empty.
    Joined,
    /// As [`Self::Joined`], with cosines and sines repeated in every block.
    RepeatedTables,
    /// Neighbours of the first part, before heads and tokens change places, by a table of every
    /// layer, of which rows are gathered and cast; blocks of [`BlockLayout::OwnOrder`].
    ///
    /// [`BlockLayout::OwnOrder`]: super::BlockLayout::OwnOrder
    Neighbours,
    /// As [`Self::Neighbours`], by rows in fp32 that are looked up.
    NeighboursInFp32,
    /// The whole head, with cosines and sines repeated in every block.
    WholeByRepeatedTables,
    /// The whole head: turned, then multiplied in fp32, with cosines and sines repeated in every
    /// block.
    RepeatedTablesInFp32,
}

/// The layers whose queries and keys are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotatedLayers {
    /// All.
    All,
    /// Those that slide, in models that have such.
    Sliding,
    /// All but every n-th, in models without a window.
    AllButEvery(u64),
}

/// How an indexer's queries and keys are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexRotation {
    /// Each number is rotated with its counterpart in the other half.
    Halves,
    /// Each number is rotated with its neighbour.
    Pairs,
}

/// Tables of rotary cosines and sines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotaryTables {
    /// As wide as the rotated part, in the format of hidden states.
    Whole,
    /// Half as wide as the rotated part, whose halves are rotated one by one.
    Halves,
    /// As wide as the rotated part, in fp32; the rotated queries and keys are cast back.
    InFp32,
    /// One table of complex numbers.
    Complex,
    /// As wide as the rotated part, with a copy for each sequence, although all are alike.
    OfSequences,
    /// As wide as the rotated part, for each sequence, put together from tables of time, height and
    /// width.
    OfGrids,
}

/// How linear biases of the scores are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearBiases {
    /// The model with them makes neither position ids nor rotary tables.
    InPlaceOfPositions,
    /// Position ids and rotary tables are made all the same, and the mask takes up the biases.
    BesidePositions,
}

/// Where positions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionIds {
    /// One list for all sequences, counted from 0.
    Counted,
    /// One list for each sequence, counted from the mask of its tokens.
    FromMask,
    /// One list for all sequences, counted from 0, and a mask of their tokens beside it.
    BesideMask,
    /// A buffer of all positions there are, and one of as many token types.
    Buffer,
    /// One list for each sequence, counted from its tokens; beside the buffers of [`Self::Buffer`].
    FromTokens,
    /// Nowhere: models without attention count no positions, and make no masks.
    Nowhere,
    /// No list is made: only the masks count positions.
    Untold,
}

/// The factor on embedded tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingScale {
    /// None.
    None,
    /// A number.
    Number,
    /// A buffer, which the product saves in the embedding's format.
    Buffer,
    /// A buffer in bf16, whatever the model's format is.
    NarrowBuffer,
    /// A buffer of one whole number, whose format stays when the model's is changed.
    WholeBuffer,
}
