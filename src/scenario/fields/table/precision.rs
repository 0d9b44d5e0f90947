//! Number formats and the optimizer.

use super::{FieldDefault, Group, option};
use crate::config::Optimizer;

/// One sentence for every mix of GGUF types.
const MIX: &str = "llama.cpp's blocks of 32 or 256 weights, head and some tensors with more bits.";

fields! { $
    /// Number formats of weights, gradients, optimizer states and activations.
    Precision("prec", "precision", "Precision")
        .choice(&[
            option("bf16", "bf16 mixed",
                "16-bit weights and gradients, with 32-bit weights kept in the optimizer."),
            option("fp16", "fp16 mixed", "As bf16 mixed, in fp16."),
            option("fp32", "fp32", "Everything in 32 bit: activations take twice as much."),
            option("bf16-pure", "bf16 pure",
                "Everything in 16 bit, optimizer states too: half the model states, less accurate."),
            option("amp-bf16", "Autocast to bf16",
                "32-bit weights, gradients and states; PyTorch casts weights to bf16 and keeps the casts for the step."),
            option("fsdp-mixed", "FSDP mixed",
                "32-bit shards, gradients and states; weights are gathered and computed with in bf16."),
        ]).group(Group::Precision).train().default(FieldDefault::Choice("bf16")),
    /// In which format gradients are kept: 2, 4 or 6 bytes per parameter under mixed precision.
    Gradients("grad", "grad_reduce_dtype", "Gradients")
        .choice(&[
            option("as-weights", "Same as the weights", "2 bytes per parameter under mixed precision."),
            option("fp32", "fp32",
                "4 bytes per parameter: sums of many micro-batches stay accurate."),
            option("fp32-copy", "16 bit and an fp32 copy",
                "6 bytes per parameter under mixed precision."),
        ]).group(Group::Precision).train().folded().default(FieldDefault::Choice("as-weights")),
    /// The optimizer decides which states are kept for each parameter besides the weights.
    Optimizer("opt", "optimizer", "Optimizer")
        .choice(members_as_options!(Optimizer::SPECS))
        .group(Group::Precision).train().default(FieldDefault::Choice(Optimizer::DEFAULT.key())),
    /// How PyTorch's optimizer walks over the parameters; it decides the temporaries of its step.
    OptimizerImplementation("oi", "optimizer_implementation", "Optimizer's step")
        .choice(&[
            option("for-loop", "One by one", "Temporaries as large as one parameter."),
            option("foreach", "All at once",
                "Temporaries as large as all gradients; PyTorch's default on GPUs."),
            option("fused", "Fused", "One kernel without temporaries."),
        ]).group(Group::Precision).train().folded().default(FieldDefault::Choice("fused")),
    /// Each parameter is updated as soon as its gradient is there, which then goes: gradients do
    /// not add up (torchtune).
    OptimizerInBackward("oib", "optimizer_in_bwd", "Optimizer steps in backward")
        .flag().group(Group::Precision).train().folded().default(FieldDefault::Flag(false)),
    /// `zero_grad` lets gradients go behind each step, as PyTorch does where nothing is said;
    /// otherwise it fills them with zeros, and they take memory through the next forward, too.
    ZeroGradToNone("stn", "set_to_none", "Gradients go behind a step")
        .flag().group(Group::Precision).train().folded().default(FieldDefault::Flag(true)),
    /// Products of fp32 numbers run in TF32, some seven times as fast on an H100 and less accurate.
    /// PyTorch does so where it is asked to (`torch.set_float32_matmul_precision("high")`, the
    /// Trainer's `tf32`); without that, switch it off.
    AllowTf32("tf", "allow_tf32", "Products of fp32 in TF32")
        .flag().group(Group::Precision).train().folded().default(FieldDefault::Flag(true)),
    /// How the served weights are stored, with the scales and zero points that belong to it.
    WeightDType("w", "quantization", "Weight format")
        .choice(&[
            option("bf16", "bf16", "2 bytes per parameter."),
            option("fp16", "fp16", "2 bytes per parameter."),
            option("fp32", "fp32", "4 bytes per parameter."),
            option("fp8", "FP8, no scales",
                "1 byte for every parameter and nothing else: what documents count with."),
            option("int8", "INT8, no scales",
                "1 byte for every parameter and nothing else: what documents count with."),
            option("int4", "INT4, no scales",
                "Half a byte for every parameter and nothing else: what documents count with."),
            option("fp8-tensor", "FP8 per tensor",
                "Linear layers in 1 byte, embedding and head in 16 bits; vLLM's fp8."),
            option("fp8-column", "FP8 per channel",
                "Linear layers in 1 byte, embedding and head in 16 bits; compressed-tensors."),
            option("fp8-block", "FP8 per block of 128 × 128",
                "Linear layers in 1 byte, embedding and head in 16 bits; as DeepSeek-V3."),
            option("w8a8", "INT8 per channel (W8A8)",
                "Linear layers in 1 byte, embedding and head in 16 bits; SmoothQuant, bitsandbytes."),
            option("gptq", "GPTQ, 4 bits",
                "Linear layers in 4 bits with a scale and a zero point per group, embedding and head in 16 bits."),
            option("awq", "AWQ, 4 bits",
                "Linear layers in 4 bits with a scale and a zero point per group, embedding and head in 16 bits."),
            option("nf4", "NF4",
                "Linear layers in 4 bits with an fp32 scale per 64 weights, embedding and head in 16 bits."),
            option("nf4-dq", "NF4, double quantised", "As NF4, with scales of 8 bits."),
            option("mxfp4", "MXFP4",
                "Experts, or without experts all linear layers, in 4 bits with one byte per 32 weights; the rest in 16 bits."),
            option("nvfp4", "NVFP4",
                "Linear layers in 4 bits with one byte per 16 weights, embedding and head in 16 bits."),
            option("gguf-16", "GGUF, 16 bits", "Matrices in 16 bits, vectors in 32."),
            option("q8-0", "GGUF Q8_0", MIX),
            option("q6-k", "GGUF Q6_K", MIX),
            option("q5-k-m", "GGUF Q5_K_M", MIX),
            option("q5-k-s", "GGUF Q5_K_S", MIX),
            option("q5-1", "GGUF Q5_1", MIX),
            option("q5-0", "GGUF Q5_0", MIX),
            option("q4-k-m", "GGUF Q4_K_M", MIX),
            option("q4-k-s", "GGUF Q4_K_S", MIX),
            option("q4-1", "GGUF Q4_1", MIX),
            option("q4-0", "GGUF Q4_0", MIX),
            option("iq4-nl", "GGUF IQ4_NL", MIX),
            option("iq4-xs", "GGUF IQ4_XS", MIX),
            option("q3-k-l", "GGUF Q3_K_L", MIX),
            option("q3-k-m", "GGUF Q3_K_M", MIX),
            option("q3-k-s", "GGUF Q3_K_S", MIX),
            option("iq3-m", "GGUF IQ3_M", MIX),
            option("iq3-s", "GGUF IQ3_S", MIX),
            option("iq3-xs", "GGUF IQ3_XS", MIX),
            option("iq3-xxs", "GGUF IQ3_XXS", MIX),
            option("q2-k", "GGUF Q2_K", MIX),
            option("q2-k-s", "GGUF Q2_K_S", MIX),
            option("iq2-m", "GGUF IQ2_M", MIX),
            option("iq2-s", "GGUF IQ2_S", MIX),
            option("iq2-xs", "GGUF IQ2_XS", MIX),
            option("iq2-xxs", "GGUF IQ2_XXS", MIX),
            option("iq1-m", "GGUF IQ1_M", MIX),
            option("iq1-s", "GGUF IQ1_S", MIX),
            option("mxfp4-moe", "GGUF MXFP4_MOE", "Experts in MXFP4, the rest in Q8_0."),
        ]).group(Group::Precision).serve().default(FieldDefault::Choice("bf16")),
    /// Number format of the cached keys and values.
    KvCacheDType("kvd", "kv_cache_dtype", "Key/value cache format")
        .choice(&[
            option("bf16", "16 bits", "2 bytes per cached number."),
            option("fp32", "fp32", "4 bytes per cached number."),
            option("fp8", "fp8", "1 byte per cached number: twice the context in the same memory."),
            option("int8", "int8",
                "1 byte per cached number: twice the context in the same memory."),
            option("int4", "int4",
                "Half a byte per cached number, and 4 bytes for each head and token."),
            option("q8-0", "llama.cpp q8_0", "34 bytes for 32 cached numbers."),
            option("q4-0", "llama.cpp q4_0", "18 bytes for 32 cached numbers."),
        ]).group(Group::Precision).serve().default(FieldDefault::Choice("bf16")),
}
