//! Attention's heads: how many there are for keys and values, and how wide each one is.

use super::ImportError;
use super::decoder::truth;
use super::reader::Reader;
use super::sizes::{MAX_SIZE, head_dim_of};
use super::value::Value;
use crate::config::Mla;
use crate::models::{Attends, FamilySpec, KeyValueHeads};

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

/// Key/value heads. A key that is there but null means as many as query heads, whatever the
/// default.
pub(super) fn key_value_heads(
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
pub(super) fn has_new_decoder(file: &Reader<'_>) -> bool {
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

/// The width of a head.
pub(super) fn head_dim(
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
