//! From a file of a known kind to the architecture.

use super::activation::activation;
use super::attention_heads::{has_new_decoder, head_dim, key_value_heads};
use super::encoder::encoder;
use super::experts::{latent_attention, mixture};
use super::heads::other_heads;
use super::hybrid::hybrid;
use super::layers;
use super::reader::Reader;
use super::rotation::rotary_dim;
use super::sizes::{MAX_POSITIONS, MAX_SIZE};
use super::streams::streams;
use super::value::Value;
use super::{How, ImportError};
use crate::config::{LayerSet, ModelConfig, PositionEmbedding};
use crate::models::{FamilySpec, Flag, Norms, Positions, Ties, Window};

/// Every name a size has in some file; this program's own comes first.
pub(super) const HIDDEN: &[&str] =
    &["hidden_size", "n_embd", "d_model", "n_embed", "model_dim", "dim", "emb_dim", "embed_dim"];
pub(super) const LAYERS: &[&str] =
    &["num_hidden_layers", "n_layer", "n_layers", "num_layers", "layers"];
pub(super) const HEADS: &[&str] =
    &["num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"];
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
    states_a_size(file)?;
    super::only::check(file, kind)?;
    let hidden_size = file.size_or(kind.names_of(HIDDEN), MAX_SIZE, sizes.hidden)?;
    let num_hidden_layers = super::source::layers_of(file, kind)?;
    let num_hidden_layers =
        num_hidden_layers.saturating_sub(layers::crossed(file, kind, num_hidden_layers)).max(1);
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

/// Refuses a file that states no size; the text part of a larger model may leave everything to the
/// library, if it says whose defaults these are.
fn states_a_size(file: &Reader<'_>) -> Result<(), ImportError> {
    let states_a_size =
        [HIDDEN, LAYERS, HEADS].into_iter().flatten().any(|key| file.peek(key).is_some());
    if states_a_size || file.is_a_part_with_a_kind() {
        Ok(())
    } else {
        Err(ImportError::Missing { key: "hidden_size" })
    }
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
    match super::tower::ties(file).unwrap_or(kind.ties) {
        Ties::Stated => file.tied(kind.tied),
        Ties::Either => Ok(file.tied(kind.tied)? || file.flag("tie_word_embeddings", kind.tied)?),
        Ties::OfWhole(default) => Ok(file.tied_by_whole(default)),
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

pub(super) fn truth(file: &Reader<'_>, key: &str) -> bool {
    matches!(file.peek(key), Some(Value::Bool(true)))
}

/// MPT's own code adds learned positions where transformers has ALiBi whatever the file says.
const TABLE_OF_FOUNDRY: &str =
    "A table of positions is counted, which the class of transformers does not have.";

/// How positions enter, and rows that the table has beyond positions.
fn positions(
    file: &mut Reader<'_>,
    rule: Positions,
) -> Result<(PositionEmbedding, u64), ImportError> {
    let found = match rule {
        Positions::Are(kind) => return Ok((kind, 0)),
        Positions::LearnedPlus(rows) => return Ok((PositionEmbedding::Learned, rows)),
        Positions::BehindPadding(default) => {
            let pad = match file.peek("pad_token_id") {
                Some(Value::Whole(0)) => 0,
                _ => file.optional(&["pad_token_id"], MAX_SIZE)?.unwrap_or(default),
            };
            file.done_with(&["pad_token_id"]);
            return Ok((PositionEmbedding::Learned, pad.saturating_add(1)));
        }
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
                (false, true, false) => {
                    file.upper_bound("learned_pos_emb", &true, TABLE_OF_FOUNDRY);
                    PositionEmbedding::Learned
                }
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
