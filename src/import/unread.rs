//! Keys that were not understood and may change the answer.

use super::decoder;
use super::reader::Reader;
use super::sizes::whole;
use super::value::{Object, Value};
use crate::config::{ModelConfig, PositionEmbedding};
use crate::models::{self, FURTHER, FamilySpec, VISION};

/// A key whose name holds one of these may be about a shape.
const ABOUT_SHAPES: [&str; 12] = [
    "head", "layer", "kv", "expert", "window", "dim", "size", "rank", "group", "pattern", "share",
    "type",
];

/// Keys that sound as if they were about a shape and change none, by the reason why.
const HARMLESS: [(&str, &[&str]); 13] = [
    ("there is an output head, which is counted", &["lm_head"]),
    ("how images are cut and seen", &["patch_size", "query_num"]),
    (
        "a small number inside norms",
        &["layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "layernorm_eps"],
    ),
    (
        "how text is generated",
        &[
            "num_beam_groups",
            "no_repeat_ngram_size",
            "encoder_no_repeat_ngram_size",
            "cache_type",
            "num_return_sequences",
        ],
    ),
    (
        "classes and summaries of other tasks",
        &[
            "summary_type",
            "problem_type",
            "pruned_heads",
            "head_pruning",
            "num_labels",
            "type_vocab_size",
        ],
    ),
    (
        "how training or a kernel goes about it",
        &[
            "chunk_size_feed_forward",
            "layerdrop",
            "decoder_layerdrop",
            "layer_dropout",
            "moe_shared_expert_overlap",
            "moe_router_load_balancing_type",
            "rescale_layers",
            "rescale_every_n_layers",
        ],
    ),
    (
        "how a server or a cluster is laid out",
        &[
            "ep_size",
            "tp_size",
            "use_grouped_mm",
            "prefill_chunk_size",
            "context_window_size",
            "max_batch_size",
        ],
    ),
    (
        "which experts are picked: all of them are held",
        &[
            "num_expert_group",
            "num_expert_groups",
            "num_limited_groups",
            "use_grouped_topk",
            "expert_bias_update_rate",
            "score_func_type",
        ],
    ),
    (
        "how positions are rotated, or scores scaled",
        &[
            "rope_type",
            "rotary_type",
            "rope_scaling_type",
            "lm_head_multiplier",
            "scale_attn_by_inverse_layer_idx",
        ],
    ),
    (
        "a number that scales what is added to the residual stream",
        &[
            "layernorm_full_attention_alpha",
            "layernorm_full_attention_beta",
            "layernorm_linear_attention_alpha",
            "layernorm_linear_attention_beta",
            "layernorm_mlp_alpha",
            "layernorm_mlp_beta",
            "shared_moe_mode",
            "apply_residual_connection_post_layernorm",
        ],
    ),
    (
        "which indices layers that predict further tokens take over: these layers are left out",
        &["index_share_for_mtp_iteration"],
    ),
    ("how quantised weights are stored", &["groupsize", "wbits"]),
    ("an activation without weights", &["output_gate_type", "hidden_act_type"]),
];

/// Groups of keys that are read elsewhere, or describe no layer.
const APART: [&str; 14] = [
    "rope_parameters",
    "rope_scaling",
    "compress_rope_parameters",
    "quantization_config",
    "auto_map",
    "id2label",
    "label2id",
    "task_specific_params",
    "init_config",
    "generation_config",
    "compression_config",
    "linear_attn_config",
    "transformers.js_config",
    "quantization",
];

/// Keys of an unknown kind that are about no shape although nothing has read them.
const PLAIN_WORDS: [&str; 26] = [
    "_id",
    "_ids",
    "_token",
    "token_",
    "dropout",
    "_drop",
    "initializer",
    "init_",
    "eps",
    "theta",
    "rope",
    "rotary",
    "version",
    "cache",
    "architectures",
    "name_or_path",
    "auto_map",
    "gradient_checkpointing",
    "attn_implementation",
    "flash_attn",
    "do_sample",
    "temperature",
    "top_p",
    "pretraining_tp",
    "aux_loss",
    "return_dict",
];

/// Names of the keys that nothing has looked at and that may change the answer, dotted where
/// nested; of an unknown kind every one that says something. A file that goes by no name of its own
/// says none.
pub(super) fn not_counted(
    file: &Reader<'_>,
    kind: &FamilySpec,
    named: Option<&str>,
    config: &ModelConfig,
) -> Vec<String> {
    let known = !kind.names.is_empty();
    let mut found: Vec<String> = file.disagreeing().map(str::to_owned).collect();
    found.extend(kind.never_counted.iter().map(|key| (*key).to_owned()));
    if named.is_some() && config.task.is_none() && contradicts(file, kind, known) {
        found.push("architectures".to_owned());
    }
    if known
        && named
            .is_some_and(|name| !kind.names.contains(&name) && !kind.told_by_class.contains(&name))
    {
        found.push("model_type".to_owned());
    }
    let counted = Counted { kind, config, switched_off: off(file) };
    let harmless = super::tower::not_looked_at(file);
    let groups = file.groups_of_tower();
    for (key, value) in file.unused() {
        if let Some(of_tower) = key.strip_prefix(VISION).or_else(|| key.strip_prefix(FURTHER)) {
            let may_change =
                is_size_of_tower(of_tower, value) || counted.may_change(of_tower, value, true);
            if !harmless.contains(&of_tower) && may_change {
                found.push(key.to_owned());
            }
            continue;
        }
        match value {
            Value::Object(inner) if !is_apart(key) && !groups.contains(&key) => {
                found.extend(nested(key, inner, &counted));
            }
            _ if counted.may_change(key, value, known) => found.push(key.to_owned()),
            _ => {}
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Sizes of towers that text parts have under other names.
fn is_size_of_tower(key: &str, value: &Value) -> bool {
    says_something(value)
        && ["depth", "width", "ratio", "channels", "dim"].iter().any(|part| key.contains(part))
}

/// Groups that describe another part of the model, or no layer at all.
fn is_apart(key: &str) -> bool {
    APART.contains(&key) || super::left_out::is_a_part(key)
}

/// Suspicious keys one level deeper.
fn nested(group: &str, inner: &Object, counted: &Counted<'_>) -> Vec<String> {
    let suspicious = inner.iter().filter(|(key, value)| counted.may_change(key, value, true));
    suspicious.map(|(key, _)| format!("{group}.{key}")).collect()
}

/// A window that the file says is not used.
fn off(file: &Reader<'_>) -> bool {
    matches!(file.peek("use_sliding_window"), Some(Value::Bool(false)))
}

/// The class under `architectures` is another than the kind's, or predicts no text; of a file with
/// a text part, that around it.
fn contradicts(file: &Reader<'_>, kind: &FamilySpec, known: bool) -> bool {
    if file.is_saved_without_text(kind) {
        return true;
    }
    let Some(Value::List(classes)) = file.peek("architectures") else { return false };
    let Some(Value::Text(class)) = classes.first() else { return false };
    let is_stated = kind.saved_with.contains(&class.strip_suffix("ForCausalLM").unwrap_or(class));
    known
        && !is_stated
        && models::of_class(class).is_none_or(|of_class| !kind.may_be_saved_as(of_class.class))
}

/// The sizes that are counted, to tell whether a key says something else.
struct Counted<'a> {
    kind: &'a FamilySpec,
    config: &'a ModelConfig,
    switched_off: bool,
}

impl Counted<'_> {
    /// True if the key may change the sizes that are counted.
    fn may_change(&self, key: &str, value: &Value, known: bool) -> bool {
        let name = key.to_ascii_lowercase();
        let has = |part: &str| name.contains(part);
        let is_suspect = ABOUT_SHAPES.iter().any(|part| has(part));
        let looks_plain = PLAIN_WORDS.iter().any(|part| has(part));
        (is_suspect || (!known && !looks_plain))
            && says_something(value)
            // The format of numbers is chosen apart.
            && !name.ends_with("dtype")
            && !HARMLESS.iter().any(|(_, keys)| keys.contains(&name.as_str()))
            && !self.kind.not_looked_at.contains(&name.as_str())
            && !super::left_out::is_a_part(key)
            && !self.is_idle(&name)
            && !self.says_the_same(&name, value)
    }

    /// Settings of something that this model does not have.
    fn is_idle(&self, name: &str) -> bool {
        let starts = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        let of_experts = starts(&[
            "moe_",
            "num_experts_per",
            "norm_topk",
            "topk_",
            "n_shared_exp",
            "num_shared_exp",
            "shared_exp",
        ]) || name.contains("expert_") && !name.contains("num_");
        (self.config.moe.is_none() && of_experts && self.kind.experts.is_some())
            || (self.config.mixer().is_none()
                && starts(&["mamba_", "ssm_"])
                && self.kind.states.is_some())
            || (self.switched_off && name.contains("window"))
    }

    /// The counted size that files of other kinds give that name.
    fn counted_by_name(&self, name: &str) -> Option<u64> {
        let config = self.config;
        let sizes = [
            (decoder::HIDDEN, config.hidden_size),
            (decoder::LAYERS, config.num_hidden_layers),
            (decoder::HEADS, config.num_attention_heads),
            (super::attention_heads::KV_HEADS, config.num_key_value_heads),
            (super::attention_heads::HEAD, config.head_dim),
            (decoder::INNER, config.intermediate_size),
            (decoder::VOCAB, config.vocab_size),
        ];
        sizes.into_iter().find(|(names, _)| names.contains(&name)).map(|(_, counted)| counted)
    }

    /// The value is the one that is counted.
    fn says_the_same(&self, name: &str, value: &Value) -> bool {
        let config = self.config;
        match value {
            Value::Whole(number) if self.counted_by_name(name) == Some(*number) => true,
            Value::Whole(number) if name == "qk_head_dim" => {
                config.mla.is_some_and(|mla| mla.qk_head_dim() == *number)
            }
            Value::Whole(number) if name.contains("window") => {
                config.sliding_window == Some(*number)
            }
            Value::Whole(number) if name.ends_with("dim") || name.ends_with("dim_out") => {
                *number == config.hidden_size && self.kind.further_widths_repeat_hidden
            }
            Value::Text(word)
                if name == "position_embedding_type" || name == "position_embedding" =>
            {
                matches!(
                    (word.as_str(), config.position_embedding),
                    ("absolute" | "learned" | "learned_absolute", PositionEmbedding::Learned)
                        | ("rope" | "rotary", PositionEmbedding::Rotary)
                        | ("alibi", PositionEmbedding::Alibi)
                        | ("nope", PositionEmbedding::None)
                )
            }
            Value::Whole(_) if name == "pad_vocab_size_multiple" => {
                whole(name, value, config.vocab_size)
                    .is_ok_and(|multiple| config.vocab_size.is_multiple_of(multiple))
            }
            _ => false,
        }
    }
}

/// Nothing is switched on by null, false, zero, an empty text or an empty list.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) | Value::Whole(0) => false,
        Value::OtherNumber(number) => number != "-1",
        Value::Text(text) => !text.is_empty() && text != "none" && text != "default",
        Value::List(items) => items.iter().any(says_something),
        Value::Object(keys) => keys.values().any(says_something),
        Value::Bool(true) | Value::Whole(_) => true,
    }
}
