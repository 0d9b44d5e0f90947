//! A vision tower and the projector behind it, as lists of layers over sizes.
//!
//! Every tower is data: the sizes that its file states, and the layers that these make. That way a
//! tower, or a projector, is one file.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};

use super::steps::TowerStep;

/// A size of a tower or of its projector.
///
/// Files state most of them; those behind [`Self::Text`] follow from others. A part whose number of
/// copies is 0 is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TowerSize {
    /// Width of the tower's hidden states.
    Hidden,
    /// Inner width of its feed-forward layers.
    Inner,
    /// Number of its blocks.
    Layers,
    /// Number of its query heads, where a width follows from it.
    Heads,
    /// Number of its key/value heads, where a width follows from it.
    KeyHeads,
    /// Channels of an image.
    Channels,
    /// Frames that are taken together.
    Frames,
    /// Side of a patch, pixels.
    Side,
    /// Side of an image, pixels.
    Image,
    /// Patches along each side that become one token of the text.
    Merge,
    /// Width behind the tower.
    Out,
    /// Rows of a stated table of positions.
    Positions,
    /// Learned queries of a projector.
    Queries,
    /// Blocks whose output is fed to the text too.
    Fed,
    /// 1 where a head pools the patches.
    Pooled,
    /// 1 where queries, keys and values have biases.
    Biased,
    /// 1 where queries and keys are normed.
    Normed,
    /// Inner width of the projector.
    Wide,
    /// A further size that one kind of tower alone has.
    Further,
    /// Width of the text's hidden states.
    Text,
    /// Numbers of a patch.
    Patch,
    /// Patches of an image.
    Patches,
    /// Width of the patches that are merged.
    Merged,
    /// Queries, keys and values side by side.
    Joint,
    /// Frequencies of rotary positions.
    Turned,
    /// A further size that follows from others, of one kind alone.
    Derived,
    /// The blocks' activation function, by its number; see
    /// [`number_of_function`](super::number_of_function).
    Act,
    /// The projector's activation function, by its number; see
    /// [`number_of_function`](super::number_of_function).
    OutAct,
    /// Blocks behind the one that the projector reads.
    Behind,
    /// Tokens that pooling leaves of an image.
    Pool,
    /// 1 where the projector leaves the first token of an image out.
    Cut,
    /// One.
    One,
    /// Inner width of the text's feed-forward layers.
    TextInner,
    /// Width of all query heads of the text.
    TextQueries,
    /// Width of all key/value heads of the text.
    TextKeys,
    /// Width of a head of the text.
    TextHead,
    /// Layers of the text.
    TextLayers,
    /// Positions of the text.
    TextPositions,
    /// Layers of the text that have experts.
    TextSparse,
    /// Experts of such a layer.
    TextExperts,
    /// Rows of the text's embedding behind its vocabulary.
    TextRows,
    /// Width of the hidden states of a further part, such as a second tower.
    SecondHidden,
    /// Inner width of its feed-forward layers.
    SecondInner,
    /// Number of its blocks.
    SecondLayers,
    /// Number of its query heads.
    SecondHeads,
    /// Width behind it.
    SecondOut,
    /// Sizes of one kind alone, which its file gives names.
    Own1,
    /// A second such size.
    Own2,
    /// A third such size.
    Own3,
    /// A fourth such size.
    Own4,
    /// A fifth such size.
    Own5,
    /// A sixth such size.
    Own6,
    /// A seventh such size.
    Own7,
    /// An eighth such size.
    Own8,
    /// A ninth such size.
    Own9,
    /// A tenth such size.
    Own10,
    /// An eleventh such size.
    Own11,
    /// A twelfth such size.
    Own12,
    /// A thirteenth such size.
    Own13,
    /// A fourteenth such size.
    Own14,
    /// A fifteenth such size.
    Own15,
    /// A sixteenth such size.
    Own16,
}

impl TowerSize {
    /// The number of sizes.
    pub const COUNT: usize = Self::Own16 as usize + 1;

    /// Returns the size's name in shapes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hidden => "vision hidden_size",
            Self::Inner => "vision intermediate_size",
            Self::Layers => "vision layers",
            Self::Heads => "vision heads",
            Self::KeyHeads => "vision key/value heads",
            Self::Channels => "channels",
            Self::Frames => "frames",
            Self::Side => "patch side",
            Self::Image => "image side",
            Self::Merge => "patches merged along a side",
            Self::Out => "width behind the tower",
            Self::Positions => "rows of positions",
            Self::Queries => "learned queries",
            Self::Fed => "blocks that feed the text",
            Self::Pooled | Self::Biased | Self::Normed | Self::Cut | Self::One => "one",
            Self::Act | Self::OutAct => "number of a function",
            Self::Pool => "pooled tokens",
            Self::Behind => "blocks behind the one that is read",
            Self::Wide => "projector's inner width",
            Self::Further | Self::Derived => "width of this tower alone",
            Self::Text => "text hidden_size",
            Self::Patch => "numbers of a patch",
            Self::Patches => "patches",
            Self::Merged => "width of merged patches",
            Self::Turned => "rotary frequencies of the tower",
            Self::Joint => "vision q+k+v width",
            Self::TextInner => "text intermediate_size",
            Self::TextQueries => "text query heads × head_dim",
            Self::TextKeys => "text key/value heads × head_dim",
            Self::TextHead => "text head_dim",
            Self::TextLayers => "text layers",
            Self::TextPositions => "text positions",
            Self::TextSparse => "text layers with experts",
            Self::TextExperts => "text experts",
            Self::TextRows => "rows behind the vocabulary",
            Self::SecondHidden => "second part's hidden_size",
            Self::SecondInner => "second part's intermediate_size",
            Self::SecondLayers => "second part's layers",
            Self::SecondHeads => "second part's heads",
            Self::SecondOut => "width behind the second part",
            Self::Own1
            | Self::Own2
            | Self::Own3
            | Self::Own4
            | Self::Own5
            | Self::Own6
            | Self::Own7
            | Self::Own8
            | Self::Own9
            | Self::Own10
            | Self::Own11
            | Self::Own12
            | Self::Own13
            | Self::Own14
            | Self::Own15
            | Self::Own16 => "size of this kind alone",
        }
    }
}

