//! The time of a step: its sums, the inputs that it depends on, and bounds that it never crosses.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a failed expectation is a failed test"
)]

use crate::support;

use std::num::NonZeroU64;

use headroom::catalog;
use headroom::config::{
    AttentionKernel, Cluster, DataSharding, Flash, Job, ModelConfig, Narrow, Overheads, Overlap,
    ParallelLayout, ProductFormat, Recompute, Run, TrainingRun,
};
use headroom::estimator::time::{
    Load, Schedule, Step, StepTime, Term, block_times, cost, serving, spread, step,
};
use headroom::ops::megatron::rank_model;
use headroom::ops::work::Work;
use headroom::ops::{self, Lowering};
use headroom::units::to_f64;
use proptest::prelude::*;

const LAYERS: u64 = 32;

fn cluster(id: &str) -> Cluster {
    let row = catalog::accelerator(id).expect("a known accelerator");
    Cluster {
        accelerator: row.accelerator.clone(),
        overheads: Overheads::NONE,
        speed: catalog::speed(row.id),
        host: headroom::config::Host::ASSUMED,
        grid_grams_per_kwh: 400.0,
    }
}

fn run() -> TrainingRun {
    TrainingRun {
        seq_length: 4096,
        global_batch_size: 64,
        micro_batch_size: Some(1),
        stack: support::megatron(),
        flash: Flash::Newest,
        training_tokens: 1e12,
        ..TrainingRun::plain()
    }
}

fn model() -> ModelConfig {
    catalog::model("llama3-8b").expect("a known model").config.clone()
}

fn job(run: TrainingRun, layout: ParallelLayout) -> Job {
    Job::new(model(), Run::Training(run), layout, cluster("h100-80")).expect("a valid job")
}

fn layout(t: u64, p: u64, d: u64) -> ParallelLayout {
    support::layout(t, p, d, support::zero1())
}

fn seconds(job: &Job) -> f64 {
    step(job).expect("a time").seconds.0
}

/// The products of one rank's list, times the layers, are the FLOPs of the played modules. This
/// holds for every model whose embedding and head are as wide as its blocks, up to gates of shared
/// experts, which have one column.
#[test]
fn products_are_those_of_the_modules() {
    // Megatron-LM's list of operations has no encoder beside the decoder, and no gates on
    // attention's output.
    let plain = |config: &ModelConfig| {
        let own = config.hybrid.is_some() || config.source.is_some() || config.compressed.is_some();
        let own = own || config.has_parts_of_its_own();
        !own && config.word_embed_proj_dim.is_none()
    };
    for row in catalog::models().iter().filter(|row| plain(&row.config)) {
        let (name, config) = (row.id, &row.config);
        // A multiple of the experts, so that every expert gets an equal number of tokens.
        let seq_length = 16 * config.moe.as_ref().map_or(256, |moe| moe.num_experts);
        let run = Run::Training(TrainingRun { seq_length, ..run() });
        let job = Job::new(config.clone(), run, ParallelLayout::SINGLE, cluster("h100-80"))
            .expect("a valid job");
        let list = ops::lower(&ops::lowering(&job));
        let ours = rank_model(&job, job.training().expect("a training"));
        let flops = |steps: &[ops::megatron::RankOp]| -> f64 {
            let forward = steps.iter().flat_map(|step| &step.costs).filter(|cost| !cost.backward);
            forward
                .map(
                    |cost| {
                        if let Work::Product(product) = cost.work { product.flops() } else { 0.0 }
                    },
                )
                .sum()
        };
        let sparse =
            (0..config.num_hidden_layers).filter(|layer| config.moe_at(*layer).is_some()).count();
        let sparse = f64::from(u32::try_from(sparse).expect("a count"));
        let all = f64::from(u32::try_from(config.num_hidden_layers).expect("a count"));
        let vocabulary = config.vocab_size.next_multiple_of(128);
        // Megatron-LM pads the vocabulary.
        let of_padded = |step: &ops::megatron::RankOp| {
            if step.op.name == "Output layer" { to_f64(vocabulary) } else { 1.0 }
        };
        let of_whole = |step: &ops::megatron::RankOp| {
            if step.op.name == "Output layer" { to_f64(config.vocab_size) } else { 1.0 }
        };
        let head: f64 = ours
            .head
            .iter()
            .map(|step| flops(std::slice::from_ref(step)) / of_padded(step) * of_whole(step))
            .sum();
        let total = flops(&ours.dense) * (all - sparse) + flops(&ours.experts) * sparse + head;
        let beside = |block: &[ops::Op]| {
            let are_beside =
                block.iter().filter(|op| op.attention_core || op.name == "Shared experts' gate");
            are_beside.map(|op| op.forward).sum::<headroom::units::Flops>()
        };
        let expected = list.forward().0 - list.over_blocks(beside).0;
        assert!((total / expected - 1.0).abs() < 1e-6, "{name}: {total:e} against {expected:e}");
    }
}

