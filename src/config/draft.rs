//! Speculative decoding: tokens that a quick draft proposes, and that the model checks in one step.

use std::sync::Arc;

use super::{ModelConfig, WeightFormat};
use crate::sources::{self, Source};

/// Tokens that published EAGLE-3 heads can propose (`draft_vocab_size` of the heads that the
/// paper's authors publish for Llama 3.1 8B, Llama 3.3 70B and others).
const EAGLE3_VOCABULARY: u64 = 32_000;

/// The part that proposes tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DraftMethod {
    /// A smaller model with the same vocabulary.
    Model,
    /// The model's own layer that predicts further tokens (multi-token prediction).
    Mtp,
    /// One layer that was trained on the model's last hidden states.
    Eagle,
    /// One layer that was trained on hidden states of three of the model's layers.
    Eagle3,
}

impl DraftMethod {
    /// Returns the share of proposed tokens that is accepted, where the user states none, with its
    /// source. It is an assumption: acceptance depends on the texts.
    pub const fn assumed_acceptance(self) -> (f64, Source) {
        match self {
            // 0.53 to 0.75 with T5-small before T5-XXL (table 2).
            Self::Model => (0.65, sources::SPECULATIVE_2022),
            // The second token: 85 to 90 % (section 5.4.3).
            Self::Mtp => (0.85, sources::MTP_2024),
            // About 0.8 of first tokens (section 1), fewer of further ones.
            Self::Eagle | Self::Eagle3 => (0.75, sources::EAGLE_2024),
        }
    }

    /// Returns true if a part of the model itself proposes, which reads the model's hidden states.
    pub const fn is_head(self) -> bool {
        match self {
            Self::Model => false,
            Self::Mtp | Self::Eagle | Self::Eagle3 => true,
        }
    }

    /// Returns how many vectors as wide as the model's stream are joined into the head's input; 0
    /// for a model of its own.
    pub const fn joined(self) -> u64 {
        match self {
            Self::Model => 0,
            Self::Mtp | Self::Eagle => 2,
            Self::Eagle3 => 3,
        }
    }
}

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
