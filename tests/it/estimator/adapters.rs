//! Adapters under Megatron-Core, against rows of PyTorch's own allocator on a pretended GPU
//! (`tests/data/cuda/megatron_lora.jsonl`) and against their own shapes.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::num::NonZeroU64;

use headroom::catalog;
use headroom::config::{
    BaseFormat, DataSharding, GradientDType, Job, LossFusion, MegatronOptions, Method, Objective,
    OptimizerImplementation, ParallelLayout, Recompute, Targets, TokenDispatcher,
    TrainingPrecision, TrainingRun, Tuning,
};
use headroom::estimator::{
    Ledger, MemoryKind, blockers, estimate, rank_device_memory, stage_ledger,
};
use headroom::units::Bytes;
use serde_json::Value;

use super::frameworks;
use crate::support::{self, layout, training_job};

const QKV: Targets = Targets::QUERY.and(Targets::KEY).and(Targets::VALUE);

fn degree(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).expect("at least one")
}

fn lora(r: u64, target_modules: Targets, dropout: bool) -> Tuning {
    Tuning { r, target_modules, dropout, ..Tuning::FULL.with_adapters(BaseFormat::Weights) }
}

/// The row of that id as a job, with attention by a kernel that keeps its output as the projection
/// reads it, or with `FlashAttention`'s.
fn measured(id: &str, fused: bool) -> (Value, Job) {
    let rows = include_str!("../../data/cuda/megatron_lora.jsonl").lines();
    let mut rows = rows.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let row = rows.find(|row| row["id"] == id).expect("the row is there");
    let number = |pointer: &str| row.pointer(pointer).and_then(Value::as_u64);
    let of = |key: &str| degree(number(&format!("/parallel/{key}")).unwrap_or(1));
    let job = frameworks::job(&row, "1", |run, layout| {
        layout.tensor_model_parallel_size = of("tp");
        layout.pipeline_model_parallel_size = of("pp");
        layout.expert_model_parallel_size = of("ep");
        layout.expert_tensor_parallel_size = number("/parallel/etp").map(degree);
        layout.sequence_parallel = row["parallel"]["sp"] == true;
        let ranks = of("size").get() / (of("tp").get() * of("pp").get());
        layout.data_parallel_size = degree(ranks);
        run.global_batch_size = run.micro_batch_size.unwrap_or(1)
            * ranks
            * number("/run/gradient_accumulation_steps").unwrap_or(1);
        run.precision = TrainingPrecision::Bf16Mixed;
        (run.stack, run.gradients) = (support::megatron(), GradientDType::Fp32);
        run.optimizer_implementation = OptimizerImplementation::Fused;
        run.overlap.gradients = false;
        run.megatron = MegatronOptions {
            make_vocab_size_divisible_by: NonZeroU64::MIN,
            cross_entropy_loss_fusion: LossFusion::Native,
            fused_attention: fused,
            moe_grouped_gemm: true,
            moe_token_dispatcher: TokenDispatcher::AllToAll,
            cublas_workspace: Bytes::ZERO,
            ..MegatronOptions::DEFAULT
        };
        let dropout = row["flags"]["lora"]["dropout"].as_f64() > Some(0.0);
        let is_attention = row["flags"]["lora"].get("targets").is_some();
        let targets = if is_attention { QKV.and(Targets::OUTPUT) } else { Targets::ALL };
        run.tuning = lora(number("/flags/lora/r").expect("a rank"), targets, dropout);
    });
    (row, job)
}

/// Fails unless allocated memory is within 1/1,000 of the row's, and reserved memory within
/// 1/`reserved`.
fn is_met(id: &str, reserved: u64) {
    let (row, job) = measured(id, false);
    let stage = row["rank"].as_u64().expect("a rank");
    let ours = rank_device_memory(&job, stage).expect("a known order");
    for (name, ours, one_in) in
        [("peak_allocated", ours.allocated, 1_000), ("peak_reserved", ours.reserved, reserved)]
    {
        let measured = row["measured"][name].as_u64().expect("a peak");
        assert!(
            ours.0.abs_diff(measured) <= measured / one_in,
            "{id} {name}: {} against {measured}",
            ours.0
        );
    }
}

