//! Steps under PyTorch's FSDP1, FSDP2, DDP and torchtitan, against rows of PyTorch's own allocator
//! on a pretended GPU (`tests/data/cuda/frameworks.jsonl`).
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::num::NonZeroU64;

use headroom::config::{
    AttentionKernel, DataSharding, Dropout, GradientDType, Job, Loss, OptimizerImplementation,
    OverlapComm, ParallelLayout, PipelineSchedule, PipelineSplit, Recompute, Run, Stack,
    TrainingPrecision, TrainingRun,
};
use headroom::estimator::{
    Blocker, blockers, device_memory, estimate, memory_by_kind, memory_of_each, rank_device_memory,
};
use headroom::units::Bytes;
use serde_json::Value;

use crate::support;

/// The row of that id.
pub(super) fn row(id: &str) -> Value {
    let rows = include_str!("../../data/cuda/frameworks.jsonl")
        .lines()
        .chain(include_str!("../../data/cuda/losses.jsonl").lines());
    let rows = rows.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.into_iter().find(|row| row["id"] == id).expect("the row is there")
}

/// The job of a row, whose settings of the framework `edit` adds.
pub(super) fn job(
    row: &Value,
    sharding: &str,
    edit: impl FnOnce(&mut TrainingRun, &mut ParallelLayout),
) -> Job {
    let number = |pointer: &str| row.pointer(pointer).and_then(Value::as_u64);
    let model =
        headroom::import::config_json(&row["config"].to_string()).expect("a known model").config;
    let ranks = number("/parallel/size").expect("ranks");
    let mut layout = ParallelLayout {
        data_parallel_size: NonZeroU64::new(ranks).expect("ranks"),
        sharding: DataSharding::named(sharding).expect("a sharding"),
        ..ParallelLayout::SINGLE
    };
    let micro_batch = number("/run/micro_batch_size").expect("a micro-batch");
    let mut run = TrainingRun {
        seq_length: number("/run/seq_length").expect("a length"),
        micro_batch_size: Some(micro_batch),
        global_batch_size: micro_batch
            * ranks
            * number("/run/gradient_accumulation_steps").unwrap_or(1),
        attention: AttentionKernel::Flash,
        stack: support::eager(),
        precision: TrainingPrecision::FsdpMixed,
        optimizer_implementation: OptimizerImplementation::Foreach,
        recompute: match row["run"]["recompute"].as_str() {
            Some("none") => Recompute::None,
            Some("full") => Recompute::Full,
            _ => Recompute::Selective,
        },
        ..TrainingRun::plain()
    };
    edit(&mut run, &mut layout);
    Job::new(model, Run::Training(run), layout, support::cluster(Bytes(85_000_000_000)))
        .expect("a valid job")
}

/// Fails unless the allocated peak is the row's to one in 10,000, which leaves room for the
/// rounding of single tensors.
#[track_caller]
fn is_met(id: &str, sharding: &str, edit: impl FnOnce(&mut TrainingRun, &mut ParallelLayout)) {
    is_near(id, sharding, 10_000, edit);
}

/// Fails where the allocated peak is further than 1/`one_in` from the row's.
#[track_caller]
pub(super) fn is_near(
    id: &str,
    sharding: &str,
    one_in: u64,
    edit: impl FnOnce(&mut TrainingRun, &mut ParallelLayout),
) {
    let row = row(id);
    let ours = device_memory(&job(&row, sharding, edit)).expect("a known order").allocated.0;
    let measured = row["measured"]["peak_allocated"].as_u64().expect("a peak");
    assert!(ours.abs_diff(measured) <= measured / one_in, "{id}: {ours} against {measured}");
}

