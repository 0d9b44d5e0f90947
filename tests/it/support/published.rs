//! Published trainings with the layouts that they ran with, to test that the search finds these
//! layouts runnable.

use std::num::NonZeroU64;

use headroom::config::{
    Choice, Cluster, DataSharding, Job, MegatronOptions, Overheads, ParallelLayout,
    PipelineSchedule, PipelineSplit, Recompute, Run, TokenDispatcher, TrainingRun,
};
use headroom::units::Bytes;

use crate::support::layout;

/// A training that was published.
pub struct Published {
    /// The training and its accelerators, for messages.
    pub name: &'static str,
    /// Model of the catalog.
    pub model: &'static str,
    /// Accelerator of the catalog.
    pub accelerator: &'static str,
    /// Accelerators.
    pub gpus: u64,
    /// Sequences per step and tokens per sequence.
    pub batch: (u64, u64),
    /// Tokens of the whole training.
    pub tokens: f64,
    /// The layout it ran with, if it is published.
    pub layout: Option<Choice>,
}

impl Published {
    /// The job, on one accelerator.
    #[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
    pub fn job(&self) -> Job {
        let model =
            headroom::catalog::model(self.model).expect("a model of the catalog").config.clone();
        let accelerator = headroom::catalog::accelerator(self.accelerator)
            .expect("an accelerator of the catalog")
            .accelerator
            .clone();
        let overheads = Overheads { framework_context: Bytes(Bytes::GIB), ..Overheads::NONE };
        let run = TrainingRun {
            seq_length: self.batch.1,
            global_batch_size: self.batch.0,
            micro_batch_size: Some(1),
            stack: super::megatron(),
            megatron: MegatronOptions {
                moe_grouped_gemm: true,
                moe_token_dispatcher: TokenDispatcher::AllToAll,
                ..MegatronOptions::DEFAULT
            },
            training_tokens: self.tokens,
            ..TrainingRun::plain()
        };
        Job::new(
            model,
            Run::Training(run),
            ParallelLayout::SINGLE,
            Cluster {
                accelerator,
                overheads,
                speed: headroom::catalog::speed(self.accelerator),
                host: headroom::config::Host::ASSUMED,
                grid_grams_per_kwh: 0.0,
            },
        )
        .expect("a valid job")
    }
}

fn choice(
    t: u64,
    p: u64,
    d: u64,
    sharding: DataSharding,
    recompute: Recompute,
    more: impl FnOnce(&mut ParallelLayout),
) -> Choice {
    let mut layout = ParallelLayout {
        sequence_parallel: t > 1,
        expert_tensor_parallel_size: Some(NonZeroU64::MIN),
        ..layout(t, p, d, sharding)
    };
    more(&mut layout);
    Choice { layout, micro_batch_size: NonZeroU64::MIN, recompute }
}

const fn ends(first: u64, last: u64) -> PipelineSplit {
    PipelineSplit::Ends { first: NonZeroU64::new(first), last: NonZeroU64::new(last) }
}

/// The trainings whose search is timed.
pub fn trainings() -> Vec<Published> {
    let chunks = |n: u64| {
        move |layout: &mut ParallelLayout| {
            layout.virtual_pipeline_model_parallel_size =
                NonZeroU64::new(n).unwrap_or(NonZeroU64::MIN);
        }
    };
    vec![
        // Korthikanti et al. 2022, tables 3 and 5, with data parallelism 8 (their section 6.3).
        Published {
            name: "GPT-3 175B on 512 A100",
            model: "gpt3-175b",
            accelerator: "a100-80",
            gpus: 512,
            batch: (512, 2048),
            tokens: 300e9,
            layout: Some(choice(8, 8, 8, DataSharding::NOTHING, Recompute::Selective, chunks(3))),
        },
        // Korthikanti et al. 2022, 530B with data parallelism 8.
        Published {
            name: "MT-NLG 530B on 2240 A100",
            model: "mt-nlg-530b",
            accelerator: "a100-80",
            gpus: 2240,
            batch: (2240, 2048),
            tokens: 270e9,
            layout: Some(choice(8, 35, 8, DataSharding::NOTHING, Recompute::Selective, chunks(3))),
        },
        // DeepSeek-V3 technical report, section 3.2: 16 stages, 64 expert-parallel ranks, ZeRO-1,
        // no tensor parallelism.
        Published {
            name: "DeepSeek-V3 on 2048 H800",
            model: "deepseek-v3",
            accelerator: "h800",
            gpus: 2048,
            batch: (15360, 4096),
            tokens: 14.8e12,
            // 61 layers: 4 on each stage, but 3 on the first and 2 on the last. The training kept
            // activations in FP8, which is not modelled; in bf16 these degrees need full
            // recomputation.
            layout: Some(choice(1, 16, 128, crate::support::zero1(), Recompute::Full, |layout| {
                layout.expert_model_parallel_size = NonZeroU64::new(64).unwrap_or(NonZeroU64::MIN);
                layout.pipeline_schedule = PipelineSchedule::DualPipe;
                layout.pipeline_split = ends(3, 2);
            })),
        },
        // The Llama 3 herd of models, table 4: t 8, c 1, p 16, d 128.
        Published {
            name: "Llama 3.1 405B on 16384 H100",
            model: "llama3.1-405b",
            accelerator: "h100-80",
            gpus: 16384,
            batch: (2048, 8192),
            tokens: 15.6e12,
            // Section 3.3.2: a layer less on the first and on the last stage, 126 in all.
            layout: Some(choice(8, 16, 128, crate::support::zero1(), Recompute::None, |layout| {
                layout.pipeline_split = ends(7, 7);
            })),
        },
        // This training is not published: it is a count of GPUs with many divisors, which also
        // divide its batch.
        Published {
            name: "Llama 3.1 405B on 100000 H100",
            model: "llama3.1-405b",
            accelerator: "h100-80",
            gpus: 100_000,
            batch: (25_000, 8192),
            tokens: 15.6e12,
            layout: None,
        },
    ]
}
