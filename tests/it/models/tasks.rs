//! Files of model classes that predict no text: without a head, or with a head that classifies
//! texts or tokens, or marks the ends of spans.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use headroom::config::TaskKind;
use headroom::import::{Imported, config_json};
use headroom::ops::parameters_of;
use headroom::scenario::{FieldId, Mode, Scenario, Value};
use serde_json::{Value as Json, json};

fn read(file: &Json) -> Imported {
    config_json(&file.to_string()).unwrap_or_else(|problem| panic!("{problem}: {file:.300}"))
}

fn bert(class: &str) -> Json {
    json!({ "model_type": "bert", "architectures": [class], "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12 })
}

#[test]
fn a_class_has_the_head_of_its_task() {
    let of = |class: &str| read(&bert(class));
    let words = 30_522 * 768 + 512 * 768 + 2 * 768 + 2 * 768;
    let blocks = 12 * (4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768);
    let pooler = 768 * 768 + 768;
    assert_eq!(parameters_of(&of("BertModel").config), words + blocks + pooler);
    let mut file = bert("BertForSequenceClassification");
    file["id2label"] = json!({ "0": "a", "1": "b", "2": "c" });
    let three = read(&file);
    assert_eq!(
        three.config.task.map(|task| (task.kind, task.labels)),
        Some((TaskKind::Sequence, 3))
    );
    assert_eq!(parameters_of(&three.config), words + blocks + pooler + 3 * 769);
    assert_eq!(parameters_of(&of("BertForTokenClassification").config), words + blocks + 2 * 769);
    assert_eq!(parameters_of(&of("BertForQuestionAnswering").config), words + blocks + 2 * 769);
    for class in ["BertModel", "BertForTokenClassification", "BertForMaskedLM"] {
        assert!(of(class).not_counted.is_empty(), "{class}");
    }
    // A file that states no class is read as one that predicts text.
    assert_eq!(read(&json!({ "model_type": "bert", "hidden_size": 768 })).config.task, None);
}

#[test]
fn a_class_that_is_not_described_is_named() {
    let other = |kind: &str, class: &str| {
        read(&json!({ "model_type": kind, "architectures": [class], "hidden_size": 768 }))
    };
    for (kind, class) in [
        ("bert", "BertForNextSentencePrediction"),
        ("eurobert", "EuroBertForSequenceClassification"),
        ("bert", "RobertaModel"),
    ] {
        assert_eq!(other(kind, class).not_counted, ["architectures"], "{class}");
    }
    // The class is also read where it is outside the part for text.
    let whole = |class: &str| {
        let text = json!({ "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4 });
        read(
            &json!({ "model_type": "llava", "architectures": [class], "text_config": text, "vision_config": { "model_type": "clip_vision_model" } }),
        )
    };
    assert_eq!(whole("LlavaModel").not_counted, ["architectures"]);
    assert!(whole("LlavaForConditionalGeneration").not_counted.is_empty());
}

/// A model without a head has no loss to train, and a classifier writes no text to serve.
#[test]
fn a_task_is_trained_and_states_are_counted() {
    let scenario = |class: &str, mode: Mode| {
        let mut scenario = Scenario::default();
        scenario.apply_imported(&read(&bert(class)));
        scenario.set(FieldId::Mode, Value::choice(mode));
        scenario
    };
    let blockers = |class: &str| {
        let job = scenario(class, Mode::Train).resolve().expect("a job");
        headroom::estimator::blockers(&job).len()
    };
    assert_eq!(blockers("BertForSequenceClassification"), blockers("BertForMaskedLM"));
    assert_eq!(blockers("BertModel"), blockers("BertForMaskedLM") + 1);
    let problems = scenario("BertForTokenClassification", Mode::Serve)
        .resolve()
        .expect_err("it writes no text");
    assert!(
        problems.iter().any(|problem| problem.message.contains("Serving it is not modelled")),
        "{problems:?}"
    );
}
