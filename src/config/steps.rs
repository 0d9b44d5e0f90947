//! The steps that images take through a tower and a projector.

use super::tiles::TileRule;
use super::tower::TowerSize;

/// A step of a tower or of a projector. Numbers are places of layers in the part that the step
/// belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TowerStep {
    /// Images of the tower's own size become patches, by a convolution.
    Patches(u8),
    /// Nothing runs, but a fact holds.
    Is(TowerFact),
    /// The input is sound instead of images; how the tower runs on it is not described.
    Heard,
    /// Images are resized in proportion; the patches of all of them, which the processor has cut
    /// out, stand in one row.
    Packed {
        /// The convolution, or the matrix.
        layer: u8,
        /// The fewest and the most pixels of an image, as the processors' files of published models
        /// say.
        limits: [u64; 2],
        /// Checkpointing asks for a gradient of them, where the tower is frozen
        /// (`enable_input_require_grads`, which finds them by the name that the class gives its
        /// `_input_embed_layer`).
        wanted: bool,
    },
    /// A learned token stands before the patches.
    ClassToken(u8),
    /// Learned positions are added.
    Positions(u8),
    /// A norm.
    Norm(u8),
    /// A norm of the first token alone, whose result is not used.
    NormOfFirst(u8),
    /// Attention of a normed input, added to it.
    Attention {
        /// The norm.
        norm: u8,
        /// Queries, keys, values, and the output.
        matrices: [u8; 4],
        /// Norms of queries and keys, and a vector that scales what is added, where there are some.
        scaled: Option<TowerScale>,
    },
    /// Learned positions of a square, as they lie between places of an image of any form, are
    /// added.
    Interpolated(u8),
    /// Attention of a normed input that turns queries and keys by the place of their patch, added
    /// to it; each image by itself.
    Joint {
        /// The norm.
        norm: u8,
        /// Queries, keys and values side by side, and the output.
        matrices: [u8; 2],
    },
    /// The part runs behind some blocks, one copy behind each of these, given as bits; its output
    /// is fed to the text's first blocks.
    Feeds(TowerSize),
    /// Patches are brought into the order of windows, among whose patches most blocks attend.
    Windows {
        /// The side of a window, pixels.
        side: TowerSize,
        /// The blocks that see the whole image, as bits.
        whole: TowerSize,
    },
    /// Tokens are brought back into the order of the image.
    InOrder,
    /// A gated feed-forward layer of a normed input, added to it.
    Gated {
        /// The norm.
        norm: u8,
        /// Gate, up and down.
        matrices: [u8; 3],
    },
    /// Two matrices and a function between, of a normed input, added to it.
    FeedForward {
        /// The norm.
        norm: u8,
        /// Both matrices.
        matrices: [u8; 2],
        /// The vector that scales what is added, if there is one.
        scale: Option<u8>,
    },
    /// The output of the block with [`TowerSize::Behind`] further blocks behind it goes on, in
    /// place of the tower's output.
    OfBlock,
    /// The first token is left out where [`TowerSize::Cut`] says so.
    WithoutFirst,
    /// A matrix with a bias.
    Linear(u8),
    /// A matrix, and a bias which is that layer of the part behind, where that is there.
    BiasedBehind(u8, u8),
    /// The projector's function.
    Function,
    /// `gelu`.
    Gelu,
    /// Squares of [`TowerSize::Merge`] patches along a side stand side by side in one row.
    Merged,
    /// The means of squares of patches go on in place of the patches; [`TowerSize::Pool`] says how
    /// many are wanted.
    Pooled,
    /// A norm whose scale is one plus what is learned, in fp32.
    NormOnePlus(u8),
    /// A matrix that reads a tensor which lies in memory in another order.
    Times(u8),
    /// The processor says of every token whether it belongs to an image, and the model says to
    /// which image.
    Typed,
    /// The images are taken apart and joined to one row of tokens.
    Listed,
    /// Learned positions of each patch by its place are added; checkpointing asks for a gradient of
    /// the sums.
    Placed(u8),
    /// Learned positions are added as they are.
    Added(u8),
    /// The output of the tower goes on, even if the file names another block.
    OfLast,
    /// [`Self::Merged`] by two copies, of columns and of rows.
    Shuffled,
    /// An image is cut into several, whose tokens stand one behind the other.
    Tiled(TileRule),
    /// An image is cut into tiles of a listed resolution, whose patches are put together again,
    /// each row with a vector at its end.
    Spread {
        /// The vector.
        end: u8,
        /// The resolutions.
        grids: TowerSize,
        /// Tiles whose patches are shown at most; 0: all.
        most: u64,
        /// Several images of a text stay whole.
        alone: bool,
    },
    /// Images of any form become patches by this convolution, which all stand in one row.
    Joined(u8),
    /// Attention of a normed input among the patches of each image in that row, turned by their
    /// places, added to it.
    Turned {
        /// The norm.
        norm: u8,
        /// Queries, keys, values, and the output.
        matrices: [u8; 4],
    },
    /// [`Self::Merged`] by a kernel that reads squares of the plane, image by image.
    Unfolded,
}

impl TowerStep {
    /// True if an image has as many tokens behind the step as before.
    pub(super) const fn keeps_tokens(&self) -> bool {
        matches!(
            self,
            Self::Positions(_)
                | Self::Norm(_)
                | Self::NormOfFirst(_)
                | Self::Attention { .. }
                | Self::Interpolated(_)
                | Self::Joint { .. }
                | Self::Windows { .. }
                | Self::InOrder
                | Self::Gated { .. }
                | Self::FeedForward { .. }
                | Self::OfBlock
                | Self::Linear(_)
                | Self::BiasedBehind(..)
                | Self::Function
                | Self::Gelu
                | Self::NormOnePlus(_)
                | Self::Times(_)
                | Self::Typed
                | Self::Feeds(_)
                | Self::Placed(_)
                | Self::Added(_)
                | Self::OfLast
                | Self::Turned { .. }
                | Self::Listed
                | Self::Is(_)
        )
    }
}

/// Facts that hold while images run through a tower and a projector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TowerFact {
    /// Pixels are cast before the tower runs, and held until the projector has.
    PixelsCast,
    /// Images that are not empty are picked, with a mask of their pixels, and held until the
    /// projector has run.
    PixelsPicked,
    /// Several images of a text are joined before the tower runs, and held until the projector has.
    PixelsJoined,
    /// Probabilities have the format of the scores.
    NarrowSoftmax,
    /// The longest side of an image of any form is at most that many pixels.
    Longest(u64),
    /// The model's output holds what the tower and the projector return.
    Returned,
}

/// Norms of queries and keys, as far as they are there, and the vector that scales what attention
/// adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TowerScale {
    /// The norms.
    pub normed: [u8; 2],
    /// The vector.
    pub scale: u8,
}
