//! Encoders beside decoders are read and trained, and refused where they are not modelled.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use headroom::config::{
    AttentionKernel, ConfigError, DataSharding, Job, Loss, ModelConfig, ParallelLayout, Recompute,
    Run, ServingRun,
};
use headroom::estimator::time::{Timing, Unknown, timing};
use headroom::estimator::{Lengths, MemoryKind, estimate};
use headroom::import::config_json;
use headroom::ops::{lower, lowering, parameters_of};
use headroom::planner::inverse;
use headroom::scenario::{Scenario, codec};
use headroom::units::{Bytes, to_f64};

use crate::support;

/// facebook/bart-large with fewer blocks in the decoder, so that both sides differ.
const BART: &str = r#"{"model_type":"bart","architectures":["BartForConditionalGeneration"],"is_encoder_decoder":true,"d_model":1024,
    "encoder_layers":12,"decoder_layers":6,"encoder_attention_heads":16,"decoder_attention_heads":16,"encoder_ffn_dim":4096,
    "decoder_ffn_dim":2048,"vocab_size":50265,"max_position_embeddings":1024,"num_hidden_layers":12}"#;
const T5: &str = r#"{"model_type":"t5","architectures":["T5ForConditionalGeneration"],"d_model":512,"num_layers":6,"num_heads":8}"#;
const WHISPER: &str =
    r#"{"model_type":"whisper","architectures":["WhisperForConditionalGeneration"],"d_model":384}"#;

fn read(text: &str) -> ModelConfig {
    config_json(text).expect("a known kind").config
}

fn job(model: &ModelConfig, source: Option<u64>) -> Job {
    support::training_job(model, ParallelLayout::SINGLE, |run| {
        (run.loss, run.seq_length, run.source_length) = (Loss::OfStack, 512, source);
        (run.attention, run.recompute) = (AttentionKernel::Standard, Recompute::None);
    })
}

/// Bytes of activations at the peak.
fn saved(job: &Job) -> u64 {
    let estimate = estimate(job);
    assert!(estimate.blockers.is_empty(), "{:?}", estimate.blockers);
    estimate
        .ledger
        .lines
        .iter()
        .filter(|line| line.kind == MemoryKind::Activation)
        .map(|line| line.bytes.0)
        .sum()
}

#[test]
fn both_sides_are_counted() {
    for (text, parameters) in [(BART, 280_333_312), (T5, 60_506_624), (WHISPER, 37_760_640)] {
        let model = read(text);
        assert_eq!(
            (parameters_of(&model), support::parameters(&model)),
            (parameters, parameters),
            "{text}"
        );
    }
    let model = read(BART);
    assert_eq!((model.num_hidden_layers, model.source.map(|source| source.layers)), (18, Some(12)));
}

/// That model's decoder saved without its encoder, so its cross-attention has nothing to read.
const ALONE: &str = r#"{"model_type":"bart","architectures":["BartForCausalLM"],"is_decoder":true,"is_encoder_decoder":false,
    "d_model":1024,"encoder_layers":12,"decoder_layers":6,"decoder_attention_heads":16,"decoder_ffn_dim":2048,"vocab_size":50265}"#;

#[test]
fn a_decoder_saved_alone_keeps_idle_weights_and_has_the_memory_and_the_time_of_a_decoder() {
    const PARAMETERS: u64 = 128_125_952;
    let model = read(ALONE);
    assert_eq!((parameters_of(&model), support::parameters(&model)), (PARAMETERS, PARAMETERS));
    assert_eq!(model.source.map(|source| (source.layers, source.hidden_size)), Some((0, 1024)));
    let job = support::training_job(&model, ParallelLayout::SINGLE, |run| run.loss = Loss::OfStack);
    let learned =
        estimate(&job).ledger.lines.into_iter().filter(|line| line.label == "First moment");
    let idle = 6 * (4 * (1024 * 1024 + 1024) + 2 * 1024);
    assert_eq!(learned.map(|line| line.bytes.0 / 4).sum::<u64>(), PARAMETERS - idle);
    assert!(matches!(timing(&job, &estimate(&job)), Timing::Training { .. }));
    // The cache holds keys and values of the decoder's own text only.
    let run = ServingRun { context_length: 512, ..ServingRun::plain() };
    let served = Job::new(
        model,
        Run::Serving(run),
        ParallelLayout::SINGLE,
        support::cluster(Bytes(Bytes::GIB)),
    );
    let held = cached(&served.expect("a served decoder"));
    assert_eq!(held, 6 * 2 * 1024 * 2 * 512);
}

