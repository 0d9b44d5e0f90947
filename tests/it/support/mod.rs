//! Builders shared by the tests.
#![allow(
    dead_code,
    missing_docs,
    clippy::expect_used,
    reason = "each benchmark uses some of these builders"
)]

pub mod published;
pub mod random;

mod compressed;
mod encoder;
mod source;

use std::num::NonZeroU64;

use headroom::config::{
    Accelerator, AttentionKernel, Cluster, DataSharding, Engine, GradientDType, HiddenAct, Hybrid,
    Job, Mixer, MixerKind, MlpKind, ModelConfig, Normalization, Optimizer, Overheads,
    ParallelLayout, PeakRates, PositionEmbedding, Recompute, Run, ServingRun, SharedBlocks, Stack,
    TaskKind, Tower, TowerLayer, TrainingPrecision, TrainingRun,
};
use headroom::units::Bytes;

/// A GPT of the documents: multi-head, plain MLP of `4h`, biases everywhere, `LayerNorm`, learned
/// positions, tied head.
pub fn gpt(hidden_size: u64, num_hidden_layers: u64, num_attention_heads: u64) -> ModelConfig {
    ModelConfig {
        hidden_size,
        num_hidden_layers,
        num_attention_heads,
        num_key_value_heads: num_attention_heads,
        head_dim: hidden_size / num_attention_heads,
        intermediate_size: 4 * hidden_size,
        vocab_size: 32_000,
        max_position_embeddings: 4096,
        position_rows: 4096,
        normalization: Normalization::LayerNorm,
        mlp: MlpKind::Plain,
        position_embedding: PositionEmbedding::Learned,
        attention_bias: true,
        attention_output_bias: true,
        mlp_bias: true,
        tie_word_embeddings: true,
        qk_norm: false,
        embedding_norm: false,
        norms_per_block: 2,
        final_norm: true,
        ..ModelConfig::plain()
    }
}

/// The sharding with that key in links.
#[track_caller]
fn sharding(key: &str) -> DataSharding {
    DataSharding::named(key).expect("a sharding")
}

pub fn zero1() -> DataSharding {
    sharding("1")
}

pub fn zero2() -> DataSharding {
    sharding("2")
}

pub fn zero3() -> DataSharding {
    sharding("3")
}

pub fn fsdp() -> DataSharding {
    sharding("fsdp")
}

/// The software stack with that key in links.
#[track_caller]
fn stack(key: &str) -> Stack {
    Stack::named(key).expect("a stack")
}

pub fn eager() -> Stack {
    stack("eager")
}

pub fn fused() -> Stack {
    stack("fused")
}

pub fn megatron() -> Stack {
    stack("megatron")
}

pub fn korthikanti() -> Stack {
    stack("korthikanti")
}

#[track_caller]
pub fn layout(t: u64, p: u64, d: u64, sharding: DataSharding) -> ParallelLayout {
    let degree = |n| NonZeroU64::new(n).expect("a degree is at least 1");
    ParallelLayout {
        tensor_model_parallel_size: degree(t),
        pipeline_model_parallel_size: degree(p),
        data_parallel_size: degree(d),
        sequence_parallel: false,
        sharding,
        ..ParallelLayout::SINGLE
    }
}

/// The engine with that key in links, with `memory_share` of the memory.
#[track_caller]
pub fn engine(key: &str, memory_share: f64) -> Engine {
    Engine::named(key, memory_share).expect("an engine")
}

pub fn cluster(memory: Bytes) -> Cluster {
    let peak = PeakRates { bf16: Some(989.0), fp16: Some(989.0), ..PeakRates::default() };
    Cluster {
        accelerator: Accelerator {
            memory,
            memory_bandwidth: Some(3.35e12),
            peak,
            accelerators_per_node: 8,
            price_per_hour: 2.0,
        },
        overheads: Overheads::NONE,
        speed: headroom::config::Speed::GENERIC,
        host: headroom::config::Host::ASSUMED,
        grid_grams_per_kwh: 0.0,
    }
}

pub fn training_run() -> TrainingRun {
    TrainingRun {
        seq_length: 4096,
        global_batch_size: 128,
        micro_batch_size: Some(1),
        precision: TrainingPrecision::Bf16Mixed,
        gradients: GradientDType::AsWeights,
        optimizer: Optimizer::DEFAULT,
        stack: fused(),
        attention: AttentionKernel::Flash,
        recompute: Recompute::None,
        training_tokens: 1e12,
        mfu: 0.4,
        ..TrainingRun::plain()
    }
}

