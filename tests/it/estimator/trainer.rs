//! Steps under Hugging Face's Trainer, peft, TRL and Liger, and DeepSpeed with the loss of
//! transformers 4, against rows of PyTorch's own allocator on a pretended GPU
//! (`tests/data/cuda/frameworks.jsonl`).
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use headroom::config::{
    BaseFormat, Loss, Method, Optimizer, OptimizerImplementation, ParallelLayout, Stack, Targets,
    TrainingPrecision, TrainingRun, Tuning,
};
use headroom::estimator::{Blocker, blockers};
use headroom::stacks::LossKernel;
use headroom::units::DType;

use super::frameworks::{is_near, job, row};
use crate::support;

#[test]
fn the_loss_of_transformers_4_holds_a_shifted_copy_of_the_logits() {
    let old = |run: &mut TrainingRun, _: &mut ParallelLayout| {
        run.precision = TrainingPrecision::Bf16Mixed;
        (run.optimizer_implementation, run.loss) =
            (OptimizerImplementation::Fused, Loss::Transformers4);
    };
    for id in ["5d10ef1a2b", "e5b00303b6", "112f37ff8c"] {
        is_near(id, "3", 1_000, old);
    }
}

/// Adapters of rank `r` under the Trainer's `bf16`, beside weights in bf16.
fn adapters(r: u64, tuning: Tuning) -> impl Fn(&mut TrainingRun, &mut ParallelLayout) {
    move |run, _| {
        run.precision = TrainingPrecision::Bf16Pure;
        run.optimizer_implementation = OptimizerImplementation::Fused;
        run.tuning = Tuning {
            method: Method::Lora,
            r,
            target_modules: Targets::ALL,
            adapter_dtype: Some(DType::Fp32),
            autocast: true,
            ..tuning
        };
    }
}

#[test]
fn under_autocast_fp32_adapters_keep_their_input_in_16_bits() {
    is_near("92667c8e27", "none", 10_000, adapters(8, Tuning::FULL));
    is_near("0e4e78c4a9", "none", 10_000, adapters(8, Tuning::FULL));
}

#[test]
fn weights_beside_those_of_4_bits_stand_in_fp32_where_peft_prepares_them() {
    let double = Tuning { base: BaseFormat::Nf4Double, upcasts: true, ..Tuning::FULL };
    is_near("1b351f9401", "none", 10_000, adapters(16, double));
    is_near("8dc7b57962", "none", 10_000, adapters(16, double));
    is_near("7369242920", "none", 2_000, adapters(16, Tuning { base: BaseFormat::Nf4, ..double }));
    is_near("48d1daa365", "none", 10_000, adapters(16, Tuning { upcasts: false, ..double }));
}

/// `MatMul8bitLt` keeps its input as an attribute of the node, which checkpointing does not see.
#[test]
fn products_of_bytes_keep_their_input_until_the_graph_goes() {
    let bytes = Tuning { base: BaseFormat::Int8, ..Tuning::FULL };
    is_near("5484a4f51a", "none", 100_000, adapters(16, bytes));
    is_near("eca49802f5", "none", 100_000, adapters(16, Tuning { upcasts: true, ..bytes }));
    is_near("ec7a3e9a7f", "none", 100_000, |run, layout| {
        adapters(16, bytes)(run, layout);
        run.stack = Stack::named("liger").expect("a stack");
    });
    let shared = job(&row("5484a4f51a"), "fsdp", |run, layout| {
        adapters(16, bytes)(run, layout);
        run.tuning.autocast = false;
        *layout = support::layout(1, 1, 2, layout.sharding);
        run.global_batch_size *= 2;
    });
    let refused: Vec<_> = blockers(&shared).iter().map(Blocker::to_string).collect();
    assert!(refused.iter().any(|says| says.contains("Weights of 8 bits")), "{refused:?}");
}

/// One kernel of bitsandbytes updates Lion's momentum, and pages hold it where asked; torchao
/// compiles a step, which takes memory beside states of four bits alone.
#[test]
fn lion_keeps_one_momentum_and_torchao_two_of_few_bits() {
    for (id, name, paged) in [
        ("82726153cf", "adamw_8bit_torchao", false),
        ("686658c665", "adamw_4bit_torchao", false),
        ("17fba0315e", "lion", false),
        ("31bc56ccb3", "lion_8bit_trainer", false),
        ("16f60618b5", "lion_8bit_trainer", true),
    ] {
        is_near(id, "none", 100_000, |run, _| {
            run.precision = TrainingPrecision::Bf16Pure;
            run.optimizer = Optimizer::of_name(name).expect("an optimizer");
            run.optimizer_implementation = OptimizerImplementation::Fused;
            run.tuning.paged_optimizer = paged;
        });
    }
}