#[test]
fn fsdp1_takes_what_pytorch_measured() {
    let in_16_bits =
        |_: &mut TrainingRun, layout: &mut ParallelLayout| layout.reduce_in_fp32 = false;
    is_met("c6a5c3d7ba", "fsdp1", in_16_bits);
    is_met("05fb6dbaab", "fsdp1", |_, layout| layout.reduce_in_fp32 = true);
    is_met("c9bb16556c", "fsdp1", in_16_bits);
    is_met("11ac82b022", "fsdp1", |_, layout| {
        (layout.reduce_in_fp32, layout.reshard_after_forward) = (false, false);
    });
    is_met("5bc7c326f4", "fsdp1", in_16_bits);
    // This run gathers no weights ahead in backward.
    is_met("5613b8a54f", "fsdp1", |run, layout| {
        (layout.reduce_in_fp32, run.overlap.prefetch_backward) = (false, false);
    });
    is_met("b8a7b27027", "fsdp1", |run, layout| {
        (run.precision, run.optimizer_implementation) =
            (TrainingPrecision::Bf16Pure, OptimizerImplementation::Fused);
        layout.reduce_in_fp32 = false;
    });
}

/// The head, the loss and their backward run chunk by chunk, while the head's whole gradient adds
/// up in fp32.
#[test]
fn torchtitans_loss_in_chunks_takes_what_pytorch_measured() {
    let chunked = |run: &mut TrainingRun, _: &mut ParallelLayout| {
        (run.stack, run.optimizer_implementation) = (torchtitan(), OptimizerImplementation::Fused);
        run.loss = Loss::TorchtitanChunks;
    };
    for id in ["24ff76a138", "3cbbd90326"] {
        is_near(id, "fsdp", 100_000, chunked);
        let row = row(id);
        let total = |loss| {
            let job = job(&row, "fsdp", |run, layout| {
                chunked(run, layout);
                run.loss = loss;
            });
            memory_by_kind(&job).into_iter().sum::<Bytes>().0
        };
        let measured = row["measured"]["peak_requested"].as_u64().expect("a peak");
        let ledger = total(Loss::TorchtitanChunks);
        assert!(ledger.abs_diff(measured) < measured / 1_000, "{ledger} against {measured}");
        assert!(ledger < total(Loss::OfStack), "whole logits take more");
    }
}

#[test]
fn torchtitans_loss_in_chunks_is_refused_where_it_is_not_modelled() {
    let refused = |sharding: &str, edit: &dyn Fn(&mut TrainingRun)| {
        let job = job(&row("3cbbd90326"), sharding, |run, _| {
            (run.stack, run.loss) = (torchtitan(), Loss::TorchtitanChunks);
            edit(run);
        });
        blockers(&job).iter().any(|blocker| blocker.to_string().contains("loss in chunks"))
    };
    assert!(!refused("fsdp", &|_| {}));
    assert!(refused("fsdp", &|run| run.stack = support::eager()));
    assert!(refused("fsdp", &|run| run.compile = true));
    assert!(refused("fsdp", &|run| run.seq_length = 8188));
    assert!(refused("none", &|_| {}));
}

/// Gradients that are set to zero instead of freed are still allocated in the next forward.
/// DeepSpeed's engine always frees its own, so the setting is refused there.
#[test]
fn gradients_filled_with_zeros_live_on() {
    let of = |sharding: &str, to_none: bool| {
        job(&row("a937d956c9"), sharding, |run, _| {
            (run.zero_grad_to_none, run.precision) = (to_none, TrainingPrecision::Fp32);
        })
    };
    let total = |to_none| memory_by_kind(&of("none", to_none)).into_iter().sum::<Bytes>();
    assert!(total(false) > total(true), "gradients stand beside activations");
    let says = |job: &Job| blockers(job).iter().map(Blocker::to_string).collect::<Vec<_>>();
    assert!(says(&of("none", false)).is_empty() && says(&of("fsdp", false)).is_empty());
    assert!(says(&of("3", false)).iter().any(|says| says.contains("filled with zeros")));
    assert!(says(&of("3", true)).is_empty());
}

/// Without a wrapping policy, all weights are gathered at once, and all gradients wait for the end
/// of backward.
#[test]
fn fsdp1_may_be_one_unit() {
    let one = |wraps: bool| {
        move |run: &mut TrainingRun, layout: &mut ParallelLayout| {
            (run.library.wraps_blocks, layout.reduce_in_fp32) = (wraps, false);
        }
    };
    is_met("a937d956c9", "fsdp1", one(false));
    let row = row("a937d956c9");
    let total = |wraps| memory_by_kind(&job(&row, "fsdp1", one(wraps))).into_iter().sum::<Bytes>();
    let weights = Bytes(2 * 3_212_749_824);
    assert!(total(false) > total(true) + Bytes(weights.0 / 2), "most weights are gathered in vain");
    // The ledger's total is the peak that the replay's allocator is asked for.
    let measured = row["measured"]["peak_requested"].as_u64().expect("a peak");
    assert!(
        total(false).0.abs_diff(measured) < measured / 1_000,
        "{} against {measured}",
        total(false).0
    );
}

