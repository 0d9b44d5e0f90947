//! Caches against transformers' own classes, and their serving: caches that a file describes by a
//! list of parts, layers that see chunks, and decoders made of an encoder's modules.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{AttentionKernel, DataSharding, ModelConfig};
use headroom::estimator::{MemoryKind, estimate};
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::{FieldId, Mode, Value};
use serde_json::Value as Json;

fn rows() -> Vec<Json> {
    include_str!("../../data/truth/caches.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

fn imported(row: &Json) -> ModelConfig {
    headroom::import::config_json(&row["config"].to_string()).expect("a known model").config
}

/// Bytes of the cache for `sequences` sequences of `tokens` tokens, allocated token by token.
fn cached(model: &ModelConfig, tensor_ranks: u64, tokens: u64, sequences: u64) -> u64 {
    let layout = support::layout(tensor_ranks, 1, 1, DataSharding::NOTHING);
    let job = support::serving_job(model, layout, |run| {
        (run.context_length, run.concurrent_sequences, run.block_size) =
            (tokens, sequences, Some(1));
    });
    estimate(&job).ledger.of(MemoryKind::KvCache).0
}

#[test]
fn caches_hold_what_transformers_classes_hold() {
    let rows = rows();
    for row in &rows {
        let (model, sequences) = (imported(row), row["sequences"].as_u64().expect("a number"));
        for held in row["held"].as_array().expect("a list") {
            let number = |at: usize| held[at].as_u64().expect("a number");
            let kind = &row["config"]["model_type"];
            assert_eq!(cached(&model, 1, number(0), sequences), number(1), "{kind} {}", number(0));
        }
    }
    assert!(rows.len() >= 37);
}

#[test]
fn heads_are_shared_out_and_latent_vectors_are_not() {
    for row in rows() {
        let model = imported(&row);
        let [one, two] = [1, 2].map(|ranks| cached(&model, ranks, 48, 1));
        match row["config"]["model_type"].as_str() {
            Some("doge" | "jetmoe" | "moshi" | "hrm_text") => assert_eq!(one, 2 * two),
            Some("deepseek_v4" | "longcat_flash" | "axk2" | "hy_v4") => assert_eq!(one, two),
            _ => assert!(two <= one),
        }
    }
}

/// DeepSeek-V4 Flash by hand: 43 layers keep a window of keys of 512 numbers. Of these, 21 also
/// keep, for every four tokens, a key of 512 and an indexer's key of 128; 20 keep one key for every
/// 128 tokens.
#[test]
fn a_row_of_the_catalog_is_served() {
    let mut scenario = decode("v2&do=serve&m=deepseek-v4-flash").scenario;
    let job = scenario.resolve().expect("a job");
    let found = estimate(&job);
    let per_token = found.kv_cache_per_token.expect("bytes").0;
    let model = job.model();
    assert_eq!([model.cache.0[1].layers, model.cache.0[6].layers], [21, 20]);
    assert_eq!(per_token, 43 * 512 * 2 + 21 * (512 + 128) * 2 / 4 + 20 * 512 * 2 / 128);
    assert!(
        !scenario.remarks(|| None).iter().any(|remark| remark.kind.word() == "parameters_alone")
    );
    assert_eq!(decode(&encode(&scenario)).scenario, scenario);
    scenario.set(FieldId::Mode, Value::choice(Mode::Train));
    scenario.set(FieldId::Attention, Value::choice(AttentionKernel::Standard));
    let estimate = estimate(&scenario.resolve().expect("a job"));
    assert!(estimate.blockers.is_empty(), "{:?}", estimate.blockers);
}

/// In a chunk of 8,192 tokens, each token sees itself and the earlier tokens of its chunk, and none
/// of the chunk before.
#[test]
fn tokens_see_those_before_them_in_their_chunk() {
    let llama4 = |more: &str| {
        let text = format!(r#"{{"model_type":"llama4_text","num_hidden_layers":8{more}}}"#);
        let read = headroom::import::config_json(&text).expect("a known model");
        assert!(read.upper_bounds.is_empty() && read.not_counted.is_empty());
        read.config
    };
    let model = llama4("");
    assert_eq!(
        (0..8).filter(|layer| model.sliding_layers.contains(*layer)).collect::<Vec<_>>(),
        [0, 1, 2, 4, 5, 6]
    );
    assert_eq!(model.pairs_of_sliding(8192), 8192 * 8193 / 2);
    assert_eq!(model.pairs_of_sliding(20_000), 2 * (8192 * 8193 / 2) + 3616 * 3617 / 2);
    assert!(
        model.pairs_of_sliding(20_000)
            < ModelConfig { chunks: false, ..model.clone() }.pairs_of_sliding(20_000)
    );
    let shorter = llama4(r#","attention_chunk_size":1024,"no_rope_layers":[0,1,1,1,1,1,1,0]"#);
    assert_eq!((shorter.sliding_window, shorter.sliding_layers.contains(0)), (Some(1024), false));
    assert_eq!(llama4(r#","attention_chunk_size":null"#).sliding_window, None);
    // A link carries both settings.
    let mut scenario = headroom::scenario::Scenario::default();
    let text = r#"{"model_type":"llama4_text","num_hidden_layers":8,"attention_chunk_size":1024,"no_rope_layers":[0,1,1,1,1,1,1,0]}"#;
    scenario.apply_imported(&headroom::import::config_json(text).expect("a known model"));
    assert_eq!(decode(&encode(&scenario)).scenario.model_config(), shorter);
}

/// A link carries the rank of A.X K2's gates.
#[test]
fn a_link_holds_the_rank_of_norms_gates() {
    let read = |more: &str| {
        let text = format!(r#"{{"model_type":"axk2","num_hidden_layers":4{more}}}"#);
        headroom::import::config_json(&text).expect("a known model")
    };
    let (usual, wider) = (read(""), read(r#","gated_norm_rank":24"#));
    assert_eq!([usual.config.norm_gate_rank, wider.config.norm_gate_rank], [16, 24]);
    let parameters = [&usual, &wider].map(|read| headroom::ops::parameters_of(&read.config));
    // Four norms before attention, three before experts.
    assert_eq!(parameters[1] - parameters[0], 7 * 2 * 2048 * 8);
    assert_eq!(parameters[1], support::parameters(&wider.config));
    let mut scenario = headroom::scenario::Scenario::default();
    scenario.apply_imported(&wider);
    assert_eq!(decode(&encode(&scenario)).scenario.model_config(), wider.config);
}