#[test]
fn liger_writes_over_what_it_is_given() {
    let liger = |run: &mut TrainingRun| run.stack = Stack::named("liger").expect("a stack");
    is_near("2d00a76913", "none", 10_000, |run, _| {
        run.precision = TrainingPrecision::Bf16Pure;
        run.optimizer_implementation = OptimizerImplementation::Fused;
        liger(run);
    });
    for id in ["67fcf4e158", "942a6bd7f9"] {
        is_near(id, "none", 10_000, |run, layout| {
            adapters(8, Tuning::FULL)(run, layout);
            liger(run);
        });
    }
    is_near("a175600ff5", "none", 1_000, |run, layout| {
        adapters(16, Tuning { base: BaseFormat::Nf4Double, upcasts: true, ..Tuning::FULL })(
            run, layout,
        );
        liger(run);
    });
}

#[test]
fn the_trainer_keeps_moments_of_embeddings_in_fp32_and_scales_out_of_pages() {
    for (id, paged) in [("3ab58e049b", false), ("04c856e227", true)] {
        is_near(id, "none", 10_000, |run, _| {
            run.precision = TrainingPrecision::Bf16Pure;
            run.optimizer = Optimizer::of_name("adamw_8bit_trainer").expect("an optimizer");
            run.optimizer_implementation = OptimizerImplementation::Fused;
            run.tuning.paged_optimizer = paged;
        });
    }
}

#[test]
fn the_trainer_takes_the_adafactor_of_transformers() {
    is_near("afdee9bd4c", "none", 100_000, |run, _| {
        run.precision = TrainingPrecision::Bf16Pure;
        run.optimizer = Optimizer::of_name("adafactor_transformers").expect("an optimizer");
        run.tuning.autocast = true;
    });
}

#[test]
fn chunks_of_ligers_loss_are_powers_of_two() {
    let chunk = |tokens, h, v| LossKernel::InEvenChunks.chunk_tokens(tokens, h, v);
    // Liger's own example: 4 · 4,096 tokens, 32,000 columns of 4,096.
    assert_eq!(chunk(4 * 4096, 4096, 32_000), Some(2048));
    assert_eq!(chunk(8192, 2048, 128_256), Some(256));
    assert_eq!(chunk(100, 4096, 1000), Some(100), "never more than there are");
}

#[test]
fn casts_of_adapters_are_refused_where_ranks_share_states() {
    let row = row("8dc7b57962");
    let says = |key: &str, tuning: Tuning| {
        let job = job(&row, key, |run, layout| {
            adapters(16, tuning)(run, layout);
            *layout = support::layout(1, 1, 2, layout.sharding);
            run.global_batch_size *= 2;
        });
        blockers(&job).iter().map(Blocker::to_string).collect::<Vec<_>>()
    };
    let tuning = Tuning { base: BaseFormat::Nf4, upcasts: true, ..Tuning::FULL };
    assert_eq!(says("none", tuning), Vec::<String>::new());
    let refused = says("2", tuning);
    assert!(refused.iter().any(|says| says.contains("Autocast beside adapters")), "{refused:?}");
    assert!(refused.iter().any(|says| says.contains("beside those of 4 bits")), "{refused:?}");
}

/// torchtune's recipes, everything in bf16.
fn torchtune(run: &mut TrainingRun, compile: bool) {
    run.precision = TrainingPrecision::Bf16Pure;
    run.optimizer_implementation = OptimizerImplementation::Fused;
    run.stack = Stack::named("torchtune").expect("a stack");
    run.compile = compile;
}

/// torchtune's adapters of rank 8 in the layers `target_modules`.
fn adapted(
    compile: bool,
    target_modules: Targets,
    base: BaseFormat,
) -> impl Fn(&mut TrainingRun, &mut ParallelLayout) {
    move |run, _| {
        torchtune(run, compile);
        let adapter_dtype = Some(DType::Bf16);
        run.tuning = Tuning {
            method: Method::Lora,
            r: 8,
            target_modules,
            adapter_dtype,
            base,
            ..Tuning::FULL
        };
    }
}

/// The layers that have adapters in torchtune's configurations: query, value, output and
/// feed-forward.
fn most_layers() -> Targets {
    let attention = Targets::QUERY.and(Targets::VALUE).and(Targets::OUTPUT);
    attention.and(Targets::GATE).and(Targets::UP).and(Targets::DOWN)
}

