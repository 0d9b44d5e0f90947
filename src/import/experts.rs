//! Experts and latent attention.

use super::decoder::flag;
use super::reader::Reader;
use super::sizes::{MAX_SIZE, whole};
use super::value::Value;
use super::{How, ImportError};
use crate::config::{Mla, Moe};
use crate::models::{Experts, Latent};

/// Every key that says which layers have experts.
pub(super) const CHOSEN_BY: &[&str] = &[
    "mlp_layer_types",
    "decoder_sparse_step",
    "interleave_moe_layer_step",
    "moe_layer_freq",
    "first_k_dense_replace",
    "mlp_only_layers",
];
pub(super) const EXPERTS: &[&str] =
    &["num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"];
const PER_TOKEN: &[&str] = &[
    "num_experts_per_tok",
    "num_experts_per_token",
    "moe_top_k",
    "moe_topk",
    "top_k_experts",
    "experts_per_token",
    "moe_k",
];
const EXPERT_WIDTH: &[&str] = &[
    "moe_intermediate_size",
    "expert_ffn_hidden_size",
    "moe_ffn_hidden_size",
    "expert_hidden_size",
];

/// Latent attention's five widths, unless `use_mla` says that attention is not latent.
pub(super) fn latent_attention(
    file: &mut Reader<'_>,
    latent: Option<Latent>,
) -> Result<Option<Mla>, ImportError> {
    let Some(latent) = latent else { return Ok(None) };
    if !file.rare_flag("use_mla", true)? {
        file.without_effect(&[
            "q_lora_rank",
            "kv_lora_rank",
            "qk_rope_head_dim",
            "qk_nope_head_dim",
            "v_head_dim",
        ]);
        return Ok(None);
    }
    // A query that is not compressed is written as null.
    let direct = file.has("q_lora_rank") && file.peek("q_lora_rank").is_none();
    let q_lora_rank = if direct || latent.query_rank == 0 {
        file.optional(&["q_lora_rank"], MAX_SIZE)?
    } else {
        Some(file.size_or(&["q_lora_rank"], MAX_SIZE, latent.query_rank)?)
    };
    Ok(Some(Mla {
        q_lora_rank,
        kv_lora_rank: file.size_or(&["kv_lora_rank"], MAX_SIZE, latent.rank)?,
        qk_rope_head_dim: file.size_or(&["qk_rope_head_dim"], MAX_SIZE, latent.rope)?,
        qk_nope_head_dim: file.size_or(&["qk_nope_head_dim"], MAX_SIZE, latent.nope)?,
        v_head_dim: file.size_or(&["v_head_dim"], MAX_SIZE, latent.value)?,
    }))
}

