//! GPT on A100s with Megatron-LM of 2021 and 2022: fp16, dropout, scores in memory, full or
//! selective recomputation.

use std::num::NonZeroU64;

use headroom::config::{
    AttentionKernel, DataSharding, GradientDType, Job, LossFusion, MegatronOptions, ModelConfig,
    Overlap, ParallelLayout, Recompute, Run, TrainingPrecision, TrainingRun,
};
use headroom::estimator::time::block_times;
use headroom::units::to_f64;

use super::super::row::{Comparison, Fields, sharding, stack};
use super::{compare, gpt, times};

/// Settings of a Megatron-LM run of that time.
fn run(
    seq_length: u64,
    global_batch_size: u64,
    micro_batch_size: u64,
    recompute: Recompute,
    overlap: Overlap,
) -> Result<TrainingRun, String> {
    Ok(TrainingRun {
        seq_length,
        global_batch_size,
        micro_batch_size: Some(micro_batch_size),
        precision: TrainingPrecision::Fp16Mixed,
        gradients: GradientDType::AsWeights,
        stack: stack("megatron")?,
        attention: AttentionKernel::Standard,
        recompute,
        overlap,
        megatron: MegatronOptions {
            hidden_dropout: true,
            attention_dropout: true,
            cross_entropy_loss_fusion: LossFusion::None,
            gradient_accumulation_fusion: false,
            transformer_engine: false,
            ..MegatronOptions::DEFAULT
        },
        ..TrainingRun::plain()
    })
}

/// Nothing was sent beside computation in 2021.
const OF_2021: Overlap = Overlap {
    weight_gradient: false,
    products: false,
    gradients: false,
    parameters: false,
    prefetch_backward: false,
    pipeline: false,
};
/// From 2022 on tensor-parallel reductions of backward ran beside the weight's gradient.
const OF_2022: Overlap = Overlap { weight_gradient: true, ..OF_2021 };

fn degree(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN)
}

fn layout(row: Fields<'_>, d: u64, chunks: u64) -> Result<ParallelLayout, String> {
    Ok(ParallelLayout {
        tensor_model_parallel_size: row.degree("/TP")?,
        pipeline_model_parallel_size: row.degree("/PP")?,
        data_parallel_size: degree(d),
        virtual_pipeline_model_parallel_size: degree(chunks),
        sharding: DataSharding::NOTHING,
        ..ParallelLayout::SINGLE
    })
}

/// Table 1 of Narayanan et al. 2021. Micro-batch and chunks stand in Megatron-LM's
/// `examples/sc21/run_table_1.sh`, by hidden size.
pub fn sc21(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let (micro_batch, chunks) = match row.count("/hidden")? {
        2304 | 3072 | 4096 => (16, 1),
        6144 => (8, 1),
        8192 => (4, 1),
        10240 => (2, 3),
        12288 => (2, 2),
        16384 => (1, 2),
        20480 => (1, 3),
        25600 => (1, 1),
        _ => return Err("the table's script has no such model".to_owned()),
    };
    let batch = row.count("/global_batch")?;
    let shape = Shape::of(row, ["/hidden", "/layers", "/heads", "/vocab", "/seq_len"])?;
    let seconds = shape.hardware_flops(batch)
        / (row.number("/tflops_per_gpu")? * 1e12 * row.number("/gpus")?);
    let layout = layout(row, row.count("/DP")?, chunks)?;
    let run = run(shape.seq_length, batch, micro_batch, Recompute::Full, OF_2021)?;
    Ok(vec![compare(shape.model(), run, layout, "a100-80", seconds)?])
}

/// Sizes of a GPT as the rows state them.
#[derive(Clone, Copy)]
struct Shape {
    hidden_size: u64,
    layers: u64,
    heads: u64,
    vocab_size: u64,
    seq_length: u64,
}

impl Shape {
    /// The sizes under these keys: width, layers, heads, vocabulary, sequence length.
    fn of(row: Fields<'_>, [hidden, layers, heads, vocab, seq]: [&str; 5]) -> Result<Self, String> {
        Ok(Self {
            hidden_size: row.count(hidden)?,
            layers: row.count(layers)?,
            heads: row.count(heads)?,
            vocab_size: row.count(vocab)?,
            seq_length: row.count(seq)?,
        })
    }

    fn model(&self) -> ModelConfig {
        gpt(self.hidden_size, self.layers, self.heads, self.vocab_size, self.seq_length)
    }

    /// FLOPs that the FLOP/s of table 1 count: 96 B s l h² (1 + s/6h + V/16lh), four forwards'
    /// worth (section 3 of the paper).
    fn hardware_flops(&self, global_batch_size: u64) -> f64 {
        let (layers, hidden, tokens) =
            (to_f64(self.layers), to_f64(self.hidden_size), to_f64(self.seq_length));
        let beside = tokens / (6.0 * hidden) + to_f64(self.vocab_size) / (16.0 * layers * hidden);
        96.0 * to_f64(global_batch_size) * tokens * layers * hidden * hidden * (1.0 + beside)
    }
}

/// MT-NLG 530B (Smith et al. 2022): 105 layers of width 20480 with 128 heads, micro-batch 1.
pub fn step_time(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    if !row.text("/model")?.starts_with("MT-NLG") {
        return Err("the model's shape is not in the row".to_owned());
    }
    let gpus = row.count("/gpus")?;
    let d = gpus / (row.count("/TP")? * row.count("/PP")?);
    let run =
        run(row.count("/seq_len")?, row.count("/global_batch")?, 1, Recompute::Full, OF_2021)?;
    let layout = layout(row, d, 1)?;
    Ok(vec![compare(
        gpt(20480, 105, 128, 51200, 2048),
        run,
        layout,
        "a100-80",
        row.number("/step_time_s")?,
    )?])
}

