//! From a file of a known kind to the architecture.

use super::encoder::encoder;
use super::experts::{latent_attention, mixture};
use super::heads::other_heads;
use super::hybrid::hybrid;
use super::layers;
use super::reader::{MAX_POSITIONS, MAX_SIZE, Reader, head_dim_of};
use super::rotation::rotary_dim;
use super::streams::streams;
use super::value::Value;
use super::{How, ImportError};
use crate::config::{HiddenAct, LayerSet, Mla, ModelConfig, PositionEmbedding};
use crate::models::{Attends, FamilySpec, Flag, KeyValueHeads, Norms, Positions, Ties, Window};

/// Every name a size has in some file; this program's own comes first.
pub(super) const HIDDEN: &[&str] =
    &["hidden_size", "n_embd", "d_model", "n_embed", "model_dim", "dim", "emb_dim", "embed_dim"];
pub(super) const LAYERS: &[&str] =
    &["num_hidden_layers", "n_layer", "n_layers", "num_layers", "layers"];
pub(super) const HEADS: &[&str] =
    &["num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"];
pub(super) const KV_HEADS: &[&str] = &[
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "kv_n_heads",
    "n_kv_heads",
    "num_query_groups",
    "multi_query_group_num",
];
pub(super) const HEAD: &[&str] = &["head_dim", "attention_head_size", "kv_channels"];
pub(super) const INNER: &[&str] = &[
    "intermediate_size",
    "block_ff_dim",
    "ffn_dim",
    "n_inner",
    "ffn_hidden_size",
    "feed_forward_size",
    "d_ff",
    "inner_dim",
];
pub(super) const VOCAB: &[&str] = &["vocab_size", "padded_vocab_size", "n_vocab", "n_words"];
const POSITIONS: &[&str] = &[
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "model_max_length",
];

/// Reads a file of that kind.
pub(super) fn decoder(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
) -> Result<ModelConfig, ImportError> {
    let sizes = kind.sizes;
    let states_a_size =
        [HIDDEN, LAYERS, HEADS].into_iter().flatten().any(|key| file.peek(key).is_some());
    // The text part of a larger model may leave everything to the library, if it says whose
    // defaults these are.
    if !states_a_size && !file.is_a_part_with_a_kind() {
        return Err(ImportError::Missing { key: "hidden_size" });
    }
    super::only::check(file, kind)?;
    let hidden_size = file.size_or(kind.names_of(HIDDEN), MAX_SIZE, sizes.hidden)?;
    let num_hidden_layers = super::source::layers_of(file, kind)?;
    let num_hidden_layers = num_hidden_layers.saturating_sub(layers::crossed(file, kind)).max(1);
    let num_attention_heads = file.size_or(kind.names_of(HEADS), MAX_SIZE, sizes.heads)?;
    let mla = latent_attention(file, kind.latent)?;
    let num_key_value_heads = key_value_heads(file, kind, num_attention_heads)?;
    let head_dim = head_dim(file, kind, hidden_size, num_attention_heads, mla)?;
    let expert_width = super::inner::inner(file, kind, hidden_size)?;
    let intermediate_size = dense_inner(file, kind, expert_width)?;
    let vocab_size = vocabulary(file, kind)?;
    let max_position_embeddings =
        file.size_or(kind.own_names_of(POSITIONS), MAX_POSITIONS, sizes.positions)?;
    let tie_word_embeddings = is_tied(file, kind)?;
    let parallel_residual = flag(file, kind.parallel, "parallel_residual")?;
    let (position_embedding, extra) = positions(file, kind.positions)?;
    let rotates = position_embedding == PositionEmbedding::Rotary && mla.is_none();
    let rotary_dim = if rotates { rotary_dim(file, kind, head_dim)? } else { None };
    let (sliding_window, sliding_layers) = windows(file, kind, num_hidden_layers)?;
    let moe = mixture(file, kind.experts, expert_width, num_hidden_layers)?;
    let config = ModelConfig {
        hidden_size,
        num_hidden_layers,
        num_attention_heads,
        num_key_value_heads,
        head_dim,
        intermediate_size,
        vocab_size,
        max_position_embeddings,
        position_rows: max_position_embeddings.saturating_add(extra),
        normalization: kind.normalization,
        mlp: kind.mlp,
        position_embedding,
        attention_bias: flag(file, kind.attention_bias, "attention_bias")?,
        attention_output_bias: flag(file, kind.output_bias, "attention_output_bias")?,
        mlp_bias: flag(file, kind.mlp_bias, "mlp_bias")?,
        tie_word_embeddings,
        qk_norm: flag(file, kind.qk_norm, "qk_norm")?,
        embedding_norm: kind.embedding_norm,
        final_norm: kind.final_norm,
        family: kind.family(),
        hidden_act: activation(file, kind)?,
        rotary_dim,
        sliding_window,
        chunks: kind.chunks && sliding_window.is_some(),
        sliding_layers,
        moe,
        mla,
        parallel_residual,
        attention_sinks: kind.sinks,
        attn_logit_softcapping: flag(file, kind.attention_cap, "attn_logit_softcapping")?,
        final_logit_softcapping: flag(file, kind.logit_cap, "final_logit_softcapping")?,
        lm_head_bias: flag(file, kind.head_bias, "lm_head_bias")?,
        ..ModelConfig::plain()
    };
    finished(file, kind, config)
}