#[test]
fn lines_add_up_and_name_their_source() {
    let step = step(&job(run(), layout(2, 2, 4))).expect("a time");
    let sum: f64 = step.lines.iter().map(|line| line.seconds.0).sum();
    assert!((sum / step.seconds.0 - 1.0).abs() < 1e-12);
    for term in [
        Term::Products,
        Term::Attention,
        Term::Streams,
        Term::Tensor,
        Term::Bubble,
        Term::Pipeline,
        Term::Gradients,
        Term::Weights,
        Term::Optimizer,
    ] {
        let line = step
            .lines
            .iter()
            .find(|line| line.term == term)
            .unwrap_or_else(|| panic!("{term:?} takes time"));
        assert!(
            !line.label.is_empty() && !line.formula.is_empty() && !line.source.title().is_empty()
        );
    }
}

/// Equal stages idle for (p − 1)/m of their work, and interleaved chunks divide that (Narayanan et
/// al. 2021, section 2.2).
#[test]
fn the_bubble_is_the_papers() {
    let job = job(run(), layout(1, 4, 1));
    let times = block_times(&job).expect("times");
    let mut numbers = spread(&job).expect("numbers");
    let load = Load { dense: [8.0, 0.0], stages: 1.0, ..Load::default() };
    numbers.loads = [load, Load { stages: 2.0, ..load }, load];
    for (chunks, micro_batches) in [(1.0, 8.0), (1.0, 64.0), (2.0, 8.0), (4.0, 32.0)] {
        numbers.micro_batches = micro_batches;
        numbers.schedule = Schedule { wait: 1.0 / chunks, chunks };
        let time = StepTime::assemble(&times, &numbers);
        let work = 8.0 * times.dense.total() * micro_batches;
        assert!((time.bubble / work - 3.0 / (chunks * micro_batches)).abs() < 1e-9);
    }
}

#[test]
fn full_recomputation_repeats_forward() {
    let lean = block_times(&job(run(), layout(1, 1, 8))).expect("times");
    let full =
        block_times(&job(TrainingRun { recompute: Recompute::Full, ..run() }, layout(1, 1, 8)))
            .expect("times");
    assert_eq!(full.dense.forward, lean.dense.forward);
    assert_eq!(full.dense.recompute, full.dense.forward);
    assert_eq!(lean.dense.recompute.total(), 0.0);
}

/// The times of layers do not depend on data-parallel, pipeline and chunk degrees, so a search
/// computes them once for many layouts.
#[test]
fn layers_do_not_depend_on_data_and_pipeline_degrees() {
    let one = block_times(&job(run(), layout(2, 1, 1)));
    assert_eq!(one, block_times(&job(run(), layout(2, 4, 8))));
    assert_ne!(one, block_times(&job(run(), layout(4, 1, 1))));
}

#[test]
fn what_is_known_to_help_helps() {
    let base = job(run(), layout(8, 1, 1));
    let split = base.with_layout(ParallelLayout { sequence_parallel: true, ..*base.layout() });
    let streams = |job: &Job| {
        step(job)
            .expect("a time")
            .lines
            .iter()
            .find(|line| line.term == Term::Streams)
            .expect("a line")
            .seconds
            .0
    };
    assert!(streams(&split) < 0.5 * streams(&base), "sequence parallelism splits what streams");
    let with = |change: fn(&mut TrainingRun)| {
        let mut run = run();
        change(&mut run);
        seconds(&job(run, layout(2, 2, 8)))
    };
    let plain = with(|_| ());
    assert!(with(|run| run.attention = AttentionKernel::Standard) > plain, "scores in memory");
    assert!(with(|run| run.flash = Flash::First) > plain, "an older kernel");
    assert!(
        with(|run| run.products = ProductFormat::Narrow(Narrow::Mxfp8)) < plain,
        "narrow products"
    );
    assert!(
        with(|run| run.overlap = Overlap { gradients: false, ..Overlap::DEFAULT }) > plain,
        "no overlap"
    );
    let chunks = ParallelLayout {
        virtual_pipeline_model_parallel_size: NonZeroU64::MIN.saturating_add(3),
        ..layout(1, 4, 2)
    };
    assert!(seconds(&job(run(), chunks)) < seconds(&job(run(), layout(1, 4, 2))), "interleaving");
}

