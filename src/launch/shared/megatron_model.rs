//! Reads and writes a model's sizes as Megatron-LM's arguments.
//!
//! Read in megatron-core 0.19.2: `megatron/training/arguments.py` (`validate_args`,
//! `core_transformer_config_from_args`).

use super::{count, says};
use crate::config::{LayerSet, ModelConfig};
use crate::launch::{Given, LaunchError, Reading, Writing, model_names};
use crate::scenario::{FieldId, Scenario, Value};

/// A model's sizes: those that the text states, and those that follow from them.
struct Sizes {
    layers: u64,
    hidden: u64,
    heads: u64,
    inner: u64,
}

/// Reads the model's sizes. A text without them leaves the present model, which a row reports.
///
/// # Errors
/// [`LaunchError`] for a value that is no whole number.
pub fn read(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let layers = count(reading, &["num-layers"])?.or(count(reading, &["encoder-num-layers"])?);
    let (hidden, heads) =
        (count(reading, &["hidden-size"])?, count(reading, &["num-attention-heads"])?);
    let (Some(layers), Some(hidden), Some(heads)) = (layers, hidden, heads) else {
        let place = crate::launch::Place { line: 1, column: 1 };
        let given = Given::new("num-layers", "", place);
        reading.not_modelled(
            &given,
            "The text does not say the model's layers, width and heads: the present model stays.",
        );
        return Ok(());
    };
    let (layers, hidden, heads) = (layers.max(1), hidden.max(1), heads.max(1));
    let gated = says(reading, &["swiglu"]) || says(reading, &["quick-geglu"]);
    let of_width =
        if gated { hidden.saturating_mul(8) / 3 / 64 * 64 } else { hidden.saturating_mul(4) };
    let inner = count(reading, &["ffn-hidden-size"])?.unwrap_or(of_width).max(1);
    let before = reading.scenario.clone();
    begin_by_hand(&mut reading.scenario);
    let sizes = Sizes { layers, hidden, heads, inner };
    dense(reading, &sizes, gated)?;
    positions(reading)?;
    vocabulary(reading, &before)?;
    experts(reading, &sizes)?;
    latent(reading)?;
    let note = "The model's sizes as the arguments say them.";
    reading.follows("num-layers", FieldId::NumHiddenLayers, Value::Integer(sizes.layers), note);
    Ok(())
}

/// Starts from the default scenario's model, with every size set by hand.
fn begin_by_hand(scenario: &mut Scenario) {
    if let Value::Text(row) = Scenario::default().get(FieldId::Model) {
        scenario.set_model(&row);
    }
    scenario.set(FieldId::Sizes, Value::Flag(true));
}

fn dense(reading: &mut Reading<'_>, sizes: &Sizes, gated: bool) -> Result<(), LaunchError> {
    let grouped = says(reading, &["group-query-attention"]);
    let groups = count(reading, &["num-query-groups"])?.filter(|_| grouped).unwrap_or(sizes.heads);
    let head = count(reading, &["kv-channels"])?.unwrap_or(sizes.hidden / sizes.heads).max(1);
    let plain_norm =
        reading.stated(&["normalization"]).is_none_or(|given| given.text() != "RMSNorm");
    let biased = !says(reading, &["disable-bias-linear"]);
    let act = match (
        says(reading, &["swiglu"]),
        says(reading, &["squared-relu"]),
        says(reading, &["quick-geglu"]),
    ) {
        (true, ..) => "silu",
        (_, true, _) => "relu2",
        (.., true) => "quick-gelu",
        _ => "gelu",
    };
    let query_bias = biased || says(reading, &["add-qkv-bias"]);
    let tied = !says(reading, &["untie-embeddings-and-output-weights"]);
    let normed = says(reading, &["qk-layernorm"]);
    let scenario = &mut reading.scenario;
    for (id, number) in [
        (FieldId::NumHiddenLayers, sizes.layers),
        (FieldId::HiddenSize, sizes.hidden),
        (FieldId::NumAttentionHeads, sizes.heads),
        (FieldId::NumKeyValueHeads, groups),
        (FieldId::HeadDim, head),
        (FieldId::IntermediateSize, sizes.inner),
        (FieldId::NormsPerBlock, 2),
    ] {
        scenario.set(id, Value::Integer(number));
    }
    for (id, on) in [
        (FieldId::AttentionBias, query_bias),
        (FieldId::AttentionOutputBias, biased),
        (FieldId::MlpBias, biased),
        (FieldId::TieWordEmbeddings, tied),
        (FieldId::QkNorm, normed),
        (FieldId::FinalNorm, true),
        (FieldId::EmbeddingNorm, false),
    ] {
        scenario.set(id, Value::Flag(on));
    }
    scenario.set(
        FieldId::Normalization,
        Value::Choice(if plain_norm { "layernorm" } else { "rmsnorm" }),
    );
    scenario.set(FieldId::Mlp, Value::Choice(if gated { "gated" } else { "plain" }));
    scenario.set(FieldId::HiddenAct, Value::Choice(act));
    Ok(())
}

