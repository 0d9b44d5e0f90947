//! The formulas of documents 2 and 3 for tensor, pipeline and data parallelism as special cases of
//! the engine. They agree to the byte for models without the parts that the formulas leave out:
//! norms, biases, and embeddings, of which a middle stage has none.
#![allow(
    clippy::expect_used,
    clippy::float_cmp,
    reason = "a failed expectation is a failed test; sums of whole numbers are exact"
)]

use crate::support;

use headroom::config::{
    AttentionKernel, DataSharding, Job, ModelConfig, Optimizer, ParallelLayout, PassTimes,
    Pipeline, PipelineSchedule, PositionEmbedding, Recompute,
};
use headroom::estimator::{MemoryKind, StageMemory, estimate, stages};
use headroom::methods::{ActivationShape, capacity_planning, eleuther};
use headroom::units::{Bytes, DType, to_f64};
use support::{gpt, layout, training_job};

/// The formulas' block, which has no parameters of norms and biases.
fn model() -> ModelConfig {
    ModelConfig {
        norms_per_block: 2,
        position_embedding: PositionEmbedding::Rotary,
        position_rows: 0,
        attention_bias: false,
        attention_output_bias: false,
        mlp_bias: false,
        ..gpt(1024, 16, 16)
    }
}

fn job(model: &ModelConfig, layout: ParallelLayout, recompute: Recompute) -> Job {
    training_job(model, layout, |run| {
        run.seq_length = 2048;
        run.global_batch_size = 16 * layout.d();
        run.stack = support::korthikanti();
        run.attention = AttentionKernel::Standard;
        run.recompute = recompute;
    })
}

fn of(stage: &StageMemory, kind: MemoryKind) -> Bytes {
    stage.by_kind[kind.index()]
}

fn shape(model: &ModelConfig, layers: u64) -> ActivationShape {
    ActivationShape {
        hidden_size: model.hidden_size,
        num_hidden_layers: layers,
        num_attention_heads: model.num_attention_heads,
        intermediate_size: model.intermediate_size,
        seq_length: 2048,
        batch_size: 1,
    }
}

/// Document 2's last formula, term by term, with gradients divided as weights are:
/// `W/(tp) + O/GPUs + G/(tp)`.
#[test]
fn states_of_three_dimensions() {
    let model = ModelConfig { norms_per_block: 0, ..model() };
    let blocks = 16 * 12 * 1024 * 1024;
    let adam =
        eleuther::optimizer_bytes_per_parameter(Optimizer::DEFAULT).expect("the document has it");
    let states = eleuther::states(blocks, DType::Bf16, DType::Bf16, adam);
    for (t, p, d) in [(1, 4, 1), (2, 4, 2), (4, 8, 4), (8, 16, 2)] {
        let all = stages(&job(&model, layout(t, p, d, support::zero1()), Recompute::None));
        let middle = &all[1];
        assert_eq!(
            of(middle, MemoryKind::Parameter),
            states.weights.per_rank(eleuther::weight_divisor(t, p)),
            "{t} {p} {d}"
        );
        assert_eq!(
            of(middle, MemoryKind::Gradient),
            states.gradients.per_rank(eleuther::gradient_divisor(t, p)),
            "{t} {p} {d}"
        );
        let share = eleuther::optimizer_divisor(t, p, d);
        assert_eq!(
            of(middle, MemoryKind::OptimizerState),
            states.optimizer.per_rank(share),
            "{t} {p} {d}"
        );
        assert_eq!(eleuther::dp_degree(t * p * d, t, p), d);
    }
}

/// `sbhL(10 + 24/t + 5as/(ht))` and its recomputed forms, for `L/p` layers times the micro-batches
/// in flight: document 2's activations, document 3's `min(p, m)`.
#[test]
fn activations_of_pipeline_and_tensor_ranks() {
    let model = model();
    for recompute in [Recompute::None, Recompute::Selective, Recompute::Full] {
        for (t, p) in [(1, 4), (2, 4), (4, 8), (8, 2)] {
            let all = stages(&job(&model, layout(t, p, 1, DataSharding::NOTHING), recompute));
            let per_micro_batch =
                eleuther::activations(&shape(&model, model.num_hidden_layers / p), t, recompute);
            for stage in all.iter().skip(1).take(all.len() - 2) {
                assert_eq!(stage.in_flight, p - stage.stage);
                // The block that backward recomputes counts as temporary memory, not as an
                // activation.
                assert_eq!(
                    of(stage, MemoryKind::Activation),
                    per_micro_batch * stage.in_flight,
                    "{recompute:?} {t} {p}"
                );
            }
            assert_eq!(all[0].in_flight, capacity_planning::micro_batches_in_flight(p, 16));
            let whole =
                eleuther::activations(&shape(&model, model.num_hidden_layers), t, recompute);
            let ratio = (per_micro_batch * all[0].in_flight).as_f64() / whole.as_f64();
            assert_eq!(
                ratio,
                eleuther::pipeline_activation_ratio(p, 16),
                "as large as without a pipeline"
            );
        }
    }
}

/// Without tensor and pipeline ranks, the engine's states are those of document 3's `memory_budget`
/// and document 2's ZeRO formulas.
#[test]
fn states_under_zero() {
    let model = model();
    let sharding = [DataSharding::NOTHING, support::zero1(), support::zero2(), support::zero3()];
    for (stage, sharding) in (0..).zip(sharding) {
        let estimate = estimate(&job(&model, layout(1, 1, 8, sharding), Recompute::Full));
        let states = capacity_planning::states(estimate.parameters.total, DType::Bf16);
        let budget = capacity_planning::memory_budget(&states, stage, 8, Bytes::ZERO).states;
        let ledger = &estimate.ledger;
        assert_eq!(ledger.of(MemoryKind::Parameter), budget.weights, "ZeRO-{stage}");
        assert_eq!(ledger.of(MemoryKind::Gradient), budget.gradients, "ZeRO-{stage}");
        assert_eq!(ledger.of(MemoryKind::OptimizerState), budget.optimizer, "ZeRO-{stage}");
        assert_eq!(
            eleuther::zero_total(stage, &states, 8, Bytes::ZERO, 0),
            budget.total(),
            "both documents divide alike"
        );
    }
}

/// Document 3's bubble, `(p − 1)/(vm)` of the ideal time.
#[test]
fn the_bubble_of_a_pipeline() {
    let unit = PassTimes::new(1.0, 1.0, 1.0);
    for (p, v, m) in [(2, 1, 8), (4, 1, 8), (8, 1, 32), (4, 2, 8), (8, 4, 32)] {
        let schedule = if v == 1 {
            PipelineSchedule::OneForwardOneBackward
        } else {
            PipelineSchedule::Interleaved
        };
        let pipeline = Pipeline { schedule, ranks: p, chunks: v, micro_batches: m, group: p };
        let ideal = to_f64(v * m) * unit.all();
        assert_eq!(
            pipeline.play(&unit).bubble / ideal,
            capacity_planning::pipeline_bubble(p, m, v),
            "{p} {v} {m}"
        );
    }
}
