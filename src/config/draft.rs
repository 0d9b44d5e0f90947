//! Speculative decoding: tokens that a quick draft proposes, and that the model checks in one step.

use std::sync::Arc;

use super::{DraftMethod, ModelConfig, WeightFormat};

/// Tokens that published EAGLE-3 heads can propose (`draft_vocab_size` of the heads that the
/// paper's authors publish for Llama 3.1 8B, Llama 3.3 70B and others).
const EAGLE3_VOCABULARY: u64 = 32_000;

/// How a served model's tokens are proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The part that proposes.
    pub method: DraftMethod,
    /// The architecture of what proposes; `None`: one more layer like the model's last one.
    pub model: Option<Arc<ModelConfig>>,
    /// Format of its weights.
    pub format: WeightFormat,
    /// Tokens that are proposed for each sequence in a step (k).
    pub tokens: u64,
    /// Share of proposed tokens that is accepted, each on its own (α).
    pub acceptance: f64,
}

impl Draft {
    /// Returns the tokens that a sequence gets from a step on average: `1 + α + α² + … + α^k`. The
    /// first token that is not accepted is replaced by the model's own, and one more follows where
    /// all are accepted (Leviathan et al. 2022, equation 1).
    pub fn tokens_per_step(&self) -> f64 {
        let (mut sum, mut all) = (1.0, 1.0);
        for _ in 0..self.tokens {
            all *= self.acceptance;
            sum += all;
        }
        sum
    }

    /// Returns the tokens of each sequence that the model checks in a step: `k + 1`.
    pub const fn checked(&self) -> u64 {
        self.tokens.saturating_add(1)
    }
}

impl ModelConfig {
    /// Returns the layer of an EAGLE head for this model: a decoder layer of its sizes, with full
    /// attention and one feed-forward network, also where the model has experts. EAGLE's layer has
    /// no norm before attention, and the model's own ends; EAGLE-3 has a head for fewer tokens.
    #[must_use]
    pub fn eagle_layer(&self, method: DraftMethod) -> Self {
        let third = method == DraftMethod::Eagle3;
        Self {
            hidden_size: self.hidden_size,
            num_attention_heads: self.num_attention_heads,
            num_key_value_heads: self.num_key_value_heads,
            head_dim: self.head_dim,
            intermediate_size: self.intermediate_size,
            vocab_size: if third {
                self.vocab_size.min(EAGLE3_VOCABULARY)
            } else {
                self.vocab_size
            },
            max_position_embeddings: self.max_position_embeddings,
            norms_per_block: if third { 2 } else { 1 },
            final_norm: third,
            ..Self::plain()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Draft, DraftMethod};
    use crate::units::WeightFormat;

    #[test]
    fn tokens_of_a_step_follow_the_geometric_series() {
        for (tokens, acceptance) in [(1, 0.85), (3, 0.5), (7, 0.75), (4, 0.0)] {
            let draft = Draft {
                method: DraftMethod::Mtp,
                model: None,
                format: WeightFormat::Bf16,
                tokens,
                acceptance,
            };
            let all = 1.0 - f64::powi(acceptance, i32::try_from(tokens).unwrap_or(0) + 1);
            assert!((draft.tokens_per_step() - all / (1.0 - acceptance)).abs() < 1e-12);
        }
    }
}
