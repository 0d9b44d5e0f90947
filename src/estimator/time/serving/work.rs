//! The kernels of a served step, read off the record, on the accelerator that they run on.

use super::host::Host;
use super::product::Product;
use crate::config::{AttentionKernel, Cluster, Job, Run, ServingRun, Speed};
use crate::engines::{GgmlRelease, Steps};
use crate::estimator::drafting::Drafted;
use crate::estimator::served::{self, Multiplies};
use crate::estimator::stage::{self, Stage};
use crate::hardware::kernels::{
    FROM_CACHE, Kernels, MOST_IN_TILE, MOST_VECTORS, Multiplied, OnCard, Ramp, Roofline,
};
use crate::ops::{self, Op, OpList};
use crate::units::{DType, Elements, Flops, WeightFormat, to_f64};

/// Start of a kernel that only streams a few numbers, in a captured graph, seconds: a norm on an
/// H200 (`tests/data/rates/h200.jsonl`).
const SMALL_KERNEL: f64 = 1.9e-6;
/// Numbers that norms and sums around the two halves of a layer read and write of each number of
/// the stream, four times both, and that rotation and activation do of each number inside a half,
/// once both.
const STREAMED: [f64; 2] = [8.0, 2.0];

/// Rows of a tile: matrix units take 64 at once (PTX ISA, `wgmma.mma_async`), and libraries'
/// smallest tiles have as many.
const LEAST_ROWS: f64 = 64.0;
/// Rows of a tile where weights of fewer bits are widened on their way (Marlin, Frantar et al.
/// 2024: tiles of 16 rows).
const LEAST_ROWS_WIDENED: f64 = 16.0;
/// Kernels of routed experts: the best of each token, their order, two products with an activation
/// between them, and a sum (`fused_experts_impl` in vLLM).
const KERNELS_OF_EXPERTS: f64 = 6.0;
/// Clock of GeForce cards under large products against the datasheet's: sums in 32 bits, whose peak
/// no kernel passes, reach 1.03 to 1.13 of it (RTX 4090, 4090 D, 3090, 4070 Super, 3080 Ti, 5090;
/// zzc0721/torch-performance-test-data).
const GEFORCE_CLOCK: f64 = 1.075;
/// Share of memory's bandwidth at which products of one row read on cards that are not measured
/// here: 463 of 504 GB/s on an RTX 4070 (ggml-org/llama.cpp pull request 10991).
const READ_AT_MOST: f64 = 0.92;
/// Bytes that ggml's experts stream where they have biases, against those without: each output is
/// read and written once more (`ggml_add_id`; 34 bytes of each number of the stream in place of 26,
/// and 41 in place of 25 inside).
const BIASED: f64 = 1.45;
/// Bytes of a score that attention without a fused kernel writes and reads: product, softmax,
/// product, four bytes each.
const SCORE: f64 = 16.0;

/// All kernels of a step but messages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StepWork {
    /// Of the blocks: what every token takes part in.
    blocks: Vec<Product>,
    /// Behind the blocks: once for every sequence that gets a token.
    head: Vec<Product>,
    /// One query against the cache.
    decode: OnCard,
    /// Attention over a prompt, and the peak that it is a share of.
    prefill: (Ramp, f64),
    /// Seconds in which the scores of one query and one key in one layer go through memory; 0 where
    /// the kernel is fused.
    scores: f64,
    /// FLOPs of one query and one key in one layer.
    pub pair: f64,
    /// Layers with attention.
    attends: f64,
    /// Seconds of starts of small kernels in one step.
    small: f64,
    /// Bytes that these stream for each token, times seconds of a byte.
    streams: f64,
    /// Kernels of a step.
    pub kernels: f64,
}

/// Peaks and bandwidth, FLOP/s and bytes per second.
struct Rates {
    kernels: Kernels,
    speed: Speed,
    memory: f64,
    wide: f64,
    eight: Option<f64>,
    eight_bit_integers: Option<f64>,
}