fn positions(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let longest = count(reading, &["max-position-embeddings"])?
        .or(count(reading, &["seq-length"])?)
        .unwrap_or(1)
        .max(1);
    let rotates = says(reading, &["use-rotary-position-embeddings"]);
    let kind = reading.stated(&["position-embedding-type"]).map(Given::text);
    let (kind, rows) = match kind.as_deref() {
        _ if rotates => ("rotary", 0),
        Some("rope" | "yarn" | "mrope") => ("rotary", 0),
        Some("none") => ("none", 0),
        None | Some("learned_absolute") => ("learned", longest),
        Some(_) => {
            if let Some(given) = reading.stated(&["position-embedding-type"]).cloned() {
                reading.not_modelled(&given, "Positions of this kind are not modelled.");
            }
            ("none", 0)
        }
    };
    let scenario = &mut reading.scenario;
    scenario.set(FieldId::MaxPositionEmbeddings, Value::Integer(longest));
    scenario.set(FieldId::PositionEmbedding, Value::Choice(kind));
    scenario.set(FieldId::PositionRows, Value::Integer(rows));
    Ok(())
}

/// The vocabulary: a stated number, GPT-2's, or that of the model whose tokenizer is used.
fn vocabulary(reading: &mut Reading<'_>, before: &Scenario) -> Result<(), LaunchError> {
    /// The size of GPT-2's vocabulary (`vocab.json` of `openai-community/gpt2`).
    const OF_GPT2: u64 = 50_257;
    let stated = count(reading, &["vocab-size"])?.or(count(reading, &["padded-vocab-size"])?);
    let kind = reading.stated(&["tokenizer-type"]).map(Given::text).unwrap_or_default();
    // `pretrain_gpt.py` uses GPT-2's tokenizer by default (`args_defaults`).
    let is_gpt2 = kind == "GPT2BPETokenizer" || kind.is_empty();
    let of_model = reading
        .stated(&["tokenizer-model"])
        .and_then(|given| model_names::row_called(&given.text()));
    let of_model = of_model.map(|(row, _)| row.config.vocab_size);
    let found = stated.or(of_model).or_else(|| is_gpt2.then_some(OF_GPT2));
    if let Some(words) = found {
        let how = if stated.is_some() { "" } else { "The vocabulary of its tokenizer." };
        reading.follows("vocab-size", FieldId::VocabSize, Value::Integer(words.max(1)), how);
        return Ok(());
    }
    let words = before.get(FieldId::VocabSize);
    reading.scenario.set(FieldId::VocabSize, words);
    let given = reading.stated(&["tokenizer-model", "tokenizer-type"]).cloned();
    let given = given.unwrap_or_else(|| {
        Given::new("vocab-size", "", crate::launch::Place { line: 1, column: 1 })
    });
    reading.not_modelled(
        &given,
        "The size of this vocabulary is not known: that of the present model stays.",
    );
    Ok(())
}

