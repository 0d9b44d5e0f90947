//! Caches of models whose parameters are counted alone: what transformers' own classes hold, and how they are served.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{DataSharding, ModelConfig};
use headroom::estimator::{MemoryKind, estimate};
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::{FieldId, Mode, Value};
use serde_json::Value as Json;

fn rows() -> Vec<Json> {
    include_str!("../../data/truth/caches.jsonl").lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn imported(row: &Json) -> ModelConfig {
    headroom::import::config_json(&row["config"].to_string()).expect("a known model").config
}

/// Bytes of the cache for so many tokens of so many sequences, kept token by token.
fn cached(model: &ModelConfig, tensor_ranks: u64, tokens: u64, sequences: u64) -> u64 {
    let layout = support::layout(tensor_ranks, 1, 1, DataSharding::NOTHING);
    let job = support::serving_job(model, layout, |run| {
        (run.context_length, run.concurrent_sequences, run.block_size) = (tokens, sequences, Some(1));
    });
    estimate(&job).ledger.of(MemoryKind::KvCache).0
}

#[test]
fn caches_of_counted_models_hold_what_transformers_caches_hold() {
    let rows = rows();
    for row in &rows {
        let (model, sequences) = (imported(row), row["sequences"].as_u64().expect("a number"));
        for held in row["held"].as_array().expect("a list") {
            let number = |at: usize| held[at].as_u64().expect("a number");
            let kind = &row["config"]["model_type"];
            assert_eq!(cached(&model, 1, number(0), sequences), number(1), "{kind} {}", number(0));
        }
    }
    assert!(rows.len() >= 19);
}

#[test]
fn heads_are_shared_out_and_latent_vectors_are_not() {
    for row in rows() {
        let model = imported(&row);
        let [one, two] = [1, 2].map(|ranks| cached(&model, ranks, 48, 1));
        match row["config"]["model_type"].as_str() {
            Some("doge" | "jetmoe" | "moshi" | "hrm_text") => assert_eq!(one, 2 * two),
            Some("deepseek_v4" | "longcat_flash" | "axk2") => assert_eq!(one, two),
            _ => assert!(two <= one),
        }
    }
}

/// DeepSeek-V4 Flash by hand: 43 layers keep a window of 128 keys of 512 numbers, 21 a key of 512 and one of 128 of an indexer for four
/// tokens, 22 a key for 128; in 8 bits, beside tokens that wait in 16.
#[test]
fn a_row_of_the_catalog_is_served() {
    let mut scenario = decode("v2&do=serve&m=deepseek-v4-flash").scenario;
    let job = scenario.resolve().expect("a job");
    let found = estimate(&job);
    let per_token = found.kv_cache_per_token.expect("bytes").0;
    let model = job.model();
    let [chosen, heavy] = [model.cache.0[1].layers, model.cache.0[6].layers];
    assert_eq!(chosen + heavy, model.num_hidden_layers - model.cache.0[0].layers + chosen + heavy);
    assert_eq!(per_token, 43 * 512 * 2 + chosen * 512 * 2 / 4 + chosen * 128 * 2 / 4 + heavy * 512 * 2 / 128);
    assert!(scenario.remarks(|| None).iter().any(|remark| remark.kind.word() == "counted"));
    assert_eq!(decode(&encode(&scenario)).scenario, scenario);
    scenario.set(FieldId::Mode, Value::choice(Mode::Train));
    let estimate = estimate(&scenario.resolve().expect("a job"));
    assert!(!estimate.blockers.is_empty(), "training it is not modelled");
}
