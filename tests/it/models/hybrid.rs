//! Layers that keep a state, lack attention, or share keys and values: the size of their caches,
//! how these grow with the text, and refusals.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{
    ConfigError, Hybrid, Job, Keys, LayerSet, ModelConfig, ParallelLayout, Run, WeightFormat,
};
use headroom::estimator::time::Pace;
use headroom::estimator::{MemoryKind, estimate};
use headroom::ops::{self, Lowering};
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::{FieldId, Mode, Scenario, Value};
use serde_json::Value as Json;

const LINK: &str = "v1&do=serve&m=qwen3-next-80b&n=4&tp=4";

fn imported(config: &str) -> ModelConfig {
    headroom::import::config_json(config).expect("a known model").config
}

fn catalog(id: &str) -> ModelConfig {
    headroom::catalog::model(id).expect("in the catalog").config.clone()
}

/// Bytes of the cache for `sequences` sequences of `tokens` tokens on `t` ranks.
fn cached(model: &ModelConfig, t: u64, tokens: u64, sequences: u64) -> u64 {
    let layout = support::layout(t, 1, 1, headroom::config::DataSharding::NOTHING);
    let job = support::serving_job(model, layout, |run| {
        (run.context_length, run.concurrent_sequences) = (tokens, sequences);
    });
    estimate(&job).ledger.of(MemoryKind::KvCache).0
}

