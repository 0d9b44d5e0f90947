//! Kinds whose parameters alone are counted: files that state sizes in groups of keys and in lists.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::import::{ImportError, config_json};
use headroom::ops::parameters_of;
use headroom::scenario::{Scenario, codec};
use serde_json::{Value as Json, json};

fn parameters(file: &Json) -> u64 {
    parameters_of(
        &config_json(&file.to_string()).unwrap_or_else(|problem| panic!("{problem}")).config,
    )
}

fn refusal(file: &Json) -> String {
    config_json(&file.to_string()).err().as_ref().map(ImportError::to_string).unwrap_or_default()
}

/// The parameters that a scenario counts once it has taken a file over, and once its link has been
/// opened.
fn linked(file: &Json) -> [u64; 2] {
    let mut scenario = Scenario::default();
    scenario.apply_imported(&config_json(&file.to_string()).expect("a file"));
    let opened = codec::decode(&codec::encode(&scenario)).scenario;
    [scenario, opened].map(|scenario| parameters_of(&scenario.model_config()))
}

fn latent() -> Json {
    json!({
        "model_type": "dots3_note_text", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 4, "vocab_size": 1000, "moe_intermediate_size": 64, "n_routed_experts": 8, "num_experts_per_tok": 2,
        "q_lora_rank": 96, "kv_lora_rank": 64, "qk_rope_head_dim": 16, "qk_nope_head_dim": 32, "v_head_dim": 32,
        "layer_types": ["indexed_attention", "sliding_attention", "indexed_attention", "sliding_attention"]
    })
}

#[test]
fn a_group_for_each_layer_must_be_the_same_in_all() {
    let mut file = latent();
    file["per_layer_config"] =
        json!({ "1": { "num_attention_heads": 2 }, "3": { "num_attention_heads": 2 } });
    let narrower = parameters(&file);
    file["per_layer_config"] = json!({});
    assert!(narrower < parameters(&file));
    file["per_layer_config"] =
        json!({ "1": { "num_attention_heads": 2 }, "3": { "num_attention_heads": 3 } });
    assert!(
        refusal(&file).contains("layers of several shapes (per_layer_config)"),
        "{}",
        refusal(&file)
    );
}

/// A link carries the sizes of a group of keys, and the number of layers that a list selects.
#[test]
fn links_hold_groups_and_lists() {
    let mut file = latent();
    file["per_layer_config"] = json!({ "1": { "num_attention_heads": 2, "kv_lora_rank": 48 }, "3": { "num_attention_heads": 2, "kv_lora_rank": 48 } });
    assert_eq!(linked(&file), [parameters(&file); 2]);
    let large = json!({ "model_type": "mistral_large4_text", "num_hidden_layers": 5, "no_rope_layers": [1, 0, 0, 1, 0] });
    assert_eq!(linked(&large), [parameters(&large); 2]);
    assert_ne!(
        parameters(&large),
        parameters(&json!({ "model_type": "mistral_large4_text", "num_hidden_layers": 5 }))
    );
}

#[test]
fn layers_that_share_keys_are_refused() {
    let file = |sources: Json| json!({ "model_type": "mistral_large4_text", "num_hidden_layers": 3, "kv_source_layers": sources });
    assert_eq!(refusal(&file(json!([0, 1, 2]))), "");
    assert!(
        refusal(&file(json!([0, 0, 2])))
            .contains("keys and values that layers share (kv_source_layers)")
    );
}

/// The text model's class has no parts for sound. The whole model's class has them, and they are
/// named as left out.
#[test]
fn a_class_of_words_alone_has_no_parts_for_sound() {
    let left_out = |class: &str| {
        let file = json!({ "model_type": "moshi", "num_hidden_layers": 2, "architectures": [class],
            "depth_decoder_config": { "hidden_size": 64 }, "audio_encoder_config": { "hidden_size": 32 } });
        let read = config_json(&file.to_string()).expect("a file");
        assert!(read.not_counted.is_empty(), "{:?}", read.not_counted);
        read.left_out.into_iter().map(|left| left.part).collect::<Vec<_>>()
    };
    assert!(left_out("MoshiForCausalLM").is_empty());
    assert_eq!(left_out("MoshiForConditionalGeneration"), ["audio tower", "decoder of sound"]);
}

/// An indexer is counted only in layers that have attention and choose their tokens themselves,
/// which needs both lists.
#[test]
fn two_lists_are_read_together() {
    let file = |indexers: Json| {
        json!({ "model_type": "glm5_next_text", "num_hidden_layers": 3, "indexer_types": indexers,
            "layer_types": ["linear_attention", "indexed_attention", "indexed_attention"] })
    };
    let [both, one, other] =
        [["full", "full", "full"], ["full", "full", "shared"], ["shared", "full", "full"]]
            .map(|types| parameters(&file(json!(types))));
    assert!(both == other && one < both);
}