#[test]
fn a_slower_network_slows_what_crosses_it() {
    let across = job(run(), layout(1, 1, 64));
    let mut cluster = across.cluster().clone();
    cluster.speed.network_bandwidth = 1e9;
    let slow = Job::new(model(), Run::Training(run()), layout(1, 1, 64), cluster.clone())
        .expect("a valid job");
    assert!(seconds(&slow) > 1.5 * seconds(&across));
    let inside =
        Job::new(model(), Run::Training(run()), layout(1, 1, 8), cluster).expect("a valid job");
    assert_eq!(seconds(&inside), seconds(&job(run(), layout(1, 1, 8))));
}

#[test]
fn the_cost_follows_from_the_step() {
    let job = job(run(), layout(2, 2, 4));
    let step = step(&job).expect("a time");
    let cost = cost(&job, &step).expect("a cost");
    let steps = 1e12 / (4096.0 * 64.0);
    assert!((cost.seconds.0 / (steps * step.seconds.0) - 1.0).abs() < 1e-12);
    assert!((cost.gpu_hours / (cost.seconds.0 * 16.0 / 3600.0) - 1.0).abs() < 1e-12);
    let (energy, most) = (cost.energy_kwh.expect("the power is known"), cost.gpu_hours * 0.7);
    assert!(energy < most && energy > 0.5 * most);
    assert!((cost.co2_kg.expect("known") / (energy * 0.4) - 1.0).abs() < 1e-12);
    assert!((step.tokens_per_second * step.seconds.0 - 4096.0 * 64.0).abs() < 1e-3);
}

#[test]
fn no_time_where_rates_are_unknown() {
    let mut unknown = cluster("h100-80");
    unknown.accelerator.memory_bandwidth = None;
    let job =
        Job::new(model(), Run::Training(run()), layout(1, 1, 1), unknown).expect("a valid job");
    assert_eq!(step(&job), None);
    let serving = support::serving_job(&model(), ParallelLayout::SINGLE, |_| ());
    assert_eq!(step(&serving), None);
    assert_eq!(Lowering::parameters_only(&model()).model.num_hidden_layers, LAYERS);
}

