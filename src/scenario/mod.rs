//! What the user said: a scenario, the table of its inputs, its checks, its links and its saved form.
//!
//! A [`Scenario`] holds only what differs from the starting model, the starting accelerator and the defaults. [`Scenario::resolve`]
//! turns it into a checked [`Job`](crate::config::Job) or names every problem at once. [`codec`] writes it as a link and reads links
//! of every earlier version; [`records`] keeps it in storage and in files.

pub mod codec;
mod fields;
mod following;
mod keys;
mod layers;
mod naming;
mod number;
mod pasted;
pub mod records;
mod remarks;
mod resolve;
mod serving;
mod text;
mod words;

use std::collections::BTreeMap;

pub use fields::{
    Applies, Choice, Field, FieldDefault, FieldId, FieldKind, Group, Value, field, field_of_key, fields, parse, range_text,
    reference, show,
};
pub use following::FOLLOWING;
pub use number::number_and_unit;
pub use remarks::{Remark, RemarkKind};
pub use resolve::FieldError;
pub use text::clean;
pub use words::{Mode, Word};

use crate::catalog::{self, AcceleratorRow, ModelRow};
use crate::config::{Hybrid, LayerSet, Mixer, Mla, ModelConfig, Moe, OtherHeads};
use crate::units::{Bytes, MemoryUnit, to_f64};

/// One set of inputs.
///
/// Every value that was not set is the starting model's, the starting accelerator's or the field's default. Setting a value to what
/// it would be anyway removes it, so that equal scenarios compare equal and links stay short.
///
/// ```
/// use headroom::scenario::{FieldId, Scenario, Value};
/// let mut scenario = Scenario::default();
/// assert_eq!(scenario.get(FieldId::NumHiddenLayers), Value::Integer(32));
/// scenario.set(FieldId::NumHiddenLayers, Value::Integer(40));
/// assert!(scenario.is_set(FieldId::NumHiddenLayers));
/// scenario.set_model("llama3-70b");
/// assert_eq!(scenario.get(FieldId::NumHiddenLayers), Value::Integer(80));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    set: BTreeMap<FieldId, Value>,
    /// Values of inputs that follow while the model is served; nothing until it is, and in what a link says.
    followed: Option<following::Followed>,
    /// Parts of a link that this version does not know, kept for the next link.
    unknown: Vec<(String, String)>,
}

/// Two scenarios are the same if the same inputs were set to the same values, and what follows is the same; what followed in another
/// mode than the present one does not count.
impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set && self.unknown == other.unknown && self.following().eq(other.following())
    }
}

impl Scenario {
    /// The value that counts: the one set, else one that follows, else the model's or accelerator's, else the field's default.
    ///
    /// [`Value::Empty`] stands for an optional value that nobody knows.
    pub fn get(&self, id: FieldId) -> Value {
        self.set.get(&id).or_else(|| self.followed_value(id)).cloned().unwrap_or_else(|| self.start(id))
    }

    /// The value a field has when it is cleared, unless it then follows.
    pub fn start(&self, id: FieldId) -> Value {
        match field(id).default {
            FieldDefault::Integer(value) => Value::Integer(value),
            FieldDefault::Decimal(value) => Value::Decimal(value),
            FieldDefault::Choice(value) => Value::Choice(value),
            FieldDefault::Flag(value) => Value::Flag(value && !(BESIDE_EXPERTS.contains(&id) && self.has_experts())),
            FieldDefault::Text(value) => Value::Text(value.to_owned()),
            FieldDefault::Empty => Value::Empty,
            FieldDefault::Preset => self
                .model()
                .and_then(|row| of_model(&row.config, id))
                .or_else(|| self.accelerator().and_then(|row| of_accelerator(row, id)))
                .unwrap_or(Value::Empty),
        }
    }

    /// Whether the value differs from what the field has when cleared.
    pub fn is_set(&self, id: FieldId) -> bool {
        self.set.contains_key(&id)
    }