impl Rates {
    fn of(cluster: &Cluster, run: &ServingRun, steps: &Steps) -> Option<Self> {
        let peak = cluster.accelerator.peak;
        Some(Self {
            kernels: cluster.speed.kernels.run_by(steps.column),
            speed: cluster.speed,
            memory: cluster.accelerator.memory_bandwidth?,
            wide: peak.of(run.activation_dtype)? * 1e12,
            eight: peak.fp8.map(|peak| peak * 1e12),
            eight_bit_integers: peak.int8.map(|peak| peak * 1e12),
        })
    }

    /// A law where nothing was measured keeps under what the board's power allows, and large
    /// products were seen to reach; `times`: the factor on peaks.
    fn on(&self, law: Roofline, peak: f64, times: f64) -> OnCard {
        let peak = peak * times;
        let mut timed = law.on(self.memory, peak);
        if !self.kernels.is_measured {
            timed.per_byte = timed.per_byte.max(1.0 / (self.memory * READ_AT_MOST));
            timed.per_flop /= self.kernels.by_power(self.speed.tdp_watts, self.wide * times);
        }
        let seen = self
            .speed
            .matmul_16bit
            .filter(|_| !self.kernels.is_measured)
            .map(|rate| rate * 1e12 * peak / self.wide);
        OnCard {
            per_flop: seen.map_or(timed.per_flop, |rate| timed.per_flop.max(1.0 / rate)),
            ..timed
        }
    }

    /// True if matrix units multiply in 4 bits.
    fn multiplies_four(&self) -> bool {
        self.kernels.multiplies_four() || self.speed.matmul_4bit.is_some()
    }

    /// The format that weights multiply in, and its peak.
    fn multiplied(&self, format: WeightFormat) -> (Multiplied, f64) {
        let eight =
            |of, peak: Option<f64>| peak.map_or((Multiplied::Wide, self.wide), |peak| (of, peak));
        match (format, format.products()) {
            (WeightFormat::Nvfp4, _) if self.multiplies_four() => {
                (Multiplied::Four, 4.0 * self.wide)
            }
            (WeightFormat::Fp8Block, DType::Fp8) => eight(Multiplied::Blocks, self.eight),
            (_, DType::Fp8) => eight(Multiplied::Eight, self.eight),
            (_, DType::Int8) => eight(Multiplied::Eight, self.eight_bit_integers),
            (_, _) => (Multiplied::Wide, self.wide),
        }
    }

    /// Rows that a product multiplies at least.
    fn rows(&self, one: &Multiplies, run: &ServingRun) -> f64 {
        let widened = one.narrow
            && self.kernels.product(self.multiplied(run.quantization).0).1 == Multiplied::Wide;
        if widened { LEAST_ROWS_WIDENED } else { LEAST_ROWS }
    }

    /// Returns the most tokens that ggml's kernels for vectors multiply, and the times of these
    /// kernels.
    fn vectors(&self, one: &Multiplies, ggml: &GgmlRelease) -> (f64, OnCard) {
        let [wide, blocks] = self.kernels.ggml.vectors;
        let [of_wide, of_blocks] = ggml.in_flight;
        let (law, in_flight) = if one.narrow { (blocks, of_blocks) } else { (wide, of_wide) };
        let timed = law.on(self.memory, 2.0 * self.wide * self.speed.summed_in_16_bits);
        let most = if one.routed { 1.0 } else { MOST_VECTORS };
        (
            most,
            OnCard {
                per_byte: timed
                    .per_byte
                    .max(1.0 / (in_flight * to_f64(self.speed.multiprocessors))),
                ..timed
            },
        )
    }

    /// Returns the times of ggml's tiles; `None` where the vendor's library multiplies.
    fn tiles(&self, one: &Multiplies, ggml: GgmlRelease) -> Option<Roofline> {
        let [wide, blocks] = self.kernels.ggml.tiles;
        // A backend without a library has tiles for 16 bits, and widens nothing.
        if one.narrow && !(ggml.widens && wide.is_none()) { blocks } else { wide }
    }

