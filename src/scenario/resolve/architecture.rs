//! The architecture by itself, whatever else the scenario says.

use std::borrow::Cow;

use super::{FieldError, check_experts, check_heads, check_positions, hybrid};
use crate::config::{CacheParts, LayerSet, Mla, ModelConfig, Moe};
use crate::scenario::{FieldId, Scenario, Value, architecture_fields, field, show};

impl Scenario {
    /// The architecture with all changes, unless a value of it is out of range or does not go with
    /// another.
    pub fn checked_model(&self) -> Option<ModelConfig> {
        let of_model = |error: &FieldError| field(error.field).default.is_of_model();
        let mut values = architecture_fields().filter_map(|field| self.check_value(field.id));
        let rules = [check_heads, check_positions, check_experts, hybrid::check_layers];
        let wrong = values.next().is_some()
            || rules.iter().filter_map(|rule| rule(self)).any(|error| of_model(&error));
        (!wrong && self.unread_keys().is_none()).then(|| self.model_config())
    }

    /// Why the keys of the model, with what was changed, give no architecture.
    pub(super) fn unread_keys(&self) -> Option<FieldError> {
        // A row's own shape is read from no keys.
        if !self.reads_keys() || !(self.is_custom_model() || self.is_pasted()) {
            return None;
        }
        let unread = self.keys_now().config.as_ref().err()?;
        let changed = unread
            .about
            .iter()
            .copied()
            .find(|id| self.is_set(*id))
            .or_else(|| self.set_of_model().next());
        let start =
            changed.map(|id| (id, self.start(id))).filter(|(_, start)| *start != Value::Empty);
        let way_out = start.filter(|_| !self.waits_for_keys());
        let way_out = way_out.map(|(id, start)| (format!("Use {}", show(id, &start)), start));
        Some(FieldError {
            field: changed.unwrap_or(FieldId::Model),
            message: unread.message.clone(),
            way_out,
        })
    }

    /// The architecture with all changes, unchecked. Keys that cannot be read give that of the
    /// model without changes.
    pub fn model_config(&self) -> ModelConfig {
        self.shape().into_owned()
    }

    /// The architecture with all changes, unchecked; a row's own where nothing of it is changed.
    pub(in crate::scenario) fn shape(&self) -> Cow<'_, ModelConfig> {
        if !self.reads_keys() {
            return Cow::Owned(self.config_of_sizes());
        }
        let row = self.model().map(|row| &row.config).filter(|_| !self.is_pasted());
        match row.filter(|_| !self.is_custom_model()) {
            Some(config) => Cow::Borrowed(config),
            None => match (&self.keys_now().config, row) {
                (Ok(config), _) | (Err(_), Some(config)) => Cow::Borrowed(config),
                (Err(_), None) => Cow::Owned(ModelConfig::plain()),
            },
        }
    }

    /// The architecture of sizes by hand: every input is one of its values.
    pub(in crate::scenario) fn config_of_sizes(&self) -> ModelConfig {
        ModelConfig {
            hidden_size: self.integer(FieldId::HiddenSize),
            num_hidden_layers: self.integer(FieldId::NumHiddenLayers),
            num_attention_heads: self.integer(FieldId::NumAttentionHeads),
            num_key_value_heads: self.integer(FieldId::NumKeyValueHeads),
            head_dim: self.integer(FieldId::HeadDim),
            intermediate_size: self.integer(FieldId::IntermediateSize),
            vocab_size: self.integer(FieldId::VocabSize),
            max_position_embeddings: self.integer(FieldId::MaxPositionEmbeddings),
            position_rows: self.integer(FieldId::PositionRows),
            normalization: self.word(FieldId::Normalization),
            mlp: self.word(FieldId::Mlp),
            position_embedding: self.word(FieldId::PositionEmbedding),
            attention_bias: self.flag(FieldId::AttentionBias),
            attention_output_bias: self.flag(FieldId::AttentionOutputBias),
            mlp_bias: self.flag(FieldId::MlpBias),
            tie_word_embeddings: self.flag(FieldId::TieWordEmbeddings),
            qk_norm: self.flag(FieldId::QkNorm),
            embedding_norm: self.flag(FieldId::EmbeddingNorm),
            norms_per_block: self.integer(FieldId::NormsPerBlock),
            final_norm: self.flag(FieldId::FinalNorm),
            family: self.word(FieldId::Family),
            hidden_act: self.word(FieldId::HiddenAct),
            rotary_dim: self.optional_integer(FieldId::RotaryDim),
            sliding_window: self.optional_integer(FieldId::SlidingWindow),
            sliding_layers: self.layers(FieldId::SlidingLayers),
            moe: self.experts(),
            mla: self.latent(),
            parallel_residual: self.flag(FieldId::ParallelResidual),
            attention_sinks: self.flag(FieldId::AttentionSinks),
            attn_logit_softcapping: self.flag(FieldId::AttentionSoftcap),
            final_logit_softcapping: self.flag(FieldId::LogitSoftcap),
            lm_head_bias: self.flag(FieldId::HeadBias),
            word_embed_proj_dim: self.optional_integer(FieldId::EmbeddingWidth),
            new_decoder_architecture: self.flag(FieldId::NewDecoder),
            pooler: self.flag(FieldId::Pooler),
            task: None,
            encoder: None,
            tower: None,
            source: None,
            shared: None,
            norm_gate_rank: 0,
            cache: CacheParts::NONE,
            compressed: None,
            chunks: false,
            hybrid: self.hybrid(),
        }
    }

    pub(super) fn layers(&self, id: FieldId) -> LayerSet {
        match self.get(id) {
            Value::Layers(set) => set,
            _ => LayerSet::None,
        }
    }

    /// The experts, if there are any; a size that is left empty is the smallest that makes sense.
    pub(super) fn experts(&self) -> Option<Moe> {
        let size = |id| self.optional_integer(id);
        Some(Moe {
            num_experts: size(FieldId::NumExperts)?,
            num_experts_per_tok: size(FieldId::ExpertsPerToken).unwrap_or(1),
            moe_intermediate_size: size(FieldId::ExpertWidth)
                .unwrap_or_else(|| self.integer(FieldId::IntermediateSize)),
            shared_expert_intermediate_size: size(FieldId::SharedExpertWidth).unwrap_or(0),
            shared_expert_gate: self.flag(FieldId::SharedExpertGate),
            layers: self.layers(FieldId::ExpertLayers),
            n_group: size(FieldId::ExpertGroups).unwrap_or(1),
            topk_group: size(FieldId::ExpertGroupsKept).unwrap_or(1),
            norm_topk_prob: self.flag(FieldId::ExpertNorm),
            bias: self.flag(FieldId::ExpertBias),
            latent: size(FieldId::ExpertLatent).unwrap_or(0),
        })
    }

    /// Latent attention, if keys and values are compressed; heads left empty have the model's own
    /// head width.
    fn latent(&self) -> Option<Mla> {
        let width =
            |id| self.optional_integer(id).unwrap_or_else(|| self.integer(FieldId::HeadDim));
        Some(Mla {
            kv_lora_rank: self.optional_integer(FieldId::KvLoraRank)?,
            q_lora_rank: self.optional_integer(FieldId::QLoraRank),
            qk_rope_head_dim: width(FieldId::QkRopeHeadDim),
            qk_nope_head_dim: width(FieldId::QkNopeHeadDim),
            v_head_dim: width(FieldId::VHeadDim),
        })
    }
}
