//! The inputs of a scenario that are about speculative decoding.

use std::sync::Arc;

use super::resolve::count;
use super::words::Word;
use super::{FieldError, FieldId, Mode, Scenario, Value, field, show};
use crate::catalog::{self, ModelRow};
use crate::config::{Draft, DraftMethod, Engine, ModelConfig, WeightFormat};

impl Scenario {
    /// The part that proposes tokens, unchecked.
    pub(super) fn draft(&self, quantization: WeightFormat) -> Option<Draft> {
        let Value::Choice(word) = self.get(FieldId::Drafts) else { return None };
        let method = DraftMethod::from_word(word)?;
        let wide = if self.engine().loads(WeightFormat::Bf16) {
            WeightFormat::Bf16
        } else {
            WeightFormat::Gguf16
        };
        let model = match method {
            DraftMethod::Model => Some(Arc::new(self.draft_row()?.config.clone())),
            DraftMethod::Mtp => None,
            DraftMethod::Eagle | DraftMethod::Eagle3 => {
                Some(Arc::new(self.shape().eagle_layer(method)))
            }
        };
        let is_as_model = match method {
            DraftMethod::Model => self.get(FieldId::DraftWeights) == Value::Choice("as-model"),
            DraftMethod::Mtp => true,
            DraftMethod::Eagle | DraftMethod::Eagle3 => false,
        };
        let stated = self.decimal(FieldId::Acceptance).map(|percent| percent / 100.0);
        Some(Draft {
            method,
            model,
            format: if is_as_model { quantization } else { wide },
            tokens: self.integer(FieldId::DraftTokens),
            acceptance: stated.unwrap_or(method.assumed_acceptance().0),
        })
    }

    /// The row of the list that the draft model's name stands for.
    fn draft_row(&self) -> Option<&'static ModelRow> {
        let name = self.text(FieldId::DraftModel);
        let is_named = |row: &&ModelRow| row.name.eq_ignore_ascii_case(name.trim());
        catalog::model_of_id(&name).or_else(|| catalog::models().iter().find(is_named))
    }
}

/// Rules of speculative decoding that do not depend on the layout.
pub(super) fn check(scenario: &Scenario) -> Option<FieldError> {
    let Value::Choice(word) = scenario.get(FieldId::Drafts) else { return None };
    let method = DraftMethod::from_word(word).filter(|_| scenario.mode() == Mode::Serve)?;
    let engine = scenario.engine();
    let model = scenario.shape();
    let without = |message: String| {
        let way_out = Some(("Use no draft".to_owned(), Value::Choice("none")));
        Some(FieldError { field: FieldId::Drafts, message, way_out })
    };
    if !engine.speculation.methods.contains(&method) {
        let label = show(FieldId::Drafts, &Value::choice(method));
        return without(format!("{} has no speculative decoding with {label}.", engine.label));
    }
    if let Some(what) = not_modelled(&model, method) {
        return without(format!("Speculative decoding is not modelled for {what}."));
    }
    if method == DraftMethod::Model { check_model(scenario, &model, engine) } else { None }
}

/// The kind of model for which a way of proposing is not modelled, if it is of one.
fn not_modelled(model: &ModelConfig, method: DraftMethod) -> Option<&'static str> {
    let own_layer = matches!(method, DraftMethod::Eagle | DraftMethod::Eagle3);
    if model.source.is_some() {
        Some("an encoder–decoder")
    } else if model.hybrid.is_some() && model.mixer().is_some() {
        // Each drafted token has a state of its own until it is checked.
        Some("layers that keep a state")
    } else if own_layer && model.mla.is_some() {
        Some("an EAGLE head beside latent attention")
    } else if method == DraftMethod::Mtp && (model.compressed.is_some() || model.shared.is_some()) {
        Some("an MTP layer of a model whose layers are compressed or shared")
    } else {
        None
    }
}

/// The draft model is one of the list, and has the model's vocabulary.
fn check_model(scenario: &Scenario, model: &ModelConfig, engine: Engine) -> Option<FieldError> {
    let about = |message: String, row: Option<&ModelRow>| {
        let way_out = row.map(|row| (format!("Use {}", row.name), Value::Text(row.id.to_owned())));
        Some(FieldError { field: FieldId::DraftModel, message, way_out })
    };
    let suits = |row: &&ModelRow| {
        row.config.vocab_size == model.vocab_size
            && is_plain(&row.config)
            && size(&row.config) < size(model) / 4
    };
    let suggested = || catalog::models().iter().filter(suits).min_by_key(|row| size(&row.config));
    let Some(row) = scenario.draft_row() else {
        let name = scenario.text(FieldId::DraftModel);
        let what = if name.is_empty() {
            format!("{} is needed: a small model of the list.", field(FieldId::DraftModel).label)
        } else {
            format!("The list has no model “{}” to draft with.", super::text::quoted(&name))
        };
        return about(what, suggested());
    };
    if !is_plain(&row.config) {
        let what = format!(
            "{} writes no text by itself, or keeps states, which is not modelled for a draft.",
            row.name
        );
        return about(what, suggested());
    }
    let (own, drafts) = (model.vocab_size, row.config.vocab_size);
    let allowed = engine.speculation.vocabularies_differ_by;
    if allowed.is_some_and(|allowed| own.abs_diff(drafts) > allowed) {
        let what = format!(
            "{} has {} tokens in its vocabulary and the model {}: a draft must have the same ones.",
            row.name,
            count(drafts),
            count(own)
        );
        return about(what, suggested());
    }
    None
}

/// True if the model writes text by itself, with keys and values alone.
fn is_plain(model: &ModelConfig) -> bool {
    model.is_served() && model.source.is_none() && model.mixer().is_none() && model.tower.is_none()
}

/// Numbers in the blocks' matrices, about.
const fn size(model: &ModelConfig) -> u64 {
    model.num_hidden_layers.saturating_mul(model.hidden_size).saturating_mul(model.hidden_size)
}