    /// Every field that was set, in the order of the form.
    pub fn set_fields(&self) -> impl Iterator<Item = FieldId> + '_ {
        fields().iter().map(|field| field.id).filter(|id| self.is_set(*id))
    }

    /// Sets a value. Model and accelerator are changed as by [`set_model`](Self::set_model) and
    /// [`set_accelerator`](Self::set_accelerator). A value of a kind that the field does not take is ignored; one out of range is
    /// kept and named by [`resolve`](Self::resolve).
    pub fn set(&mut self, id: FieldId, value: Value) {
        match (field(id).kind, value) {
            (FieldKind::Model, Value::Text(model)) => _ = self.set_model(&model),
            (FieldKind::Accelerator, Value::Text(accelerator)) => _ = self.set_accelerator(&accelerator),
            (FieldKind::Text { max_len }, Value::Text(text)) => {
                let short: String = clean(&text).chars().take(max_len).collect();
                self.put(id, Value::Text(short.trim_end().to_owned()));
            }
            (FieldKind::Keys { max_len }, Value::Text(text)) => self.put(id, Value::Text(keys::clean(&text, max_len))),
            // Adding zero turns minus zero into zero, which alone can be written and read.
            (FieldKind::Decimal { .. }, Value::Decimal(number)) if number.is_finite() => {
                self.put(id, Value::Decimal(number + 0.0));
            }
            (kind, value) if takes(kind, &value) => self.put(id, value),
            _ => {}
        }
    }

    /// Gives a field back its model's, accelerator's or default value; one that can follow follows again.
    pub fn clear(&mut self, id: FieldId) {
        let start = self.start(id);
        match field(id).kind {
            FieldKind::Model | FieldKind::Accelerator => self.set(id, start),
            _ => {
                self.set.remove(&id);
                self.follow_again(id);
                self.follow_degrees();
                self.settle();
            }
        }
    }

    /// Starts from another model of the catalog and drops all changes to the architecture. Returns whether the model is known; an
    /// unknown one changes nothing.
    pub fn set_model(&mut self, id_or_alias: &str) -> bool {
        let Some(row) = catalog::model(id_or_alias) else { return false };
        self.set.retain(|id, _| !OF_A_FILE.contains(id));
        let carried = self.take_changes(FieldId::Model);
        self.put(FieldId::Model, Value::Text(row.id.to_owned()));
        self.put_back(carried);
        true
    }

    /// Starts from another accelerator of the catalog and drops all changes to it. Returns whether it is known; an unknown one
    /// changes nothing.
    pub fn set_accelerator(&mut self, id_or_alias: &str) -> bool {
        let Some(row) = catalog::accelerator(id_or_alias) else { return false };
        let carried = self.take_changes(FieldId::Accelerator);
        self.put(FieldId::Accelerator, Value::Text(row.id.to_owned()));
        self.put_back(carried);
        true
    }

    /// Starts from a model or an accelerator by a link's word for it, which the list may not have. The scenario then keeps that word, so
    /// that the next link says the same, and [`resolve`](Self::resolve) refuses it: no other row stands in for it.
    fn start_from(&mut self, id: FieldId, word: &str) {
        let listed = if id == FieldId::Model { self.set_model(word) } else { self.set_accelerator(word) };
        if !listed {
            self.take_changes(id);
            self.set.insert(id, Value::Text(word.to_owned()));
        }
    }

    /// Whether it starts from a model or an accelerator that the list does not have.
    pub fn is_unlisted(&self, id: FieldId) -> bool {
        match id {
            FieldId::Model => self.model().is_none(),
            FieldId::Accelerator => self.accelerator().is_none(),
            _ => false,
        }
    }

    /// Takes away what was changed of the present model or accelerator, and gives back what may be kept for the next one: where the list
    /// does not have the present one, all that the link said about it.
    fn take_changes(&mut self, start: FieldId) -> Vec<(FieldId, Value)> {
        let of_start = |id: FieldId| match start {
            FieldId::Model => field(id).group.is_architecture(),
            _ => ACCELERATOR_FIELDS.contains(&id),
        };
        let carried = self.set.iter().filter(|(id, _)| of_start(**id)).map(|(id, value)| (*id, value.clone())).collect();
        self.set.retain(|id, _| !of_start(*id));
        if self.is_unlisted(start) { carried } else { Vec::new() }
    }

    fn put_back(&mut self, carried: Vec<(FieldId, Value)>) {
        for (id, value) in carried {
            self.put(id, value);
        }
    }

    /// The scenario's own name; empty if it has none.
    pub fn name(&self) -> String {
        self.text(FieldId::Name)
    }

    /// Names the scenario; control and reordering characters are dropped, the text is cut at 60 characters.
    pub fn set_name(&mut self, name: &str) {
        self.set(FieldId::Name, Value::Text(name.to_owned()));
    }

    /// Whether the model is trained or served.
    pub fn mode(&self) -> Mode {
        self.word(FieldId::Mode)
    }

    /// How memory is written.
    pub fn memory_unit(&self) -> MemoryUnit {
        self.word(FieldId::MemoryUnit)
    }

    /// The model of the catalog that the architecture starts from.
    pub fn model(&self) -> Option<&'static ModelRow> {
        catalog::model(&self.text(FieldId::Model))
    }

    /// The accelerator of the catalog that the hardware starts from.
    pub fn accelerator(&self) -> Option<&'static AcceleratorRow> {
        catalog::accelerator(&self.text(FieldId::Accelerator))
    }

    /// Whether the architecture differs from that of the model it starts from.
    pub fn is_custom_model(&self) -> bool {
        self.set.keys().any(|id| field(*id).group.is_architecture())
    }

    /// Whether the accelerator differs from the one it starts from.
    pub fn is_custom_accelerator(&self) -> bool {
        ACCELERATOR_FIELDS.iter().any(|id| self.is_set(*id))
    }

    /// Every field whose value counts in one of the modes in use and differs between the two, in the order of the form.
    pub fn differences(&self, other: &Self) -> Vec<FieldId> {
        let counts = |field: &&Field| field.applies.in_mode(self.mode()) || field.applies.in_mode(other.mode());
        fields().iter().filter(counts).map(|field| field.id).filter(|id| self.get(*id) != other.get(*id)).collect()
    }

    fn put(&mut self, id: FieldId, value: Value) {
        self.end_following(id);
        let start = self.start(id);
        // A decimal that reads as the start value is the start value: forms show presets such as 79.6474609375 GiB rounded.
        let same = value == start || matches!(value, Value::Decimal(_)) && show(id, &value) == show(id, &start);
        if same {
            self.set.remove(&id);
        } else {
            self.set.insert(id, value);
        }
        if id == FieldId::Mode {
            self.begin_following();
        }
        self.follow_degrees();
        self.settle();
    }

    fn has_experts(&self) -> bool {
        self.get(FieldId::NumExperts) != Value::Empty
    }

    /// What was set and is now where it would start from is set no more: experts came or went.
    fn settle(&mut self) {
        for id in BESIDE_EXPERTS {
            if self.set.get(&id) == Some(&self.start(id)) {
                self.set.remove(&id);
            }
        }
    }

    fn text(&self, id: FieldId) -> String {
        match (self.set.get(&id), field(id).default) {
            (Some(Value::Text(text)), _) => text.clone(),
            (_, FieldDefault::Text(text)) => text.to_owned(),
            _ => String::new(),
        }
    }

    fn word<T: Word + Default>(&self, id: FieldId) -> T {
        match self.get(id) {
            Value::Choice(word) => T::from_word(word).unwrap_or_default(),
            _ => T::default(),
        }
    }
}