/// Bytes that are cached.
fn cached(job: &Job) -> u64 {
    estimate(job)
        .ledger
        .lines
        .iter()
        .filter(|line| line.kind == MemoryKind::KvCache)
        .map(|line| line.bytes.0)
        .sum()
}

#[test]
fn a_longer_source_is_saved_too_and_the_encoders_frames_are_always_as_many() {
    for text in [BART, T5] {
        let model = read(text);
        let [as_long, same, longer] =
            [None, Some(512), Some(900)].map(|source| saved(&job(&model, source)));
        assert_eq!(as_long, same);
        assert!(longer > as_long * 5 / 4, "{longer} and {as_long}");
    }
    let model = read(WHISPER);
    assert_eq!(saved(&job(&model, None)), saved(&job(&model, Some(700))));
}

/// Rows of transformers' `EncoderDecoderCache` (`tools/cache_source.py`).
const CACHES: &str = include_str!("../../data/truth/cache_source.jsonl");

fn served(model: &ModelConfig, run: ServingRun) -> Result<Job, ConfigError> {
    Job::new(
        model.clone(),
        Run::Serving(run),
        ParallelLayout::SINGLE,
        support::cluster(Bytes(80 * Bytes::GIB)),
    )
}

#[test]
fn served_with_the_cache_of_both_attentions_that_transformers_holds() {
    for line in CACHES.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row");
        let model = read(&row["config"].to_string());
        let number = |key: &str| row[key].as_u64().expect("a number");
        let run = |source| ServingRun {
            context_length: number("context_length"),
            concurrent_sequences: number("sequences"),
            source_length: Some(source),
            block_size: Some(1),
            ..ServingRun::plain()
        };
        let job = served(&model, run(number("source_length"))).expect("a served model");
        assert_eq!(cached(&job), number("self_bytes") + number("cross_bytes"), "{line}");
        // A further token adds to the cache of the decoder's own attention only.
        let per_token = estimate(&job).kv_cache_per_token.expect("a cache").0;
        assert_eq!(
            per_token * number("context_length") * number("sequences"),
            number("self_bytes"),
            "{line}"
        );
        assert!(matches!(timing(&job, &estimate(&job)), Timing::Unknown(Unknown::Encoder)));
        // An encoder of frames always gets the same number of frames, so its part of the cache does
        // not grow.
        let longer =
            cached(&served(&model, run(2 * number("source_length"))).expect("a served model"));
        let twice = if model.only_source().is_some() { 1 } else { 2 };
        assert_eq!(longer, number("self_bytes") + twice * number("cross_bytes"));
    }
    let counted = read(r#"{"model_type":"led","d_model":1024}"#);
    assert_eq!(served(&counted, ServingRun::plain()).err(), Some(ConfigError::OnlyTrained));
}

#[test]
fn a_longer_source_is_worked_with_when_it_is_served() {
    let working = |source| {
        let run =
            ServingRun { context_length: 64, source_length: Some(source), ..ServingRun::plain() };
        let job = served(&read(BART), run).expect("a served model");
        estimate(&job)
            .ledger
            .lines
            .iter()
            .filter(|line| line.kind == MemoryKind::Temporary)
            .map(|line| line.bytes.0)
            .sum::<u64>()
    };
    // The encoder's working set grows by two inner tensors and the block's output for each token.
    assert!(
        working(1024) - working(512) >= 512 * (2 * 4096 + 1024) * 2,
        "{} and {}",
        working(1024),
        working(512)
    );
}

