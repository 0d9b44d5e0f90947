//! Kinds whose parameters are counted alone, against the library that builds them: encoders of
//! sound and of images (transformers 5.23, `data/tools/encoders.py`), and layers of linear
//! attention (fla-core 0.6, `data/tools/fla_counts.py`).
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::import::{Imported, config_json};
use headroom::ops::parameters_of;
use headroom::scenario::{Mode, Scenario, Value, codec};
use serde_json::{Value as Json, json};

const ENCODERS: &str = include_str!("../../data/truth/parameters_encoders.jsonl");
const LINEAR: &str = include_str!("../../data/truth/parameters_fla.jsonl");

fn rows() -> impl Iterator<Item = Json> {
    ENCODERS.lines().chain(LINEAR.lines()).map(|line| serde_json::from_str(line).expect("a row"))
}

fn read(file: &Json) -> Imported {
    config_json(&file.to_string()).unwrap_or_else(|problem| panic!("{problem}: {file}"))
}

fn refusal(file: &Json) -> String {
    config_json(&file.to_string()).map_or_else(|problem| problem.to_string(), |_| String::new())
}

/// Counts equal the library's, also after a link, and nothing is flagged except an attention
/// window.
#[test]
fn kinds_are_counted_as_their_library_builds_them() {
    let mut seen = 0;
    for row in rows() {
        let imported = read(&row["config"]);
        assert_eq!(Some(parameters_of(&imported.config)), row["parameters"].as_u64(), "{row}");
        assert!(
            imported.not_counted.iter().all(|key| key == "window_size"),
            "{:?} {row}",
            imported.not_counted
        );
        assert!(imported.left_out.is_empty() && imported.upper_bounds.is_empty(), "{row}");
        let mut scenario = Scenario::default();
        scenario.apply_imported(&imported);
        let opened = codec::decode(&codec::encode(&scenario));
        assert!(opened.notices.is_empty(), "{:?}", opened.notices);
        assert_eq!(
            Some(parameters_of(&opened.scenario.model_config())),
            row["parameters"].as_u64(),
            "{row}"
        );
        seen += 1;
    }
    assert_eq!(seen, 50);
}

/// Other shapes of the same kinds are refused by name.
#[test]
fn what_a_count_does_not_hold_is_refused() {
    let refused =
        |file: &Json, part: &str| assert!(refusal(file).contains(part), "{}", refusal(file));
    let gla = |key: &str, value: Json| json!({ "model_type": "gla", "hidden_size": 512, "num_hidden_layers": 3, key: value });
    refused(
        &gla("attn", json!([{ "layers": [0], "num_heads": 4 }, { "layers": [1], "num_heads": 8 }])),
        "several shapes (attn)",
    );
    refused(&gla("feature_map", json!("hedgehog")), "a map of features with weights");
    refused(
        &json!({ "model_type": "wav2vec2", "hidden_size": 768, "add_adapter": true }),
        "convolutions behind its blocks",
    );
    refused(
        &json!({ "model_type": "step2_mini", "hidden_size": 512, "use_moe": false }),
        "no experts",
    );
    let sound = json!({ "model_type": "wav2vec2", "architectures": ["Wav2Vec2ForXVector"], "hidden_size": 768 });
    assert_eq!(read(&sound).not_counted, ["architectures"]);
}

/// The memory to run these encoders is unknown, so both training and serving refuse them with that
/// reason.
#[test]
fn counted_encoders_are_neither_trained_nor_served() {
    let mut scenario = Scenario::default();
    scenario.apply_imported(&read(
        &json!({ "model_type": "vit", "architectures": ["ViTModel"], "hidden_size": 768 }),
    ));
    for mode in [Mode::Train, Mode::Serve] {
        scenario.set(headroom::scenario::FieldId::Mode, Value::choice(mode));
        let said = match scenario.resolve() {
            Ok(job) => headroom::estimator::blockers(&job)
                .iter()
                .map(|blocker| format!("{blocker:?}"))
                .collect(),
            Err(problems) => {
                problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>()
            }
        };
        assert!(said.iter().any(|said| said.contains("counted alone")), "{mode:?}: {said:?}");
    }
}
