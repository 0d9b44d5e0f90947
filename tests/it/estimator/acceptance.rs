//! Published closed forms that the operation list must meet exactly. The forms are written out here
//! again, so that they share no code with the engine.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{
    AttentionKernel, DataSharding, GradientDType, MlpKind, ModelConfig, Optimizer, ParallelLayout,
    PositionEmbedding, Recompute, TrainingPrecision, WeightFormat,
};
use headroom::estimator::{MemoryKind, estimate};
use headroom::ops::{self, Kept, Lowering, Role, lower};
use headroom::units::Bytes;
use proptest::prelude::*;
use support::{gpt, layout, training_job};

/// Bytes a block saves on one of `t` ranks, of the tensors that `filter` passes.
fn block_bytes(
    with: &Lowering,
    t: u64,
    sequence_parallel: bool,
    filter: impl Fn(Kept) -> bool,
) -> u64 {
    let list = lower(with);
    ops::tensors(list.usual(), Role::Saved)
        .filter(|(_, tensor)| filter(tensor.kept))
        .map(|(_, tensor)| tensor.bytes_per_rank(t, sequence_parallel).0)
        .sum()
}

fn korthikanti(model: &ModelConfig, s: u64, b: u64) -> Lowering<'_> {
    Lowering {
        seq_length: s,
        micro_batch_size: b,
        context_length: s,
        stack: support::korthikanti(),
        attention: AttentionKernel::Standard,
        ..Lowering::parameters_only(model)
    }
}

const ALL: fn(Kept) -> bool = |_| true;
const SELECTIVE: fn(Kept) -> bool = |kept| kept != Kept::AttentionCore;
const FULL: fn(Kept) -> bool = |kept| kept == Kept::BlockInput;

proptest! {
    /// `34sbh + 5as²b`, its selective form `34sbh` and its full form `2sbh` (Korthikanti et al.
    /// 2022, equations 1 and 6).
    #[test]
    fn one_block_without_tensor_parallelism(s in 1_u64..5000, b in 1_u64..9, d in 1_u64..129, a in 1_u64..65) {
        let model = gpt(a * d, 1, a);
        let with = korthikanti(&model, s, b);
        let h = a * d;
        prop_assert_eq!(block_bytes(&with, 1, false, ALL), 34 * s * b * h + 5 * a * s * s * b);
        prop_assert_eq!(block_bytes(&with, 1, false, SELECTIVE), 34 * s * b * h);
        prop_assert_eq!(block_bytes(&with, 1, false, FULL), 2 * s * b * h);
    }

    /// `sbh(10 + 24/t + 5as/(ht))`, selective `sbh(10 + 24/t)`, full `2sbh` (equation 2; document
    /// 1). With sequence parallelism everything is divided by `t`: `sbh/t (34 + 5as/h)` (equation
    /// 4).
    #[test]
    fn one_block_with_tensor_parallelism(s8 in 1_u64..500, b in 1_u64..5, d in 1_u64..65, groups in 1_u64..9, t_log in 0_u32..4) {
        let t = 1_u64 << t_log;
        let (s, a) = (s8 * 8, groups * t);
        let h = a * d;
        let model = gpt(h, 1, a);
        let with = korthikanti(&model, s, b);
        let scores = 5 * a * s * s * b / t;
        prop_assert_eq!(block_bytes(&with, t, false, ALL), 10 * s * b * h + 24 * s * b * h / t + scores);
        prop_assert_eq!(block_bytes(&with, t, false, SELECTIVE), 10 * s * b * h + 24 * s * b * h / t);
        prop_assert_eq!(block_bytes(&with, t, false, FULL), 2 * s * b * h);
        prop_assert_eq!(block_bytes(&with, t, true, ALL), 34 * s * b * h / t + scores);
    }

    /// `12h² + 13h` parameters a layer, and `hv + L(12h² + 13h) + 2h` in all (document 3, section
    /// 5).
    #[test]
    fn parameters_of_a_gpt(d in 1_u64..200, a in 1_u64..40, layers in 1_u64..100, v in 1_u64..100_000) {
        let h = a * d;
        let model = ModelConfig { vocab_size: v, position_embedding: PositionEmbedding::Rotary, ..gpt(h, layers, a) };
        let list = lower(&Lowering::parameters_only(&model));
        prop_assert_eq!(ops::parameters(list.usual()), 12 * h * h + 13 * h);
        prop_assert_eq!(list.parameters(), h * v + layers * (12 * h * h + 13 * h) + 2 * h);
    }

    /// Document 4: `h(v + s) + L(4h² + 9h + 2·d_fc·h + d_fc) + 2h`, with learned positions and any
    /// feed-forward width.
    #[test]
    fn parameters_with_learned_positions(d in 1_u64..100, a in 1_u64..20, f in 1_u64..9000, layers in 1_u64..50, s in 1_u64..5000) {
        let h = a * d;
        let model = ModelConfig { intermediate_size: f, position_rows: s, ..gpt(h, layers, a) };
        let v = model.vocab_size;
        let expected = h * (v + s) + layers * (4 * h * h + 9 * h + 2 * f * h + f) + 2 * h;
        prop_assert_eq!(lower(&Lowering::parameters_only(&model)).parameters(), expected);
    }
}

