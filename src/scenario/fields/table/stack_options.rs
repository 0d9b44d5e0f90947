//! The options of Megatron-LM, which no other stack has.

use super::{FieldDefault, option};

fields! { $
    /// Modules of Transformer Engine; otherwise Megatron-Core's own, which save more.
    TransformerEngine("te", "transformer_impl", "Transformer Engine")
        .flag().stack_option().default(FieldDefault::Flag(true)),
    /// How the loss over the vocabulary is computed: it decides how often the logits are held.
    LossFusion("xef", "cross_entropy_fusion_impl", "Cross-entropy")
        .choice(&[
            option("none", "Operation by operation",
                "The logits and an fp32 copy of them are held."),
            option("native", "Compiled",
                "As operation by operation, with a second fp32 copy in backward."),
            option("te", "Transformer Engine",
                "One kernel, whose gradient is written over the logits."),
        ]).stack_option().default(FieldDefault::Choice("none")),
    /// Matrix products add to the main gradients themselves, without a gradient of their own for
    /// each weight.
    GradientFusion("gaf", "gradient_accumulation_fusion", "Gradients added in place")
        .flag().stack_option().default(FieldDefault::Flag(true)),
    /// Dropout after attention, feed-forward and embedding keeps a mask of one byte per element.
    HiddenDropout("hdo", "hidden_dropout", "Dropout")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// Where scores are written to memory, a mask and a copy stand beside them.
    AttentionDropout("ado", "attention_dropout", "Dropout in attention")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// Vocabulary rows are rounded up to a multiple of this number times the tensor-parallel GPUs.
    VocabMultiple("vd", "make_vocab_size_divisible_by", "Vocabulary padded to")
        .whole(1..=1_000_000).stack_option().default(FieldDefault::Integer(128)),
    /// Which blocks full recomputation covers.
    RecomputeMethod("rm", "recompute_method", "Blocks recomputed")
        .choice(&[
            option("uniform", "All, in groups", "The input of every group of blocks is saved."),
            option("block", "The first of each stage",
                "So many blocks of a stage are recomputed; the others keep everything."),
        ]).stack_option().default(FieldDefault::Choice("uniform")),
    /// Blocks between two saved inputs, or blocks recomputed on each stage.
    RecomputeLayers("rn", "recompute_num_layers", "How many blocks")
        .whole(1..=10_000).step(1).stack_option().default(FieldDefault::Integer(1)),
    /// Selective recomputation brings scores, probabilities and attention's output back.
    RecomputeCore("rca", "recompute_modules_core_attn", "Recompute attention's core")
        .flag().stack_option().default(FieldDefault::Flag(true)),
    /// Selective recomputation brings the norms' outputs back.
    RecomputeNorms("rln", "recompute_modules_layernorm", "Recompute norms")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// Selective recomputation brings the dense feed-forward layer back.
    RecomputeMlp("rml", "recompute_modules_mlp", "Recompute feed-forward")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// Selective recomputation makes queries, keys and values from the compressed ones again.
    RecomputeLatent("rup", "recompute_modules_mla_up_proj", "Recompute latent projections")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// Selective recomputation brings the whole mixture of experts back.
    RecomputeExperts("rmo", "recompute_modules_moe", "Recompute experts")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// Selective recomputation brings the experts' activation function back.
    RecomputeExpertAct("rma", "recompute_modules_moe_act", "Recompute experts' activation")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// Selective recomputation brings the shared experts back.
    RecomputeShared("rse", "recompute_modules_shared_experts", "Recompute shared experts")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// How tokens reach the experts of other GPUs.
    TokenDispatcher("mtd", "moe_token_dispatcher_type", "Tokens to experts")
        .choice(&[
            option("allgather", "All tokens to all",
                "Every GPU of the expert group sees all tokens and picks its own."),
            option("alltoall", "Each token to its expert",
                "Every GPU is sent the tokens of its experts."),
        ]).stack_option().default(FieldDefault::Choice("allgather")),
    /// All experts of a GPU in one product.
    GroupedExperts("mgg", "moe_grouped_gemm", "Grouped experts")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// One kernel puts tokens in the order of experts; otherwise indices and masks are kept.
    PermuteFusion("mpf", "moe_permute_fusion", "Fused permutation")
        .flag().stack_option().default(FieldDefault::Flag(true)),
    /// Every expert gets the same number of tokens, rounded up.
    PadExperts("mpc", "moe_pad_expert_input_to_capacity", "Experts padded")
        .flag().stack_option().default(FieldDefault::Flag(false)),
    /// Tokens that the busiest expert-parallel GPU gets, as a multiple of an even share; its
    /// activations grow in proportion: an assumption.
    LoadImbalance("imb", "moe_load_imbalance", "Load of the busiest GPU")
        .number(1.0..=1000.0).unit("×").stack_option().default(FieldDefault::Decimal(1.0)),
    /// Gradients are reduced in buckets while backward still runs; otherwise in one piece behind
    /// it. That changes time, and the padding of buffers.
    OverlapGradReduce("ogr", "overlap_grad_reduce", "Gradients reduced during backward")
        .flag().stack_option().default(FieldDefault::Flag(true)),
    /// Attention in cuDNN, which writes its output in the order that the next product reads;
    /// otherwise in FlashAttention's package, whose output is copied.
    FusedAttention("fua", "attention_backend", "Attention in cuDNN")
        .flag().stack_option().default(FieldDefault::Flag(true)),
}