/// A token reads all weights but the embedding's once, 7.50 billion in 16 bits, and its keys and
/// values. Kernels reach nine tenths of the 3.35 TB/s, and starting some 300 of them takes time.
#[test]
fn decoding_reads_the_weights() {
    let serve = |layout: ParallelLayout, sequences: u64| {
        let job =
            support::serving_job(&model(), layout, |run| run.concurrent_sequences = sequences);
        let job =
            Job::new(model(), job.run().clone(), layout, cluster("h100-80")).expect("a valid job");
        serving(&job).expect("a time")
    };
    let one = serve(ParallelLayout::SINGLE, 1);
    let (weights, cache) = ((8_030_261_248.0 - 128_256.0 * 4096.0) * 2.0, 8192.0 * 131_072.0);
    let over = one.decode.0 / ((weights + cache) / 3.35e12);
    assert!((1.12..1.45).contains(&over), "{over} {one:?}");
    let many = serve(ParallelLayout::SINGLE, 8);
    assert!(many.tokens_per_second > 5.0 * one.tokens_per_second && many.decode.0 > one.decode.0);
    assert!(serve(layout(4, 1, 1), 8).decode.0 < many.decode.0);
    assert!(one.prefill_chunk.0 > 2048.0 * 2.0 * 7e9 / 989e12);
    assert_eq!(serving(&job(run(), ParallelLayout::SINGLE)), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Every layout has a finite time, no utilisation above 1 and no negative term.
    #[test]
    fn no_layout_is_faster_than_its_peak(
        t in 0_u32..4, p in 0_u32..6, d in 0_u32..12, chunks in 1_u64..5, sequence_parallel in any::<bool>(),
        sharding in 0_usize..5, kernels in 0_usize..4, recompute in 0_usize..3, micro_batch in 1_u64..9, tokens in 1_u64..70_000,
    ) {
        let sharding = [DataSharding::NOTHING, support::zero1(), support::zero2(), support::zero3(), support::fsdp()][sharding];
        let layout = ParallelLayout {
            sequence_parallel,
            virtual_pipeline_model_parallel_size: NonZeroU64::new(chunks).expect("at least 1"),
            ..support::layout(1 << t, 1 << p, 1 << d, sharding)
        };
        let run = TrainingRun {
            seq_length: tokens,
            micro_batch_size: Some(micro_batch),
            global_batch_size: micro_batch << d,
            stack: [support::megatron(), support::fused(), support::eager(), support::korthikanti()][kernels],
            recompute: [Recompute::None, Recompute::Selective, Recompute::Full][recompute],
            ..run()
        };
        let job = job(run, layout);
        let step = step(&job).expect("a time");
        prop_assert!(step.seconds.0.is_finite() && step.seconds.0 > 0.0);
        let alone = StepTime::seconds(&block_times(&job).expect("times"), &spread(&job).expect("numbers"));
        prop_assert!((alone / step.seconds.0 - 1.0).abs() < 1e-9);
        prop_assert!(step.mfu > 0.0 && step.hfu <= 1.0 + 1e-9, "{step:?}");
        prop_assert!(step.lines.iter().all(|line| line.seconds.0 > 0.0));
    }
}

fn of_row(id: &str) -> ModelConfig {
    catalog::model(id).expect("a row").config.clone()
}

/// No time is given for an encoder of sound, because no rate of the convolutions over its frames is
/// known.
#[test]
fn no_time_is_told_of_an_encoder_of_sound() {
    let job = Job::new(
        of_row("whisper-small"),
        Run::Training(run()),
        ParallelLayout::SINGLE,
        cluster("h100-80"),
    )
    .expect("a valid job");
    assert!(step(&job).is_none());
    let told = headroom::estimator::time::timing(&job, &headroom::estimator::estimate(&job));
    assert!(matches!(
        told,
        headroom::estimator::time::Timing::Unknown(headroom::estimator::time::Unknown::Encoder)
    ));
}

/// An encoder and its decoder's cross-attention see the whole source, so no half of these pairs is
/// masked.
#[test]
fn an_encoder_takes_the_time_of_its_source() {
    let model = of_row("bart-large");
    let timed = |source| {
        let run = TrainingRun {
            source_length: Some(source),
            seq_length: 4096,
            attention: AttentionKernel::Flash,
            stack: support::eager(),
            ..run()
        };
        let job =
            Job::new(model.clone(), Run::Training(run), ParallelLayout::SINGLE, cluster("h100-80"))
                .expect("a valid job");
        step(&job).expect("a time")
    };
    let of = |step: &Step, term| {
        step.lines.iter().find(|line| line.term == term).map_or(0.0, |line| line.seconds.0)
    };
    let [short, long] = [timed(4096), timed(8192)];
    assert!(of(&long, Term::Products) > 1.2 * of(&short, Term::Products));
    // Pairs of tokens in both sides' layers: half of the decoder's own pairs are masked; the
    // encoder's and the cross-attention's grow with the source.
    let (encoder, decoder) =
        (to_f64(model.source.expect("an encoder").layers), to_f64(model.num_hidden_layers));
    let decoder = decoder - encoder;
    let pairs = |source: f64| encoder * source * source + decoder * 4096.0 * (source + 2048.0);
    let grown = of(&long, Term::Attention) / of(&short, Term::Attention);
    // The time grows a little less than the pairs, because kernels are more efficient on longer
    // texts. If half of the encoder's pairs were masked, it would grow less than twice.
    let most = pairs(8192.0) / pairs(4096.0);
    assert!(grown > 0.8 * most && grown < most, "{grown} of {most}");
    assert!(long.mfu < 1.0 && long.mfu > 0.0);
}