/// Rows of the token embedding; of a kind that reads no text, those that stand for what is masked
/// or summed up.
fn vocabulary(file: &mut Reader<'_>, kind: &FamilySpec) -> Result<u64, ImportError> {
    if kind.not_looked_at.contains(&"vocab_size") {
        file.implied("vocab_size", &kind.sizes.vocab, "It reads no text.");
        return Ok(kind.sizes.vocab);
    }
    file.size_or(kind.names_of(VOCAB), MAX_SIZE, kind.sizes.vocab)
}

/// True if the output head reuses the token embedding.
fn is_tied(file: &mut Reader<'_>, kind: &FamilySpec) -> Result<bool, ImportError> {
    match kind.ties {
        Ties::Stated => file.tied(kind.tied),
        Ties::OfText => file.flag("tie_word_embeddings", kind.tied),
        Ties::Never => Ok(false),
        Ties::Always => Ok(true),
    }
}

/// Inner width of dense layers, where `intermediate_size` is that of experts.
fn dense_inner(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    expert_width: u64,
) -> Result<u64, ImportError> {
    match kind.dense_inner {
        Some((key, 0)) => file.size_or_derived(&[key], expert_width, "As intermediate_size."),
        Some((key, default)) => file.size_or(&[key], MAX_SIZE, default),
        None => Ok(expert_width),
    }
}

/// Completes an architecture by the parts that follow from the rest of it.
fn finished(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    mut config: ModelConfig,
) -> Result<ModelConfig, ImportError> {
    config.norms_per_block = norms(file, kind, &mut config)?;
    if kind.moves_norms_and_narrows_embedding {
        norm_order_and_embedding(file, &mut config)?;
    }
    if kind.heads_fill_hidden
        && config.num_attention_heads.saturating_mul(config.head_dim) != config.hidden_size
    {
        return Err(ImportError::not_modelled("heads that do not fill its hidden size (head_dim)"));
    }
    tell_implied(file, kind, &config);
    encoder(file, kind, &mut config)?;
    if let Some((key, rank)) = kind.norm_gate {
        config.norm_gate_rank = file.size_or(&[key], MAX_SIZE, rank)?;
    }
    super::source::source(file, kind, &mut config)?;
    hybrid(file, kind, &mut config)?;
    other_heads(file, kind, &mut config)?;
    super::indexer::indexer(file, kind, &mut config)?;
    streams(file, kind, &mut config)?;
    config.tower = super::tower::tower(file, &config)?;
    super::task::task(file, &mut config)?;
    Ok(config)
}

/// Layers with a window; of kinds with states, `layer_types` says which layers have these instead.
fn windows(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    layers: u64,
) -> Result<(Option<u64>, LayerSet), ImportError> {
    match kind.window {
        Window::None if kind.chunks => super::chunks::chunks(file, layers),
        Window::None if kind.states.is_some() => Ok((None, LayerSet::None)),
        Window::Around { period, window } => layers::around(file, layers, [period, window]),
        _ => layers::sliding(file, kind, layers),
    }
}

