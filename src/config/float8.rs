//! Matrix products in float8 with operands that are cast as they come (torchao 0.18,
//! `torchao/float8`).

use serde::{Deserialize, Serialize};

/// How values of 8 bits are scaled (torchao's `Float8LinearRecipeName`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Float8Recipe {
    /// Nothing is cast.
    #[default]
    None,
    /// One scale for a tensor.
    Tensorwise,
    /// One scale for each row of an operand.
    Rowwise,
    /// As [`Self::Rowwise`], but with weights' gradients in the format of activations.
    RowwiseWithGwHp,
}

/// Float8 in the products of the blocks' linear layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Float8 {
    /// How values are scaled.
    pub recipe: Float8Recipe,
    /// FSDP2 gathers weights in float8, the format in which they are multiplied
    /// (`enable_fsdp_float8_all_gather`).
    pub gathers: bool,
}

impl Float8 {
    /// No product in float8.
    pub const OFF: Self = Self { recipe: Float8Recipe::None, gathers: false };

    /// cuBLAS multiplies matrices in float8 whose numbers of rows and columns are multiples of this
    /// one; torchtitan leaves other layers as they are (`module_filter_fn`).
    const MULTIPLE: u64 = 16;

    /// Returns true if a layer with that many inputs and outputs is cast.
    pub const fn casts(self, input: u64, output: u64) -> bool {
        self.is_on()
            && input.is_multiple_of(Self::MULTIPLE)
            && output.is_multiple_of(Self::MULTIPLE)
    }

    /// Returns true if any product runs in float8.
    pub const fn is_on(self) -> bool {
        !matches!(self.recipe, Float8Recipe::None)
    }

    /// Returns true if a whole tensor has one scale.
    pub const fn is_tensorwise(self) -> bool {
        matches!(self.recipe, Float8Recipe::Tensorwise)
    }
}