#[track_caller]
pub fn training_job(
    model: &ModelConfig,
    layout: ParallelLayout,
    edit: impl FnOnce(&mut TrainingRun),
) -> Job {
    let mut run = training_run();
    edit(&mut run);
    Job::new(model.clone(), Run::Training(run), layout, cluster(Bytes(80 * Bytes::GIB)))
        .expect("a valid job")
}

#[track_caller]
pub fn serving_job(
    model: &ModelConfig,
    layout: ParallelLayout,
    edit: impl FnOnce(&mut ServingRun),
) -> Job {
    let mut run = ServingRun {
        context_length: 8192,
        concurrent_sequences: 1,
        prefill_chunk_size: 2048,
        ..ServingRun::plain()
    };
    edit(&mut run);
    Job::new(model.clone(), Run::Serving(run), layout, cluster(Bytes(80 * Bytes::GIB)))
        .expect("a valid job")
}

/// Parameters of a decoder, computed from its fields by a closed form that shares no code with the
/// operation list.
pub fn parameters(config: &ModelConfig) -> u64 {
    let h = config.hidden_size;
    let norm = norm_parameters(config);
    if config.encoder.is_some() {
        let tower = config.tower.as_ref().map_or(0, tower_parameters);
        return encoder::parameters(config, norm, |layer| layer_parameters(config, layer, norm))
            + tower;
    }
    if config.source.is_some() {
        return source::parameters(config, norm);
    }
    let layers: u64 =
        (0..config.num_hidden_layers).map(|layer| layer_parameters(config, layer, norm)).sum();
    let width = config.word_embed_proj_dim.unwrap_or(h);
    let embedding = config.vocab_size * width;
    let mut total = embedding + layers;
    if config.word_embed_proj_dim.is_some() {
        total += 2 * width * h;
    }
    if config.position_embedding == PositionEmbedding::Learned {
        total += config.position_rows * h;
    }
    // Muse Glimmer's norm of embedded tokens has no scale.
    let scaled = config.family.model_type() != "muse_glimmer_text";
    total += norm * (u64::from(config.embedding_norm && scaled) + u64::from(config.final_norm));
    if !config.tie_word_embeddings {
        total += embedding;
    }
    if config.pooler {
        total += h * h + h;
    }
    if let Some(altup) = config.hybrid.as_ref().and_then(|hybrid| hybrid.altup.as_ref()) {
        // The table of layer embeddings and the matrix that makes them of the model's own
        // embedding; then the matrices into and out of every stream but the first.
        let (p, inputs) = (
            altup.hidden_size_per_layer_input,
            config.num_hidden_layers * altup.hidden_size_per_layer_input,
        );
        total += inputs * (altup.vocab_size_per_layer_input + h)
            + p
            + 2 * (altup.num_inputs - 1) * h * h;
    }
    if let Some(shared) = config.shared {
        // A shared block: attention over twice the width, a gated feed-forward layer, and three
        // norms' worth of scales.
        let (heads, f) =
            (config.num_attention_heads + 2 * config.num_key_value_heads, config.intermediate_size);
        let attention = config.head_dim * (2 * h * heads + h * config.num_attention_heads);
        total += config.shared_blocks().min(shared.count) * (attention + 3 * h * f + 3 * norm);
    }
    total += config.tower.as_ref().map_or(0, tower_parameters);
    if let Some(task) = config.task {
        // A decoder's matrix for whole texts has no bias.
        total += task.labels * h + if task.kind == TaskKind::Sequence { 0 } else { task.labels };
    }
    total + if config.lm_head_bias { config.vocab_size } else { 0 }
}

/// Parameters of a vision tower and its projector: the sum over their layers.
fn tower_parameters(tower: &Tower) -> u64 {
    let of = |size| tower.sizes.get(size);
    let layer = |layer: &TowerLayer| match *layer {
        TowerLayer::Matrix(_, input, output) => of(input) * of(output),
        TowerLayer::Linear(_, input, output) => of(input) * of(output) + of(output),
        TowerLayer::LayerNorm(width) => 2 * of(width),
        TowerLayer::MaybeBiased(_, input, output, flag) => {
            of(input) * of(output) + of(flag).min(1) * of(output)
        }
        TowerLayer::EitherNorm(width, flag) => (1 + of(flag).min(1)) * of(width),
        TowerLayer::MaybeNorm(width, flag) => of(flag).min(1) * of(width),
        TowerLayer::RmsNorm(width) | TowerLayer::Vector(_, width) => of(width),
        TowerLayer::Table(_, rows, width) | TowerLayer::Plane(_, rows, width) => {
            of(rows) * of(width)
        }
        TowerLayer::Runs(_) => 0,
    };
    let parts = tower.modules.parts.iter().chain(tower.projector.parts);
    parts.map(|part| of(part.times) * part.layers.iter().map(layer).sum::<u64>()).sum()
}