    /// Returns true if a kernel of its own narrows a product's input to the format of its weights:
    /// `static_quantize_e4m3_per_tensor` and `fp4_quantize` in TensorRT-LLM, `scaled_fp8_quant`
    /// and `scaled_fp4_quant` in vLLM and SGLang.
    fn narrows(&self, one: &Multiplies, run: &ServingRun, steps: &Steps) -> bool {
        let (of, _) = self.multiplied(run.quantization);
        one.narrow && steps.ggml.is_none() && self.kernels.product(of).1 != Multiplied::Wide
    }

    fn product(&self, one: &Multiplies, run: &ServingRun, steps: &Steps) -> OnCard {
        if let Some(tiles) = steps.ggml.and_then(|ggml| self.tiles(one, ggml)) {
            return tiles.on(self.memory, 2.0 * self.wide * self.speed.summed_in_16_bits);
        }
        let (of, peak) = if one.narrow {
            self.multiplied(run.quantization)
        } else {
            (Multiplied::Wide, self.wide)
        };
        let alone = one.narrow && of == Multiplied::Wide;
        let (law, kept) =
            if one.routed { self.kernels.of_experts(of, alone) } else { self.kernels.product(of) };
        let widens = one.narrow && kept == Multiplied::Wide && !one.routed && steps.ggml.is_none();
        let law = if widens { self.kernels.alone(run.quantization.dtype().bits()) } else { law };
        // ggml lets cuBLAS sum in 16 bits.
        let summed = if steps.ggml.is_some() { self.speed.summed_in_16_bits } else { 1.0 };
        let times = if summed > 1.0 { summed * GEFORCE_CLOCK } else { 1.0 };
        self.on(law, if kept == of { peak } else { self.wide }, times)
    }

    /// Returns the kernels that adapters add to an operation: one for all A beside it and one for
    /// all B. They read the slots that some sequence asks for, if sequences ask for every slot
    /// equally often.
    fn adapters(&self, one: &Multiplies, run: &ServingRun, bytes: f64) -> Option<Product> {
        let slots = to_f64(run.adapter_slots);
        (one.slots > 0.0).then(|| Product {
            layers: 2.0 * to_f64(one.layers),
            bytes: one.slots / 2.0,
            per_token: bytes * to_f64(run.adapter_rank),
            flops: one.slots / bytes / slots,
            rows: 0.0,
            tile: 0.0,
            timed: self.on(self.kernels.product(Multiplied::Wide).0, self.wide, 1.0),
            vectors: None,
            again: f64::INFINITY,
            widening: 0.0,
            share: Some(1.0 / slots),
            host: None,
            kernels: 1.0,
        })
    }

    /// Seconds in which ggml widens so many bytes of weights in blocks for a step of many tokens:
    /// it reads them and writes 16 bits each.
    fn widening(&self, one: &Multiplies, steps: &Steps, (bytes, weights): (f64, f64)) -> f64 {
        let widens = one.narrow
            && steps.ggml.is_some_and(|ggml| ggml.widens && self.tiles(one, ggml).is_none());
        if widens {
            (bytes + 2.0 * weights) * self.kernels.decode(false).on(self.memory, self.wide).per_byte
        } else {
            0.0
        }
    }

    /// Bytes that the last cache holds.
    fn cache(&self) -> Option<f64> {
        self.kernels.ggml.cache.map(|each| each * to_f64(self.speed.multiprocessors))
    }

    /// Tokens after which a matrix of so many bytes is read again.
    fn again(&self, one: &Multiplies, steps: &Steps, bytes: f64) -> f64 {
        let tiles = steps.ggml.is_some_and(|ggml| self.tiles(one, ggml).is_some());
        let again = self.cache().is_some_and(|cache| bytes > cache);
        if tiles && again && !one.routed { MOST_IN_TILE } else { f64::INFINITY }
    }

