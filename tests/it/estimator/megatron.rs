//! Megatron-Core's stack against the paper that its modules come from, and the ledger against the
//! listed moments of a step.
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use crate::support;

use std::num::NonZeroU64;

use headroom::config::{
    AttentionKernel, BaseFormat, DataSharding, GradientDType, HiddenAct, Job, LayerSet, LossFusion,
    MegatronOptions, Mla, MlpKind, ModelConfig, Moe, Normalization, ParallelLayout,
    PipelineSchedule, PipelineSplit, PositionEmbedding, Recompute, RecomputeMethod,
    RecomputeModules, SCHEDULES, Targets, TokenDispatcher, TrainingRun, Tuning,
};
use headroom::estimator::{
    Ledger, MemoryKind, blockers, estimate, events, memory_by_kind, stage_after_forward,
    stage_ledger,
};
use headroom::units::Bytes;
use proptest::prelude::*;
use support::{layout, training_job};

/// The paper's block: layer norms, biases, GeLU, and a feed-forward layer four times as wide as the
/// block.
fn gpt(layers: u64) -> ModelConfig {
    ModelConfig {
        hidden_size: 1024,
        intermediate_size: 4096,
        num_hidden_layers: layers,
        num_attention_heads: 16,
        num_key_value_heads: 16,
        head_dim: 64,
        vocab_size: 50_257,
        position_rows: 2048,
        normalization: Normalization::LayerNorm,
        mlp: MlpKind::Plain,
        hidden_act: HiddenAct::Gelu,
        position_embedding: PositionEmbedding::Learned,
        attention_bias: true,
        attention_output_bias: true,
        mlp_bias: true,
        tie_word_embeddings: true,
        ..ModelConfig::plain()
    }
}

fn megatron(run: &mut TrainingRun) {
    run.seq_length = 2048;
    run.global_batch_size = 64;
    run.gradients = GradientDType::Fp32;
    run.stack = support::megatron();
}

fn with_dropout(run: &mut TrainingRun) {
    megatron(run);
    run.attention = AttentionKernel::Standard;
    run.megatron = MegatronOptions {
        hidden_dropout: true,
        attention_dropout: true,
        ..MegatronOptions::DEFAULT
    };
}

/// Bytes that the blocks have saved when forward has ended, without norm statistics, which the
/// paper leaves out.
fn blocks(ledger: &Ledger) -> u64 {
    let ends = ["Embedding", "Final norm", "Output layer", "Cross-entropy"];
    let lines = ledger
        .lines
        .iter()
        .filter(|line| line.kind == MemoryKind::Activation && !ends.contains(&line.label));
    let tensors = lines.flat_map(|line| &line.tensors);
    tensors
        .filter(|tensor| !["norm statistic", "norm mean"].contains(&tensor.name))
        .map(|tensor| tensor.bytes.0)
        .sum()
}

fn after_forward(job: &Job) -> Ledger {
    stage_after_forward(job, 0).expect("a job under Megatron-LM")
}

/// Korthikanti et al. 2022, equations 1, 2, 4 and 6.
#[test]
fn blocks_keep_what_the_paper_says() {
    let (s, b, h, a, layers) = (2048_u64, 1, 1024, 16, 2);
    let (sbh, scores) = (s * b * h, 5 * a * s * s * b);
    let saved = |t: u64, edit: &dyn Fn(&mut TrainingRun), sequence_parallel: bool| {
        let layout = ParallelLayout { sequence_parallel, ..layout(t, 1, 1, DataSharding::NOTHING) };
        blocks(&after_forward(&training_job(&gpt(layers), layout, |run| {
            with_dropout(run);
            edit(run);
        })))
    };
    let nothing = |_: &mut TrainingRun| {};
    assert_eq!(saved(1, &nothing, false), layers * (34 * sbh + scores));
    assert_eq!(saved(8, &nothing, false), layers * (10 * sbh + 24 * sbh / 8 + scores / 8));
    assert_eq!(saved(8, &nothing, true), layers * (34 * sbh + scores) / 8);
    let selective = |run: &mut TrainingRun| run.recompute = Recompute::Selective;
    assert_eq!(saved(8, &selective, true), layers * 34 * sbh / 8);
    let full = |run: &mut TrainingRun| run.recompute = Recompute::Full;
    assert_eq!(saved(8, &full, false), layers * 2 * sbh);
}