/// Facts of the kind that nobody states, as report lines.
fn tell_implied(file: &mut Reader<'_>, kind: &FamilySpec, config: &ModelConfig) {
    let fixed = |flag: Flag| matches!(flag, Flag::Is(true));
    let facts = [
        (fixed(kind.attention_bias), "attention_bias"),
        (fixed(kind.qk_norm), "qk_norm"),
        (fixed(kind.parallel), "parallel_residual"),
        (kind.embedding_norm, "embedding_norm"),
        (kind.sinks, "attention_sinks"),
        (fixed(kind.head_bias), "lm_head_bias"),
    ];
    for (_, name) in facts.into_iter().filter(|(is, _)| *is) {
        file.implied(name, &true, "Every model of this kind has it.");
    }
    if config.position_rows != config.max_position_embeddings {
        let note = "This kind's position table has more rows than positions.";
        file.implied("position_rows", &config.position_rows, note);
    }
}

/// One yes or no.
pub(super) fn flag(
    file: &mut Reader<'_>,
    flag: Flag,
    name: &'static str,
) -> Result<bool, ImportError> {
    match flag {
        Flag::Is(yes) => Ok(yes),
        Flag::Key(key, default) => file.flag_as(key, name, default),
        Flag::Number(key, default) if !file.has(key) => {
            file.asks(key, Value::Bool(default), false);
            file.tell(name, &default, How::Assumed, "The library's default.");
            Ok(default)
        }
        Flag::Number(key, _) => {
            let yes = !matches!(file.peek(key), None | Some(Value::Bool(false)));
            file.without_effect(&[key]);
            file.asks(key, Value::Bool(yes), true);
            file.tell(name, &yes, How::Read, "");
            Ok(yes)
        }
    }
}

/// Key/value heads. A key that is there but null means as many as query heads, whatever the
/// default.
fn key_value_heads(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    heads: u64,
) -> Result<u64, ImportError> {
    if kind.latent.is_some() {
        file.without_effect(KV_HEADS);
        file.implied("num_key_value_heads", &heads, "As many as query heads: latent attention.");
        return Ok(heads);
    }
    let may_be_named = match kind.key_value_heads {
        KeyValueHeads::AsQueryHeads => {
            file.without_effect(KV_HEADS);
            file.implied(
                "num_key_value_heads",
                &heads,
                "As many as query heads: its modules have no others.",
            );
            return Ok(heads);
        }
        KeyValueHeads::OneOrAll => return one_or_all(file, heads),
        KeyValueHeads::OneOrAllInOldDecoder if !has_new_decoder(file) => {
            return one_or_all(file, heads);
        }
        KeyValueHeads::StatedOrNamed => true,
        KeyValueHeads::Stated | KeyValueHeads::OneOrAllInOldDecoder => false,
    };
    let names = kind.names_of(KV_HEADS);
    let absent = !names.iter().any(|key| file.has(key));
    // Others look at the number alone.
    if absent
        && may_be_named
        && let Some(count) = kind_of_attention(file, heads)
    {
        file.implied(
            "num_key_value_heads",
            &count,
            "From the kind of attention that the file names.",
        );
        return Ok(count);
    }
    if absent && kind.sizes.kv_heads > 0 {
        file.takes_default("num_key_value_heads", kind.sizes.kv_heads);
        return Ok(kind.sizes.kv_heads);
    }
    file.size_or_derived(names, heads, "As many as query heads: multi-head attention.")
}

/// MPT and GPT-BigCode name the kind of attention where others state a number.
fn kind_of_attention(file: &mut Reader<'_>, heads: u64) -> Option<u64> {
    let count = match (file.peek("multi_query"), file.peek("attn_type")) {
        (Some(Value::Bool(true)), _) => Some(1),
        (Some(Value::Bool(false)), _) => Some(heads),
        (_, Some(Value::Text(kind))) if kind == "multiquery_attention" => Some(1),
        (_, Some(Value::Text(kind))) if kind == "multihead_attention" => Some(heads),
        _ => None,
    };
    file.done_with(&["multi_query", "attn_type"]);
    count
}

/// Falcon's decoder with groups of heads; before it had a switch, its name was that of the 40 B
/// model.
fn has_new_decoder(file: &Reader<'_>) -> bool {
    truth(file, "new_decoder_architecture")
        || matches!(file.peek("model_type"), Some(Value::Text(name)) if name == "RefinedWeb")
}