/// Parameters of a layer with a state. Where a shared block runs before it, also the matrix of the
/// block's output and the layer's adapters of the block.
fn parameters_beside_shared(
    config: &ModelConfig,
    shared: &SharedBlocks,
    hybrid: &Hybrid,
    layer: u64,
) -> u64 {
    let (h, f, r) = (config.hidden_size, config.intermediate_size, shared.adapter_rank);
    let own = hybrid.mixer.as_ref().map_or(0, |mixer| mixer_parameters(h, mixer));
    let adds = r * (h + 2 * f) + if shared.adapts_attention { 12 * r * h } else { 0 };
    own + if hybrid.attention_layers.contains(layer) { h * h + adds } else { 0 }
}

/// One layer of attention and feed-forward, less the parts that another closed form counts.
fn plain_layer_parameters(config: &ModelConfig, layer: u64, norm: u64) -> u64 {
    let counted = &config.family.modules().encoder;
    let apart = counted.counts_attention || config.compressed.is_some();
    let attention = if apart { 0 } else { attention_parameters(config) };
    let feed_forward =
        if counted.counts_feed_forward { 0 } else { feed_forward_parameters(config, layer) };
    // The last layer alone has a bias behind attention.
    let last =
        config.family.model_type() == "gpt_neox_japanese" && layer + 1 == config.num_hidden_layers;
    let bias = if last { config.hidden_size } else { 0 };
    attention + feed_forward + config.norms_per_block * norm + bias
}

/// Parameters of attention in a layer of a hybrid model.
fn hybrid_attention_parameters(config: &ModelConfig, hybrid: &Hybrid, layer: u64) -> u64 {
    let other = hybrid.other_heads.as_ref().filter(|other| other.layers.contains(layer));
    let config = &match other {
        Some(other) => ModelConfig {
            num_attention_heads: other.num_attention_heads,
            num_key_value_heads: other.num_key_value_heads,
            head_dim: other.head_dim,
            attention_sinks: other.attention_sinks,
            ..config.clone()
        },
        None => config.clone(),
    };
    let (h, d, k) = (config.hidden_size, config.head_dim, config.num_key_value_heads);
    let keys = k * d;
    let mut total = attention_parameters(config);
    total += if hybrid.attention_output_gate { h * config.num_attention_heads * d } else { 0 };
    // Values with a width of their own change their own matrix and the output's.
    let value = other.map_or(hybrid.v_head_dim, |other| Some(other.v_head_dim)).unwrap_or(d);
    let bias = u64::from(config.attention_bias);
    total += value * (k * (h + bias) + config.num_attention_heads * h);
    total -= d * (k * (h + bias) + config.num_attention_heads * h);
    total -=
        if other.is_some_and(|other| other.attention_k_eq_v) { value * k * (h + bias) } else { 0 };
    let unshared = hybrid.kv_shared_layers.contains(layer);
    total -= if unshared { 2 * (h + bias) * keys + if config.qk_norm { d } else { 0 } } else { 0 };
    total
}