fn experts(reading: &mut Reading<'_>, sizes: &Sizes) -> Result<(), LaunchError> {
    let Some(experts) = count(reading, &["num-experts"])?.filter(|experts| *experts > 0) else {
        for id in [
            FieldId::NumExperts,
            FieldId::ExpertsPerToken,
            FieldId::ExpertWidth,
            FieldId::SharedExpertWidth,
        ] {
            reading.scenario.set(id, Value::Empty);
        }
        return Ok(());
    };
    let chosen = count(reading, &["moe-router-topk"])?.unwrap_or(2);
    let width = count(reading, &["moe-ffn-hidden-size"])?.unwrap_or(sizes.inner);
    let shared = count(reading, &["moe-shared-expert-intermediate-size"])?.unwrap_or(0);
    let layers = match reading.stated(&["moe-layer-freq"]).cloned() {
        None => LayerSet::All,
        Some(given) => layer_set(&given.text(), sizes.layers).unwrap_or_else(|| {
            reading.not_modelled(
                &given,
                "This pattern of layers is not understood: every layer is counted with experts.",
            );
            LayerSet::All
        }),
    };
    let gate = says(reading, &["moe-shared-expert-gate"]);
    let scenario = &mut reading.scenario;
    for (id, number) in [
        (FieldId::NumExperts, experts),
        (FieldId::ExpertsPerToken, chosen),
        (FieldId::ExpertWidth, width),
        (FieldId::SharedExpertWidth, shared),
    ] {
        scenario.set(id, Value::Integer(number));
    }
    scenario.set(FieldId::SharedExpertGate, Value::Flag(gate));
    scenario.set(FieldId::ExpertLayers, Value::Layers(layers));
    Ok(())
}

/// Layers with experts: `2` for every second one from the first on, or Python's `([0]*3+[1]*58)`.
fn layer_set(text: &str, layers: u64) -> Option<LayerSet> {
    const MOST: usize = 1_000;
    let plain: String = text
        .chars()
        .filter(|letter| !letter.is_whitespace() && !matches!(letter, '(' | ')' | '"' | '\''))
        .collect();
    if let Ok(every) = plain.parse::<u64>() {
        let flags = (0..layers.min(1_000)).map(|layer| layer % every.max(1) == 0);
        return Some(if every <= 1 {
            LayerSet::All
        } else {
            LayerSet::Listed(flags.collect::<Vec<_>>().into())
        });
    }
    let mut flags = Vec::new();
    for part in plain.split('+') {
        let (list, times) = part
            .split_once('*')
            .map_or((part, Some(1)), |(list, times)| (list, times.parse::<usize>().ok()));
        let inside = list.strip_prefix('[')?.strip_suffix(']')?;
        let bits: Option<Vec<bool>> =
            inside.split(',').map(|bit| Some(bit.parse::<u8>().ok()? == 1)).collect();
        let (bits, times) = (bits?, times?);
        if flags.len().saturating_add(bits.len().saturating_mul(times)) > MOST {
            return None;
        }
        for _ in 0..times {
            flags.extend_from_slice(&bits);
        }
    }
    Some(if flags.iter().all(|flag| *flag) {
        LayerSet::All
    } else {
        LayerSet::Listed(flags.into())
    })
}

/// Latent attention (`MLATransformerConfig`).
fn latent(reading: &mut Reading<'_>) -> Result<(), LaunchError> {
    let ids = [
        ("kv-lora-rank", FieldId::KvLoraRank, 32),
        ("qk-head-dim", FieldId::QkNopeHeadDim, 128),
        ("qk-pos-emb-head-dim", FieldId::QkRopeHeadDim, 64),
        ("v-head-dim", FieldId::VHeadDim, 128),
    ];
    let on = says(reading, &["multi-latent-attention"]);
    for (name, id, default) in ids {
        let width = count(reading, &[name])?.unwrap_or(default);
        reading.scenario.set(id, if on { Value::Integer(width.max(1)) } else { Value::Empty });
    }
    let query =
        count(reading, &["q-lora-rank"])?.filter(|_| on).map_or(Value::Empty, Value::Integer);
    reading.scenario.set(FieldId::QLoraRank, query);
    Ok(())
}