/// Falcon's older models and GPT-BigCode have one key/value head, or as many as query heads; they
/// do not look at `num_kv_heads`.
fn one_or_all(file: &mut Reader<'_>, heads: u64) -> Result<u64, ImportError> {
    let one = file.flag("multi_query", true)?;
    file.without_effect(KV_HEADS);
    let count = if one { 1 } else { heads };
    file.implied("num_key_value_heads", &count, "From multi_query.");
    Ok(count)
}

fn head_dim(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    hidden: u64,
    heads: u64,
    mla: Option<Mla>,
) -> Result<u64, ImportError> {
    if let Some(mla) = mla {
        file.without_effect(HEAD);
        let width = mla.qk_head_dim();
        file.implied("head_dim", &width, "qk_nope_head_dim + qk_rope_head_dim.");
        return Ok(width);
    }
    let names = kind.names_of(HEAD);
    let absent = !names.iter().any(|key| file.has(key));
    if absent && kind.sizes.head > 0 {
        file.takes_default("head_dim", kind.sizes.head);
        return Ok(kind.sizes.head);
    }
    if let Some(stated) = file.optional(names, MAX_SIZE)? {
        return Ok(stated);
    }
    // Shared blocks read embedded tokens beside hidden states.
    let hidden =
        if kind.states.is_some_and(|states| matches!(states.attends, Attends::Shared { .. })) {
            hidden.saturating_mul(2)
        } else {
            hidden
        };
    let derived = if kind.rounds_heads_down && hidden >= heads {
        hidden / heads
    } else {
        head_dim_of(hidden, heads)?
    };
    file.asks("head_dim", Value::Whole(derived), false);
    file.implied("head_dim", &derived, "The width of attention's input / num_attention_heads.");
    Ok(derived)
}

pub(super) fn truth(file: &Reader<'_>, key: &str) -> bool {
    matches!(file.peek(key), Some(Value::Bool(true)))
}

/// How positions enter, and rows that the table has beyond positions.
fn positions(
    file: &mut Reader<'_>,
    rule: Positions,
) -> Result<(PositionEmbedding, u64), ImportError> {
    let found = match rule {
        Positions::Are(kind) => return Ok((kind, 0)),
        Positions::LearnedPlus(rows) => return Ok((PositionEmbedding::Learned, rows)),
        Positions::AlibiOrRotary if file.flag("alibi", false)? => PositionEmbedding::Alibi,
        Positions::AlibiOrRotary => PositionEmbedding::Rotary,
        Positions::RotaryUnlessNull => {
            let nested = match file.peek("rope_parameters") {
                Some(Value::Object(own)) => own.get("rope_theta"),
                _ => None,
            };
            let null = nested == Some(&Value::Null)
                || (file.has("rope_theta") && file.peek("rope_theta").is_none());
            if null { PositionEmbedding::None } else { PositionEmbedding::Rotary }
        }
        Positions::RotaryIfNamed => {
            let named = matches!(file.peek("position_embedding_type"), Some(Value::Text(word)) if word == "rope");
            file.without_effect(&["position_embedding_type"]);
            if named { PositionEmbedding::Rotary } else { PositionEmbedding::None }
        }
        Positions::RotaryIf(key) if file.rare_flag(key, false)? => PositionEmbedding::Rotary,
        Positions::RotaryIf(_) => PositionEmbedding::None,
        Positions::BySwitches => {
            let (rope, alibi, learned) =
                (truth(file, "rope"), file.peek("alibi"), file.peek("learned_pos_emb"));
            let no = |value: Option<&Value>| matches!(value, Some(Value::Bool(false)));
            file.done_with(&["rope", "alibi", "learned_pos_emb"]);
            match (rope, no(alibi), no(learned)) {
                (true, ..) => PositionEmbedding::Rotary,
                (false, false, _) => PositionEmbedding::Alibi,
                (false, true, false) => PositionEmbedding::Learned,
                (false, true, true) => {
                    return Err(ImportError::not_modelled(
                        "no position embedding at all (learned_pos_emb)",
                    ));
                }
            }
        }
    };
    let name = format!("{found:?}").to_ascii_lowercase();
    file.tell("position_embedding", &name, How::Derived, "From the file's switches.");
    Ok((found, 0))
}