/// Elements that transformers' own caches keep of small models (`tools/states.py`); for a
/// convolution's channels vLLM keeps one token fewer than the convolution sees.
#[test]
fn caches_hold_what_transformers_caches_hold() {
    let rows: Vec<Json> = include_str!("../../data/truth/states.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect();
    for row in &rows {
        let model = imported(&row["config"].to_string());
        let number = |key: &str| row[key].as_u64().expect("a number");
        let wide = model.mixer().is_some_and(|mixer| mixer.fp32_state);
        let last = model.mixer().map_or(0, |mixer| mixer.conv_kernel.saturating_sub(1));
        let fixed = number("state") * if wide { 4 } else { 2 } + number("convolved") * last * 2;
        for (tokens, sequences) in [(16, 1), (48, 3)] {
            let expected = sequences * (fixed + tokens * number("kv") * 2);
            assert_eq!(
                cached(&model, 1, tokens, sequences),
                expected,
                "{} {tokens} {sequences}",
                row["model"]
            );
        }
    }
    assert!(!rows.is_empty());
}

/// States that transformers keeps beside its cache classes (`xLSTMCache`, `RwkvModel.forward`,
/// `RecurrentGemmaRecurrentBlock`): xLSTM a matrix, a vector and a number of each head, RWKV two
/// tokens and three sums, RecurrentGemma a state and three tokens.
#[test]
fn recurrences_keep_what_transformers_keeps() {
    let fixed = |kind: &str| {
        let model = imported(&format!(r#"{{"model_type":"{kind}","hidden_size":2560}}"#));
        let [one, more] = [2048, 4096].map(|tokens| cached(&model, 1, tokens, 1));
        // Layers with attention have a window of 2,048 tokens, so a longer text adds nothing.
        assert_eq!(one, more);
        (one, cached(&model, 1, 1, 1))
    };
    // xLSTM has 1280 columns of keys and 2560 of values in eight heads.
    assert_eq!(fixed("xlstm").0, 32 * 8 * (160 * 320 + 160 + 1) * 4);
    assert_eq!(fixed("rwkv").0, 32 * 2560 * (2 * 2 + 3 * 4));
    let of_token = 8 * 2 * 2560 * 2;
    let (whole, first) = fixed("recurrent_gemma");
    assert_eq!(first - of_token, 18 * 2560 * (4 + 3 * 2));
    assert_eq!(whole - first, 2047 * of_token);
}

/// Qwen3-Next by hand: 12 layers with 2 heads of 256, 36 with 32 states of 128 by 128 and three
/// tokens of 8192 convolved channels.
#[test]
fn a_state_does_not_grow_with_the_text() {
    let model = catalog("qwen3-next-80b");
    let (state, token) = (36 * (32 * 128 * 128 + 3 * 8192) * 2, 12 * 2 * 2 * 256 * 2);
    assert_eq!(cached(&model, 1, 4096, 1), state + 4096 * token);
    assert_eq!(cached(&model, 1, 8192, 5), 5 * (state + 8192 * token));
    // Four ranks divide the states; the two key/value heads are copied, so each rank holds half of
    // the cache.
    assert_eq!(cached(&model, 4, 4096, 1), state / 4 + 4096 * token / 2);
}

#[test]
fn a_state_in_fp32_is_twice_as_large() {
    let mut scenario = decode(LINK).scenario;
    let state = |scenario: &Scenario| {
        let found = estimate(&scenario.resolve().expect("a job"));
        let line =
            found.ledger.lines.into_iter().find(|line| line.label == "KV cache").expect("a cache");
        line.tensors
            .iter()
            .filter(|tensor| tensor.name == "state")
            .map(|tensor| tensor.bytes.0)
            .sum::<u64>()
    };
    let before = state(&scenario);
    scenario.change(FieldId::Sizes, Value::Flag(true));
    scenario.set(FieldId::MixerFp32, Value::Flag(true));
    assert!(before > 0 && state(&scenario) == 2 * before);
    assert_eq!(decode(&encode(&scenario)).scenario, scenario);
}

#[test]
fn layers_that_share_keys_keep_none() {
    let plain = catalog("llama3-8b");
    let generic =
        |config: &str| headroom::import::config_json_as_generic(config).expect("sizes").config;
    let shared_last = generic(
        r#"{"model_type":"zebra","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
            "num_key_value_heads":8,"vocab_size":128256,"num_kv_shared_layers":12}"#,
    );
    let shared = shared_last.hybrid.clone().expect("shared layers").kv_shared_layers;
    assert!((0..32).all(|layer| shared.contains(layer) == (layer >= 20)));
    assert_eq!(cached(&shared_last, 1, 1024, 1) * 32, cached(&plain, 1, 1024, 1) * 20);
    let every_other = generic(
        r#"{"model_type":"zebra","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
            "num_key_value_heads":8,"vocab_size":128256,"use_cla":true,"cla_share_factor":2}"#,
    );
    assert_eq!(cached(&every_other, 1, 1024, 1) * 2, cached(&plain, 1, 1024, 1));
    // Layers that share keys and values have no matrices for them either.
    let parameters =
        |model: &ModelConfig| ops::lower(&Lowering::parameters_only(model)).parameters();
    assert_eq!(parameters(&plain) - parameters(&every_other), 16 * 2 * 4096 * 1024);
    assert_eq!(parameters(&every_other), support::parameters(&every_other));
    assert_eq!(every_other.kind_of(1).keys, Keys::Shared);
}

/// MiMo-V2-Flash at 262,144 tokens in 16 bits takes 5.65 GiB: 9 layers keep 4 heads of 192 + 128
/// for all tokens, and 39 keep 8 such heads for 128 tokens.
#[test]
fn layers_with_other_heads_keep_their_own_shapes() {
    let mimo = imported(include_str!("../../data/configs/corpus/XiaomiMiMo__MiMo-V2-Flash.json"));
    let expected = 2 * (192 + 128) * (9 * 4 * 262_144 + 39 * 8 * 128);
    assert_eq!(cached(&mimo, 1, 262_144, 1), expected);
    assert_eq!(format!("{:.2}", headroom::units::to_f64(expected) / 1_073_741_824.0), "5.65");
    // On eight ranks, four heads are copied and eight are divided.
    assert_eq!(cached(&mimo, 8, 262_144, 1), 2 * (192 + 128) * (9 * 262_144 + 39 * 128));
    let gemma = imported(include_str!("../../data/configs/corpus/google__gemma-4-26B-A4B.json"));
    assert_eq!(
        cached(&gemma, 1, 131_072, 1),
        2 * 2 * (5 * 2 * 512 * 131_072 + 25 * 8 * 256 * 1024)
    );
}

/// Tensor-parallel ranks together hold every parameter of these layers, and a step's FLOPs follow
/// the number of their heads.
#[test]
fn parameters_of_other_heads_are_shared_out() {
    for file in [
        include_str!("../../data/configs/corpus/XiaomiMiMo__MiMo-V2-Flash.json"),
        include_str!("../../data/configs/corpus/google__gemma-4-26B-A4B.json"),
    ] {
        let model = imported(file);
        let weights = |t| {
            let layout = support::layout(t, 1, 1, headroom::config::DataSharding::NOTHING);
            let job = support::serving_job(&model, layout, |_| ());
            estimate(&job).ledger.of(MemoryKind::Parameter).0
        };
        assert_eq!(weights(1), 2 * support::parameters(&model));
        let four = weights(4);
        assert!(four > weights(1) / 4 && four < weights(1) / 4 * 11 / 10, "{four}");
        let list = ops::lower(&Lowering::parameters_only(&model));
        assert!(
            list.kinds.iter().any(|kind| kind.of.other_heads)
                && list.kinds.iter().any(|kind| !kind.of.other_heads)
        );
    }
}

/// A model whose layers have other heads is trained where its family's modules have such heads, and
/// a link carries them.
#[test]
fn other_heads_are_trained_by_a_family_that_has_them() {
    let text = include_str!("../../data/configs/corpus/XiaomiMiMo__MiMo-V2-Flash.json");
    let mut scenario = Scenario::default();
    scenario.apply_imported(&headroom::import::config_json(text).expect("a known model"));
    assert!(scenario.resolve().is_ok(), "{:?}", scenario.resolve());
    let link = encode(&scenario);
    assert_eq!(decode(&link).scenario.model_config(), imported(text), "{link}");
    let stack = |name| decode(&format!("{link}&ker={name}")).scenario.resolve().expect("a job");
    let says = |name| {
        estimate(&stack(name))
            .blockers
            .iter()
            .any(|blocker| blocker.to_string().contains("heads of different"))
    };
    assert!(says("megatron") && !says("fused"));
}

/// Gemma 4's wider heads of global layers are trained and served, and a link carries them together
/// with the experts.
#[test]
fn heads_of_global_layers_are_trained_too() {
    let text = include_str!("../../data/configs/corpus/google__gemma-4-26B-A4B.json");
    let mut scenario = Scenario::default();
    scenario.apply_imported(&headroom::import::config_json(text).expect("a known model"));
    assert!(scenario.resolve().is_ok(), "{:?}", scenario.resolve());
    let link = encode(&scenario);
    assert_eq!(decode(&link).scenario.model_config(), imported(text), "{link}");
    scenario.set(FieldId::Mode, Value::choice(Mode::Serve));
    assert!(scenario.resolve().is_ok(), "{:?}", scenario.resolve());
}

/// Cache blocks of these layers differ, so no number of blocks is given; concurrent requests are
/// counted by bytes.
#[test]
fn requests_are_counted_by_bytes() {
    let found = estimate(&decode(&format!("{LINK}&srv=vllm")).scenario.resolve().expect("a job"));
    let room = found.cache_room.expect("a cache");
    assert!(room.blocks.is_none() && room.concurrency > 1.0, "{room:?}");
    let kept = room.bytes.as_f64() / room.per_sequence.as_f64();
    assert!((room.concurrency - kept).abs() < 1e-9);
}

#[test]
fn training_is_refused_with_a_way_out() {
    let mut scenario = decode("v1&m=llama3-8b&n=8&kvs=from-16").scenario;
    let problems = scenario.resolve().expect_err("not modelled");
    let [problem] = problems.as_slice() else { return assert_eq!(problems.len(), 1) };
    assert_eq!(problem.field, FieldId::Mode);
    assert!(problem.message.contains("not modelled"), "{}", problem.message);
    let (_, value) = problem.way_out.clone().expect("a way out");
    scenario.set(FieldId::Mode, value);
    assert_eq!(scenario.mode(), Mode::Serve);
    assert!(scenario.resolve().is_ok());
    let job = support::serving_job(&catalog("llama3-8b"), ParallelLayout::SINGLE, |_| ());
    let shares = Hybrid { kv_shared_layers: LayerSet::From(16), ..Hybrid::default() };
    let model = ModelConfig { hybrid: Some(shares), ..catalog("llama3-8b") };
    let training = support::training_job(&catalog("llama3-8b"), ParallelLayout::SINGLE, |_| ());
    let refused =
        Job::new(model, training.run().clone(), ParallelLayout::SINGLE, job.cluster().clone());
    assert_eq!(refused.err(), Some(ConfigError::OnlyServed));
}

/// The matrices of a state are quantised with scales of their own; its vectors and convolutions
/// stay in 16 bits.
#[test]
fn weights_of_a_state_are_quantised() {
    let model = imported(r#"{"model_type":"mamba2","num_hidden_layers":4}"#);
    let weights = |format| {
        let job =
            support::serving_job(&model, ParallelLayout::SINGLE, |run| run.quantization = format);
        estimate(&job).ledger.of(MemoryKind::Parameter).0
    };
    let (h, inner, keys, heads) = (4096, 8192, 1024, 128);
    let matrices = 4 * h * (3 * inner + 2 * keys + heads);
    let columns = 4 * (2 * inner + 2 * keys + heads + h);
    assert_eq!(
        weights(WeightFormat::Bf16) - weights(WeightFormat::Int8Channel),
        matrices - 4 * columns
    );
}

/// A further token in the context costs only in layers with attention. A prompt's products grow in
/// proportion to its length, its attention with the square.
#[test]
fn time_follows_layers_with_attention_alone() {
    let pace = |config: &str| {
        let run = |run: &mut headroom::config::ServingRun| {
            (run.context_length, run.prefill_chunk_size) = (65_536, 8192);
        };
        let job = support::serving_job(&imported(config), ParallelLayout::SINGLE, run);
        let row = headroom::catalog::accelerator("h100-80").expect("in the catalog");
        let cluster = headroom::config::Cluster {
            accelerator: row.accelerator.clone(),
            speed: headroom::catalog::speed(row.id),
            ..job.cluster().clone()
        };
        let job = Job::new(job.model().clone(), job.run().clone(), ParallelLayout::SINGLE, cluster)
            .expect("a job");
        assert!(matches!(job.run(), Run::Serving(_)));
        Pace::of(&job).expect("a pace")
    };
    let alone = pace(r#"{"model_type":"mamba2","num_hidden_layers":8}"#);
    // Every chunk costs an equal amount wherever it is in the prompt, plus the head, which is read
    // once after the last chunk.
    let [one, two, four] = [16_384, 32_768, 65_536].map(|tokens| alone.prefill(tokens).0);
    assert!(((four - two) / (two - one) - 2.0).abs() < 1e-9, "{one} {two} {four}");
    let mixed = pace(r#"{"model_type":"bamba","num_hidden_layers":8,"attn_layer_indices":[3]}"#);
    let all = pace(
        r#"{"model_type":"bamba","num_hidden_layers":8,"attn_layer_indices":[0,1,2,3,4,5,6,7]}"#,
    );
    let square = |pace: &Pace| {
        let [one, two, four] = [16_384, 32_768, 65_536].map(|tokens| pace.prefill(tokens).0);
        (four - two) - 2.0 * (two - one)
    };
    assert!(
        (square(&all) / square(&mixed) - 8.0).abs() < 1e-6,
        "{} {}",
        square(&all),
        square(&mixed)
    );
}
