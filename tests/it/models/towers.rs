//! Models with a tower: the tower, its projector and further parts beside the text model.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::import::{Imported, config_json};
use headroom::ops::parameters_of;
use serde_json::{Value as Json, json};

fn read(file: &Json) -> Imported {
    config_json(&file.to_string()).unwrap_or_else(|problem| panic!("{problem}: {file:.300}"))
}

/// Parameters of the models that the library builds (`data/tools/wholes.py`): second towers,
/// learned queries, layers between those of the text, extra rows after the vocabulary.
#[test]
fn whole_models_have_all_their_parameters() {
    let lines = include_str!("../../data/truth/parameters_wholes.jsonl").lines();
    let mut seen = 0;
    for line in lines {
        let row: Json = serde_json::from_str(line).expect("a row");
        let imported = read(&row["config"]);
        assert_eq!(Some(parameters_of(&imported.config)), row["parameters"].as_u64(), "{line}");
        assert!(
            imported.left_out.is_empty() && imported.not_counted.is_empty(),
            "{:?} {:?}",
            imported.left_out,
            imported.not_counted
        );
        seen += 1;
    }
    assert_eq!(seen, 45);
}

/// Florence-2 ties its head to one embedding; where its text part unties its own, there are three.
#[test]
fn embeddings_untied_inside_a_tied_whole_are_refused() {
    let text = |ties: bool| json!({ "model_type": "bart", "tie_word_embeddings": ties });
    let whole = |ties: bool| json!({ "model_type": "florence2", "text_config": text(ties), "vision_config": {} });
    assert!(config_json(&whole(true).to_string()).is_ok());
    let sentence = config_json(&whole(false).to_string()).expect_err("refused").to_string();
    assert!(sentence.contains("a head that is the embedding"), "{sentence}");
}

/// A tower is left out where a key has a value that changes its modules in an unknown way, and
/// where one of its parts is of another kind.
#[test]
fn a_tower_of_another_structure_is_left_out() {
    let text = json!({ "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4 });
    let janus = |multipliers: Json| {
        let codes = json!({ "model_type": "janus_vqgan", "channel_multiplier": multipliers });
        json!({ "model_type": "janus", "text_config": text, "vision_config": {}, "vq_config": codes })
    };
    assert!(read(&janus(json!([1, 1, 2, 2, 4]))).config.tower.is_some());
    let other = read(&janus(json!([1, 2, 4])));
    assert!(other.config.tower.is_none());
    let parts: Vec<&str> = other.left_out.iter().map(|left| left.part.as_str()).collect();
    assert_eq!(parts, ["vision tower", "the part that vq_config describes"]);
    let hybrid = |kind: &str| json!({ "model_type": "deepseek_vl_hybrid", "text_config": text, "vision_config": {}, "high_res_vision_config": { "model_type": kind } });
    assert!(read(&hybrid("sam_vision_model")).config.tower.is_some());
    assert!(read(&hybrid("zebra")).config.tower.is_none());
}

/// The thinker of an omni model is read with both of its towers; the part that speaks is named as
/// left out.
#[test]
fn a_model_inside_the_file_is_opened() {
    let thinker = json!({
        "model_type": "qwen2_5_omni_thinker", "text_config": { "model_type": "qwen2_5_omni_text", "num_hidden_layers": 2 },
        "vision_config": { "model_type": "qwen2_5_omni_vision_encoder" }, "audio_config": { "model_type": "qwen2_5_omni_audio_encoder" },
    });
    let omni = read(
        &json!({ "model_type": "qwen2_5_omni", "thinker_config": thinker, "talker_config": { "num_hidden_layers": 4 } }),
    );
    assert_eq!(
        (omni.config.num_hidden_layers, omni.file_type.as_str()),
        (2, "qwen2_5_omni_thinker")
    );
    assert!(omni.config.tower.is_some());
    assert_eq!(
        omni.left_out.iter().map(|left| left.part.as_str()).collect::<Vec<_>>(),
        ["speech output"]
    );
}

/// Layers that attend to images only are counted with the projector and not with the text. In a
/// file without the image part they are named.
#[test]
fn layers_that_attend_to_images_belong_to_the_projector() {
    let text = json!({ "model_type": "mllama_text_model", "num_hidden_layers": 10, "cross_attention_layers": [3, 8] });
    let whole = read(&json!({ "model_type": "mllama", "text_config": text, "vision_config": {} }));
    assert_eq!((whole.config.num_hidden_layers, whole.left_out.len()), (8, 0));
    let alone = read(&text);
    assert_eq!(
        alone.left_out.first().map(|left| left.key.as_str()),
        Some("cross_attention_layers")
    );
}

/// A head that has another shape than the text's embedding is named.
#[test]
fn a_head_of_another_shape_is_named() {
    let file = |tied: bool| {
        let text = json!({ "model_type": "qwen2", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000 });
        json!({ "model_type": "ovis2", "tie_word_embeddings": tied, "hidden_size": 512, "text_config": text, "vision_config": {} })
    };
    assert!(read(&file(true)).not_counted.is_empty());
    assert_eq!(read(&file(false)).not_counted, ["further_config.hidden_size"]);
}