/// The activation function of that name, if it is known.
pub(super) fn named_activation(word: &str) -> Option<HiddenAct> {
    Some(match word {
        "silu" | "swish" | "swiglu" => HiddenAct::Silu,
        "gelu" | "gelu_pytorch_tanh" | "gelu_python" | "gelu_10" | "geglu" | "gelu_accurate" => {
            HiddenAct::Gelu
        }
        "gelu_new" => HiddenAct::GeluNew,
        "gelu_fast" => HiddenAct::GeluFast,
        "quick_gelu" => HiddenAct::QuickGelu,
        "relu" => HiddenAct::Relu,
        "relu2" | "relu_squared" | "sqrelu" => HiddenAct::Relu2,
        "xielu" => HiddenAct::Xielu,
        _ => return None,
    })
}

/// The activation function, by the operators that compute it.
fn activation(file: &mut Reader<'_>, kind: &FamilySpec) -> Result<HiddenAct, ImportError> {
    let default = kind.act;
    if kind.not_looked_at.contains(&"hidden_act") {
        return Ok(default);
    }
    let keys =
        ["hidden_activation", "mlp_hidden_act", "hidden_act", "activation_function", "activation"];
    let Some((key, value)) = keys.iter().find_map(|key| file.peek(key).map(|value| (*key, value)))
    else {
        file.asks("hidden_act", Value::Text(name_of(default).to_owned()), false);
        file.tell("hidden_act", &name_of(default), How::Assumed, "The library's default.");
        return Ok(default);
    };
    let Value::Text(word) = value else { return Err(ImportError::wrong_type(key, "text", value)) };
    let Some(known) = named_activation(word) else {
        file.without_effect(&keys);
        file.asks("hidden_act", Value::Text(name_of(HiddenAct::GeluNew).to_owned()), true);
        let note = "Not a function known here: counted as gelu_new, which keeps the most.";
        file.upper_bound("hidden_act", word, note);
        return Ok(HiddenAct::GeluNew);
    };
    file.without_effect(&keys);
    file.asks("hidden_act", Value::Text(name_of(known).to_owned()), true);
    let note =
        if key == "hidden_act" { String::new() } else { format!("The file calls it {key}.") };
    file.tell("hidden_act", &name_of(known), How::Read, note);
    Ok(known)
}

fn name_of(act: HiddenAct) -> &'static str {
    match act {
        HiddenAct::Silu => "silu",
        HiddenAct::Gelu => "gelu",
        HiddenAct::GeluNew => "gelu_new",
        HiddenAct::GeluFast => "gelu_fast",
        HiddenAct::QuickGelu => "quick_gelu",
        HiddenAct::Relu => "relu",
        HiddenAct::Relu2 => "relu2",
        HiddenAct::Xielu => "xielu",
    }
}

/// Norms in a block.
fn norms(
    file: &mut Reader<'_>,
    kind: &FamilySpec,
    config: &mut ModelConfig,
) -> Result<u64, ImportError> {
    match kind.norms {
        Norms::Are(count) => Ok(count),
        Norms::OneIfParallel => Ok(if config.parallel_residual { 1 } else { 2 }),
        Norms::FourUnless(key) => Ok(if file.flag(key, true)? { 4 } else { 2 }),
        Norms::ByDecoder => {
            let new = file.rare_flag("new_decoder_architecture", false)? || has_new_decoder(file);
            let stated = file.optional(&["num_ln_in_parallel_attn"], 2)?;
            config.new_decoder_architecture = new;
            Ok(match (new, config.parallel_residual, stated) {
                (true, _, stated) => stated.unwrap_or(2),
                (false, true, stated) => stated.unwrap_or(1),
                (false, false, _) => 2,
            })
        }
    }
}

/// Where norms stand, and how wide the embedding is, as OPT's files say it.
fn norm_order_and_embedding(
    file: &mut Reader<'_>,
    config: &mut ModelConfig,
) -> Result<(), ImportError> {
    if !file.rare_flag("layer_norm_elementwise_affine", true)? {
        return Err(ImportError::not_modelled(
            "norms without parameters (layer_norm_elementwise_affine)",
        ));
    }
    let norm_first = file.rare_flag("do_layer_norm_before", true)?;
    let removed = file.rare_flag("_remove_final_layer_norm", false)?;
    config.final_norm = norm_first && !removed;
    let embedding =
        file.size_or_derived(&["word_embed_proj_dim"], config.hidden_size, "As hidden_size.")?;
    config.word_embed_proj_dim = Some(embedding).filter(|width| *width != config.hidden_size);
    Ok(())
}
