//! A training run: lengths, batches, recomputation.

use super::{FieldDefault, Group, LENGTH, SIZE, option};

fields! { $
    /// Tokens in one training sequence; activations grow in proportion, standard attention with the
    /// square. 4k means 4096.
    SeqLength("s", "seq_length", "Sequence length")
        .tokens(1..=LENGTH).group(Group::Run).train().default(FieldDefault::Integer(8192)),
    /// Sequences of one optimizer step over all GPUs; it decides how many GPUs can share the work,
    /// not the memory of one.
    GlobalBatchSize("gb", "global_batch_size", "Global batch")
        .whole(1..=SIZE).unit("sequences").group(Group::Run).train()
        .default(FieldDefault::Integer(128)),
    /// Sequences a GPU holds at once; activations grow in proportion. Empty: its whole share of the
    /// global batch at once.
    MicroBatchSize("b", "micro_batch_size", "Micro-batch")
        .whole(1..=SIZE).step(1).unit("sequences").optional().group(Group::Run).train()
        .default(FieldDefault::Integer(1)),
    /// Activations that are computed again in the backward pass instead of being saved: this trades
    /// time for memory.
    Recompute("rc", "recompute_granularity", "Recompute activations")
        .choice(&[
            option("none", "None", "Every activation is saved: the most memory, no extra time."),
            option("selective", "Selective",
                "Some is computed again, in most stacks attention's scores: much memory saved for little time."),
            option("full", "Full",
                "Only the input of each block is saved: the least memory, about a third more time."),
        ]).group(Group::Run).train().default(FieldDefault::Choice("full")),
    /// Sequences that a GPU holds at once in an evaluation between steps, which Hugging Face's
    /// Trainer runs without gradients; it writes all their logits, so that it may take more than a
    /// step. Empty: no evaluation.
    EvaluationBatch("evb", "per_device_eval_batch_size", "Evaluation batch")
        .whole(1..=SIZE).step(1).unit("sequences").optional().group(Group::Run).train().folded()
        .default(FieldDefault::Empty),
    /// Logits are written in evaluations under Liger, too, as up to transformers 5.10 and wherever
    /// metrics are computed.
    EvaluationLogits("evl", "evaluation_logits", "Evaluation writes logits")
        .flag().group(Group::Run).train().folded().default(FieldDefault::Flag(false)),
    /// Above 0, a mask of one byte for every value of embedded tokens is kept. A file that is
    /// pasted sets it; a model chosen by name begins without.
    EmbeddingDropout("dre", "embd_pdrop", "Dropout of embedded tokens")
        .number(0.0..=0.99).group(Group::Run).train().folded().default(FieldDefault::Decimal(0.0)),
    /// Above 0, each block keeps two masks of one byte for every value: behind attention and behind
    /// the feed-forward layer. A file that is pasted sets it; a model chosen by name begins
    /// without.
    ResidualDropout("drr", "resid_pdrop", "Dropout behind attention and feed-forward")
        .number(0.0..=0.99).group(Group::Run).train().folded().default(FieldDefault::Decimal(0.0)),
    /// Above 0, attention that is written out keeps a mask of one byte for each score, and the
    /// scores that are left; fused kernels keep neither. A file that is pasted sets it; a model
    /// chosen by name begins without.
    ProbabilityDropout("dra", "attn_pdrop", "Dropout of attention's probabilities")
        .number(0.0..=0.99).group(Group::Run).train().folded().default(FieldDefault::Decimal(0.0)),
    /// Tokens that an encoder reads beside a decoder; empty: as many as the sequence length, or the
    /// context in serving, which is then that of the decoder. 4k means 4096.
    SourceLength("src", "source_length", "Source length")
        .tokens(1..=LENGTH).optional().group(Group::Run).folded()
        .default(FieldDefault::Empty),
}