#[test]
fn adapters_under_megatron_take_what_was_measured() {
    // These rows have dropout with a recomputed attention core, neither dropout nor recomputation,
    // adapters on attention alone, and two tensor-parallel ranks.
    for id in ["c65e9acf23", "d30a95edb6", "7657f2ffb3", "372cf5abf6", "b1b1256fe9"] {
        is_met(id, 1_000);
    }
    // The first and the last of two stages.
    for id in ["16d7ff9d21", "5a20291dd4"] {
        is_met(id, 1_000);
    }
}

#[test]
fn adapters_of_experts_take_what_was_measured() {
    for id in ["177520c45f", "2925c8654a", "783462d9bd"] {
        is_met(id, 100);
    }
}

/// The ledger's sum is near the bytes that the allocator was asked for. It is not equal, because
/// the ledger leaves out partial sums and, for mixtures of experts, copies of rows.
#[test]
fn the_ledger_is_near_what_was_asked_for() {
    for (id, one_in) in [
        ("c65e9acf23", 50),
        ("d30a95edb6", 50),
        ("7657f2ffb3", 50),
        ("3c1881616e", 50),
        ("372cf5abf6", 20),
    ] {
        let (row, job) = measured(id, true);
        let ours = stage_ledger(&job, 0).expect("a stage").total().0;
        let measured = row["measured"]["peak_requested"].as_u64().expect("a peak");
        assert!(ours.abs_diff(measured) <= measured / one_in, "{id}: {ours} against {measured}");
    }
}

fn job(tuning: Tuning, layout: ParallelLayout, edit: impl FnOnce(&mut TrainingRun)) -> Job {
    let model = &catalog::model("qwen3-8b").expect("a model").config;
    training_job(model, layout, |run| {
        (run.stack, run.gradients, run.tuning) = (support::megatron(), GradientDType::Fp32, tuning);
        edit(run);
    })
}

fn of_label(ledger: &Ledger, label: &str) -> u64 {
    ledger.lines.iter().filter(|line| line.label == label).map(|line| line.bytes.0).sum()
}

/// Qwen3 8B: 36 blocks, width 4,096, 4,096 of queries and 2 × 1,024 of keys and values,
/// feed-forward layers of 12,288.
#[test]
fn each_matrix_is_whole_or_shared_as_its_layer_is() {
    let (h, joint, f, r) = (4096, 6144, 12_288, 16);
    let of = |t: u64| 36 * r * ((h + joint / t) + (h / t + h) + (h + 2 * f / t) + (f / t + h));
    for t in [1, 2, 4] {
        let ledger =
            estimate(&job(lora(r, Targets::ALL, false), layout(t, 1, 2, support::zero1()), |_| {}))
                .ledger;
        assert_eq!(of_label(&ledger, "Adapters"), 2 * of(t), "{t}");
        assert_eq!(
            of_label(&ledger, "Main gradients"),
            4 * of(t),
            "the buffer has what learns alone"
        );
        assert_eq!(of_label(&ledger, "Master weights"), 4 * of(t) / 2);
    }
    let found = estimate(&job(
        lora(r, Targets::ALL, false),
        layout(4, 1, 1, DataSharding::NOTHING),
        |_| {},
    ));
    assert_eq!(found.parameters.trainable, of(1), "each adapter once");
    let frozen = of_label(&found.ledger, "Frozen weights");
    let full = estimate(&job(Tuning::FULL, layout(4, 1, 1, DataSharding::NOTHING), |_| {})).ledger;
    assert_eq!(frozen, of_label(&full, "Weights"));
}

/// A frozen layer saves no input for backward; an adapter's dropout saves its output and a mask of
/// one byte for each element.
#[test]
fn what_is_kept_for_adapters_is_what_they_read() {
    let saved = |tuning, sp| {
        let layout =
            ParallelLayout { sequence_parallel: sp, ..layout(2, 1, 1, DataSharding::NOTHING) };
        let job = job(tuning, layout, |run| {
            (run.recompute, run.micro_batch_size) = (Recompute::None, Some(1));
        });
        let ledger = headroom::estimator::stage_after_forward(&job, 0).expect("a stage");
        let activations = ledger.lines.iter().filter(|line| line.kind == MemoryKind::Activation);
        activations.flat_map(|line| &line.tensors).map(|tensor| tensor.bytes.0).sum::<u64>()
    };
    let (tokens, h, q, f, blocks) = (4096, 4096, 2048, 6144, 36);
    let narrow = |local: u64| 2 * 16 * 4 * local * blocks;
    for (sp, local) in [(false, tokens), (true, tokens / 2)] {
        let of = |targets, dropout| saved(lora(16, targets, dropout), sp);
        // Adapters save the norms' outputs and the input of the second feed-forward matrix. The
        // attention kernel saves its output with or without adapters.
        let [none, all] = [Targets::NONE, Targets::ALL].map(|targets| of(targets, false));
        let inputs = 2 * (2 * local * h + tokens * f) * blocks;
        assert_eq!(all - none, inputs + narrow(local), "{sp}");
        let dropped = of(Targets::ALL, true);
        // Dropout adds the masks of all four inputs, and its own outputs beside the outputs of the
        // norms and of the kernel, which stay.
        let masks = (2 * local * h + tokens * f + tokens * q) * blocks;
        assert_eq!(dropped - all, masks + 2 * (2 * local * h + tokens * q) * blocks, "{sp}");
    }
}