/// FlashAttention runs in 16 bits only. In fp32 PyTorch takes the memory-efficient kernel, which
/// pads its log-sum-exp.
#[test]
fn in_fp32_attention_is_the_memory_efficient_kernel() {
    is_near("c88b976bb7", "fsdp1", 100_000, |run, layout| {
        (run.precision, layout.reduce_in_fp32) = (TrainingPrecision::Fp32, false);
    });
}

#[test]
fn gradients_that_are_reduced_once_add_up_unreduced() {
    is_met("7f0cdbc885", "fsdp1", |_, layout| {
        (layout.reduce_in_fp32, layout.reduce_once) = (false, true);
    });
    is_met("d00e4b6e77", "fsdp", |_, layout| layout.reduce_once = true);
}

#[test]
fn the_buckets_of_ddp_are_in_the_replay() {
    let row = row("bfa77979ee");
    let job = job(&row, "none", |run, _| run.precision = TrainingPrecision::Bf16Pure);
    let ours = device_memory(&job).expect("a known order").allocated.0;
    let measured = row["measured"]["peak_allocated"].as_u64().expect("a peak");
    // PyTorch allocates its buckets in pieces, the engine as one block; hence one in 5,000.
    assert!(ours.abs_diff(measured) <= measured / 5_000, "{ours} against {measured}");
}

fn torchtitan() -> Stack {
    Stack::named("torchtitan").expect("a stack")
}

#[test]
fn torchtitan_takes_what_pytorch_measured() {
    let plain = |run: &mut TrainingRun, _: &mut ParallelLayout| {
        (run.stack, run.optimizer_implementation) = (torchtitan(), OptimizerImplementation::Fused);
    };
    for id in ["38b71f873f", "2f1817b123", "8fcec5214c", "f4c00c6bf3"] {
        is_met(id, "fsdp", plain);
    }
    is_met("67c8905a67", "fsdp", |run, layout| {
        plain(run, layout);
        layout.reshard_after_forward = false;
    });
}

/// torchtitan 0.1 copies keys and values for every head, keeps the last block gathered and rotates
/// by one buffer.
#[test]
fn torchtitan_of_2025_takes_what_pytorch_measured() {
    for id in ["50a9921734", "89650fb59c", "ec717c250a"] {
        is_met(id, "fsdp", |run, _| {
            run.stack = Stack::named("torchtitan-2025").expect("a stack");
            run.optimizer_implementation = OptimizerImplementation::Fused;
        });
    }
}

/// torchtitan's tensor parallelism: inputs of attention and feed-forward layers are gathered once
/// and saved, and the loss reads a rank's columns of the logits.
#[test]
fn torchtitans_tensor_parallelism_takes_what_pytorch_measured() {
    for (id, stack, ranks) in [
        ("d6759a7625", "torchtitan", 2),
        ("f4b253e60d", "torchtitan", 8),
        ("4d518c4011", "torchtitan-2025", 2),
        ("490696ea98", "torchtitan-2025", 4),
    ] {
        is_met(id, "fsdp", |run, layout| split(run, layout, (stack, ranks)));
    }
    is_met("9822a1c134", "fsdp", |run, layout| {
        split(run, layout, ("torchtitan", 4));
        run.loss = Loss::TorchtitanChunks;
    });
}

/// So many tensor-parallel ranks with sequence parallelism, taken from the data-parallel ones.
fn split(run: &mut TrainingRun, layout: &mut ParallelLayout, (stack, ranks): (&str, u64)) {
    let of = |ranks| NonZeroU64::new(ranks).expect("ranks");
    run.stack = Stack::named(stack).expect("a stack");
    run.optimizer_implementation = OptimizerImplementation::Fused;
    run.global_batch_size /= ranks;
    layout.data_parallel_size = of(layout.data_parallel_size.get() / ranks);
    (layout.tensor_model_parallel_size, layout.sequence_parallel) = (of(ranks), true);
}

