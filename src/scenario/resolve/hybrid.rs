//! Layers that are not all alike, from the fields of the architecture.

use crate::config::{AltUp, Hybrid, Indexer, LayerSet, Mixer, MixerKind, OtherHeads};
use crate::scenario::words::Word;
use crate::scenario::{FieldError, FieldId, Mode, Scenario, Value};

/// Every field that makes layers unlike each other.
const FIELDS: [FieldId; 11] = [
    FieldId::Mixer,
    FieldId::AttentionLayers,
    FieldId::FeedForwardLayers,
    FieldId::SharedKeyLayers,
    FieldId::AttentionGate,
    FieldId::ValueHeadDim,
    FieldId::OtherHeadLayers,
    FieldId::ExpertsNormed,
    FieldId::IndexHeads,
    FieldId::Streams,
    FieldId::SharedKeysWider,
];

/// Tokens that Mamba 2 computes at once where nothing else is said.
const CHUNK: u64 = 256;

impl Scenario {
    /// Layers that are not all alike, or keep a state.
    pub(super) fn hybrid(&self) -> Option<Hybrid> {
        let plain = self.model().is_some_and(|row| row.config.hybrid.is_none());
        if plain && !FIELDS.iter().any(|id| self.is_set(*id)) {
            return None;
        }
        let hybrid = Hybrid {
            mixer: self.mixer(),
            attention_layers: self.layers(FieldId::AttentionLayers),
            feed_forward_layers: self.layers(FieldId::FeedForwardLayers),
            kv_shared_layers: self.layers(FieldId::SharedKeyLayers),
            attention_output_gate: self.flag(FieldId::AttentionGate),
            v_head_dim: self.optional_integer(FieldId::ValueHeadDim),
            other_heads: self.other_heads(),
            experts_normed: self.flag(FieldId::ExpertsNormed),
            indexer: self.indexer(),
            altup: self.altup(),
            double_wide_mlp: self.flag(FieldId::SharedKeysWider),
        };
        (hybrid != Hybrid::default()).then_some(hybrid)
    }

    /// Layers with other heads, if there are any; sizes left empty are those of the rest.
    fn other_heads(&self) -> Option<OtherHeads> {
        let layers = self.layers(FieldId::OtherHeadLayers);
        if layers == LayerSet::None {
            return None;
        }
        let size = |id, or: FieldId| self.optional_integer(id).unwrap_or_else(|| self.integer(or));
        let head_dim = size(FieldId::OtherHeadDim, FieldId::HeadDim);
        Some(OtherHeads {
            layers,
            num_attention_heads: size(FieldId::OtherHeads, FieldId::NumAttentionHeads),
            num_key_value_heads: size(FieldId::OtherKvHeads, FieldId::NumKeyValueHeads),
            head_dim,
            v_head_dim: self.optional_integer(FieldId::OtherValueDim).unwrap_or(head_dim),
            attention_sinks: self.flag(FieldId::OtherSinks),
            attention_k_eq_v: self.flag(FieldId::OtherJointKeys),
        })
    }

    /// The indexer, which chooses the tokens that attention sees, if the model has one; sizes left
    /// empty are those of DeepSeek-V3.2.
    fn indexer(&self) -> Option<Indexer> {
        Some(Indexer {
            num_heads: self.optional_integer(FieldId::IndexHeads)?,
            head_dim: self.optional_integer(FieldId::IndexHeadDim).unwrap_or(128),
            topk: self.optional_integer(FieldId::IndexTopk).unwrap_or(2048),
            block: self.optional_integer(FieldId::IndexBlock).unwrap_or_default(),
            layers: self.layers(FieldId::IndexedLayers),
        })
    }

    /// The residual streams, if there are several; sizes left empty are the smallest.
    fn altup(&self) -> Option<AltUp> {
        let size = |id| self.optional_integer(id).unwrap_or(1);
        Some(AltUp {
            num_inputs: self.optional_integer(FieldId::Streams)?,
            laurel_rank: size(FieldId::LaurelRank),
            hidden_size_per_layer_input: size(FieldId::LayerInputWidth),
            vocab_size_per_layer_input: size(FieldId::LayerInputRows),
            sparse_layers: self.layers(FieldId::SparseLayers),
        })
    }

    /// The state that layers keep, if any do; sizes left empty are attention's.
    fn mixer(&self) -> Option<Mixer> {
        let Value::Choice(word) = self.get(FieldId::Mixer) else { return None };
        let size = |id, or: FieldId| self.optional_integer(id).unwrap_or_else(|| self.integer(or));
        let num_heads = size(FieldId::MixerHeads, FieldId::NumAttentionHeads);
        Some(Mixer {
            kind: MixerKind::from_word(word)?,
            layers: self.layers(FieldId::MixerLayers),
            num_heads,
            head_dim: size(FieldId::MixerHeadDim, FieldId::HeadDim),
            num_key_heads: self.optional_integer(FieldId::MixerKeyHeads).unwrap_or(num_heads),
            state_size: size(FieldId::MixerState, FieldId::HeadDim),
            conv_kernel: self.optional_integer(FieldId::MixerKernel).unwrap_or(4),
            time_step_rank: self.optional_integer(FieldId::MixerRank).unwrap_or_default(),
            chunk_size: self.optional_integer(FieldId::MixerChunk).unwrap_or(CHUNK),
            fp32_state: self.flag(FieldId::MixerFp32),
        })
    }
}

/// A model of which nothing but parameters is known.
const COUNTED: &str = "Of this model the parameters are counted alone: what serving it takes is \
    not modelled here, and neither is training it.";

/// Layers that keep a state, lack attention, share keys or have heads of their own are only served
/// here, but for families whose modules are known to train them. Encoders are only trained.
pub(super) fn check_layers(scenario: &Scenario) -> Option<FieldError> {
    let model = scenario.shape();
    let serves = scenario.mode() == Mode::Serve;
    let (is_refused, message, way_out, mode) = if serves {
        let message = match model.encoder {
            None if model.task.is_some() => {
                "This model classifies texts or gives their states, and writes none. Serving it is \
                 not modelled here; training it is."
            }
            None => COUNTED,
            Some(_) if !model.family.modules().encoder.trains => COUNTED,
            Some(encoder) if encoder.is_decoder => {
                "This decoder is made of an encoder's modules. Serving it is not modelled here; \
                 training it is."
            }
            _ => {
                "This model is an encoder: it reads whole texts and writes none. Serving it is not \
                 modelled here; training it is."
            }
        };
        (!model.is_served(), message, "Train it", Mode::Train)
    } else {
        let message = "This model has layers that keep a state, lack attention, share keys and \
            values, or have heads of another shape. What it takes to train them is not modelled \
            here; serving is.";
        (model.hybrid.is_some() && model.is_only_served(), message, "Serve it", Mode::Serve)
    };
    is_refused.then(|| FieldError {
        field: FieldId::Mode,
        message: message.to_owned(),
        way_out: Some((way_out.to_owned(), Value::choice(mode))),
    })
}