#[test]
fn torchtune_takes_what_pytorch_measured() {
    is_near("34aac1d0bd", "none", 10_000, |run, _| torchtune(run, false));
    is_near("4b24c597c5", "none", 10_000, adapted(false, most_layers(), BaseFormat::Weights));
    is_near("db6d79ac35", "none", 10_000, adapted(false, most_layers(), BaseFormat::Weights));
    is_near("e319801638", "none", 10_000, adapted(false, most_layers(), BaseFormat::Nf4Double));
}

/// torchtune checkpoints whole compiled layers, so backward runs a layer's complete forward again.
#[test]
fn compiled_torchtune_takes_what_pytorch_measured() {
    is_near("4cbce04fb2", "none", 10_000, |run, _| torchtune(run, true));
    is_near("a2411608e8", "none", 10_000, adapted(true, most_layers(), BaseFormat::Weights));
    // Of the sum of a frozen product and an adapter's, one tensor is saved and not both.
    is_near("9f6bfc59f3", "none", 10_000, adapted(true, most_layers(), BaseFormat::Weights));
    let two = Targets::QUERY.and(Targets::VALUE);
    is_near("6f5652ee60", "none", 10_000, adapted(true, two, BaseFormat::Weights));
    is_near("00f5a90018", "none", 900, adapted(true, two, BaseFormat::Weights));
    for id in ["95ba750fe6", "da37c21d73"] {
        is_near(id, "none", 800, |run, _| {
            torchtune(run, true);
            run.optimizer = Optimizer::of_name("adamw_8bit").expect("an optimizer");
            run.tuning.paged_optimizer = true;
            run.optimizer_in_backward = true;
        });
    }
}

/// The engine's peak is higher than measured, because it is not known exactly how long a compiled
/// layer holds its dequantised 4-bit weights.
#[test]
fn compiled_weights_of_4_bits_are_near_what_pytorch_measured() {
    is_near("e27aab0c24", "none", 200, adapted(true, most_layers(), BaseFormat::Nf4Double));
    is_near(
        "88ec825b7e",
        "none",
        50,
        adapted(true, Targets::QUERY.and(Targets::VALUE), BaseFormat::Nf4Double),
    );
}

#[test]
fn gradients_go_at_once_where_the_optimizer_steps_in_backward() {
    let edit = |in_backward: bool| {
        move |run: &mut TrainingRun, _: &mut ParallelLayout| {
            run.precision = TrainingPrecision::Bf16Pure;
            run.optimizer = Optimizer::of_name("adamw_8bit").expect("an optimizer");
            run.optimizer_implementation = OptimizerImplementation::Fused;
            run.tuning.paged_optimizer = true;
            run.stack = Stack::named("torchtune").expect("a stack");
            run.optimizer_in_backward = in_backward;
        }
    };
    is_near("f6ac154076", "none", 500, edit(true));
    let twice = job(&row("f6ac154076"), "none", |run, layout| {
        edit(true)(run, layout);
        run.global_batch_size *= 2;
    });
    let refused: Vec<String> = blockers(&twice).iter().map(Blocker::to_string).collect();
    assert!(refused.iter().any(|says| says.contains("steps in backward")), "{refused:?}");
}

#[test]
fn the_loss_of_trl_keeps_no_logits() {
    is_near("51f5130a9c", "none", 10_000, |run, _| {
        run.precision = TrainingPrecision::Bf16Pure;
        (run.optimizer_implementation, run.loss) = (OptimizerImplementation::Fused, Loss::Trl);
    });
    is_near("d6246e2572", "none", 10_000, |run, layout| {
        adapters(16, Tuning::FULL)(run, layout);
        run.loss = Loss::Trl;
    });
}

/// Liger's kernels in blocks of Llama's parts in another order: norms behind each half, and joint
/// projections, whose parts are copied into one piece.
#[test]
fn liger_runs_blocks_near_llamas() {
    let liger = |run: &mut TrainingRun, _: &mut ParallelLayout| {
        run.precision = TrainingPrecision::Bf16Pure;
        run.optimizer_implementation = OptimizerImplementation::Fused;
        run.tuning.autocast = true;
        run.stack = Stack::named("liger").expect("a stack");
    };
    is_near("fuzz-l1", "none", 100_000, liger);
    is_near("fuzz-l2", "none", 100_000, liger);
    is_near("0163f035e2", "none", 100_000, |run, layout| {
        liger(run, layout);
        (run.precision, run.tuning.autocast) = (TrainingPrecision::Fp32, false);
    });
}

#[test]
fn rmsprop_takes_roots_of_all_its_states() {
    is_near("a2ec4b0762", "none", 100_000, |run, _| {
        run.precision = TrainingPrecision::Fp32;
        run.optimizer = Optimizer::of_name("rmsprop").expect("an optimizer");
    });
}