/// torchtitan's stages: layers are dealt out with embedding and head as one each, weights stay
/// gathered and whole gradients add up until all micro-batches are through, and the last stage
/// keeps every input, under torchtitan 0.1 every output, too.
#[test]
fn torchtitans_stages_take_what_pytorch_measured() {
    for (id, stack, schedule) in [
        ("619b0109a5", "torchtitan", PipelineSchedule::OneForwardOneBackward),
        ("c3add31fa5", "torchtitan", PipelineSchedule::OneForwardOneBackward),
        ("f5b9ce00e6", "torchtitan", PipelineSchedule::OneForwardOneBackward),
        ("73c6a6eb05", "torchtitan", PipelineSchedule::GPipe),
        ("4526cf08f2", "torchtitan-2025", PipelineSchedule::OneForwardOneBackward),
        ("6183c7d127", "torchtitan-2025", PipelineSchedule::GPipe),
    ] {
        let row = row(id);
        let number = |pointer: &str| row.pointer(pointer).and_then(Value::as_u64);
        let stages = number("/parallel/pp").expect("stages");
        let job = job(&row, "fsdp", |run, layout| {
            in_stages(run, layout, (stack, stages));
            layout.pipeline_schedule = schedule;
            layout.reshard_after_forward = row["flags"]["reshard"] == "always";
        });
        assert_eq!(forbidden(&job), Vec::<String>::new());
        let memory = rank_device_memory(&job, number("/rank").expect("a rank")).expect("a replay");
        let near = |ours: Bytes, pointer: &str, one_in: u64| {
            let measured = number(pointer).expect("bytes");
            assert!(
                ours.0.abs_diff(measured) <= measured / one_in,
                "{id}{pointer}: {ours:?} and {measured}"
            );
        };
        near(memory.allocated, "/measured/peak_allocated", 250);
        near(memory.reserved, "/measured/peak_reserved", 50);
    }
}

/// So many stages, each micro-batch of one sequence.
fn in_stages(run: &mut TrainingRun, layout: &mut ParallelLayout, (stack, stages): (&str, u64)) {
    run.stack = Stack::named(stack).expect("a stack");
    run.optimizer_implementation = OptimizerImplementation::Fused;
    run.global_batch_size /= stages;
    run.micro_batch_size = Some(1);
    let of = |ranks| NonZeroU64::new(ranks).expect("ranks");
    layout.data_parallel_size = of(layout.data_parallel_size.get() / stages);
    layout.pipeline_model_parallel_size = of(stages);
    layout.pipeline_split = PipelineSplit::WithEnds;
    layout.reshard_after_forward = false;
}

/// PyTorch's 1F1B wants a micro-batch for every stage; other schedules were not compared with
/// anything.
#[test]
fn other_schedules_of_torchtitan_are_refused() {
    let row = row("f4c00c6bf3");
    for stack in ["torchtitan", "torchtitan-2025"] {
        let refused = |micro_batches: u64, schedule: PipelineSchedule| {
            let job = job(&row, "fsdp", |run, layout| {
                in_stages(run, layout, (stack, 4));
                run.global_batch_size = 2 * micro_batches;
                layout.pipeline_schedule = schedule;
            });
            forbidden(&job).iter().any(|says| says.contains("GPipe, and with 1F1B"))
        };
        assert!(!refused(4, PipelineSchedule::OneForwardOneBackward));
        assert!(refused(3, PipelineSchedule::OneForwardOneBackward));
        assert!(!refused(3, PipelineSchedule::GPipe));
        assert!(refused(8, PipelineSchedule::ZeroBubbleH1));
    }
}

