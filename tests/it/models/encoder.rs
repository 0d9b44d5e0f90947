//! Encoders are read and trained, and refused where they are not modelled.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use headroom::config::{ConfigError, Job, Loss, ParallelLayout, Recompute, Run, ServingRun};
use headroom::estimator::{MemoryKind, estimate};
use headroom::import::config_json;
use headroom::ops::parameters_of;
use headroom::scenario::{Scenario, codec};
use headroom::stacks::Stack;
use headroom::units::Bytes;

use crate::support;

/// The file of google-bert/bert-base-uncased.
const BERT: &str = r#"{"model_type":"bert","architectures":["BertForMaskedLM"],"hidden_size":768,"num_hidden_layers":12,
    "num_attention_heads":12,"intermediate_size":3072,"vocab_size":30522,"max_position_embeddings":512,"type_vocab_size":2}"#;

#[test]
fn every_token_sees_all_unless_the_file_says_it_is_a_decoder() {
    let encoder = config_json(BERT).expect("a known kind").config;
    assert!(!encoder.is_causal());
    assert_eq!(parameters_of(&encoder), 109_514_298);
    let decoder = config_json(
        &BERT.replace("\"type_vocab_size\"", "\"is_decoder\":true,\"type_vocab_size\""),
    )
    .expect("a known kind");
    assert!(decoder.config.is_causal());
    assert_eq!(parameters_of(&decoder.config), 109_514_298);
}

#[test]
fn an_encoder_is_trained_and_not_served() {
    let model = config_json(BERT).expect("a known kind").config;
    let job = support::training_job(&model, ParallelLayout::SINGLE, |run| run.loss = Loss::OfStack);
    assert!(estimate(&job).blockers.is_empty(), "{:?}", estimate(&job).blockers);
    let served = Job::new(
        model,
        Run::Serving(ServingRun::plain()),
        ParallelLayout::SINGLE,
        support::cluster(Bytes(Bytes::GIB)),
    );
    assert_eq!(served.err(), Some(ConfigError::OnlyTrained));
}

#[test]
fn stacks_that_do_not_run_encoders_say_so() {
    let model = config_json(BERT).expect("a known kind").config;
    for stack in Stack::ALL.into_iter().filter(|stack| !stack.is_played()) {
        let job = support::training_job(&model, ParallelLayout::SINGLE, |run| run.stack = stack);
        let told =
            estimate(&job).blockers.iter().any(|blocker| blocker.to_string().contains("encoder"));
        assert!(told, "{}", stack.key());
    }
}

/// albert/albert-base-v2's shape.
const ALBERT: &str = r#"{"model_type":"albert","architectures":["AlbertForMaskedLM"],"embedding_size":128,"hidden_size":768,
    "num_hidden_layers":12,"num_attention_heads":12,"intermediate_size":3072,"vocab_size":30000}"#;

#[test]
fn blocks_that_are_one_have_their_weights_once_and_save_in_every_layer() {
    let model = |layers: &str| {
        let text =
            ALBERT.replace("\"num_hidden_layers\":12", &format!("\"num_hidden_layers\":{layers}"));
        config_json(&text).expect("a known kind").config
    };
    let (shallow, deep) = (model("12"), model("24"));
    assert_eq!((parameters_of(&shallow), parameters_of(&deep)), (11_221_680, 11_221_680));
    let job = |model| {
        support::training_job(model, ParallelLayout::SINGLE, |run| run.loss = Loss::OfStack)
    };
    let saved = |model| memory(&job(model), MemoryKind::Activation);
    let (shallow, deep) = (saved(&shallow), saved(&deep));
    assert!(deep > shallow.saturating_mul(17) / 10, "{shallow} and {deep}");
}

/// Bytes of one kind of memory at the peak.
fn memory(job: &Job, kind: MemoryKind) -> u64 {
    estimate(job)
        .ledger
        .lines
        .iter()
        .filter(|line| line.kind == kind)
        .map(|line| line.bytes.0)
        .sum()
}

#[test]
fn what_transformers_cannot_run_again_is_not_recomputed() {
    let model = config_json(ALBERT).expect("a known kind").config;
    let told = |recompute| {
        let job = support::training_job(&model, ParallelLayout::SINGLE, |run| {
            run.loss = Loss::OfStack;
            run.recompute = recompute;
        });
        estimate(&job)
            .blockers
            .iter()
            .any(|blocker| blocker.to_string().contains("cannot run this encoder's modules again"))
    };
    assert!(told(Recompute::Full) && !told(Recompute::None));
}

#[test]
fn an_encoder_of_another_attention_is_counted_alone() {
    let text = r#"{"model_type":"longformer","architectures":["LongformerForMaskedLM"],"hidden_size":768}"#;
    let model = config_json(text).expect("a known kind").config;
    assert_eq!(parameters_of(&model), 130_775_610);
    let job = support::training_job(&model, ParallelLayout::SINGLE, |run| run.loss = Loss::OfStack);
    assert!(
        estimate(&job).blockers.iter().any(|blocker| blocker.to_string().contains("counted alone"))
    );
}

#[test]
fn local_layers_look_to_both_sides() {
    let text = r#"{"model_type":"modernbert","architectures":["ModernBertForMaskedLM"],"hidden_size":768}"#;
    let model = config_json(text).expect("a known kind").config;
    assert_eq!((parameters_of(&model), model.sliding_window), (149_655_232, Some(129)));
    let local: Vec<u64> = (0..7).filter(|layer| model.sliding_layers.contains(*layer)).collect();
    assert_eq!(local, [1, 2, 4, 5]);
}

#[test]
fn an_embedding_of_its_own_width_is_read_back_from_a_link() {
    for text in [
        ALBERT,
        r#"{"model_type":"electra","architectures":["ElectraForMaskedLM"],"hidden_size":256,"embedding_size":96}"#,
    ] {
        let imported = config_json(text).expect("a known kind");
        let mut scenario = Scenario::default();
        scenario.apply_imported(&imported);
        let again = codec::decode(&codec::encode(&scenario)).scenario;
        assert_eq!(again.model_config(), imported.config);
    }
}
