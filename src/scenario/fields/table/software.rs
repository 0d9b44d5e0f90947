//! The software that runs the model, in every mode.

use super::{FieldDefault, Group, option};

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
    Kernels("ker", "kernels", "Software stack")
        .choice(&[
            option("eager", "Hugging Face",
                "transformers' modules as they are written, on PyTorch: every operation saves its own tensors, logits in full."),
            option("fused", "Fused",
                "Fused norms and activation and a loss in chunks save far fewer tensors, and no logits."),
            option("megatron", "Megatron-LM",
                "Megatron-Core's modules with Transformer Engine's kernels."),
            option("korthikanti", "Korthikanti et al. 2022",
                "What the paper's operation list saves, with dropout masks: 34sbh + 5as²b a block."),
        ]).group(Group::Run).train().default(FieldDefault::Choice("fused")),
}