/// Writes the model's sizes.
pub fn write(writing: &mut Writing<'_>) {
    let model = writing.scenario.model_config();
    let say = |writing: &mut Writing<'_>, key: &str, number: u64| {
        writing.say(key, Some(number.to_string()), &[]);
    };
    writing.is_said(&[FieldId::Model, FieldId::ModelName, FieldId::Sizes]);
    say(writing, "num-layers", model.num_hidden_layers);
    say(writing, "hidden-size", model.hidden_size);
    say(writing, "num-attention-heads", model.num_attention_heads);
    if model.num_key_value_heads != model.num_attention_heads {
        writing.say("group-query-attention", None, &[]);
        say(writing, "num-query-groups", model.num_key_value_heads);
    }
    say(writing, "kv-channels", model.head_dim);
    say(writing, "ffn-hidden-size", model.intermediate_size);
    say(writing, "max-position-embeddings", model.max_position_embeddings);
    say(writing, "vocab-size", model.vocab_size);
    writing.say("tokenizer-type", Some("NullTokenizer".to_owned()), &[]);
    shape(writing, &model);
    if let Some(moe) = &model.moe {
        say(writing, "num-experts", moe.num_experts);
        say(writing, "moe-router-topk", moe.num_experts_per_tok);
        say(writing, "moe-ffn-hidden-size", moe.moe_intermediate_size);
        if moe.shared_expert_intermediate_size > 0 {
            say(
                writing,
                "moe-shared-expert-intermediate-size",
                moe.shared_expert_intermediate_size,
            );
        }
        if moe.layers != LayerSet::All {
            let flags = (0..model.num_hidden_layers)
                .map(|layer| u8::from(moe.layers.contains(layer)).to_string());
            writing.say(
                "moe-layer-freq",
                Some(format!("[{}]", flags.collect::<Vec<_>>().join(","))),
                &[],
            );
        }
    }
    if let Some(mla) = &model.mla {
        writing.say("multi-latent-attention", None, &[]);
        say(writing, "kv-lora-rank", mla.kv_lora_rank);
        say(writing, "qk-head-dim", mla.qk_nope_head_dim);
        say(writing, "qk-pos-emb-head-dim", mla.qk_rope_head_dim);
        say(writing, "v-head-dim", mla.v_head_dim);
        if let Some(rank) = mla.q_lora_rank {
            say(writing, "q-lora-rank", rank);
        }
    }
    if model.tower.is_some() || model.encoder.is_some() || model.hybrid.is_some() {
        writing.lacks("Megatron-LM's arguments do not say all of this model's layers.");
    }
}

/// Writes norms, positions, activation function, biases and tied embeddings.
fn shape(writing: &mut Writing<'_>, model: &ModelConfig) {
    use crate::config::{HiddenAct, MlpKind, Normalization, PositionEmbedding};
    if model.normalization == Normalization::RmsNorm {
        writing.say("normalization", Some("RMSNorm".to_owned()), &[]);
    }
    match model.position_embedding {
        PositionEmbedding::Rotary => {
            writing.say("position-embedding-type", Some("rope".to_owned()), &[]);
        }
        PositionEmbedding::Learned => {}
        PositionEmbedding::None => {
            writing.say("position-embedding-type", Some("none".to_owned()), &[]);
        }
        PositionEmbedding::Alibi => writing.lacks("Megatron-LM has no ALiBi."),
    }
    match (model.mlp, model.hidden_act) {
        (MlpKind::Gated, HiddenAct::Silu) => writing.say("swiglu", None, &[]),
        (MlpKind::Gated, HiddenAct::QuickGelu) => writing.say("quick-geglu", None, &[]),
        (MlpKind::Plain, HiddenAct::Relu2) => writing.say("squared-relu", None, &[]),
        (MlpKind::Plain, HiddenAct::Gelu) => {}
        _ => writing.lacks("Megatron-LM's arguments do not say this activation function."),
    }
    if !model.mlp_bias {
        writing.say("disable-bias-linear", None, &[]);
        if model.attention_bias {
            writing.say("add-qkv-bias", None, &[]);
        }
    }
    if !model.tie_word_embeddings {
        writing.say("untie-embeddings-and-output-weights", None, &[]);
    }
    if model.qk_norm {
        writing.say("qk-layernorm", None, &[]);
    }
}