/// The fields whose default is the accelerator's own value.
const ACCELERATOR_FIELDS: [FieldId; 6] = [
    FieldId::AcceleratorMemory,
    FieldId::PeakRate,
    FieldId::MemoryBandwidth,
    FieldId::AcceleratorsPerNode,
    FieldId::NetworkBandwidth,
    FieldId::BoardPower,
];

/// Fields about the file that the model was read from: gone with another model of the catalog.
const OF_A_FILE: [FieldId; 5] =
    [FieldId::ModelName, FieldId::ModelType, FieldId::AsGeneric, FieldId::NotCounted, FieldId::LeftOut];

/// Adapters that a model with experts starts without: peft would put them on the experts, where they are not modelled.
const BESIDE_EXPERTS: [FieldId; 3] = [FieldId::AdaptGate, FieldId::AdaptUp, FieldId::AdaptDown];

fn architecture_fields() -> impl Iterator<Item = &'static Field> {
    fields().iter().filter(|field| field.group.is_architecture())
}

fn differences(a: &ModelConfig, b: &ModelConfig) -> impl Iterator<Item = FieldId> {
    architecture_fields().map(|field| field.id).filter(|id| of_model(a, *id) != of_model(b, *id))
}

/// Whether a field of that kind takes such a value at all; ranges are not looked at.
fn takes(kind: FieldKind, value: &Value) -> bool {
    match (kind, value) {
        (FieldKind::Integer { .. }, Value::Integer(_))
        | (FieldKind::Flag, Value::Flag(_))
        | (FieldKind::Layers, Value::Layers(_)) => true,
        (FieldKind::Choice(options), Value::Choice(word)) => options.iter().any(|option| option.value == *word),
        (FieldKind::Integer { optional, .. } | FieldKind::Decimal { optional, .. }, Value::Empty) => optional,
        _ => false,
    }
}