#[test]
fn all_layers_of_document_one_and_three() {
    // LLaMA-2-70B's shape as the documents use it: h 8192, L 80, a 64, b 1, s 4096 (methods.md,
    // test vectors).
    let model = gpt(8192, 80, 64);
    let with = korthikanti(&model, 4096, 1);
    assert_eq!(80 * block_bytes(&with, 1, false, ALL), 520_764_784_640);
    assert_eq!(80 * block_bytes(&with, 8, false, ALL), 88_583_700_480);
    assert_eq!(80 * block_bytes(&with, 1, false, SELECTIVE), 91_268_055_040);
    assert_eq!(80 * block_bytes(&with, 8, false, SELECTIVE), 34_896_609_280);
    assert_eq!(80 * block_bytes(&with, 1, false, FULL), 5_368_709_120);
}

/// The optimizer with that key in links.
fn optimizer(key: &str) -> Optimizer {
    Optimizer::named(key).expect("an optimizer")
}

/// Bytes of weights, gradients and optimizer states of a job on one rank.
fn states(job: &headroom::config::Job) -> u64 {
    let ledger = estimate(job).ledger;
    [MemoryKind::Parameter, MemoryKind::Gradient, MemoryKind::OptimizerState]
        .map(|kind| ledger.of(kind).0)
        .iter()
        .sum()
}

#[test]
fn sixteen_eighteen_and_twenty_bytes_per_parameter() {
    use GradientDType::{AsWeights, Fp32, Fp32Copy};
    use TrainingPrecision::{Bf16Mixed, Bf16Pure, Fp16Mixed};
    let model = gpt(1024, 24, 16);
    let n = lower(&Lowering::parameters_only(&model)).parameters();
    let bytes = |precision, gradients, optimizer| {
        states(&training_job(&model, ParallelLayout::SINGLE, |run| {
            run.precision = precision;
            run.gradients = gradients;
            run.optimizer = optimizer;
        }))
    };
    assert_eq!(bytes(Bf16Mixed, AsWeights, optimizer("adamw")), 16 * n);
    assert_eq!(bytes(Fp16Mixed, AsWeights, optimizer("adamw")), 16 * n);
    assert_eq!(bytes(TrainingPrecision::Fp32, AsWeights, optimizer("adamw")), 16 * n);
    assert_eq!(bytes(Bf16Mixed, Fp32, optimizer("adamw")), 18 * n);
    assert_eq!(bytes(Bf16Mixed, Fp32Copy, optimizer("adamw")), 20 * n);
    assert_eq!(bytes(Bf16Pure, AsWeights, optimizer("adamw")), 8 * n);
    assert_eq!(bytes(Bf16Mixed, AsWeights, optimizer("sgdm")), 12 * n);
    assert_eq!(bytes(Bf16Mixed, AsWeights, optimizer("sgd")), 8 * n);
    // Two one-byte moments and two fp32 scales per 256 values.
    assert_eq!(bytes(Bf16Mixed, AsWeights, optimizer("adamw8")), 10 * n + 8 * n.div_ceil(256));
}

