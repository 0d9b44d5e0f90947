//! Images in the texts: how many there are, and what a vision tower makes of them.
//!
//! How a tower runs is data, too: each of its parts says in steps what becomes of the images. Parts without steps are counted alone.

use super::family::HiddenAct;
use super::tower::{Tower, TowerLayer, TowerPart, TowerSize};

/// The images of every sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Images {
    /// How many a sequence has; 0: texts alone.
    pub per_sequence: u64,
    /// Their width in pixels, before the processor resizes them.
    pub width: u64,
    /// Their height in pixels, likewise.
    pub height: u64,
}

impl Images {
    /// Texts alone.
    pub const NONE: Self = Self { per_sequence: 0, width: 0, height: 0 };
}

/// A step of a tower or of a projector. Numbers are places of layers in the part that the step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TowerStep {
    /// Images of the tower's own size become patches, by a convolution.
    Patches(u8),
    /// A learned token stands before the patches.
    ClassToken(u8),
    /// Learned positions are added.
    Positions(u8),
    /// A norm.
    Norm(u8),
    /// A norm of the first token alone, which nothing reads.
    NormOfFirst(u8),
    /// Attention of a normed input, added to it.
    Attention {
        /// The norm.
        norm: u8,
        /// Queries, keys, values, and the output.
        matrices: [u8; 4],
    },
    /// Two matrices and a function between, of a normed input, added to it.
    FeedForward {
        /// The norm.
        norm: u8,
        /// Both matrices.
        matrices: [u8; 2],
    },
    /// The output of the block that has [`TowerSize::Behind`] further ones behind it goes on, in place of the tower's.
    OfBlock,
    /// The first token goes where [`TowerSize::Cut`] says so.
    WithoutFirst,
    /// A matrix with a bias.
    Linear(u8),
    /// A matrix, and a bias which is that layer of the part behind, where that is there.
    BiasedBehind(u8, u8),
    /// The projector's function.
    Function,
    /// The means of squares of patches go on, until there are [`TowerSize::Pool`] at most.
    Pooled,
    /// A norm whose scale is one plus what is learned, in fp32.
    NormOnePlus(u8),
    /// A matrix that reads what memory holds in another order.
    Times(u8),
    /// The processor says of every token whether it is of an image, and the model of which image it is.
    Typed,
    /// The images are taken apart and joined to one row of tokens.
    Listed,
}

/// An image as a tower sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Width and height of the image, once it is resized, pixels.
    pub pixels: [u64; 2],
    /// Tokens of the text that it becomes.
    pub tokens: u64,
}

impl TowerPart {
    /// How it runs; `None` where that is not described.
    pub fn steps(&self) -> Option<&'static [TowerStep]> {
        self.layers.iter().find_map(|layer| match layer {
            TowerLayer::Runs(steps) => Some(*steps),
            _ => None,
        })
    }
}

impl Tower {
    /// The parts that are there, those of the tower first.
    pub fn parts(&self) -> impl Iterator<Item = &'static TowerPart> + use<'_> {
        let all = self.modules.parts.iter().chain(self.projector.parts);
        all.filter(|part| self.sizes.get(part.times) > 0)
    }

    /// One of these images as the tower sees it; `None` where the run of a part is not described.
    pub fn seen(&self, _images: Images) -> Option<Seen> {
        // Towers that end in the width of the text by themselves have no run yet.
        if self.projector.parts.is_empty() {
            return None;
        }
        let (mut tokens, mut pixels) = (0_u64, [0; 2]);
        for part in self.parts() {
            for step in part.steps()? {
                tokens = match step {
                    TowerStep::Patches(_) => {
                        pixels = [self.sizes.get(TowerSize::Image); 2];
                        self.sizes.get(TowerSize::Patches)
                    }
                    TowerStep::ClassToken(_) => tokens.saturating_add(1),
                    TowerStep::Pooled => self.pooled_side()?.pow(2),
                    TowerStep::WithoutFirst => tokens.saturating_sub(self.sizes.get(TowerSize::Cut)),
                    TowerStep::FeedForward { .. } if self.function(TowerSize::Act).is_none() => return None,
                    TowerStep::Function if self.function(TowerSize::OutAct).is_none() => return None,
                    TowerStep::OfBlock if !self.reads_one_block() => return None,
                    TowerStep::Attention { .. } if self.head_width().is_none() => return None,
                    TowerStep::Positions(_)
                    | TowerStep::Norm(_)
                    | TowerStep::NormOfFirst(_)
                    | TowerStep::Attention { .. }
                    | TowerStep::FeedForward { .. }
                    | TowerStep::OfBlock
                    | TowerStep::Linear(_)
                    | TowerStep::BiasedBehind(..)
                    | TowerStep::Function
                    | TowerStep::NormOnePlus(_)
                    | TowerStep::Times(_)
                    | TowerStep::Typed
                    | TowerStep::Listed => tokens,
                };
            }
        }
        (tokens > 0).then_some(Seen { pixels, tokens })
    }

    /// Tokens in the tower's blocks: patches, and class tokens.
    pub fn rows(&self) -> u64 {
        let steps = self.parts().flat_map(|part| part.steps().unwrap_or(&[]));
        let classes = steps.filter(|step| matches!(step, TowerStep::ClassToken(_))).count();
        self.sizes.get(TowerSize::Patches).saturating_add(u64::try_from(classes).unwrap_or(0))
    }

    /// Tokens along a side behind pooling: whole squares of patches, and as few as are wanted (`avg_pool2d`).
    pub fn pooled_side(&self) -> Option<u64> {
        let [patches, pool] = [TowerSize::Patches, TowerSize::Pool].map(|size| self.sizes.get(size).isqrt());
        let square = patches.checked_div(pool)?;
        patches.checked_div(square)
    }

    /// True if the projector reads one block of the tower, which is there.
    fn reads_one_block(&self) -> bool {
        let [fed, behind, layers] = [TowerSize::Fed, TowerSize::Behind, TowerSize::Layers].map(|size| self.sizes.get(size));
        fed == 1 && behind <= layers
    }

    /// Width of a head, where heads fill the hidden states.
    pub fn head_width(&self) -> Option<u64> {
        let [hidden, heads] = [TowerSize::Hidden, TowerSize::Heads].map(|size| self.sizes.get(size));
        (heads > 0 && hidden.is_multiple_of(heads)).then(|| hidden / heads)
    }

    /// An activation function among the sizes; `None` where it is not known.
    pub fn function(&self, size: TowerSize) -> Option<HiddenAct> {
        let number = usize::try_from(self.sizes.get(size)).ok()?;
        FUNCTIONS.get(number.checked_sub(1)?).copied()
    }
}

/// Activation functions, by the numbers that stand for them among sizes, which count from 1.
const FUNCTIONS: [HiddenAct; 8] = [
    HiddenAct::Silu,
    HiddenAct::Gelu,
    HiddenAct::GeluNew,
    HiddenAct::GeluFast,
    HiddenAct::QuickGelu,
    HiddenAct::Relu,
    HiddenAct::Relu2,
    HiddenAct::Xielu,
];

/// The number of an activation function among sizes; 0 of none that is known.
pub fn number_of_function(function: Option<HiddenAct>) -> u64 {
    let place = FUNCTIONS.iter().position(|known| function == Some(*known) && *known != HiddenAct::Xielu);
    place.and_then(|place| u64::try_from(place + 1).ok()).unwrap_or(0)
}
