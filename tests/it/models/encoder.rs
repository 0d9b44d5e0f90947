//! Encoders: read, trained, and refused where they are not modelled.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use headroom::config::{ConfigError, Job, Loss, ParallelLayout, Run, ServingRun};
use headroom::estimator::estimate;
use headroom::import::config_json;
use headroom::ops::parameters_of;
use headroom::stacks::Stack;
use headroom::units::Bytes;

use crate::support;

/// google-bert/bert-base-uncased, as its file has it.
const BERT: &str = r#"{"model_type":"bert","architectures":["BertForMaskedLM"],"hidden_size":768,"num_hidden_layers":12,
    "num_attention_heads":12,"intermediate_size":3072,"vocab_size":30522,"max_position_embeddings":512,"type_vocab_size":2}"#;

#[test]
fn every_token_sees_all_unless_the_file_says_it_is_a_decoder() {
    let encoder = config_json(BERT).expect("a known kind").config;
    assert!(!encoder.is_causal());
    assert_eq!(parameters_of(&encoder), 109_514_298);
    let decoder =
        config_json(&BERT.replace("\"type_vocab_size\"", "\"is_decoder\":true,\"type_vocab_size\"")).expect("a known kind");
    assert!(decoder.config.is_causal());
    assert_eq!(parameters_of(&decoder.config), 109_514_298);
}

#[test]
fn an_encoder_is_trained_and_not_served() {
    let model = config_json(BERT).expect("a known kind").config;
    let job = support::training_job(&model, ParallelLayout::SINGLE, |run| run.loss = Loss::OfStack);
    assert!(estimate(&job).blockers.is_empty(), "{:?}", estimate(&job).blockers);
    let served = Job::new(model, Run::Serving(ServingRun::plain()), ParallelLayout::SINGLE, support::cluster(Bytes(Bytes::GIB)));
    assert_eq!(served.err(), Some(ConfigError::OnlyTrained));
}

#[test]
fn stacks_that_do_not_run_encoders_say_so() {
    let model = config_json(BERT).expect("a known kind").config;
    for stack in Stack::ALL.into_iter().filter(|stack| !stack.is_played()) {
        let job = support::training_job(&model, ParallelLayout::SINGLE, |run| run.stack = stack);
        let told = estimate(&job).blockers.iter().any(|blocker| blocker.to_string().contains("encoder"));
        assert!(told, "{}", stack.key());
    }
}