    /// Returns the share of the time from memory that a tensor of so many numbers of each token of a
    /// step takes: the cache keeps it where there is room for another that is made of it.
    fn kept(&self, run: &ServingRun, steps: &Steps, numbers: f64) -> f64 {
        let bytes = 2.0 * 4.0 * numbers * to_f64(run.prefill_chunk_size);
        let cache = steps.ggml.and(self.cache());
        if cache.is_some_and(|cache| bytes <= cache) { FROM_CACHE } else { 1.0 }
    }

    /// Seconds of a kernel that streams a few numbers, and the numbers that such kernels stream of
    /// each number of the stream between layers and inside their halves.
    fn small(&self, run: &ServingRun, steps: &Steps) -> (f64, [f64; 2]) {
        let Some(ggml) = steps.ggml else { return (SMALL_KERNEL, STREAMED) };
        let [wide, blocks] = self.kernels.ggml.streamed;
        let in_blocks = run.quantization.dtype().bits() < 16 && !ggml.widens;
        (self.kernels.ggml.small, if in_blocks { blocks } else { wide })
    }
}

/// The share of the rate with heads of 128 numbers that attention over a prompt reaches with
/// narrower ones: scores are as many, the products of each shorter. 0.8 for 64, the median of three
/// engines on four accelerators (`context_attention_perf` of aiconfigurator-core 0.12.0: 0.52 to
/// 1.15).
fn by_head(dim: u64) -> f64 {
    let of = |dim: f64| dim / (dim + 42.0);
    (of(to_f64(dim.max(1))) / of(128.0)).min(1.0)
}

/// The products of a step.
struct Gathered {
    blocks: Vec<Product>,
    head: Vec<Product>,
    /// Numbers of a token that stream inside the layers' halves.
    inside: f64,
    /// Experts that a token takes in all layers.
    chosen: f64,
    /// Kernels that narrow what a product multiplies.
    narrowing: f64,
}

impl Gathered {
    /// The products with all weights of a stage, of a list of operations for so many tokens of so
    /// many sequences; those of experts joined, as a step runs them together.
    fn of(
        job: &Job,
        steps: &Steps,
        rates: &Rates,
        (list, stage): (&OpList, Stage),
        (tokens, sequences): (f64, f64),
    ) -> Option<Self> {
        let Run::Serving(run) = job.run() else { return None };
        let (t, model) = (to_f64(job.layout().t()), job.model());
        let (hidden, bytes) =
            (to_f64(model.hidden_size), to_f64(run.activation_dtype.bits()) / 8.0);
        let top = model.moe.as_ref().map_or(0.0, |moe| to_f64(moe.num_experts_per_tok));
        let biased = model.moe.as_ref().is_some_and(|moe| moe.bias);
        let wider = if biased { BIASED } else { 1.0 };
        let share = model.moe.as_ref().map(|moe| top / to_f64(moe.num_experts.max(1)));
        let mut blocks: Vec<Product> = Vec::with_capacity(8);
        let (mut head, mut inside, mut narrowing) = (Vec::with_capacity(2), 0.0, 0.0);
        let mut experts: [Option<Product>; 2] = [None, None];
        let host = Host::of(job, run);
        for one in served::multiplied(job, run, list, stage) {
            let of = if one.is_head { sequences } else { tokens };
            let (layers, timed) = (to_f64(one.layers), rates.product(&one, run, steps));
            let apart = if steps.fuses || one.routed { 1.0 } else { one.matrices.max(1.0) };
            let (stored, flops) = (one.bytes / apart, one.flops / of / t / apart);
            let product = Product {
                layers: layers * apart,
                bytes: stored,
                per_token: bytes * (hidden + one.width / apart),
                flops,
                rows: if one.routed || !steps.fuses { 0.0 } else { rates.rows(&one, run) },
                tile: if one.routed && steps.ggml.is_some() { MOST_IN_TILE } else { 0.0 },
                timed,
                vectors: steps.ggml.as_ref().map(|ggml| rates.vectors(&one, ggml)),
                again: rates.again(&one, steps, stored),
                widening: rates.widening(&one, steps, (stored, flops / 2.0)),
                share: share.filter(|_| one.routed).map(|share| share.min(1.0)),
                host: None,
                kernels: if one.routed { KERNELS_OF_EXPERTS } else { 1.0 },
            };
            blocks.extend(rates.adapters(&one, run, bytes));
            // Of a layer's experts one token takes as many; measured times of servers' experts hold
            // what they stream.
            let taken = if one.routed && steps.ggml.is_some() { top * wider } else { 1.0 };
            let kept = rates.kept(run, steps, taken * one.width / one.matrices.max(1.0));
            inside += if one.is_head { 0.0 } else { layers * taken * one.width * kept };
            narrowing += if rates.narrows(&one, run, steps) { layers } else { 0.0 };
            for (product, experts) in product.divided(one.away, host).into_iter().zip(&mut experts)
            {
                let Some(product) = product else { continue };
                match (experts, one.routed, one.is_head) {
                    (_, _, true) => head.push(product),
                    (Some(known), true, false) if (known.layers - product.layers).abs() < 0.5 => {
                        known.join(&product);
                    }
                    (experts @ None, true, false) => *experts = Some(product),
                    (_, _, false) => blocks.push(product),
                }
            }
        }
        let chosen = top * wider * experts.iter().flatten().map(|one| one.layers).sum::<f64>();
        blocks.extend(experts.into_iter().flatten());
        Some(Self { blocks, head, inside, chosen, narrowing })
    }
}

