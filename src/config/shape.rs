//! Which shapes a family's modules can take.

use super::{Family, MlpKind, ModelConfig, Normalization};

impl ModelConfig {
    /// The family whose modules run a model of this shape: the stated one, or [`Family::Generic`] where a field says what that family's
    /// modules do not have (experts in a GPT-2, four norms in a Llama).
    ///
    /// Assumes transformers 5.23's modules.
    #[must_use]
    pub fn family_of_shape(&self) -> Family {
        let is_whole = self.hybrid.is_none() && self.has_feed_forward() && self.has_norms() && self.has_attention();
        if is_whole { self.family } else { Family::Generic }
    }

    /// Whether the family has this feed-forward layer.
    fn has_feed_forward(&self) -> bool {
        let gated = self.mlp == MlpKind::Gated;
        let shared = self.moe.as_ref().is_some_and(|moe| moe.shared_expert_intermediate_size > 0);
        let weighed = self.moe.as_ref().is_some_and(|moe| moe.shared_expert_gate);
        match self.family {
            Family::Generic => true,
            Family::Mixtral | Family::Qwen3Moe | Family::GptOss => self.moe.is_some() && gated && !shared,
            Family::DeepseekV2 | Family::DeepseekV3 => gated && !weighed && !self.mlp_bias,
            Family::Gpt2 | Family::Bloom => self.moe.is_none() && !gated && self.mlp_bias,
            Family::GptNeox | Family::Falcon | Family::Opt | Family::Phi | Family::Starcoder2 => self.moe.is_none() && !gated,
            Family::Phi3 | Family::Glm4 => self.moe.is_none() && gated && !self.mlp_bias,
            _ => self.moe.is_none() && gated,
        }
    }

    /// Whether the family has these norms.
    fn has_norms(&self) -> bool {
        let layer = self.normalization == Normalization::LayerNorm;
        match self.family {
            Family::Generic => true,
            Family::Gpt2 | Family::Bloom | Family::GptNeox | Family::Starcoder2 | Family::Opt => {
                layer && self.norms_per_block == 2
            }
            Family::Phi => layer && self.norms_per_block == 1,
            Family::Falcon | Family::Stablelm => layer && (1..=2).contains(&self.norms_per_block),
            Family::Cohere => self.norms_per_block == 1,
            Family::Gemma2 | Family::Gemma3 | Family::Glm4 => !layer && self.norms_per_block == 4,
            _ => !layer && self.norms_per_block == 2,
        }
    }

    /// Whether the family has this attention.
    fn has_attention(&self) -> bool {
        let biases = self.attention_bias == self.attention_output_bias;
        let each_head = self.num_attention_heads == self.num_key_value_heads;
        let sinks = self.attention_sinks == (self.family == Family::GptOss);
        match self.family {
            Family::Generic => true,
            Family::DeepseekV2 | Family::DeepseekV3 => self.mla.is_some() && biases && !self.qk_norm && sinks,
            Family::Gpt2 | Family::Bloom => {
                self.mla.is_none() && each_head && self.attention_bias && biases && !self.qk_norm && sinks
            }
            Family::GptNeox => self.mla.is_none() && each_head && biases && !self.qk_norm && sinks,
            Family::Falcon => self.mla.is_none() && biases && !self.qk_norm && sinks,
            Family::Opt | Family::Starcoder2 => self.mla.is_none() && !self.qk_norm && sinks,
            Family::Phi3 => self.mla.is_none() && !self.attention_bias && !self.qk_norm && sinks,
            _ => self.mla.is_none() && sinks,
        }
    }
}