/// Compiled, or with all tokens on every rank, torchtitan's tensor parallelism was not
/// compared with anything; and each rank must have a whole number of key/value heads.
#[test]
fn other_tensor_parallelism_of_torchtitan_is_refused() {
    let row = row("f4c00c6bf3");
    let refused = |edit: &dyn Fn(&mut TrainingRun, &mut ParallelLayout)| {
        let job = job(&row, "fsdp", |run, layout| {
            split(run, layout, ("torchtitan", 2));
            edit(run, layout);
        });
        forbidden(&job).iter().any(|says| says.contains("with sequence parallelism"))
    };
    assert!(!refused(&|_, _| {}));
    assert!(refused(&|run, _| run.compile = true));
    assert!(refused(&|_, layout| layout.sequence_parallel = false));
    let too_many = job(&row, "fsdp", |run, layout| {
        layout.data_parallel_size = NonZeroU64::new(32).expect("ranks");
        run.global_batch_size = 32;
        split(run, layout, ("torchtitan", 16));
    });
    let uneven = |blocker: &Blocker| {
        matches!(blocker, Blocker::Tensor { what: "num_key_value_heads", size: 8, t: 16 })
    };
    assert!(blockers(&too_many).iter().any(uneven));
    // Row 9009a5d59a of torchtitan 0.1 took 24 % more than copied keys and flash attention would.
    let of = |stack| forbidden(&job(&row, "fsdp", |run, layout| split(run, layout, (stack, 8))));
    assert!(of("torchtitan-2025").iter().any(|says| says.contains("one key/value head")));
    assert_eq!(of("torchtitan"), Vec::<String>::new());
}

/// Compiled blocks and loss: a tensor that only elementwise kernels read is never written to
/// memory.
#[test]
fn compiled_torchtitan_takes_what_pytorch_measured() {
    for (id, stack) in [
        ("5744f209fb", "torchtitan"),
        ("0ec896639e", "torchtitan"),
        ("71416125c0", "torchtitan"),
        ("1a2c899ce7", "torchtitan-2025"),
        ("42b6a3c566", "torchtitan-2025"),
    ] {
        is_met(id, "fsdp", |run, _| compiled(run, stack));
    }
}

fn compiled(run: &mut TrainingRun, stack: &str) {
    run.stack = Stack::named(&stack.replace('_', "-")).expect("a stack");
    run.compile = true;
    run.optimizer_implementation = OptimizerImplementation::Fused;
}

/// Rows with other widths, heads, lengths, vocabularies and ranks than those of published models,
/// with recomputation and without. In most of them the peak is inside a compiled block.
#[test]
fn compiled_blocks_of_any_size_take_what_pytorch_measured() {
    let text = include_str!("../../data/cuda/compiled.jsonl");
    let mut errors: Vec<f64> = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let job = job(&row, "fsdp", |run, _| {
            compiled(run, row["framework"].as_str().expect("a framework"));
        });
        let ours = device_memory(&job).expect("a known order").allocated.0;
        let measured = row["measured"]["peak_allocated"].as_u64().expect("a peak");
        assert!(
            ours.abs_diff(measured) <= measured / 100,
            "{}: {ours} against {measured}",
            row["id"]
        );
        #[expect(clippy::cast_precision_loss, reason = "for a median")]
        errors.push(ours.abs_diff(measured) as f64 / measured as f64);
    }
    errors.sort_by(f64::total_cmp);
    assert!(
        errors.len() == 38 && errors[errors.len() / 2] <= 0.0005 && errors[34] <= 0.005,
        "{errors:?}"
    );
}

/// Stacks whose compiled step has not been compared with PyTorch are refused. Where both are known,
/// an eager step takes at least as much memory as a compiled one.
#[test]
fn compiling_is_torchtitans_and_torchtunes() {
    let row = row("f4c00c6bf3");
    let says = forbidden(&job(&row, "fsdp", |run, _| run.compile = true));
    assert!(
        says.iter()
            .any(|says| says
                .contains("torch.compile is modelled for torchtitan and torchtune alone")),
        "{says:?}"
    );
    for recompute in [Recompute::None, Recompute::Selective, Recompute::Full] {
        let of = |compile| {
            let job = job(&row, "fsdp", |run, _| {
                (run.stack, run.compile, run.recompute) = (torchtitan(), compile, recompute);
            });
            assert_eq!(forbidden(&job), Vec::<String>::new());
            device_memory(&job).expect("a known order").allocated
        };
        assert!(of(true) < of(false), "{recompute:?}");
    }
}