#[test]
fn under_megatron_what_is_not_modelled_says_which_and_the_way_out() {
    let base = lora(8, Targets::ALL, true);
    let one = layout(1, 1, 2, support::zero1());
    let says = |job: &Job| blockers(job).iter().map(ToString::to_string).collect::<Vec<_>>();
    let refused = |job: &Job, word: &str| {
        assert!(says(job).iter().any(|says| says.contains(word)), "{word}: {:?}", says(job));
    };
    for layout in [one, layout(2, 2, 2, support::zero1()), layout(2, 1, 2, DataSharding::NOTHING)] {
        assert_eq!(says(&job(base, layout, |_| {})), Vec::<String>::new());
    }
    for other in [
        Tuning { method: Method::Dora, ..base },
        Tuning { method: Method::Prompt, ..base },
        Tuning { base: BaseFormat::Nf4, ..base },
        Tuning { objective: Objective::Preference, ..base },
        Tuning { frozen_layers: 3, ..Tuning::FULL },
    ] {
        refused(&job(other, one, |_| {}), "modelled with LoRA from examples");
    }
    refused(&job(base, one, |run| run.megatron.transformer_engine = false), "Transformer Engine");
    refused(&job(base, layout(1, 1, 8, support::zero2()), |_| {}), "optimizer states alone");
    refused(&job(lora(8, Targets::SHARED_GATE, false), one, |_| {}), "nothing learns");
    let mixture = |layout, edit: &dyn Fn(&mut TrainingRun)| {
        let model = &catalog::model("qwen3-30b-a3b").expect("a model").config;
        training_job(model, layout, |run| {
            (run.stack, run.tuning) = (support::megatron(), base);
            run.megatron.moe_grouped_gemm = true;
            edit(run);
        })
    };
    let two = |etp| ParallelLayout {
        expert_tensor_parallel_size: Some(degree(etp)),
        ..layout(2, 1, 2, support::zero1())
    };
    assert_eq!(says(&mixture(two(1), &|_| {})), Vec::<String>::new());
    refused(&mixture(two(2), &|_| {}), "1 tensor-parallel rank for experts");
    refused(&mixture(two(1), &|run| run.megatron.moe_grouped_gemm = false), "moe_grouped_gemm");
    let latent = &catalog::model("deepseek-v3").expect("a model").config;
    let latent =
        training_job(latent, one, |run| (run.stack, run.tuning) = (support::megatron(), base));
    refused(&latent, "latent attention");
}

/// Every expert has a pair of adapter matrices, on whichever rank the expert is.
#[test]
fn experts_have_a_pair_each() {
    let model = &catalog::model("qwen3-30b-a3b").expect("a model").config;
    let of = |ep: u64, targets| {
        let layout = ParallelLayout {
            expert_model_parallel_size: degree(ep),
            ..layout(1, 1, 8, support::zero1())
        };
        let job = training_job(model, layout, |run| {
            (run.stack, run.tuning) = (support::megatron(), lora(8, targets, false));
            run.megatron.moe_grouped_gemm = true;
        });
        of_label(&stage_ledger(&job, 0).expect("a stage"), "Adapters")
    };
    let one = 2 * 8 * ((2048 + 2 * 768) + (768 + 2048)) * 48;
    let inner = Targets::GATE.and(Targets::UP).and(Targets::DOWN);
    for ep in [1, 2, 8] {
        assert_eq!(of(ep, inner), one * 128 / ep, "{ep}");
    }
    assert_eq!(of(2, Targets::ALL) - of(2, inner), of(1, QKV.and(Targets::OUTPUT)));
}
