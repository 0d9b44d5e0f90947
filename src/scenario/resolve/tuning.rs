//! Which parameters learn, from the fields of fine-tuning.

use super::count;
use crate::config::{
    BaseFormat, Dropout, Method, Objective, Rollout, SavedModules, Targets, Texts, Tuning,
};
use crate::scenario::{FieldError, FieldId, Mode, Scenario, Value};
use crate::units::DType;

/// The fields of `target_modules`, with the layers of latent attention that do the same work.
const TARGETS: [(FieldId, Targets); 8] = [
    (FieldId::AdaptQuery, Targets::QUERY.and(Targets::QUERY_DOWN).and(Targets::QUERY_UP)),
    (FieldId::AdaptKey, Targets::KEY.and(Targets::KEY_VALUE_DOWN).and(Targets::KEY_VALUE_UP)),
    (FieldId::AdaptValue, Targets::VALUE.and(Targets::KEY_VALUE_UP)),
    (FieldId::AdaptOutput, Targets::OUTPUT),
    (FieldId::AdaptGate, Targets::GATE),
    (FieldId::AdaptUp, Targets::UP),
    (FieldId::AdaptDown, Targets::DOWN),
    (FieldId::AdaptOthers, Targets::OTHERS.and(Targets::SHARED_GATE)),
];

impl Scenario {
    /// Which parameters learn when fine-tuning.
    pub(super) fn tuning(&self) -> Tuning {
        let word = |id| match self.get(id) {
            Value::Choice(word) => word,
            _ => "",
        };
        let method = word(FieldId::Method);
        let chosen = TARGETS.iter().filter(|(id, _)| self.flag(*id));
        let full = method == "full";
        let objective: Objective = self.word(FieldId::Objective);
        Tuning {
            method: match method {
                "full" => Method::Full,
                "dora" => Method::Dora,
                "prompt" => Method::Prompt,
                "prefix" => Method::Prefix,
                _ => Method::Lora,
            },
            r: self.integer(FieldId::Rank),
            target_modules: chosen.fold(Targets::NONE, |all, (_, targets)| all.and(*targets)),
            modules_to_save: SavedModules {
                embedding: self.flag(FieldId::SaveEmbedding),
                head: self.flag(FieldId::SaveHead),
            },
            adapter_dtype: (word(FieldId::AdapterDType) == "fp32").then_some(DType::Fp32),
            num_virtual_tokens: self.integer(FieldId::VirtualTokens),
            dropout: self.decimal(FieldId::LoraDropout).is_some_and(|share| share > 0.0),
            base: match (method, self.flag(FieldId::DoubleQuant)) {
                ("qlora", true) => BaseFormat::Nf4Double,
                ("qlora", false) => BaseFormat::Nf4,
                ("lora8", _) => BaseFormat::Int8,
                _ => BaseFormat::Weights,
            },
            packs_experts: method == "qlora" && self.flag(FieldId::PackExperts),
            upcasts: self.flag(FieldId::PrepareKbit),
            autocast: self.flag(FieldId::Autocast),
            frozen_layers: if full { self.integer(FieldId::FrozenLayers) } else { 0 },
            frozen_embeddings: full && self.flag(FieldId::FrozenEmbeddings),
            frozen_tower: false,
            paged_optimizer: self.flag(FieldId::PagedOptimizer),
            objective,
            // The model without its adapters is its own reference.
            reference: full
                && self.flag(FieldId::Reference)
                && matches!(objective, Objective::Preference | Objective::Ppo | Objective::Grpo),
            rollout: if objective.generates() {
                self.word(FieldId::Rollout)
            } else {
                Rollout::Apart
            },
            rollout_sequences: self.integer(FieldId::RolloutSequences),
        }
    }

    /// The model's own dropout, at the places that its modules have for it.
    pub(super) fn dropout(&self) -> Dropout {
        let is_on = |id| self.asks(id) && self.decimal(id).is_some_and(|share: f64| share > 0.0);
        Dropout {
            embedding: is_on(FieldId::EmbeddingDropout),
            residual: is_on(FieldId::ResidualDropout),
            attention: is_on(FieldId::ProbabilityDropout),
        }
    }

    /// How long the texts are, if that is said.
    pub(super) fn texts(&self) -> Option<Texts> {
        self.optional_integer(FieldId::TextTokens)
            .map(|mean| Texts { mean, packed: self.flag(FieldId::Packing) })
    }
}

/// A text cannot be longer than its sequence.
pub(super) fn check_texts(scenario: &Scenario) -> Option<FieldError> {
    let mean =
        scenario.optional_integer(FieldId::TextTokens).filter(|_| scenario.mode() == Mode::Tune)?;
    let most = scenario.integer(FieldId::SeqLength);
    (mean > most).then(|| FieldError {
        field: FieldId::TextTokens,
        message: format!(
            "A mean of {} tokens is more than the sequence of {}.",
            count(mean),
            count(most)
        ),
        way_out: Some((format!("Use {} tokens", count(most)), Value::Integer(most))),
    })
}
