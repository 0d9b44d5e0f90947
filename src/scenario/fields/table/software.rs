//! The software that runs the model, in every mode.

use super::{FieldDefault, Group, option};
use crate::stacks::Stack;

/// The word of the stack that the form begins with.
const DEFAULT_STACK: &str = Stack::DEFAULT.key();

fields! { $
    /// The attention kernel decides whether scores are written to memory.
    Attention("att", "attn_implementation", "Attention")
        .choice(&[
            option("flash", "FlashAttention",
                "Scores stay on the chip: no memory that grows with the square of the length."),
            option("standard", "Standard",
                "Scores are written to memory and grow with the square of the length."),
        ]).group(Group::Run).default(FieldDefault::Choice("flash")),
    /// transformers' `sdpa` gives layers with a window a mask as soon as the text is as long as the
    /// window. PyTorch then takes its memory-efficient kernel, and each such layer keeps scores'
    /// biases of the length's square, and keys and values of every query head. FlashAttention's own
    /// package needs no mask.
    MaskedWindows("msw", "sdpa_masks", "Windows by masks (SDPA)")
        .flag().group(Group::Run).train().folded().default(FieldDefault::Flag(false)),
    /// The software that runs the model decides which tensors are saved for the backward pass.
    Stack("ker", "kernels", "Software stack")
        .choice(members_as_options!(Stack::SPECS)).group(Group::Run).train().default(FieldDefault::Choice(DEFAULT_STACK)),
    /// How the loss of the next token is computed decides how often logits are held, and in which
    /// format. Stacks that are not played operator by operator have their own.
    Loss("lfn", "loss_function", "Loss")
        .choice(&[
            option("stack", "As the software stack",
                "Of Hugging Face: logits in the format of the weights and an fp32 copy."),
            option("transformers-4", "As transformers 4",
                "Logits, an fp32 copy, and a copy of that without the last token of each sequence."),
            option("trl", "As TRL",
                "Log-probabilities by tiles of logits that are made again in backward: no logits stay."),
            option("not-compiled", "Not compiled",
                "As the software stack, operator by operator even where blocks are compiled."),
            option("cut", "Cut Cross-Entropy",
                "Head and loss in one kernel: no logits are written."),
            option("torchtitan-chunks", "As torchtitan, in chunks",
                "Head, loss and their backward for an eighth of each sequence after the other: logits of one eighth at a time. torchtitan under FSDP only."),
        ]).group(Group::Run).train().folded().default(FieldDefault::Choice("stack")),
    /// Every block and the loss are compiled: elementwise results are never written to memory, and
    /// made again in backward from those of products. torchtitan and torchtune only.
    Compile("tc", "torch_compile", "Compile blocks and loss")
        .flag().group(Group::Run).train().folded().default(FieldDefault::Flag(false)),
    /// The blocks' linear layers cast their operands to 8 bits as they come, and again in backward
    /// (torchao). Weights and what is saved keep their format; embedding and head are left out.
    Float8("fle", "float8_recipe_name", "Products in float8")
        .choice(&[
            option("none", "None", "Products run in the format of weights."),
            option("tensorwise", "One scale for a tensor",
                "Operator by operator, casts take three tensors in fp32 for a moment; compiled, nothing beside the cast."),
            option("rowwise", "One scale for each row",
                "As one scale for a tensor, with scales of a product's shape in backward where nothing is compiled."),
            option("rowwise-with-gw-hp", "One for each row, weights' gradients in 16 bits",
                "As one scale for each row; products that make weights' gradients are not cast."),
        ]).group(Group::Run).train().folded().default(FieldDefault::Choice("none")),
    /// FSDP casts shares of weights before it gathers them: half the bytes that are gathered, and
    /// weights of 8 bits while a block runs. One scale for a tensor only.
    Float8Gathers("fleg", "enable_fsdp_float8_all_gather", "Gather weights in float8")
        .flag().group(Group::Run).train().folded().default(FieldDefault::Flag(false)),
}