#[test]
fn blocks_recomputed_one_by_one_or_in_groups() {
    let inputs = |method| {
        let job = training_job(&gpt(12), layout(1, 1, 1, DataSharding::NOTHING), |run| {
            with_dropout(run);
            run.recompute = Recompute::Full;
            run.megatron.recompute_method = method;
        });
        blocks(&after_forward(&job)) / (2 * 2048 * 1024)
    };
    let groups = |blocks| RecomputeMethod::Uniform(NonZeroU64::new(blocks).expect("at least one"));
    assert_eq!(inputs(groups(1)), 12);
    assert_eq!(inputs(groups(4)), 3);
    assert_eq!(inputs(groups(5)), 3);
    // A block of this shape keeps 34 + 5·16·2048/1024 = 194 bytes per value of its input, 97 times
    // the input.
    assert_eq!(inputs(RecomputeMethod::Block(2)), 2 + 10 * 97);
}

#[test]
fn states_take_eighteen_bytes_and_the_distributed_optimizer_shares_twelve_of_them() {
    let states = |d, sharding| {
        let ledger = after_forward(&training_job(&gpt(2), layout(1, 1, d, sharding), megatron));
        [MemoryKind::Parameter, MemoryKind::Gradient, MemoryKind::OptimizerState]
            .map(|kind| ledger.of(kind).0)
    };
    let parameters = 2 * (12 * 1024 * 1024 + 13 * 1024) + (50_304 + 2048) * 1024 + 2 * 1024;
    assert_eq!(states(4, DataSharding::NOTHING), [2, 4, 12].map(|bytes| bytes * parameters));
    assert_eq!(states(4, support::zero1()), [2 * parameters, 4 * parameters, 3 * parameters]);
}

/// Megatron-FSDP's defaults: blocks are gathered ahead up to half a billion elements, and the
/// embedding and the head stay gathered.
#[test]
fn gathered_weights_and_waiting_gradients_are_counted() {
    let block = 12 * 1024 * 1024 + 13 * 1024;
    let ends = (50_304 + 2048) * 1024 + 2 * 1024;
    let ledger = |sharding, layers| {
        let job = training_job(&gpt(layers), layout(1, 1, 4, sharding), |run| {
            megatron(run);
            // Short sequences, so that the peak is in the blocks and not in the loss.
            run.seq_length = 16;
        });
        let ledger = estimate(&job).ledger;
        assert_eq!(ledger.by_kind(), memory_by_kind(&job));
        ["Gathered weights", "Gradient reduction"].map(|label| {
            ledger.lines.iter().find(|line| line.label == label).map_or(0, |line| line.bytes.0)
        })
    };
    let saved = |bytes: u64| bytes > 0 && bytes <= 4 * 50 * block;
    assert_eq!(ledger(DataSharding::NOTHING, 2), [0, 0]);
    assert_eq!(ledger(support::zero1(), 2), [0, 0]);
    for (sharding, layers, blocks) in [(support::fsdp(), 2, 2), (support::zero3(), 50, 40)] {
        let [weights, gradients] = ledger(sharding, layers);
        assert_eq!(weights, 2 * (ends + blocks * block), "{sharding:?}");
        assert!(saved(gradients), "{gradients}");
    }
    let [weights, gradients] = ledger(support::zero2(), 50);
    assert!(weights == 0 && saved(gradients), "{gradients}");
}

#[test]
fn the_vocabulary_is_padded_to_128_times_the_tensor_degree() {
    let padded = |vocabulary, t| MegatronOptions::DEFAULT.padded_vocab_size(vocabulary, t);
    assert_eq!(
        [padded(50_257, 1), padded(50_257, 4), padded(128_256, 8)],
        [50_304, 50_688, 129_024]
    );
}