/// The value of an architecture field.
fn of_model(config: &ModelConfig, id: FieldId) -> Option<Value> {
    Some(match id {
        FieldId::HiddenSize => Value::Integer(config.hidden_size),
        FieldId::NumHiddenLayers => Value::Integer(config.num_hidden_layers),
        FieldId::NumAttentionHeads => Value::Integer(config.num_attention_heads),
        FieldId::NumKeyValueHeads => Value::Integer(config.num_key_value_heads),
        FieldId::HeadDim => Value::Integer(config.head_dim),
        FieldId::IntermediateSize => Value::Integer(config.intermediate_size),
        FieldId::VocabSize => Value::Integer(config.vocab_size),
        FieldId::MaxPositionEmbeddings => Value::Integer(config.max_position_embeddings),
        FieldId::PositionRows => Value::Integer(config.position_rows),
        FieldId::Normalization => Value::choice(config.normalization),
        FieldId::Mlp => Value::choice(config.mlp),
        FieldId::PositionEmbedding => Value::choice(config.position_embedding),
        FieldId::AttentionBias => Value::Flag(config.attention_bias),
        FieldId::AttentionOutputBias => Value::Flag(config.attention_output_bias),
        FieldId::MlpBias => Value::Flag(config.mlp_bias),
        FieldId::TieWordEmbeddings => Value::Flag(config.tie_word_embeddings),
        FieldId::QkNorm => Value::Flag(config.qk_norm),
        FieldId::EmbeddingNorm => Value::Flag(config.embedding_norm),
        FieldId::NormsPerBlock => Value::Integer(config.norms_per_block),
        FieldId::FinalNorm => Value::Flag(config.final_norm),
        FieldId::Family => Value::choice(config.family),
        FieldId::HiddenAct => Value::choice(config.hidden_act),
        FieldId::RotaryDim => optional(config.rotary_dim),
        FieldId::SlidingWindow => optional(config.sliding_window),
        FieldId::SlidingLayers => Value::Layers(config.sliding_layers.clone()),
        FieldId::ParallelResidual => Value::Flag(config.parallel_residual),
        FieldId::AttentionSinks => Value::Flag(config.attention_sinks),
        FieldId::AttentionSoftcap => Value::Flag(config.attn_logit_softcapping),
        FieldId::LogitSoftcap => Value::Flag(config.final_logit_softcapping),
        FieldId::HeadBias => Value::Flag(config.lm_head_bias),
        FieldId::EmbeddingWidth => optional(config.word_embed_proj_dim),
        FieldId::NewDecoder => Value::Flag(config.new_decoder_architecture),
        FieldId::Pooler => Value::Flag(config.pooler),
        _ => {
            let rare = of_experts(config.moe.as_ref(), id).or_else(|| of_latent(config.mla.as_ref(), id));
            return rare.or_else(|| of_hybrid(config.hybrid.as_ref(), id));
        }
    })
}

/// The value of a field of layers that are not all alike; without them, nothing.
fn of_hybrid(hybrid: Option<&Hybrid>, id: FieldId) -> Option<Value> {
    let mixer = hybrid.and_then(|hybrid| hybrid.mixer.as_ref());
    let size = |of: fn(&Mixer) -> u64| optional(mixer.map(of));
    let layers = |of: fn(&Hybrid) -> &LayerSet, all: LayerSet| Value::Layers(hybrid.map_or(all, |hybrid| of(hybrid).clone()));
    Some(match id {
        FieldId::Mixer => mixer.map_or(Value::Choice("none"), |mixer| Value::choice(mixer.kind)),
        FieldId::MixerLayers => Value::Layers(mixer.map_or(LayerSet::None, |mixer| mixer.layers.clone())),
        FieldId::MixerHeads => size(|mixer| mixer.num_heads),
        FieldId::MixerHeadDim => size(|mixer| mixer.head_dim),
        FieldId::MixerKeyHeads => size(|mixer| mixer.num_key_heads),
        FieldId::MixerState => size(|mixer| mixer.state_size),
        FieldId::MixerKernel => size(|mixer| mixer.conv_kernel),
        FieldId::MixerRank => optional(mixer.map(|mixer| mixer.time_step_rank).filter(|rank| *rank > 0)),
        FieldId::MixerFp32 => Value::Flag(mixer.is_some_and(|mixer| mixer.fp32_state)),
        FieldId::AttentionLayers => layers(|hybrid| &hybrid.attention_layers, LayerSet::All),
        FieldId::FeedForwardLayers => layers(|hybrid| &hybrid.feed_forward_layers, LayerSet::All),
        FieldId::SharedKeyLayers => layers(|hybrid| &hybrid.kv_shared_layers, LayerSet::None),
        FieldId::AttentionGate => Value::Flag(hybrid.is_some_and(|hybrid| hybrid.attention_output_gate)),
        FieldId::ValueHeadDim => optional(hybrid.and_then(|hybrid| hybrid.v_head_dim)),
        FieldId::ExpertsNormed => Value::Flag(hybrid.is_some_and(|hybrid| hybrid.experts_normed)),
        _ => return of_other_heads(hybrid.and_then(|hybrid| hybrid.other_heads.as_ref()), id),
    })
}