#[test]
fn an_encoder_beside_a_decoder_is_trained_on_ranks_that_share_nothing_or_as_fsdp2_shares() {
    let model = read(BART);
    let blocked = |layout| {
        let job = support::training_job(&model, layout, |run| run.loss = Loss::OfStack);
        estimate(&job)
            .blockers
            .iter()
            .any(|blocker| blocker.to_string().contains("encoder beside its decoder"))
    };
    assert!(!blocked(support::layout(1, 1, 4, DataSharding::NOTHING)));
    let shared =
        |word: &str| support::layout(1, 1, 4, DataSharding::named(word).expect("a sharding"));
    assert!(
        !blocked(shared("fsdp"))
            && blocked(shared("1"))
            && blocked(shared("3"))
            && blocked(shared("fsdp1"))
    );
    assert!(
        blocked(support::layout(2, 1, 1, DataSharding::NOTHING))
            && blocked(support::layout(1, 2, 1, DataSharding::NOTHING))
    );
}

#[test]
fn what_is_counted_alone_says_so_and_biases_of_distances_ask_for_written_attention() {
    let told = |text: &str, words: &str, edit: fn(&mut headroom::config::TrainingRun)| {
        let job = support::training_job(&read(text), ParallelLayout::SINGLE, |run| {
            run.loss = Loss::OfStack;
            edit(run);
        });
        estimate(&job).blockers.iter().any(|blocker| blocker.to_string().contains(words))
    };
    let led = r#"{"model_type":"led","d_model":1024}"#;
    assert!(told(led, "counted alone", |_| {}));
    let written = |run: &mut headroom::config::TrainingRun| {
        (run.attention, run.recompute) = (AttentionKernel::Standard, Recompute::None);
    };
    assert!(told(T5, "which all blocks share", |run| run.attention = AttentionKernel::Flash));
    assert!(!told(T5, "which all blocks share", written));
}

#[test]
fn both_sides_are_read_back_from_a_link() {
    for text in [BART, T5, WHISPER, ALONE] {
        let imported = config_json(text).expect("a known kind");
        let mut scenario = Scenario::default();
        scenario.apply_imported(&imported);
        let again = codec::decode(&codec::encode(&scenario)).scenario;
        assert_eq!(again.model_config(), imported.config);
    }
}

/// FLOPs counted by PyTorch over transformers' modules. No gradient goes back through the first
/// convolution over frames.
const FLOPS: &str = include_str!("../../data/truth/flops_source.jsonl");

#[test]
fn flops_are_what_pytorch_counts() {
    for line in FLOPS.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row");
        let model = read(&row["config"].to_string());
        let number = |key: &str| row[key].as_u64().expect("a number");
        let job = support::training_job(&model, ParallelLayout::SINGLE, |run| {
            (run.loss, run.attention, run.recompute) =
                (Loss::OfStack, AttentionKernel::Standard, Recompute::None);
            (run.seq_length, run.source_length) =
                (number("seq_length"), Some(number("source_length")));
            (run.micro_batch_size, run.global_batch_size) =
                (Some(number("micro_batch_size")), number("micro_batch_size"));
        });
        let list = lower(&lowering(&job));
        let met = |ours: f64, key: &str| {
            assert!((ours - to_f64(number(key))).abs() < 0.5, "{ours} against {line}");
        };
        met(list.forward().0, "forward_flops");
        if model.family.model_type() != "whisper" {
            met(list.backward().0, "backward_flops");
        }
    }
}

/// Whisper's decoder has 448 positions, so no longer text is offered, however much memory is free.
#[test]
fn no_answer_offers_a_longer_target_than_the_decoder_has_positions() {
    let job = support::serving_job(&read(WHISPER), ParallelLayout::SINGLE, |run| {
        (run.context_length, run.concurrent_sequences) = (100, 1);
    });
    assert_eq!(inverse(&Lengths::of(&job)).longest_seq, Some(448));
}