/// The sizes of one tower, by [`TowerSize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TowerSizes {
    /// The sizes, each at the place of its [`TowerSize`].
    pub of: [u64; TowerSize::COUNT],
}

impl TowerSizes {
    /// Nothing but [`TowerSize::One`] is set.
    pub const NONE: Self = {
        let mut sizes = [0; TowerSize::COUNT];
        sizes[TowerSize::One as usize] = 1;
        Self { of: sizes }
    };

    /// Returns one size.
    pub fn get(&self, size: TowerSize) -> u64 {
        self.of.get(size as usize).copied().unwrap_or_default()
    }

    /// Sets one size.
    pub fn set(&mut self, size: TowerSize, value: u64) {
        if let Some(place) = self.of.get_mut(size as usize) {
            *place = value;
        }
    }
}

/// A layer that has parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TowerLayer {
    /// A matrix from the first width to the second.
    Matrix(&'static str, TowerSize, TowerSize),
    /// A matrix with a bias.
    Linear(&'static str, TowerSize, TowerSize),
    /// A norm with a scale and a bias.
    LayerNorm(TowerSize),
    /// A norm with a scale.
    RmsNorm(TowerSize),
    /// A table: the number of its rows, and their width.
    Table(&'static str, TowerSize, TowerSize),
    /// A table: the number of its rows, and their width, in a tensor whose first size is one.
    Plane(&'static str, TowerSize, TowerSize),
    /// One vector.
    Vector(&'static str, TowerSize),
    /// A matrix, with a bias where the last size is set.
    MaybeBiased(&'static str, TowerSize, TowerSize, TowerSize),
    /// A norm with a scale, and with a bias where the last size is set.
    EitherNorm(TowerSize, TowerSize),
    /// A norm with a scale, which is there where the last size is set.
    MaybeNorm(TowerSize, TowerSize),
    /// No layer: how the part runs.
    Runs(&'static [TowerStep]),
}

/// Numbers that a tower keeps beside its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TowerBuffer {
    /// The number of each position, in 64 bits.
    PositionIds(TowerSize),
    /// Frequencies of rotary positions, twice, in fp32.
    Frequencies(TowerSize),
    /// Complex factors of rotary positions: rows, and numbers of a row, in 64 bits each.
    Factors(TowerSize, TowerSize),
    /// A table in fp32.
    Table(TowerSize, TowerSize),
    /// Two vectors in the format of weights.
    Pair(TowerSize),
}

/// Layers that a tower has that many copies of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TowerPart {
    /// The number of copies.
    pub times: TowerSize,
    /// The layers, in the order in which they stand.
    pub layers: &'static [TowerLayer],
}

/// The modules of one kind of tower, or of one kind of projector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TowerModules {
    /// The `model_type` as files write it: that of the tower, or of the whole file for a projector.
    pub model_type: &'static str,
    /// Its parts, in the order in which the library registers them.
    pub parts: &'static [TowerPart],
    /// Tensors that it keeps beside its parameters.
    pub buffers: &'static [TowerBuffer],
}

/// A vision tower with the projector behind it.
#[derive(Clone, Copy)]
pub struct Tower {
    /// The modules of the tower.
    pub modules: &'static TowerModules,
    /// The modules of the projector.
    pub projector: &'static TowerModules,
    /// The sizes of both.
    pub sizes: TowerSizes,
}

/// The catalog's tables are written from this text, in which modules are given by their names.
impl Debug for Tower {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let (tower, projector, sizes) = self.key();
        write!(
            to,
            "Tower {{ modules: tower({tower:?}), projector: projector({projector:?}), sizes: {sizes:?} }}"
        )
    }
}

impl PartialEq for Tower {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Tower {}

impl Hash for Tower {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl TowerModules {
    /// No layers: the tower itself ends in the width of the text.
    pub const NONE: Self = Self { model_type: "", parts: &[], buffers: &[] };
}

impl Tower {
    /// The kinds of tower and projector and the sizes, which tell towers apart.
    const fn key(&self) -> (&'static str, &'static str, TowerSizes) {
        (self.modules.model_type, self.projector.model_type, self.sizes)
    }
}
