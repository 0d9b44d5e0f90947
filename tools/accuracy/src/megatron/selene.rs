//! Figures 1 and 7 of Korthikanti et al. 2022, as Calculon digitised them.
//!
//! Their states are 18 bytes for each weight of the blocks' matrices, their activations those of
//! the blocks on the first stage; so embedding, head and loss are left out of ours as well.

use headroom::config::{
    AttentionKernel, DataSharding, GradientDType, HiddenAct, MegatronOptions, MlpKind, ModelConfig,
    Normalization, ParallelLayout, PositionEmbedding, Recompute, TrainingPrecision, TrainingRun,
};
use headroom::estimator::{Ledger, MemoryKind, stage_after_forward};
use headroom::units::{Bytes, to_f64};

use super::super::row::{Comparison, Fields, Quantity, rounded, stack};
use super::job;

/// Operations outside the blocks.
const ENDS: [&str; 4] = ["Embedding", "Final norm", "Output layer", "Cross-entropy"];

pub fn outcome(row: Fields<'_>) -> Result<Vec<Comparison>, String> {
    let plain = ledger(row, false, Recompute::None)?;
    let lean = ledger(row, true, Recompute::Selective)?;
    let states = [MemoryKind::Parameter, MemoryKind::Gradient, MemoryKind::OptimizerState];
    let compare = |quantity, ours, pointer: &str| {
        let measured = rounded(row.number(pointer)? * to_f64(Bytes::GIB));
        Ok::<_, String>(Comparison { quantity, ours, measured })
    };
    Ok(vec![
        compare(Quantity::ModelStates, of_blocks(&plain, &states), "/parameter_and_optimizer_gib")?,
        compare(
            Quantity::Activations,
            of_blocks(&plain, &[MemoryKind::Activation]),
            "/activation_gib_no_recompute",
        )?,
        compare(
            Quantity::Activations,
            of_blocks(&lean, &[MemoryKind::Activation]),
            "/activation_gib_sequence_parallel_and_selective",
        )?,
    ])
}

fn of_blocks(ledger: &Ledger, kinds: &[MemoryKind]) -> u64 {
    let lines = ledger.lines.iter().filter(|line| kinds.contains(&line.kind));
    lines
        .flat_map(|line| &line.tensors)
        .filter(|tensor| !ENDS.contains(&tensor.op))
        .map(|tensor| tensor.bytes.0)
        .sum()
}

fn ledger(
    row: Fields<'_>,
    sequence_parallel: bool,
    recompute: Recompute,
) -> Result<Ledger, String> {
    let layout = ParallelLayout {
        tensor_model_parallel_size: row.degree("/tensor_model_parallel_size")?,
        pipeline_model_parallel_size: row.degree("/pipeline_model_parallel_size")?,
        virtual_pipeline_model_parallel_size: row.degree("/virtual_pipeline_stages_per_rank")?,
        data_parallel_size: row.degree("/data_parallel_size")?,
        sequence_parallel,
        sharding: DataSharding::NOTHING,
        ..ParallelLayout::SINGLE
    };
    let dropout = row.text("/precision")?.contains("dropout on");
    let run = TrainingRun {
        seq_length: row.count("/config/seq_length")?,
        global_batch_size: row.count("/global_batch_size")?,
        micro_batch_size: Some(row.count("/micro_batch_size")?),
        precision: TrainingPrecision::Fp16Mixed,
        gradients: GradientDType::Fp32,
        stack: stack("megatron")?,
        attention: AttentionKernel::Standard,
        recompute,
        megatron: MegatronOptions {
            hidden_dropout: dropout,
            attention_dropout: dropout,
            ..MegatronOptions::DEFAULT
        },
        ..TrainingRun::plain()
    };
    let job = job(model(row)?, run, layout)?;
    stage_after_forward(&job, 0).ok_or_else(|| "no training run".to_owned())
}

fn model(row: Fields<'_>) -> Result<ModelConfig, String> {
    let count = |key: &str| row.count(&format!("/config/{key}"));
    let (hidden_size, heads) = (count("hidden_size")?, count("num_attention_heads")?);
    Ok(ModelConfig {
        hidden_size,
        intermediate_size: 4 * hidden_size,
        num_hidden_layers: count("num_hidden_layers")?,
        num_attention_heads: heads,
        num_key_value_heads: heads,
        head_dim: hidden_size / heads,
        vocab_size: count("vocab_size")?,
        position_rows: count("seq_length")?,
        normalization: Normalization::LayerNorm,
        mlp: MlpKind::Plain,
        hidden_act: HiddenAct::Gelu,
        position_embedding: PositionEmbedding::Learned,
        attention_bias: true,
        attention_output_bias: true,
        mlp_bias: true,
        tie_word_embeddings: true,
        ..ModelConfig::plain()
    })
}
