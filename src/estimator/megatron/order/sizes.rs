//! Bytes of the tensors of one rank's block, head and embedding.

use crate::config::{Job, MlpKind, Normalization, PositionEmbedding, TrainingRun};

/// Bytes of 16-bit and of 32-bit floats, and of token ids.
const HALF: u64 = 2;
const SINGLE: u64 = 4;
const TOKEN: u64 = 8;

/// Bytes of one micro-batch's tensors on a rank. Tokens are those that attention and feed-forward
/// see, unless named local.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The residual stream: local tokens, and all.
    pub hidden: u64,
    pub whole: u64,
    /// One fp32 value for each local token; how many of these a norm keeps.
    pub statistic: u64,
    pub statistics: usize,
    /// A norm's scale.
    pub scale: u64,
    /// Queries, keys and values together; queries; keys, as large as values.
    pub projected: u64,
    pub queries: u64,
    pub keys: u64,
    /// True if several queries share a key. Queries are copied out of the joint projection where,
    /// in addition, there is more than one key.
    pub shares_keys: bool,
    pub parts_queries: bool,
    /// Statistics of norms over heads, and the scale of such a norm.
    pub of_query_heads: u64,
    pub of_key_heads: u64,
    pub head_scale: u64,
    /// One table of angles in fp32; a cosine or sine in 16 bits.
    pub angles: u64,
    pub cosine: u64,
    /// Log-sum-exp of every query.
    pub sums: u64,
    /// The tensor in which backward of flash attention adds up queries' gradients.
    pub accumulated: u64,
    /// Input and output of the activation function.
    pub up: u64,
    pub activated: u64,
    /// Logits in 16 bits; in fp32 they take twice that.
    pub logits: u64,
    /// Token ids; one fp32 or one byte for each token.
    pub ids: u64,
    pub each: u64,
    pub mask: u64,
    /// Rows of the embedding's partial sums (see `ops/tape/scratch.rs`).
    pub partial: u64,
    /// True if tokens are split over tensor ranks.
    pub split: bool,
    /// True if heads have norms of their own, if projections have a bias, if queries are rotated.
    pub head_norms: bool,
    pub bias: bool,
    pub rotates: bool,
}

impl Sizes {
    /// The sizes of a job's micro-batch.
    pub fn of(job: &Job, run: &TrainingRun) -> Self {
        let (model, layout, options) = (job.model(), job.layout(), run.megatron);
        let t = layout.t();
        let split = layout.sequence_parallel && t > 1;
        let b = job.micro_batch_size().saturating_mul(run.tuning.objective.sequences());
        let sequence = run.seq_length.div_ceil(layout.cp());
        let tokens = sequence.saturating_mul(b);
        let local = if split { sequence.div_ceil(t).saturating_mul(b) } else { tokens };
        let heads = model.num_attention_heads.div_ceil(t);
        let kv_heads = model.num_key_value_heads.div_ceil(t).max(1);
        let of_heads = |heads: u64| {
            tokens.saturating_mul(heads).saturating_mul(model.head_dim).saturating_mul(HALF)
        };
        let (queries, keys) = (of_heads(heads), of_heads(kv_heads));
        let activated =
            tokens.saturating_mul(model.intermediate_size.div_ceil(t)).saturating_mul(HALF);
        let rotary = model.rotary_dim.unwrap_or(model.head_dim);
        let rows = options.padded_vocab_size(model.vocab_size, t).div_ceil(t);
        let padded = sequence.next_multiple_of(128).saturating_mul(b).saturating_mul(heads);
        Self {
            hidden: local.saturating_mul(model.hidden_size).saturating_mul(HALF),
            whole: tokens.saturating_mul(model.hidden_size).saturating_mul(HALF),
            statistic: local.saturating_mul(SINGLE),
            statistics: if model.normalization == Normalization::LayerNorm { 2 } else { 1 },
            scale: model.hidden_size.saturating_mul(HALF),
            projected: queries.saturating_add(keys.saturating_mul(2)),
            queries,
            keys,
            shares_keys: heads > kv_heads,
            parts_queries: heads > kv_heads && kv_heads > 1,
            of_query_heads: tokens.saturating_mul(heads).saturating_mul(SINGLE),
            of_key_heads: tokens.saturating_mul(kv_heads).saturating_mul(SINGLE),
            head_scale: model.head_dim.saturating_mul(HALF),
            angles: sequence.saturating_mul(rotary).saturating_mul(SINGLE),
            cosine: sequence.saturating_mul(rotary).saturating_mul(HALF),
            sums: tokens.saturating_mul(heads).saturating_mul(SINGLE),
            accumulated: padded
                .saturating_mul(model.head_dim.next_multiple_of(32))
                .saturating_mul(SINGLE),
            up: if model.mlp == MlpKind::Gated { activated.saturating_mul(2) } else { activated },
            activated,
            logits: tokens.saturating_mul(rows).saturating_mul(HALF),
            ids: tokens.saturating_mul(TOKEN),
            each: tokens.saturating_mul(SINGLE),
            mask: tokens,
            partial: tokens
                .saturating_add(tokens / 10)
                .saturating_mul(model.hidden_size.next_multiple_of(32))
                .saturating_mul(SINGLE),
            split,
            head_norms: model.qk_norm,
            bias: model.attention_bias,
            rotates: model.position_embedding == PositionEmbedding::Rotary,
        }
    }

    /// Bytes of one column of every token in 16 bits.
    pub const fn half_of_tokens(&self) -> u64 {
        if self.mask == 0 { 1 } else { self.mask.saturating_mul(HALF) }
    }
}