impl StepWork {
    /// The kernels of a serving job; `None` where peak or memory bandwidth are unknown.
    pub fn of(job: &Job, run: &ServingRun, steps: &Steps) -> Option<Self> {
        Self::of_blocks(job, run, steps, (&ops::lower(&ops::lowering(job)), stage::only(job)))
    }

    /// The kernels of what proposes tokens ahead of a model.
    pub fn of_draft(drafted: &Drafted, steps: &Steps) -> Option<Self> {
        let job = &drafted.job;
        let Run::Serving(run) = job.run() else { return None };
        let list = drafted.only(ops::lower(&ops::lowering(job)));
        let mut work = Self::of_blocks(job, run, steps, (&list, drafted.stage_with_ends()))?;
        let rates = Rates::of(job.cluster(), run, steps)?;
        let timed = rates.on(rates.kernels.product(Multiplied::Wide).0, rates.wide, 1.0);
        for one in drafted.beside().into_iter().filter(|one| one.multiplies) {
            let numbers = to_f64(one.numbers);
            let width = numbers / to_f64(job.model().hidden_size.max(1));
            let each = to_f64(run.activation_dtype.bits()) / 8.0;
            work.kernels += 1.0;
            work.blocks.push(Product {
                layers: 1.0,
                bytes: Elements(one.numbers).stored_as(one.dtype).as_f64(),
                per_token: each * (to_f64(job.model().hidden_size) + width),
                flops: 2.0 * numbers,
                rows: if steps.fuses { LEAST_ROWS } else { 0.0 },
                tile: 0.0,
                timed,
                vectors: None,
                again: f64::INFINITY,
                widening: 0.0,
                share: None,
                host: None,
                kernels: 1.0,
            });
        }
        Some(work)
    }