/// One layer with whichever of attention, state and feed-forward it has, and the norms of each half
/// that it has.
fn layer_parameters(config: &ModelConfig, layer: u64, norm: u64) -> u64 {
    if let (Some(shared), Some(hybrid)) = (config.shared, &config.hybrid) {
        return parameters_beside_shared(config, &shared, hybrid, layer) + norm;
    }
    let Some(hybrid) = &config.hybrid else { return plain_layer_parameters(config, layer, norm) };
    let (mut total, mut halves) = (0, [false; 2]);
    if hybrid.attention_layers.contains(layer) {
        total += hybrid_attention_parameters(config, hybrid, layer);
        halves[0] = true;
    }
    if let Some(mixer) = hybrid.mixer.as_ref().filter(|mixer| mixer.layers.contains(layer)) {
        total += mixer_parameters(config.hidden_size, mixer);
        halves[0] = true;
    }
    if hybrid.feed_forward_layers.contains(layer) {
        let wide =
            if hybrid.double_wide_mlp && hybrid.kv_shared_layers.contains(layer) { 2 } else { 1 };
        let config =
            &ModelConfig { intermediate_size: wide * config.intermediate_size, ..config.clone() };
        total += feed_forward_parameters(config, layer);
        halves[1] = true;
    }
    if let Some(indexer) = hybrid.indexer.as_ref().filter(|indexer| indexer.layers.contains(layer))
    {
        let (h, n, d) = (config.hidden_size, indexer.num_heads, indexer.head_dim);
        let rank = config.mla.and_then(|mla| mla.q_lora_rank).unwrap_or(h);
        // An indexer that chooses blocks has no weights for its heads.
        total += rank * n * d + h * d + 2 * d + if indexer.block > 0 { 0 } else { h * n };
    }
    total += gate_parameters(config, layer);
    if let Some(altup) = &hybrid.altup {
        let (h, n, p) = (config.hidden_size, altup.num_inputs, altup.hidden_size_per_layer_input);
        // The gated layer input with its norm; with several streams also a scale, two kinds of
        // coefficients, a router with its norm, and a low-rank layer with its norm.
        total += 2 * h * p + norm;
        total += if altup.laurel_rank > 0 {
            h + n * n + n * n * n + n * h + 2 * h * altup.laurel_rank + 2 * norm
        } else {
            0
        };
    }
    if let Some(moe) = config.moe_at(layer).filter(|_| hybrid.experts_normed) {
        total += 4 * config.hidden_size + moe.num_experts;
    }
    total
        + halves.into_iter().filter(|half| *half).count() as u64
            * (config.norms_per_block / 2)
            * norm
}

/// Parameters of low-rank gates of norms, and the columns that the query projection has in addition
/// for the gate of attention.
fn gate_parameters(config: &ModelConfig, layer: u64) -> u64 {
    let Some(mla) = config.mla.filter(|_| config.norm_gate_rank > 0) else { return 0 };
    let gated = 1 + u64::from(config.moe_at(layer).is_some());
    let rank = mla.q_lora_rank.unwrap_or(0) * config.num_attention_heads;
    gated * 2 * config.hidden_size * config.norm_gate_rank
        + rank * (mla.qk_head_dim() + 2 * mla.v_head_dim)
}

/// Parameters of a state with `n` heads of width `p` and a convolution over `c` tokens.
fn mixer_parameters(h: u64, mixer: &Mixer) -> u64 {
    let (n, p, c, rank) =
        (mixer.num_heads, mixer.head_dim, mixer.conv_kernel, mixer.time_step_rank);
    let (values, state) = (n * p, mixer.state_size);
    let keys = mixer.num_key_heads * state;
    match mixer.kind {
        MixerKind::Mamba | MixerKind::Zamba | MixerKind::FalconMamba => {
            values * (3 * h + c + 2 * rank + 3 * state + 3)
        }
        MixerKind::Jamba => values * (3 * h + c + 2 * rank + 3 * state + 3) + rank + 2 * state,
        MixerKind::Mamba2 => {
            (3 * values + 2 * keys + n) * h + (values + 2 * keys) * (c + 1) + 3 * n + values
        }
        MixerKind::FalconH1 => {
            (3 * values + 2 * keys + n) * h + (values + 2 * keys) * (c + 1) + 3 * n
        }
        MixerKind::Qwen3Next => {
            (2 * keys + 3 * values + 2 * n) * h + (2 * keys + values) * c + 2 * n + p
        }
        MixerKind::KimiWhole => (6 * values + n) * h + 3 * values * c + values + n + p,
        MixerKind::KimiLinear => {
            (4 * values + n + 2 * p) * h + 2 * values * p + 3 * values * c + values + n + p
        }
        MixerKind::Minimax => 5 * values * h + values,
        MixerKind::RgLru => values * (3 * h + c + 2 * p + 6) + h,
        MixerKind::Rwkv => 4 * values * h + 2 * values + h * (h + 5),
        MixerKind::Mlstm => (2 * keys + 3 * values + 2 * n) * h + 2 * n + values,
        MixerKind::Lfm2 => 4 * values * h + values * c,
    }
}