/// Llama 3.1 8B: the second product of a block is the output projection, the fourth the
/// feed-forward layer's up.
#[test]
fn torchtitan_recomputes_every_second_product() {
    let row = row("f4c00c6bf3");
    let of = |recompute| {
        estimate(&job(&row, "fsdp", |run, _| {
            (run.stack, run.recompute) = (torchtitan(), recompute);
        }))
        .compute
        .expect("a training")
    };
    let [none, selective, full] = [Recompute::None, Recompute::Selective, Recompute::Full].map(of);
    let (layers, h, inner, tokens) = (32.0, 4096.0, 14_336.0, 8192.0 * 8.0);
    let second = 2.0 * layers * tokens * (h * h + h * inner);
    let found = selective.recomputed.0 - none.recomputed.0;
    assert!((found - second).abs() <= 1e-9 * second, "{found} against {second}");
    assert!(selective.recomputed.0 < full.recomputed.0);
}

/// One played step evaluated for many numbers of ranks gives the same memory as a step played for
/// each number.
#[test]
fn many_numbers_of_ranks_are_as_each_by_itself() {
    let row = row("f4c00c6bf3");
    for (sharding, stack, implementation) in [
        ("fsdp1", support::eager(), OptimizerImplementation::Foreach),
        ("fsdp1", support::eager(), OptimizerImplementation::ForLoop),
        ("fsdp1", support::fused(), OptimizerImplementation::Fused),
        ("fsdp", torchtitan(), OptimizerImplementation::Fused),
    ] {
        for reduce_once in [false, true] {
            let jobs: Vec<Job> = [2, 3, 5, 8, 13, 64, 1000]
                .map(|ranks| {
                    job(&row, sharding, |run, layout| {
                        layout.data_parallel_size = NonZeroU64::new(ranks).expect("ranks");
                        layout.reduce_once = reduce_once;
                        (run.stack, run.optimizer_implementation, run.global_batch_size) =
                            (stack, implementation, 2 * ranks);
                    })
                })
                .into();
            let alone: Vec<_> = jobs.iter().map(memory_by_kind).collect();
            assert_eq!(
                memory_of_each(&jobs).collect::<Vec<_>>(),
                alone,
                "{sharding} {stack:?} {implementation:?} {reduce_once}"
            );
        }
    }
}

/// One played step also gives each number of ranks its memory for FSDP1 as one unit, for a loss in
/// chunks, and for gradients that are not freed.
#[test]
fn further_settings_are_dealt_out_to_many_ranks_as_to_one() {
    type Edit = fn(&mut TrainingRun);
    let settings: [(&str, Edit); 3] = [
        ("fsdp1", |run| run.library.wraps_blocks = false),
        ("fsdp", |run| (run.stack, run.loss) = (torchtitan(), Loss::TorchtitanChunks)),
        ("fsdp", |run| run.zero_grad_to_none = false),
    ];
    for (sharding, edit) in settings {
        let jobs: Vec<Job> = [2_u64, 7, 64]
            .map(|ranks| {
                job(&row("3cbbd90326"), sharding, |run, layout| {
                    layout.data_parallel_size = NonZeroU64::new(ranks).expect("ranks");
                    (run.seq_length, run.global_batch_size) = (1024, ranks);
                    edit(run);
                })
            })
            .into();
        let alone: Vec<_> = jobs.iter().map(memory_by_kind).collect();
        assert_eq!(memory_of_each(&jobs).collect::<Vec<_>>(), alone, "{sharding}");
    }
}

/// The sentences of a job's blockers.
fn forbidden(job: &Job) -> Vec<String> {
    blockers(job).iter().map(Blocker::to_string).collect()
}

#[test]
fn what_fsdp1_and_torchtitan_do_not_run_is_refused() {
    let row = row("f4c00c6bf3");
    assert_eq!(
        forbidden(&job(&row, "fsdp", |run, _| run.stack = torchtitan())),
        Vec::<String>::new()
    );
    let megatron = job(&row, "fsdp1", |run, _| {
        (run.stack, run.precision) =
            (Stack::named("megatron").expect("a stack"), TrainingPrecision::Bf16Mixed);
    });
    assert!(
        forbidden(&megatron).iter().any(|says| says.contains("does not know PyTorch's FSDP1")),
        "{:?}",
        forbidden(&megatron)
    );
    let tied = self::row("c6a5c3d7ba");
    let tied = forbidden(&job(&tied, "fsdp", |run, _| run.stack = torchtitan()));
    assert!(tied.iter().any(|says| says.contains("models of Llama's kind")), "{tied:?}");
}