#[test]
fn zero_paper_figure_one() {
    // 7.5 B parameters over 64 ranks. In this toy model 64 divides every tensor, so that shares are
    // whole; most parameters are in the embedding.
    let model = ModelConfig {
        hidden_size: 64,
        head_dim: 64,
        intermediate_size: 2304,
        vocab_size: 117_182_592,
        position_rows: 0,
        mlp: MlpKind::Plain,
        attention_bias: true,
        attention_output_bias: true,
        mlp_bias: true,
        tie_word_embeddings: true,
        ..ModelConfig::plain()
    };
    assert_eq!(lower(&Lowering::parameters_only(&model)).parameters(), 7_500_000_000);
    let on = |sharding| states(&training_job(&model, layout(1, 1, 64, sharding), |_| {}));
    assert_eq!(on(DataSharding::NOTHING), 120_000_000_000);
    assert_eq!(on(support::zero1()), 31_406_250_000);
    assert_eq!(on(support::zero2()), 16_640_625_000);
    assert_eq!(on(support::zero3()), 1_875_000_000);
    assert_eq!(on(support::fsdp()), 1_875_000_000);
}

#[test]
fn kv_cache_of_document_two() {
    let row = headroom::catalog::model("llama2-70b").expect("in the catalog");
    let bytes = |context, sequences, kv_heads| {
        let model = ModelConfig { num_key_value_heads: kv_heads, ..row.config.clone() };
        let job = support::serving_job(&model, ParallelLayout::SINGLE, |run| {
            run.context_length = context;
            run.concurrent_sequences = sequences;
        });
        estimate(&job).ledger.of(MemoryKind::KvCache)
    };
    assert_eq!(bytes(1, 1, 8), Bytes(327_680));
    assert_eq!(bytes(4096, 1, 8), Bytes(1_342_177_280));
    assert_eq!(bytes(131_072, 1, 8), Bytes(42_949_672_960));
    assert_eq!(bytes(4096, 1000, 64), Bytes(1000 * 8 * 1_342_177_280));
    assert_eq!(bytes(4096, 1000, 1), Bytes(1000 * 1_342_177_280 / 8));
}

#[test]
fn quantised_weights() {
    let row = headroom::catalog::model("llama2-70b").expect("in the catalog");
    let weights = |dtype| {
        let job = support::serving_job(&row.config, ParallelLayout::SINGLE, |run| {
            run.quantization = dtype;
        });
        estimate(&job).ledger.of(MemoryKind::Parameter)
    };
    assert_eq!(weights(WeightFormat::Bf16), Bytes(2 * 68_976_648_192));
    assert_eq!(weights(WeightFormat::Fp8), Bytes(68_976_648_192));
    assert_eq!(weights(WeightFormat::Int4), Bytes(68_976_648_192 / 2));
}

#[test]
fn selective_recomputation_of_gpt3_saves_seventy_per_cent_for_under_three() {
    // Document 3, section 8.2.2, after Korthikanti et al.: 80/114 of the bytes, (s/6h)/(1 + s/6h +
    // v/12hL) of the FLOPs.
    let row = headroom::catalog::model("gpt3-175b").expect("in the catalog");
    let with = korthikanti(&row.config, 2048, 1);
    let (all, kept) = (block_bytes(&with, 1, false, ALL), block_bytes(&with, 1, false, SELECTIVE));
    assert_eq!((all - kept) * 114, all * 80);
    let job = training_job(&row.config, ParallelLayout::SINGLE, |run| {
        run.seq_length = 2048;
        run.stack = support::korthikanti();
        run.attention = AttentionKernel::Standard;
        run.recompute = Recompute::Selective;
    });
    let compute = estimate(&job).compute.expect("training has compute");
    let (s, h, v, layers) = (2048.0, 12288.0, 50257.0, 96.0);
    let extra: f64 = (s / (6.0 * h)) / (1.0 + s / (6.0 * h) + v / (12.0 * h * layers)) / 3.0;
    assert!(
        (compute.hfu_over_mfu - 1.0 - extra).abs() < 1e-12,
        "{} against {extra}",
        compute.hfu_over_mfu - 1.0
    );
}