/// DeepSeek-like: latent attention, the first block dense.
fn deepseek() -> ModelConfig {
    ModelConfig {
        hidden_size: 512,
        intermediate_size: 1024,
        num_hidden_layers: 4,
        num_attention_heads: 8,
        num_key_value_heads: 8,
        head_dim: 48,
        vocab_size: 32_000,
        mla: Some(Mla {
            q_lora_rank: Some(128),
            kv_lora_rank: 64,
            qk_rope_head_dim: 16,
            qk_nope_head_dim: 32,
            v_head_dim: 32,
        }),
        moe: Some(Moe {
            num_experts: 16,
            num_experts_per_tok: 4,
            moe_intermediate_size: 256,
            shared_expert_intermediate_size: 256,
            shared_expert_gate: false,
            layers: LayerSet::From(1),
            n_group: 1,
            topk_group: 1,
            norm_topk_prob: false,
            bias: false,
            latent: 0,
        }),
        ..ModelConfig::plain()
    }
}

#[test]
fn experts_are_shared_out_and_their_states_over_fewer_copies() {
    let job = |ep| {
        let degree = NonZeroU64::new(ep).expect("at least one");
        let layout = ParallelLayout {
            expert_model_parallel_size: degree,
            ..layout(1, 1, 8, support::zero1())
        };
        training_job(&deepseek(), layout, megatron)
    };
    let of = |ep, kind| after_forward(&job(ep)).of(kind).0;
    let experts = 3 * 16 * 3 * 512 * 256;
    assert_eq!(
        of(1, MemoryKind::Parameter) - of(8, MemoryKind::Parameter),
        2 * (experts - experts / 8)
    );
    // Eight data-parallel ranks that share all states hold as much as one rank of eight
    // expert-parallel ranks that keeps an eighth.
    assert_eq!(of(1, MemoryKind::OptimizerState), of(8, MemoryKind::OptimizerState));
}

#[test]
fn modules_that_are_recomputed_keep_less() {
    let kept = |modules| {
        let job = training_job(&deepseek(), layout(1, 1, 1, DataSharding::NOTHING), |run| {
            megatron(run);
            run.recompute = Recompute::Selective;
            run.megatron.recompute_modules = modules;
        });
        after_forward(&job).of(MemoryKind::Activation)
    };
    let core = RecomputeModules::CORE_ATTENTION;
    let none = kept(RecomputeModules { core_attn: false, ..core });
    let modules = [
        core,
        RecomputeModules { layernorm: true, ..core },
        RecomputeModules { mla_up_proj: true, ..core },
        RecomputeModules { mlp: true, ..core },
        RecomputeModules { moe_act: true, ..core },
        RecomputeModules { moe_act: true, moe: true, ..core },
        RecomputeModules { shared_experts: true, ..core },
    ]
    .map(kept);
    assert!(modules[0] < none);
    assert!(modules[1..].iter().all(|kept| *kept < modules[0]));
    assert!(modules[5] < modules[4]);
}

#[test]
fn degrees_that_divide_nothing_are_named() {
    let degree = |n| NonZeroU64::new(n).expect("at least one");
    let said = |model: &ModelConfig, edit: &dyn Fn(&mut ParallelLayout)| {
        let mut layout = layout(2, 2, 4, DataSharding::NOTHING);
        edit(&mut layout);
        blockers(&training_job(model, layout, megatron))
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&deepseek(), &|_| {}), [""; 0]);
    assert_eq!(
        said(&deepseek(), &|layout| layout.context_parallel_size = degree(3)),
        ["a sequence of 2048 tokens does not split into 6 equal pieces, two for each of 3 \
             context-parallel ranks"]
    );
    assert_eq!(
        said(&deepseek(), &|layout| layout.expert_model_parallel_size = degree(3)),
        [
            "16 experts do not split evenly over 3 expert-parallel ranks",
            "8 ranks of a pipeline stage do not split into groups of 6 for the experts"
        ]
    );
    assert_eq!(
        said(&gpt(12), &|layout| layout.virtual_pipeline_model_parallel_size = degree(4)),
        ["12 layers do not divide into 4 chunks on each of 2 pipeline stages"]
    );
}