/// Fails unless reserved memory is within `parts` ten-thousandths of the row's, and allocated
/// memory within one.
#[track_caller]
fn is_reserved(
    id: &str,
    sharding: &str,
    parts: u64,
    edit: impl FnOnce(&mut TrainingRun, &mut ParallelLayout),
) {
    let row = row(id);
    let job = job(&row, sharding, |run, layout| {
        run.library.made_on_gpu = true;
        edit(run, layout);
    });
    // Each rank of stages 1 and 2 keeps gradients of other parameters.
    let ours = match row["rank"].as_u64().filter(|_| matches!(sharding, "1" | "2")) {
        Some(rank) => rank_device_memory(&job, rank),
        None => device_memory(&job),
    };
    let ours = ours.expect("a known order");
    let measured = |pointer: &str| row["measured"][pointer].as_u64().expect("a peak");
    for (ours, measured, parts) in [
        (ours.allocated.0, measured("peak_allocated"), 1),
        (ours.reserved.0, measured("peak_reserved"), parts),
    ] {
        assert!(
            ours.abs_diff(measured) <= measured / 10_000 * parts,
            "{id}: {ours} against {measured}"
        );
    }
}

fn zero(run: &mut TrainingRun) {
    (run.precision, run.optimizer_implementation) =
        (TrainingPrecision::Bf16Mixed, OptimizerImplementation::Fused);
}

#[test]
fn deepspeed_copies_the_model_and_fills_its_bucket() {
    is_reserved("3a3c4682a8", "1", 1, |run, _| zero(run));
    is_reserved("7ebf371522", "1", 1, |run, _| zero(run));
    is_reserved("a13bbe0f15", "2", 1, |run, _| zero(run));
    is_reserved("60f148f3e6", "2", 1, |run, _| {
        zero(run);
        run.reduce_bucket_size = 50_000_000;
    });
    is_reserved("ef1c1e9716", "1", 1, |run, _| {
        zero(run);
        run.library.overlap_comm = OverlapComm::On;
    });
    is_reserved("9e7e9b9f4c", "1", 1, |run, _| {
        zero(run);
        run.library.contiguous_gradients = false;
    });
    is_reserved("c64373d7eb", "2", 1, |run, _| {
        zero(run);
        run.library.contiguous_gradients = false;
    });
    is_reserved("bd992d0f5c", "2", 1, |run, _| {
        zero(run);
        run.library.reduce_scatter = false;
    });
    is_reserved("f3e314d67f", "2", 1, |run, _| {
        zero(run);
        run.gradients = GradientDType::Fp32;
    });
}

#[test]
fn deepspeed_gathers_ahead_and_keeps_what_it_uses_again() {
    is_reserved("b6f5380306", "3", 2, |run, _| zero(run));
    is_reserved("c6030b2945", "3", 80, |run, _| zero(run));
    is_reserved("3d87ae4162", "3", 1, |run, _| {
        zero(run);
        run.library.overlap_comm = OverlapComm::Off;
    });
    is_reserved("613d1c8f76", "3", 2, |run, _| {
        zero(run);
        (run.library.max_live_parameters, run.library.max_reuse_distance) = (0, 0);
    });
    is_reserved("288d8be3cd", "3", 2, |run, _| {
        zero(run);
        run.library.persistence_threshold = 0;
    });
    is_reserved("a37bac30fb", "3", 20, |run, _| {
        zero(run);
        run.reduce_bucket_size = 4_194_304;
        (run.library.prefetch_bucket_size, run.library.persistence_threshold) = (3_774_873, 20_480);
    });
    is_reserved("e226ce14df", "3", 120, |run, _| {
        zero(run);
        run.gradients = GradientDType::Fp32;
    });
}