fn norm_parameters(config: &ModelConfig) -> u64 {
    match (config.normalization, config.family.model_type()) {
        // Without biases.
        (Normalization::LayerNorm, "modernbert" | "modernbert-decoder" | "moonshine") => {
            config.hidden_size
        }
        // Without a scale.
        (Normalization::LayerNorm, "olmo") | (Normalization::RmsNorm, "nanochat" | "hrm_text") => 0,
        (Normalization::LayerNorm, _) => 2 * config.hidden_size,
        (Normalization::RmsNorm, _) => config.hidden_size,
    }
}

fn attention_parameters(config: &ModelConfig) -> u64 {
    let (h, a) = (config.hidden_size, config.num_attention_heads);
    let mut total = 0;
    if let Some(mla) = &config.mla {
        let (query, value) = (a * mla.qk_head_dim(), a * mla.v_head_dim);
        total += mla.q_lora_rank.map_or(h * query, |rank| h * rank + rank + rank * query);
        total += h * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank;
        total += mla.kv_lora_rank * a * (mla.qk_nope_head_dim + mla.v_head_dim) + value * h;
        if config.attention_bias {
            total += mla.q_lora_rank.unwrap_or(0) + mla.kv_lora_rank + mla.qk_rope_head_dim;
        }
    } else {
        let (queries, keys) = (a * config.head_dim, config.num_key_value_heads * config.head_dim);
        total += 2 * h * queries + 2 * h * keys;
        total += if config.attention_bias { queries + 2 * keys } else { 0 };
        total += match (config.qk_norm, config.family.model_type()) {
            // No norms, or norms without a scale, have no parameters.
            (false, _) | (true, "nanochat" | "muse_glimmer_text") => 0,
            // One norm over all heads at once, or a norm of its own for each head.
            (
                true,
                "olmo2" | "olmo3" | "olmo_hybrid" | "olmoe" | "flex_olmo" | "minimax_m2" | "cohere"
                | "stablelm",
            ) => queries + keys,
            // With a bias.
            (true, _) if config.normalization == Normalization::LayerNorm => 4 * config.head_dim,
            (true, _) => 2 * config.head_dim,
        };
    }
    total += if config.attention_output_bias { h } else { 0 };
    let queries = a * config.head_dim;
    total += match config.family.model_type() {
        // Kinds with a gate for each column or each head, or with a norm of attention's output.
        "afmoe" | "muse_glimmer_text" => h * queries,
        "laguna" | "step3p5" | "lfm3" | "bailing_hybrid" => h * a,
        "bitnet" => queries,
        "diffllama" => 4 * config.head_dim,
        _ => 0,
    };
    total + if config.attention_sinks { a } else { 0 }
}

fn feed_forward_parameters(config: &ModelConfig, layer: u64) -> u64 {
    let h = config.hidden_size;
    let learned = if config.hidden_act == HiddenAct::Xielu { 2 } else { 0 };
    let into = match config.mlp {
        MlpKind::Gated => 2,
        MlpKind::Plain => 1,
    };
    let matrices = |width: u64| (into + 1) * h * width;
    let Some(moe) = config.moe_at(layer) else {
        let bias = if config.mlp_bias { into * config.intermediate_size + h } else { 0 };
        let normed =
            if config.family.model_type() == "bitnet" { config.intermediate_size } else { 0 };
        return matrices(config.intermediate_size) + bias + learned + normed;
    };
    let gate = if moe.shared_expert_gate { h } else { 0 };
    let bias =
        if moe.bias { moe.num_experts * (1 + into * moe.moe_intermediate_size + h) } else { 0 };
    let learned = if moe.shared_expert_intermediate_size > 0 { 2 * learned } else { learned };
    // Some kinds keep a correction of each expert's scores, which is not trained.
    let corrected =
        u64::from(["ernie4_5_moe", "afmoe", "laguna"].contains(&config.family.model_type()));
    // Experts on a narrower width have a matrix before and after them.
    let (narrow, to_narrow) =
        if moe.latent > 0 { (moe.latent, 2 * h * moe.latent) } else { (h, 0) };
    let experts = moe.num_experts
        * (h + (into + 1) * narrow * moe.moe_intermediate_size + corrected)
        + to_narrow;
    let shared = moe.shared_expert_intermediate_size;
    let of_shared = if config.mlp_bias && shared > 0 { into * shared + h } else { 0 };
    // A.X K1 has a norm after all experts.
    let normed = if config.family.model_type() == "axk1" { h } else { 0 };
    normed + experts + matrices(shared) + of_shared + gate + bias + learned
}

/// A count as a float, for rates.
pub fn float(count: u64) -> f64 {
    headroom::units::to_f64(count)
}