fn any_job() -> impl Strategy<Value = Job> {
    let degrees = (1_u64..=4, 1_u64..=4, 1_u64..=4, 1_u64..=2, 1_u64..=2, 1_u64..=4);
    let switches = (any::<[bool; 8]>(), 0_u64..3, 1_u64..=3, any::<bool>());
    let pipeline = (0_usize..8, 0_usize..5, 0_u8..4);
    (degrees, switches, pipeline).prop_map(
        |(
            (t, p, d, cp, ep, chunks),
            (on, recompute, blocks, experts),
            (schedule, split, tuned),
        )| {
            let schedule = SCHEDULES
                .get(schedule)
                .map_or(PipelineSchedule::OneForwardOneBackward, |facts| facts.schedule);
            let chunks =
                if schedule == PipelineSchedule::OneForwardOneBackward { chunks } else { 1 };
            let (p, p_even) = (p, p.next_multiple_of(2));
            let p = if schedule == PipelineSchedule::DualPipe { p_even } else { p };
            let degree = |n| NonZeroU64::new(n).expect("at least one");
            let layout = ParallelLayout {
                context_parallel_size: degree(cp),
                expert_model_parallel_size: degree(ep),
                virtual_pipeline_model_parallel_size: degree(chunks),
                sequence_parallel: on[0],
                pipeline_schedule: schedule,
                pipeline_split: match (split, NonZeroU64::new(chunks)) {
                    (0, first) => PipelineSplit::Ends { first, last: None },
                    (1, last) => PipelineSplit::Ends { first: None, last },
                    (2, _) => PipelineSplit::WithEnds,
                    _ => PipelineSplit::Even,
                },
                ..layout(t, p, d, if on[1] { support::zero1() } else { DataSharding::NOTHING })
            };
            let model = if experts { deepseek() } else { gpt(16) };
            training_job(&model, layout, |run| {
                megatron(run);
                // Half of the jobs have adapters, with dropout or without.
                if tuned > 1 {
                    let adapters = Tuning::FULL.with_adapters(BaseFormat::Weights);
                    run.tuning =
                        Tuning { target_modules: Targets::ALL, dropout: tuned > 2, ..adapters };
                }
                run.attention =
                    if on[2] { AttentionKernel::Standard } else { AttentionKernel::Flash };
                run.recompute = [Recompute::None, Recompute::Selective, Recompute::Full]
                    [usize::try_from(recompute).expect("small")];
                run.megatron = MegatronOptions {
                    hidden_dropout: on[3],
                    attention_dropout: on[4],
                    cross_entropy_loss_fusion: if on[5] {
                        LossFusion::TransformerEngine
                    } else {
                        LossFusion::None
                    },
                    gradient_accumulation_fusion: on[6],
                    recompute_method: if on[7] {
                        RecomputeMethod::Uniform(degree(blocks))
                    } else {
                        RecomputeMethod::Block(blocks)
                    },
                    moe_token_dispatcher: if on[7] {
                        TokenDispatcher::AllToAll
                    } else {
                        TokenDispatcher::AllGather
                    },
                    moe_grouped_gemm: on[4],
                    ..MegatronOptions::DEFAULT
                };
            })
        },
    )
}

proptest! {
    #[test]
    fn the_ledger_is_the_highest_moment(job in any_job()) {
        let estimate = estimate(&job);
        let highest = estimate.moments.iter().map(|moment| moment.total).max().expect("moments");
        prop_assert_eq!(estimate.total(), highest);
        prop_assert_eq!(memory_by_kind(&job), estimate.ledger.by_kind());
        let mut now = 0;
        let played: Vec<i128> = events(&job).iter().map(|event| { now += event.bytes; now }).collect();
        prop_assert_eq!(played.into_iter().max(), Some(i128::from(highest.0)), "what is played");
        prop_assert!(now > 0 && now < i128::from(highest.0), "what is left is resident");
        let stage = stage_ledger(&job, estimate.peak_stage).expect("a stage");
        prop_assert_eq!(stage.total(), highest);
        for stage in 0..job.layout().p() {
            prop_assert!(stage_ledger(&job, stage).expect("a stage").total() <= highest, "stage {} \
                holds more", stage);
        }
        for line in estimate.ledger.lines.iter().filter(|line| !line.tensors.is_empty()) {
            prop_assert_eq!(line.tensors.iter().map(|tensor| tensor.bytes).sum::<Bytes>(), line.bytes, "{}", line.label);
        }
    }
}