/// BLOOM on Jean Zay: 70 layers of width 14336 with 112 heads, ZeRO 1, full recomputation.
pub fn bloom(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    if row.text("/model")? != "BLOOM-176B" {
        return Err("layout, batch or micro-batch are not in the row".to_owned());
    }
    let mut model = gpt(14336, 70, 112, 250_880, 2048);
    model.position_embedding = headroom::config::PositionEmbedding::Alibi;
    model.embedding_norm = true;
    let batch = row.count("/global_batch")?;
    let mut layout = layout(row, row.count("/DP")?, 1)?;
    layout.sharding = sharding("1")?;
    let mut run =
        run(row.count("/seq_len")?, batch, row.count("/micro_batch")?, Recompute::Full, OF_2021)?;
    run.precision = TrainingPrecision::Bf16Mixed;
    run.gradients = GradientDType::Fp32;
    run.megatron.hidden_dropout = false;
    run.megatron.attention_dropout = false;
    // Four adapters of 100 Gb/s for the eight GPUs of a node (Jean Zay, Omni-Path).
    let mut cluster = super::cluster("a100-80")?;
    cluster.speed.network_bandwidth = 6.25e9;
    Ok(vec![super::compare_on(
        cluster,
        model,
        run,
        layout,
        to_f64(batch) / row.number("/samples_per_s")?,
    )?])
}

/// Table 5 of Korthikanti et al. 2022: full recomputation beside sequence parallelism with
/// selective recomputation.
pub fn iteration(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let shape = Shape::of(row, ["/hidden", "/layers", "/heads", "/vocab", "/seq_len"])?;
    // Chunks as in the paper's table 3: three for 175B and 530B.
    let chunks = match shape.hidden_size {
        12288 | 20480 => 3,
        _ => 1,
    };
    let layout = layout(row, row.count("/DP")?, chunks)?;
    let batches = (row.count("/global_batch")?, row.count("/micro_batch")?);
    two(row, shape, layout, batches, ["/iter_s_full_recompute", "/iter_s_selective_sp"])
}

/// Full recomputation beside sequence parallelism with selective recomputation, from a row whose
/// fields have other names than those of [`iteration`].
pub fn selene(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let keys = [
        "/config/hidden_size",
        "/config/num_hidden_layers",
        "/config/num_attention_heads",
        "/config/vocab_size",
    ];
    let [hidden, layers, heads, vocab] = keys;
    let shape = Shape::of(row, [hidden, layers, heads, vocab, "/config/seq_length"])?;
    let layout = ParallelLayout {
        tensor_model_parallel_size: row.degree("/tensor_model_parallel_size")?,
        pipeline_model_parallel_size: row.degree("/pipeline_model_parallel_size")?,
        virtual_pipeline_model_parallel_size: row.degree("/virtual_pipeline_stages_per_rank")?,
        data_parallel_size: row.degree("/data_parallel_size")?,
        ..ParallelLayout::SINGLE
    };
    let batches = (row.count("/global_batch_size")?, row.count("/micro_batch_size")?);
    let seconds =
        ["/iteration_seconds_full_recompute", "/iteration_seconds_sequence_parallel_and_selective"];
    two(row, shape, layout, batches, seconds)
}

fn two(
    row: Fields<'_>,
    shape: Shape,
    layout: ParallelLayout,
    (batch, micro_batch): (u64, u64),
    [full, selective]: [&str; 2],
) -> Result<Vec<Comparison>, String> {
    let one = |layout: ParallelLayout, recompute, seconds: &str| {
        let run = run(shape.seq_length, batch, micro_batch, recompute, OF_2022)?;
        compare(shape.model(), run, layout, "a100-80", row.number(seconds)?)
    };
    let split = ParallelLayout { sequence_parallel: true, ..layout };
    Ok(vec![one(layout, Recompute::Full, full)?, one(split, Recompute::Selective, selective)?])
}

/// Table 4 of Korthikanti et al. 2022: one layer of the 22B model, tensor degree 8, micro-batch 4.
pub fn layer(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let (sequence_parallel, recompute) = match row.text("/experiment")? {
        "baseline no recompute" => (false, Recompute::None),
        "sequence parallel" => (true, Recompute::None),
        "full recompute" => (false, Recompute::Full),
        "selective" => (false, Recompute::Selective),
        "selective+SP" => (true, Recompute::Selective),
        other => return Err(format!("{other} is no known experiment")),
    };
    let layout = ParallelLayout {
        tensor_model_parallel_size: degree(8),
        sequence_parallel,
        ..ParallelLayout::SINGLE
    };
    let run = run(2048, 4, 4, recompute, OF_2022)?;
    let job = Job::new(
        gpt(6144, 48, 64, 51200, 2048),
        Run::Training(run),
        layout,
        super::cluster("a100-80")?,
    );
    let times_of = block_times(&job.map_err(|error| error.to_string())?)
        .ok_or("the accelerator's rates are not known")?;
    let block = times_of.dense;
    let backward = block.backward.total() + block.recompute.total();
    Ok(vec![
        times(block.forward.total(), row.number("/forward_ms")? / 1e3),
        times(backward, row.number("/backward_ms")? / 1e3),
    ])
}