    /// The kernels of some blocks and both ends.
    fn of_blocks(
        job: &Job,
        run: &ServingRun,
        steps: &Steps,
        (list, stage): (&OpList, Stage),
    ) -> Option<Self> {
        let rates = Rates::of(job.cluster(), run, steps)?;
        let with = ops::lowering(job);
        let blocks_here = stage.layers;
        let (t, model) = (to_f64(job.layout().t()), job.model());
        let (tokens, sequences) =
            (to_f64(with.seq_length.max(1)), to_f64(with.concurrent_sequences.max(1)));
        let (hidden, bytes) =
            (to_f64(model.hidden_size), to_f64(run.activation_dtype.bits()) / 8.0);
        let Gathered { blocks, head, inside, chosen, narrowing } =
            Gathered::of(job, steps, &rates, (list, stage), (tokens, sequences))?;
        let core = |ops: &[Op]| {
            ops.iter().filter(|op| op.attention_core).map(|op| op.forward).sum::<Flops>()
        };
        let Flops(scores) = list.over_blocks(core);
        let layers = to_f64(blocks_here.max(1));
        let attending = list.kinds.iter().filter(|kind| core(&kind.ops).0 > 0.0);
        let narrow = run.kv_cache_dtype.dtype().bits() < 16;
        let decode = rates.kernels.decode(narrow).on(rates.memory, rates.wide);
        let small = layers * steps.small_kernels;
        let (each, [between, within]) = rates.small(run, steps);
        let by_expert = steps.ggml.map_or(0.0, |_| chosen * rates.kernels.ggml.chosen);
        let heads = if run.attention == AttentionKernel::Flash {
            0.0
        } else {
            to_f64(model.num_attention_heads) / t
        };
        Some(Self {
            decode,
            scores: heads
                * steps.ggml.map_or(SCORE, |_| rates.kernels.ggml.score)
                * decode.per_byte,
            prefill: (rates.kernels.prefill(narrow), rates.wide * by_head(model.head_dim)),
            pair: scores / tokens / to_f64(with.context_length.max(1)) / layers / t,
            attends: attending.map(|kind| to_f64(kind.layers)).sum(),
            small: small * each,
            streams: bytes
                * ((layers * between * rates.kept(run, steps, hidden) + by_expert) * hidden
                    + within * inside)
                * rates.kernels.decode(false).on(rates.memory, rates.wide).per_byte,
            kernels: blocks.iter().map(|one| one.layers * one.kernels).sum::<f64>()
                + narrowing
                + small
                + layers,
            blocks,
            head,
        })
    }

    /// Seconds of the products of a step with so many tokens, of which so many sequences get a
    /// further one, and of all that only streams.
    pub fn products(&self, tokens: f64, sequences: f64) -> f64 {
        let blocks: f64 = self.blocks.iter().map(|one| one.seconds(tokens)).sum();
        let head: f64 = if sequences > 0.0 {
            self.head.iter().map(|one| one.seconds(sequences)).sum()
        } else {
            0.0
        };
        blocks + head + self.small + tokens * self.streams
    }

    /// Seconds of reading weights, and of multiplying with them, each by itself.
    pub fn apart(&self, tokens: f64, sequences: f64) -> (f64, f64) {
        let of = |products: &[Product], tokens: f64| {
            products
                .iter()
                .map(|one| one.apart(tokens))
                .fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d))
        };
        let ((read, multiplied), (head, last)) =
            (of(&self.blocks, tokens), of(&self.head, sequences));
        (read + head, multiplied + last)
    }

    /// Seconds of one query of each sequence against so many cached bytes of all layers, and so
    /// many pairs of query and key.
    pub fn cached(&self, bytes: f64, pairs: f64) -> f64 {
        // A state is read and written by one kernel of its layer, too.
        let layers = self.attends.max(1.0);
        if bytes <= 0.0 {
            0.0
        } else {
            layers * self.decode.seconds(bytes / layers, pairs * self.pair / layers)
        }
    }

    /// Seconds of so many cached bytes by themselves.
    pub const fn reading(&self, bytes: f64) -> f64 {
        bytes * self.decode.per_byte
    }

    /// Seconds of attention of a prompt's part that ends at so many tokens.
    pub fn attention(&self, pairs: f64, length: f64) -> f64 {
        let (ramp, peak) = self.prefill;
        if pairs <= 0.0 || self.attends <= 0.0 {
            return 0.0;
        }
        self.attends * ramp.seconds(pairs * self.pair / self.attends, length, peak)
            + pairs * self.scores
    }
}
