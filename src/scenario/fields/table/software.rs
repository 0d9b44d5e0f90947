//! The software that runs the model, in every mode.

use super::{FieldDefault, Group, option};
use crate::stacks::Stack;

/// The word of the stack that the form begins with.
const DEFAULT_STACK: &str = Stack::DEFAULT.key();

fields! { $
    /// Whether attention's scores are written to memory.
    Attention("att", "attn_implementation", "Attention")
        .choice(&[
            option("flash", "FlashAttention",
                "Scores stay on the chip: no memory that grows with the square of the length."),
            option("standard", "Standard",
                "Scores are written to memory and grow with the square of the length."),
        ]).group(Group::Run).default(FieldDefault::Choice("flash")),
    /// The software that runs the model decides which tensors are saved for the backward pass.
    Stack("ker", "kernels", "Software stack")
        .choice(members_as_options!(Stack::SPECS)).group(Group::Run).train().default(FieldDefault::Choice(DEFAULT_STACK)),
    /// Every block and the loss are compiled: elementwise results are never written to memory, and made
    /// again in backward from those of products. torchtitan only.
    Compile("tc", "torch_compile", "Compile blocks and loss")
        .flag().group(Group::Run).train().folded().default(FieldDefault::Flag(false)),
}