/// The value of a field of layers with other heads; without them, nothing.
fn of_other_heads(other: Option<&OtherHeads>, id: FieldId) -> Option<Value> {
    let size = |of: fn(&OtherHeads) -> u64| optional(other.map(of));
    let flag = |of: fn(&OtherHeads) -> bool| Value::Flag(other.is_some_and(of));
    Some(match id {
        FieldId::OtherHeadLayers => Value::Layers(other.map_or(LayerSet::None, |other| other.layers.clone())),
        FieldId::OtherHeads => size(|other| other.num_attention_heads),
        FieldId::OtherKvHeads => size(|other| other.num_key_value_heads),
        FieldId::OtherHeadDim => size(|other| other.head_dim),
        FieldId::OtherValueDim => size(|other| other.v_head_dim),
        FieldId::OtherSinks => flag(|other| other.attention_sinks),
        FieldId::OtherJointKeys => flag(|other| other.attention_k_eq_v),
        _ => return None,
    })
}

/// The value of a field of the experts; without experts, nothing.
fn of_experts(moe: Option<&Moe>, id: FieldId) -> Option<Value> {
    let size = |of: fn(&Moe) -> u64| optional(moe.map(of));
    let flag = |of: fn(&Moe) -> bool| Value::Flag(moe.is_some_and(of));
    Some(match id {
        FieldId::NumExperts => size(|moe| moe.num_experts),
        FieldId::ExpertsPerToken => size(|moe| moe.num_experts_per_tok),
        FieldId::ExpertWidth => size(|moe| moe.moe_intermediate_size),
        FieldId::SharedExpertWidth => size(|moe| moe.shared_expert_intermediate_size),
        FieldId::SharedExpertGate => flag(|moe| moe.shared_expert_gate),
        FieldId::ExpertLayers => Value::Layers(moe.map_or(LayerSet::All, |moe| moe.layers.clone())),
        FieldId::ExpertGroups => size(|moe| moe.n_group),
        FieldId::ExpertGroupsKept => size(|moe| moe.topk_group),
        FieldId::ExpertNorm => flag(|moe| moe.norm_topk_prob),
        FieldId::ExpertBias => flag(|moe| moe.bias),
        _ => return None,
    })
}

/// The value of a field of latent attention; without it, nothing.
fn of_latent(mla: Option<&Mla>, id: FieldId) -> Option<Value> {
    Some(optional(match id {
        FieldId::KvLoraRank => mla.map(|mla| mla.kv_lora_rank),
        FieldId::QLoraRank => mla.and_then(|mla| mla.q_lora_rank),
        FieldId::QkRopeHeadDim => mla.map(|mla| mla.qk_rope_head_dim),
        FieldId::QkNopeHeadDim => mla.map(|mla| mla.qk_nope_head_dim),
        FieldId::VHeadDim => mla.map(|mla| mla.v_head_dim),
        _ => return None,
    }))
}

fn optional(size: Option<u64>) -> Value {
    size.map_or(Value::Empty, Value::Integer)
}

/// The value of an accelerator field; `Empty` where the catalog knows none.
fn of_accelerator(row: &AcceleratorRow, id: FieldId) -> Option<Value> {
    let device = &row.accelerator;
    Some(match id {
        FieldId::AcceleratorMemory => Value::Decimal(device.memory.as_f64() / to_f64(Bytes::GIB)),
        FieldId::PeakRate => device.peak.bf16.or(device.peak.fp16).map_or(Value::Empty, Value::Decimal),
        FieldId::NetworkBandwidth => Value::Decimal(catalog::speed(row.id).network_bandwidth / 1e9),
        FieldId::MemoryBandwidth => device.memory_bandwidth.map_or(Value::Empty, |bandwidth| Value::Decimal(bandwidth / 1e9)),
        FieldId::BoardPower => catalog::speed(row.id).tdp_watts.map_or(Value::Empty, Value::Decimal),
        FieldId::AcceleratorsPerNode => Value::Integer(device.accelerators_per_node),
        _ => return None,
    })
}
