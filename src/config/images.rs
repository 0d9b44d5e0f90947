//! Images in the texts: how many there are, and how a vision tower sees them.
//!
//! How a tower runs is data, too: each of its parts lists the steps that images go through. Of a
//! part without steps only the parameters are counted.

use super::family::HiddenAct;
use super::tower::{Tower, TowerSize};

/// The images of every sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Images {
    /// Images in each sequence; 0: texts alone.
    pub per_sequence: u64,
    /// Their width in pixels, before the processor resizes them.
    pub width: u64,
    /// Their height in pixels, before the processor resizes them.
    pub height: u64,
    /// The fewest and the most pixels of an image that the processor resizes in proportion; 0: the
    /// limit of the model's own processor.
    pub limits: [u64; 2],
}

impl Images {
    /// Texts alone.
    pub const NONE: Self = Self { per_sequence: 0, width: 0, height: 0, limits: [0; 2] };
}

/// An image as a tower sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Width and height of the image after it is resized, pixels.
    pub pixels: [u64; 2],
    /// Tokens of the text that the image becomes.
    pub tokens: u64,
    /// Tokens in the tower's blocks: patches, and class tokens.
    pub rows: u64,
    /// Images of the tower's own size into which the image is cut.
    pub tiles: u64,
}

impl Tower {
    /// Returns the activation function whose number is stored as size `size`; `None` where it is
    /// not known.
    pub fn function(&self, size: TowerSize) -> Option<HiddenAct> {
        let number = usize::try_from(self.sizes.get(size)).ok()?;
        FUNCTIONS.get(number.checked_sub(1)?).copied()
    }
}

/// Activation functions in the order of the numbers, counted from 1, that stand for them among
/// sizes.
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

/// Returns the number that stands for an activation function among sizes; 0 for none and for one
/// without a number.
pub fn number_of_function(function: Option<HiddenAct>) -> u64 {
    let place =
        FUNCTIONS.iter().position(|known| function == Some(*known) && *known != HiddenAct::Xielu);
    place.and_then(|place| u64::try_from(place + 1).ok()).unwrap_or(0)
}
