//! Images in the texts: how many there are, and what a vision tower makes of them.
//!
//! How a tower runs is data, too: each of its parts says in steps what becomes of the images. Parts without steps are counted alone.

use super::family::HiddenAct;
use super::tower::{Tower, TowerLayer, TowerPart, TowerSize};
use crate::units::{ceil_u64, to_f64};

/// How many times as long as wide, or as wide as long, an image is at most.
const MOST_TIMES_AS_LONG: u64 = 200;

/// The images of every sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Images {
    /// How many a sequence has; 0: texts alone.
    pub per_sequence: u64,
    /// Their width in pixels, before the processor resizes them.
    pub width: u64,
    /// Their height in pixels, likewise.
    pub height: u64,
    /// The fewest and the most pixels that the processor leaves of one that it resizes in proportion; 0: as the model's own says.
    pub limits: [u64; 2],
}

impl Images {
    /// Texts alone.
    pub const NONE: Self = Self { per_sequence: 0, width: 0, height: 0, limits: [0; 2] };
}

/// A step of a tower or of a projector. Numbers are places of layers in the part that the step belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TowerStep {
    /// Images of the tower's own size become patches, by a convolution.
    Patches(u8),
    /// No images come in, but sound, of which the run is not described.
    Heard,
    /// Images are resized in proportion; the patches of all of them, which the processor has cut out, stand in one row.
    Packed {
        /// The convolution, or the matrix.
        layer: u8,
        /// The fewest and the most pixels of an image, as the processors' files of published models say.
        limits: [u64; 2],
        /// Checkpointing asks a gradient of them, where the tower is frozen (`enable_input_require_grads`, which finds them by the name
        /// that the class gives its `_input_embed_layer`).
        wanted: bool,
    },
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
    /// Learned positions of a square, as they lie between places of an image of any form, are added.
    Interpolated(u8),
    /// Attention of a normed input that turns queries and keys by the place of their patch, added to it; each image by itself.
    Joint {
        /// The norm.
        norm: u8,
        /// Queries, keys and values side by side, and the output.
        matrices: [u8; 2],
    },
    /// The part runs behind blocks, a copy behind each of these, given as bits; the text's first blocks are fed what it makes.
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
    /// `gelu`.
    Gelu,
    /// Squares of [`TowerSize::Merge`] patches along a side stand side by side in one row.
    Merged,
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
    /// Tokens in the tower's blocks: patches, and class tokens.
    pub rows: u64,
}

impl TowerPart {
    /// How it runs; `None` where that is not described.
    pub fn steps(&self) -> Option<&'static [TowerStep]> {
        self.layers.iter().find_map(|layer| match layer {
            TowerLayer::Runs(steps) => Some(*steps),
            _ => None,
        })
    }

    /// The blocks behind which it runs, as bits, if it feeds the text's.
    pub fn feeds(&self) -> Option<TowerSize> {
        self.steps()?.iter().find_map(|step| if let TowerStep::Feeds(behind) = step { Some(*behind) } else { None })
    }
}

impl Tower {
    /// The parts that are there, those of the tower first.
    pub fn parts(&self) -> impl Iterator<Item = &'static TowerPart> + use<'_> {
        let all = self.modules.parts.iter().chain(self.projector.parts);
        all.filter(|part| self.sizes.get(part.times) > 0)
    }

    /// One of these images as the tower sees it; `None` where the run of a part is not described.
    pub fn seen(&self, images: Images) -> Option<Seen> {
        let (mut seen, mut projects) = (Seen { pixels: [0; 2], tokens: 0, rows: 0 }, false);
        for part in self.parts() {
            let steps = part.steps()?;
            // What feeds the text's blocks becomes no tokens.
            for step in steps.iter().filter(|_| part.feeds().is_none()) {
                seen.tokens = match *step {
                    TowerStep::Patches(_) => {
                        seen.pixels = [self.sizes.get(TowerSize::Image); 2];
                        seen.rows = self.sizes.get(TowerSize::Patches);
                        seen.rows
                    }
                    TowerStep::Packed { limits, .. } => {
                        projects = true;
                        seen.pixels = self.in_proportion(images, limits)?;
                        let side = self.sizes.get(TowerSize::Side);
                        seen.rows = seen.pixels.iter().map(|length| length / side).product();
                        seen.rows
                    }
                    TowerStep::Heard => return None,
                    TowerStep::ClassToken(_) => {
                        seen.rows = seen.rows.saturating_add(1);
                        seen.tokens.saturating_add(1)
                    }
                    TowerStep::Merged => seen.tokens / self.sizes.get(TowerSize::Merge).pow(2),
                    TowerStep::Pooled => self.pooled_side()?.pow(2),
                    TowerStep::WithoutFirst => seen.tokens.saturating_sub(self.sizes.get(TowerSize::Cut)),
                    TowerStep::FeedForward { .. } | TowerStep::Gated { .. } if self.function(TowerSize::Act).is_none() => {
                        return None;
                    }
                    TowerStep::Function if self.function(TowerSize::OutAct).is_none() => return None,
                    TowerStep::OfBlock if !self.reads_one_block() => return None,
                    TowerStep::Attention { .. } | TowerStep::Joint { .. } if self.head_width().is_none() => return None,
                    TowerStep::Positions(_)
                    | TowerStep::Norm(_)
                    | TowerStep::NormOfFirst(_)
                    | TowerStep::Attention { .. }
                    | TowerStep::Interpolated(_)
                    | TowerStep::Joint { .. }
                    | TowerStep::Windows { .. }
                    | TowerStep::InOrder
                    | TowerStep::Gated { .. }
                    | TowerStep::FeedForward { .. }
                    | TowerStep::OfBlock
                    | TowerStep::Linear(_)
                    | TowerStep::BiasedBehind(..)
                    | TowerStep::Function
                    | TowerStep::Gelu
                    | TowerStep::NormOnePlus(_)
                    | TowerStep::Times(_)
                    | TowerStep::Typed
                    | TowerStep::Feeds(_)
                    | TowerStep::Listed => seen.tokens,
                };
            }
        }
        // Of others the width behind the blocks is not the text's.
        let ends = projects || !self.projector.parts.is_empty();
        (ends && seen.tokens > 0).then_some(seen)
    }