/// Groups of experts, and how many of them a token may choose from.
fn groups(file: &mut Reader<'_>, experts: &Experts) -> Result<[u64; 2], ImportError> {
    let mut stated = experts.groups;
    for (key, groups) in ["n_group", "topk_group"].into_iter().zip(&mut stated) {
        // Some call them so where there are several.
        let names: &[&'static str] =
            if key == "n_group" && *groups > 1 { &["n_group", "num_expert_group"] } else { &[key] };
        if names.iter().any(|name| file.has(name)) {
            *groups = file.optional(names, MAX_SIZE)?.unwrap_or(1);
        } else if *groups > 1 {
            file.asks(key, Value::Whole(*groups), false);
        }
    }
    // DeepSeek-V2's greedy router looks at no groups.
    let greedy =
        matches!(file.peek("topk_method"), Some(Value::Text(method)) if method == "greedy");
    if greedy {
        file.done_with(&["topk_method"]);
    }
    Ok(if greedy { [1, 1] } else { stated })
}

/// The experts, if the file has any.
pub(super) fn mixture(
    file: &mut Reader<'_>,
    experts: Option<Experts>,
    inner: u64,
    layers: u64,
) -> Result<Option<Moe>, ImportError> {
    let Some(experts) = experts else { return Ok(None) };
    if let Some(key) = experts.only_if
        && !file.flag(key, false)?
    {
        return Ok(None);
    }
    let none = EXPERTS.iter().any(|key| match file.peek(key) {
        Some(Value::Whole(count)) => *count == 0 || (*count == 1 && experts.dense_if_one),
        _ => false,
    });
    if none {
        file.without_effect(EXPERTS);
        file.asks("num_experts", Value::Whole(0), true);
        return Ok(None);
    }
    let num_experts = file.size_or(EXPERTS, MAX_SIZE, experts.count)?;
    let num_experts_per_tok = per_token(file, experts)?;
    let moe_intermediate_size = width(file, &experts, inner)?;
    let may_share = experts.may_share || experts.shared > 0 || experts.shared_width > 0;
    let shared = match (experts.beside_dense, may_share) {
        (true, _) => inner,
        (false, true) => shared_width(file, &experts, moe_intermediate_size)?,
        (false, false) => 0,
    };
    if experts.beside_dense {
        let note = "The dense layer beside the experts is counted as a shared one.";
        file.tell("shared_expert_intermediate_size", &shared, How::Derived, note);
    }
    let [n_group, topk_group] = groups(file, &experts)?;
    if num_experts_per_tok > num_experts {
        return Err(ImportError::OutOfRange {
            key: "num_experts_per_tok".to_owned(),
            value: num_experts_per_tok,
            max: num_experts,
        });
    }
    Ok(Some(Moe {
        num_experts,
        num_experts_per_tok,
        moe_intermediate_size,
        shared_expert_intermediate_size: shared,
        shared_expert_gate: experts.shared_gate && shared > 0,
        layers: super::sparse_layers::with_experts(file, &experts, layers)?,
        n_group,
        topk_group,
        norm_topk_prob: flag(file, experts.norm_topk, "norm_topk_prob")?,
        bias: experts.bias,
        latent: if experts.narrows { narrowed(file)? } else { 0 },
    }))
}

/// The width that experts read and make where it is narrower than the model; 0 for none.
fn narrowed(file: &mut Reader<'_>) -> Result<u64, ImportError> {
    const KEYS: [&str; 2] = ["moe_latent_size", "routed_expert_hidden_size"];
    let stated = KEYS.iter().find_map(|key| file.peek(key));
    let width = stated.map_or(Ok(0), |value| whole(KEYS[0], value, MAX_SIZE))?;
    file.without_effect(&KEYS);
    file.asks(KEYS[0], stated.cloned().unwrap_or(Value::Null), stated.is_some());
    if width > 0 {
        file.tell(
            KEYS[0],
            &width,
            How::Read,
            "Matrices before and behind the experts bring tokens to this width and back.",
        );
    }
    Ok(width)
}

/// Inner width of one expert. Where the modules take the dense layer's, another one in the file is
/// named as not counted.
fn width(file: &mut Reader<'_>, experts: &Experts, inner: u64) -> Result<u64, ImportError> {
    // A list of two: experts for texts, and those for images, which belong to the projector.
    if let Some(Value::List(both)) =
        file.peek("moe_intermediate_size").filter(|_| experts.first_of_two)
        && let Some(first) = both.first()
    {
        let width = whole("moe_intermediate_size", first, MAX_SIZE)?;
        file.without_effect(EXPERT_WIDTH);
        file.asks("moe_intermediate_size", Value::Whole(width), true);
        file.tell("moe_intermediate_size", &width, How::Read, "That of experts for texts.");
        return Ok(width);
    }
    match experts.width {
        0 if experts.width_is_inner => {
            for key in EXPERT_WIDTH {
                let stated = file.peek(key).map(|value| whole(key, value, MAX_SIZE)).transpose()?;
                if stated.is_some_and(|stated| stated != inner) {
                    file.disagrees(key);
                }
            }
            file.without_effect(EXPERT_WIDTH);
            file.implied("moe_intermediate_size", &inner, "As intermediate_size.");
            Ok(inner)
        }
        0 => file.size_or_derived(EXPERT_WIDTH, inner, "As intermediate_size."),
        width => file.size_or(EXPERT_WIDTH, MAX_SIZE, width),
    }
}

/// Experts that every token goes through.
fn per_token(file: &mut Reader<'_>, experts: Experts) -> Result<u64, ImportError> {
    if experts.as_published && PER_TOKEN.iter().all(|key| file.peek(key).is_none()) {
        file.without_effect(PER_TOKEN);
        file.asks("num_experts_per_tok", Value::Whole(experts.per_token), false);
        let note = "The library has no default: as in the published files of this kind.";
        file.tell("num_experts_per_tok", &experts.per_token, How::Assumed, note);
        return Ok(experts.per_token);
    }
    if !experts.always {
        return file.size_or(PER_TOKEN, MAX_SIZE, experts.per_token);
    }
    file.without_effect(PER_TOKEN);
    file.tell(
        "num_experts_per_tok",
        &experts.per_token,
        How::Derived,
        "This kind's router picks as many, whatever the file says.",
    );
    Ok(experts.per_token)
}

/// Inner width of all shared experts together.
fn shared_width(file: &mut Reader<'_>, experts: &Experts, width: u64) -> Result<u64, ImportError> {
    const KEY: &str = "shared_expert_intermediate_size";
    const KEYS: [&str; 4] =
        [KEY, "shared_intermediate_size", "share_expert_dim", "share_expert_dims"];
    let keys =
        ["n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"];
    if let Some(value) = KEYS.iter().find_map(|key| file.peek(key)) {
        file.without_effect(&KEYS);
        let stated = if *value == Value::Whole(0) { 0 } else { whole(KEY, value, MAX_SIZE)? };
        file.asks(KEY, Value::Whole(stated), true);
        file.tell(KEY, &stated, How::Read, "");
        // One of that width.
        let one = keys.into_iter().filter(|key| file.peek(key) == Some(&Value::Whole(1)));
        let one: Vec<&str> = one.collect();
        file.without_effect(&one);
        return Ok(stated);
    }
    let width = match experts.one_shared {
        Some((key, default)) => file.size_or(&[key], MAX_SIZE, default)?,
        None => width,
    };
    let stated = keys.iter().find(|key| file.has(key));
    let count = match stated.and_then(|key| file.peek(key)) {
        Some(Value::Whole(0)) => 0,
        Some(value) => whole("n_shared_experts", value, MAX_SIZE)?,
        None if stated.is_some() => 0,
        None => experts.shared,
    };
    file.without_effect(&keys);
    file.asks("n_shared_experts", Value::Whole(count), stated.is_some());
    let total = if experts.shared_width > 0 && stated.is_none() {
        experts.shared_width
    } else {
        count.saturating_mul(width)
    };
    if total > 0 {
        let how = if stated.is_some() { How::Derived } else { How::Assumed };
        file.tell(KEY, &total, how, "The width of all shared experts together.");
    }
    Ok(total)
}
