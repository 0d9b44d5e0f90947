//! Images in the texts: how many there are, and what a vision tower makes of them.
//!
//! How a tower runs is data, too: each of its parts says in steps what becomes of the images. Parts without steps are counted alone.

use super::family::HiddenAct;
use super::tower::{Tower, TowerSize};

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

/// An image as a tower sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Width and height of the image, once it is resized, pixels.
    pub pixels: [u64; 2],
    /// Tokens of the text that it becomes.
    pub tokens: u64,
    /// Tokens in the tower's blocks: patches, and class tokens.
    pub rows: u64,
    /// Images of the tower's own size that it is cut into.
    pub tiles: u64,
}

impl Tower {
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