    /// How many of the text's first blocks are fed tokens of images.
    pub fn fed_blocks(&self, images: Images) -> u64 {
        let feeds = |part: &&TowerPart| images.per_sequence > 0 && part.feeds().is_some();
        self.parts().filter(feeds).map(|part| self.sizes.get(part.times)).sum()
    }

    /// The steps of all parts.
    fn steps(&self) -> impl Iterator<Item = &'static TowerStep> + use<'_> {
        self.parts().flat_map(|part| part.steps().unwrap_or(&[]))
    }

    /// True of a tower for sound.
    pub fn hears(&self) -> bool {
        let mut steps = self.modules.parts.iter().flat_map(|part| part.steps().unwrap_or(&[]));
        steps.any(|step| *step == TowerStep::Heard)
    }

    /// True if the tower's images stand in one row.
    pub fn packs(&self) -> bool {
        self.steps().any(|step| matches!(step, TowerStep::Packed { .. }))
    }

    /// The windows of an image of that many pixels, in patches, and the blocks that see all of it, as bits; nothing of a tower without.
    pub fn windows(&self, pixels: [u64; 2]) -> Option<(Vec<u64>, u64)> {
        let (side, whole) = self.steps().find_map(|step| match step {
            TowerStep::Windows { side, whole } => Some((self.sizes.get(*side), self.sizes.get(*whole))),
            _ => None,
        })?;
        let merge = self.sizes.get(TowerSize::Merge).max(1);
        let token = self.sizes.get(TowerSize::Side).saturating_mul(merge).max(1);
        let along = (side / token).max(1);
        let of_side = |length: u64| {
            let tokens = length / token;
            (0..tokens.div_ceil(along)).map(move |window| along.min(tokens - window * along))
        };
        let [width, height] = pixels;
        let rows = of_side(height).flat_map(|tall| of_side(width).map(move |wide| tall * wide * merge * merge));
        Some((rows.collect(), whole))
    }

    /// Width and height of an image that keeps its proportions: whole tokens, and within so many pixels (`smart_resize` of
    /// transformers' `image_processing_qwen2_vl.py`, in its own floating-point steps); `None` of one that it takes for no image.
    fn in_proportion(&self, images: Images, limits: [u64; 2]) -> Option<[u64; 2]> {
        let token = self.sizes.get(TowerSize::Side).saturating_mul(self.sizes.get(TowerSize::Merge));
        let [long, short] = [images.width.max(images.height), images.width.min(images.height)];
        if token == 0 || long > short.saturating_mul(MOST_TIMES_AS_LONG) {
            return None;
        }
        let own = |stated: u64, own: u64| if stated == 0 { own } else { stated };
        let [fewest, most] = [own(images.limits[0], limits[0]), own(images.limits[1], limits[1])];
        let sides = [images.height, images.width];
        let rounded = sides.map(|side| ceil_u64((to_f64(side) / to_f64(token)).round_ties_even()).saturating_mul(token));
        let pixels = rounded[0].saturating_mul(rounded[1]);
        let all = to_f64(images.height) * to_f64(images.width);
        let [height, width] = if pixels > most {
            let by = (all / to_f64(most)).sqrt();
            sides.map(|side| ceil_u64((to_f64(side) / by / to_f64(token)).floor()).max(1).saturating_mul(token))
        } else if pixels < fewest {
            let by = (to_f64(fewest) / all).sqrt();
            sides.map(|side| ceil_u64(to_f64(side) * by / to_f64(token)).saturating_mul(token))
        } else {
            rounded
        };
        Some([width, height])
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