#[test]
fn ddp_makes_its_buckets_anew_before_the_second_step() {
    let plain = |run: &mut TrainingRun| run.precision = TrainingPrecision::Bf16Pure;
    is_reserved("9e847eee5e", "none", 3, |run, _| plain(run));
    is_reserved("158fc5dcf9", "none", 3, |run, _| {
        plain(run);
        run.library.find_unused_parameters = true;
    });
    is_reserved("fa83205c87", "none", 3, |run, _| {
        plain(run);
        run.library.gradient_as_bucket_view = true;
    });
    is_reserved("488c10c9d8", "none", 3, |run, layout| {
        plain(run);
        (run.library.gradient_as_bucket_view, layout.reduce_once) = (true, true);
    });
}

#[test]
fn settings_of_libraries_move_the_ledger_too() {
    let total = |id: &str, sharding: &str, edit: &dyn Fn(&mut TrainingRun)| {
        let job = job(&row(id), sharding, |run, _| {
            zero(run);
            // With few activations the step's peak comes where gradients are, which is the part
            // compared here.
            (run.seq_length, run.recompute) = (64, Recompute::Full);
            edit(run);
        });
        memory_by_kind(&job).into_iter().sum::<Bytes>()
    };
    let plain = |_: &mut TrainingRun| {};
    let of_two = |edit: &dyn Fn(&mut TrainingRun)| total("2d4d132439", "2", edit);
    assert!(
        of_two(&|run| run.library.overlap_comm = OverlapComm::On) > of_two(&plain),
        "a second bucket"
    );
    assert!(of_two(&|run| run.library.contiguous_gradients = false) < of_two(&plain), "no bucket");
    let of_three = |edit: &dyn Fn(&mut TrainingRun)| total("c6030b2945", "3", edit);
    let small = |run: &mut TrainingRun| run.library.sub_group_size = 1_000_000;
    assert!(of_three(&small) < of_three(&plain), "fewer gradients are cast at once");
    let few = |run: &mut TrainingRun| {
        (run.library.sub_group_size, run.library.max_live_parameters) = (1_000_000, 0);
    };
    assert!(of_three(&few) < of_three(&small), "weights are given back");
    let kept = |run: &mut TrainingRun| {
        few(run);
        run.library.persistence_threshold = 20_000_000;
    };
    assert!(of_three(&kept) > of_three(&few), "parameters that are never given back");
    let view = |view: bool| {
        let job = job(&row("9e847eee5e"), "none", |run, _| {
            run.precision = TrainingPrecision::Bf16Pure;
            (run.seq_length, run.recompute, run.library.gradient_as_bucket_view) =
                (64, Recompute::Full, view);
        });
        memory_by_kind(&job).into_iter().sum::<Bytes>()
    };
    assert!(view(true) < view(false), "gradients lie in buckets");
}

/// A mask of one byte for each value that is dropped, wherever a family's modules drop.
#[test]
fn dropout_takes_what_pytorch_measured() {
    let trainer = |dropout: Dropout, attention| {
        move |run: &mut TrainingRun, _: &mut ParallelLayout| {
            run.precision = TrainingPrecision::Bf16Pure;
            run.optimizer_implementation = OptimizerImplementation::Fused;
            (run.tuning.autocast, run.attention, run.dropout) = (true, attention, dropout);
        }
    };
    let all = Dropout { embedding: true, residual: true, attention: true };
    let in_blocks = Dropout { embedding: false, ..all };
    let (flash, written) = (AttentionKernel::Flash, AttentionKernel::Standard);
    is_near("drop-1", "none", 100_000, trainer(all, written));
    is_near("drop-2", "none", 100_000, trainer(in_blocks, flash));
    is_near("drop-3", "none", 100_000, trainer(in_blocks, written));
    is_near("drop-4", "none", 100_000, trainer(Dropout { attention: false, ..all }, flash));
    is_near("drop-5", "none", 100_000, trainer(in_blocks, flash));
    is_near("drop-6", "none", 100_000, trainer(in_blocks, written));
}

/// transformers gives layers with a window a mask, of which the memory-efficient kernel keeps
/// biases of scores.
#[test]
fn windows_by_masks_take_what_pytorch_measured() {
    is_near("5680b1a408", "fsdp", 100_000, |run, _| run.masks_windows = true);
}
