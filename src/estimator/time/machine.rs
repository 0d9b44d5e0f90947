//! The efficiency model, in one place: how long a product, an attention kernel, a stream of bytes
//! and a message take.
//!
//! Nothing here is fitted to a training run. Rates are measured ceilings of the accelerator
//! ([`crate::config::Speed`]); what keeps a kernel under them follows from its shape:
//!
//! - A product is cut into tiles that multiprocessors work off in waves; the last wave is seldom
//!   full and tiles hang over the edge (NVIDIA, Matrix Multiplication Background: tile and wave
//!   quantization). Tiles of 256×128, 128×256 and 128×128 are tried, and the sum may be cut in up
//!   to four parts where tiles are few, as the libraries do.
//! - Of many alike as many share the multiprocessors as run beside each other: a few experts with
//!   few tokens leave most of them idle.
//! - A wave must fill its pipeline and write its tile: [`WAVE_SECONDS`].
//! - Bytes set a floor: operands at the memory's bandwidth (roofline, Williams et al. 2009); the
//!   result is stored after that.
//! - What is sent beside a product takes multiprocessors from it: [`Machine::beside`].
//! - A kernel starts after the one before has ended: [`KERNEL_SECONDS`].

use crate::config::{Cluster, Flash, Job, Narrow, ProductFormat, Speed, TrainingRun};
use crate::ops::work::{Collective, Core, Operands, Product};
use crate::units::{DType, to_f64};

/// Latency of one kernel behind another on a stream, launch and drain: an assumption.
const KERNEL_SECONDS: f64 = 3e-6;
/// Multiprocessors that a collective takes: one for each channel, of which NCCL opens 24 between
/// H100s (its log in github.com/NVIDIA/nccl/issues/1161).
const CHANNELS: f64 = 24.0;
/// First loads of one wave of tiles and its way to the next, which no arithmetic hides: an
/// assumption.
const WAVE_SECONDS: f64 = 1.5e-6;
/// Share of a result's store that nothing hides (SimuMax's tables of products on A100 and B200:
/// sums of fp32 gradients are 5 and 8 per cent slower than products that write 16 bit).
const STORE_EXPOSED: f64 = 0.4;
/// Tiles of a product: rows and columns.
const TILES: [(u64, u64); 3] = [(256, 128), (128, 256), (128, 128)];
/// Parts into which the sum of a product may be cut.
const PARTS: [u64; 3] = [1, 2, 4];
/// Tokens at which causal attention runs at half its rate on long sequences (Shah et al. 2024,
/// figure 5, heads of 128: 0.47, 0.69, 0.85 and 0.94 of the rate at 16k tokens with 512, 1k, 2k and
/// 4k).
const ATTENTION_RAMP: f64 = 512.0;
/// Tiles of 128 queries for each multiprocessor at which forward and backward run at half their
/// rate: the mask makes tiles uneven, and few of them leave multiprocessors idle (SimuMax's table
/// of attention on B200, 4 to 128 heads). The rates are of [`FULL_TILES`].
const TILES_AT_HALF: [f64; 2] = [5.0, 1.0];
/// Tiles for each multiprocessor of the published rates: 16k tokens of 16 heads on A100.
const FULL_TILES: f64 = 20.0;
/// Head width that costs as much beside the products as softmax does (Shah et al. 2024, figure 5:
/// heads of 64 run at 0.89 of the rate of 128 in FlashAttention 2, at 0.77 in FlashAttention 3).
const SOFTMAX_WIDTH: f64 = 32.0;
/// Share of a ring's bandwidth that an all-to-all reaches (SimuMax's table of collectives on B200:
/// 0.60 against 0.67).
const ALL_TO_ALL: f64 = 0.9;
/// Share of the network's bandwidth that large messages reach: 46 to 48 of 50 GB/s per NDR adapter,
/// 24 of 25 per HDR adapter (NCCL's maintainers, github.com/NVIDIA/nccl-tests/issues/290 and
/// github.com/NVIDIA/nccl/issues/412).
const NETWORK_SHARE: f64 = 0.94;
/// Latency of a collective, and of each step of a ring inside a domain and between nodes (NCCL 2.18
/// to 2.28, `src/graph/tuning.cc`, `baseLat` and `hwLat` of protocol LL128).
const COLLECTIVE_SECONDS: f64 = 14e-6;
const HOP_SECONDS: f64 = 1.9e-6;
const NETWORK_HOP_SECONDS: f64 = 4.0e-6;
/// Latency of each step of a tree inside a domain and between nodes, from the same file.
const TREE_HOP_SECONDS: f64 = 1.25e-6;
const NETWORK_TREE_HOP_SECONDS: f64 = 8.5e-6;

/// An accelerator as the time model sees it: rates in FLOP/s and bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Machine {
    /// Products in the format of activations.
    rate: f64,
    /// Products of the blocks' weights.
    narrow_rate: f64,
    /// Bytes of an operand in these.
    narrow_bytes: f64,
    /// Bytes of an operand otherwise.
    bytes: f64,
    /// Bytes that the weight's gradient reads and writes per element.
    gradient_bytes: f64,
    multiprocessors: u64,
    memory: f64,
    attention: [f64; 2],
    pub links: Links,
}

/// Links between accelerators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Links {
    /// Inside a domain, bytes per second.
    inside: f64,
    /// Between domains.
    network: f64,
    /// Accelerators in a domain.
    domain: f64,
}

impl Machine {
    /// Rate that large products in that format keep up, FLOP/s, and rate at which streaming kernels
    /// read and write, bytes per second; `None` where peak or bandwidth are unknown.
    pub fn rates(cluster: &Cluster, dtype: DType) -> Option<(f64, f64)> {
        let peak = cluster.accelerator.peak.of(dtype)?;
        let measured = if dtype == DType::Fp32 { None } else { cluster.speed.matmul_16bit };
        let memory = cluster.accelerator.memory_bandwidth? * cluster.speed.memory_share;
        // A peak that the user lowered holds.
        Some((measured.unwrap_or(peak * Speed::UNMEASURED).min(peak) * 1e12, memory))
    }

    /// The machine of a training job; `None` where peak rate or memory bandwidth are unknown.
    pub fn of(job: &Job, run: &TrainingRun) -> Option<Self> {
        let cluster = job.cluster();
        let recipe = run.recipe();
        let (speed, peak) = (cluster.speed, cluster.accelerator.peak);
        let (rate, memory) = Self::rates(cluster, recipe.activation)?;
        let peak_16bit = peak.of(recipe.activation)? * 1e12;
        let narrow_peak = |peak: Option<f64>| peak.map(|peak| peak * 1e12 * Speed::UNMEASURED);
        let (narrow_rate, narrow_bytes) = match run.products {
            ProductFormat::Activations => (Some(rate), to_f64(recipe.activation.bits()) / 8.0),
            ProductFormat::Narrow(format) => {
                let rate = match format {
                    Narrow::Fp8 | Narrow::Mxfp8 => {
                        speed.matmul_8bit.map(|rate| rate * 1e12).or_else(|| narrow_peak(peak.fp8))
                    }
                    Narrow::Nvfp4 => speed.matmul_4bit.map(|rate| rate * 1e12),
                };
                (rate, to_f64(format.bits()) / 8.0)
            }
        };
        let [first, second, newest] = speed.attention;
        let shares = match run.flash {
            Flash::First => first,
            Flash::Second => second,
            Flash::Newest => newest,
        };
        let fused = run.stack.has_main_gradients && run.megatron.gradient_accumulation_fusion;
        Some(Self {
            rate,
            narrow_rate: narrow_rate?,
            narrow_bytes,
            bytes: to_f64(recipe.activation.bits()) / 8.0,
            // Added to the main gradient by the product itself; otherwise a kernel of its own does
            // that.
            gradient_bytes: to_f64(if fused {
                2 * recipe.gradient.bits()
            } else {
                recipe.activation.bits()
            }) / 8.0,
            multiprocessors: speed.multiprocessors.max(1),
            memory,
            attention: shares.map(|share| share * peak_16bit),
            links: Links::of(cluster),
        })
    }

    /// Seconds of a product in forward, or of one of its two in backward.
    pub fn product(&self, product: &Product) -> f64 {
        let gradient = product.of == Operands::Gradient;
        let narrow = product.narrow;
        let (rate, each) =
            if narrow { (self.narrow_rate, self.narrow_bytes) } else { (self.rate, self.bytes) };
        let waves = TILES
            .iter()
            .flat_map(|tile| PARTS.iter().map(|parts| self.waves(product, *tile, *parts, rate)));
        let arithmetic = waves.fold(f64::INFINITY, f64::min);
        let (count, rows, columns, depth) = (
            to_f64(product.count),
            to_f64(product.rows),
            to_f64(product.columns),
            to_f64(product.depth),
        );
        let result = if gradient { self.gradient_bytes } else { self.bytes };
        // Operands are loaded while the product runs; a wave's tiles end together, so that little
        // hides their store.
        let operands = count * (rows * depth + depth * columns) * each;
        let launches = to_f64(product.turns()) * KERNEL_SECONDS;
        arithmetic.max(operands / self.memory)
            + STORE_EXPOSED * count * rows * columns * result / self.memory
            + launches
    }

    /// Seconds of all waves of tiles, the sum cut in so many parts.
    fn waves(&self, product: &Product, (rows, columns): (u64, u64), parts: u64, rate: f64) -> f64 {
        let tiles = product.rows.div_ceil(rows).saturating_mul(product.columns.div_ceil(columns));
        let tiles = tiles.saturating_mul(product.at_once).saturating_mul(parts);
        let waves = to_f64(tiles.div_ceil(self.multiprocessors).saturating_mul(product.turns()));
        let depth = to_f64(product.depth.div_ceil(parts));
        let tile =
            2.0 * to_f64(rows) * to_f64(columns) * depth / (rate / to_f64(self.multiprocessors));
        waves * (tile + WAVE_SECONDS)
    }

    /// Seconds of fused attention, forward or backward: backward computes the scores again and has
    /// five products for two.
    pub fn core(&self, core: &Core, backward: bool) -> f64 {
        let [forward_rate, backward_rate] = self.attention;
        let (flops, rate) = if backward {
            (core.flops() * 2.5, backward_rate)
        } else {
            (core.flops(), forward_rate)
        };
        let ramp = to_f64(core.seq_length) / (to_f64(core.seq_length) + ATTENTION_RAMP);
        let width = to_f64(core.query_width.saturating_add(core.value_width)) / 2.0;
        let softmax = width / (width + SOFTMAX_WIDTH) * (128.0 + SOFTMAX_WIDTH) / 128.0;
        let [in_forward, in_backward] = TILES_AT_HALF;
        let half = if backward { in_backward } else { in_forward };
        let tiles =
            to_f64(core.heads) * to_f64(core.queries) / 128.0 / to_f64(self.multiprocessors);
        let occupied = tiles / (tiles + half) * (FULL_TILES + half) / FULL_TILES;
        flops / (rate * ramp * softmax.min(1.0) * occupied.min(1.0)) + KERNEL_SECONDS
    }

    /// Seconds to stream so many bytes through memory in so many kernels.
    pub fn stream(&self, bytes: u64, kernels: u64) -> f64 {
        to_f64(bytes) / self.memory + to_f64(kernels) * KERNEL_SECONDS
    }

    /// Share of a message's time that it still costs when it runs beside computation: it takes
    /// multiprocessors away.
    pub const fn beside(&self) -> f64 {
        CHANNELS / to_f64(self.multiprocessors)
    }

    /// Seconds to stream that many bytes, as a float.
    pub const fn memory_seconds(&self, bytes: f64) -> f64 {
        bytes / self.memory
    }
}

impl Links {
    /// The links of a cluster.
    pub fn of(cluster: &Cluster) -> Self {
        let speed = cluster.speed;
        let network = speed.network_bandwidth * NETWORK_SHARE;
        let domain =
            speed.scale_up_size.unwrap_or(cluster.accelerator.accelerators_per_node).max(1);
        Self {
            inside: speed
                .scale_up_bandwidth
                .map_or(network, |bandwidth| bandwidth * speed.link_share),
            network,
            domain: to_f64(domain),
        }
    }

    /// True if so many neighbours lie in one domain.
    pub fn is_one_domain(&self, ranks: f64) -> bool {
        ranks <= self.domain
    }

    /// The ring of so many ranks that lie `stride` apart.
    pub fn ring(&self, ranks: f64, stride: f64) -> Ring {
        if ranks * stride <= self.domain {
            return Ring::of(self, (ranks, ranks), self.inside, (ranks - 1.0) * HOP_SECONDS);
        }
        let inside = (self.domain / stride).floor().clamp(1.0, ranks.max(1.0));
        if inside >= ranks {
            return Ring::of(self, (ranks, inside), self.inside, (ranks - 1.0) * HOP_SECONDS);
        }
        let domains = ranks / inside;
        // Rings between domains use the adapters of all their members there.
        let bandwidth =
            if inside > 1.0 { self.inside.min(self.network * inside) } else { self.network };
        let hops = (domains - 1.0) * NETWORK_HOP_SECONDS + (ranks - domains) * HOP_SECONDS;
        Ring::of(self, (ranks, inside), bandwidth, hops)
    }

    /// Seconds of a message from a rank to the one `stride` behind it.
    pub fn message(&self, bytes: f64, stride: f64) -> f64 {
        let (bandwidth, hop) = if stride < self.domain {
            (self.inside, HOP_SECONDS)
        } else {
            (self.network, NETWORK_HOP_SECONDS)
        };
        bytes / bandwidth + hop + COLLECTIVE_SECONDS
    }
}

/// Ranks that exchange something, and the slowest link between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    ranks: f64,
    /// Ranks in one domain.
    inside: f64,
    /// Seconds in which a byte of the whole buffer has gone round.
    per_byte: f64,
    /// Latency of one round.
    hops: f64,
    links: Links,
}

impl Ring {
    fn of(links: &Links, (ranks, inside): (f64, f64), bandwidth: f64, hops: f64) -> Self {
        Self { ranks, inside, per_byte: (ranks - 1.0) / (ranks * bandwidth), hops, links: *links }
    }

    /// Seconds of a collective on a buffer of so many bytes.
    pub fn seconds(&self, collective: Collective, bytes: f64) -> f64 {
        let Self { ranks, inside, per_byte, hops, links } = *self;
        if ranks <= 1.0 {
            return 0.0;
        }
        let round = per_byte * bytes;
        COLLECTIVE_SECONDS
            + match collective {
                Collective::AllReduce => {
                    // A ring passes every rank twice, a tree only its height: the library takes the
                    // quicker.
                    let tree = (ranks / inside).log2() * NETWORK_TREE_HOP_SECONDS
                        + (inside - 1.0) * TREE_HOP_SECONDS;
                    2.0 * (round + hops.min(tree))
                }
                Collective::AllGather | Collective::ReduceScatter | Collective::Ring => {
                    round + hops
                }
                Collective::AllToAll => {
                    let near = bytes * (inside - 1.0) / ranks / links.inside;
                    let far = bytes * (ranks - inside) / ranks / links.network;
                    let latency = if inside < ranks { NETWORK_HOP_SECONDS } else { HOP_SECONDS };
                    near.max(far) / ALL_TO_ALL + latency * ranks.log2()
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use super::{Links, Machine};
    use crate::ops::work::{Operands, Product};
    use crate::units::to_f64;

    /// B200 as [`crate::catalog::speed`] has it.
    const B200: Machine = Machine {
        rate: 1100e12,
        narrow_rate: 1100e12,
        narrow_bytes: 2.0,
        bytes: 2.0,
        gradient_bytes: 8.0,
        multiprocessors: 148,
        memory: 0.75 * 8e12,
        attention: [1.0, 1.0],
        links: Links { inside: 1.0, network: 1.0, domain: 8.0 },
    };

    /// Experts, tokens of each, columns, depth, and the share of 2,250 TFLOP/s that forward and the
    /// weights' gradient were measured at (SimuMax, `configs/system/b200_bf16_ceperm.json`,
    /// `group_matmul`, fp32 main gradients).
    const MEASURED: [(u64, u64, u64, u64, f64, f64); 6] = [
        (64, 512, 7168, 2048, 0.427, 0.215),
        (20, 1232, 3072, 5120, 0.513, 0.328),
        (20, 1232, 5120, 1536, 0.397, 0.320),
        (32, 1024, 4096, 7168, 0.457, 0.289),
        (32, 1024, 7168, 2048, 0.384, 0.274),
        (40, 2460, 5120, 1536, 0.496, 0.403),
    ];

    #[test]
    fn experts_products_are_near_what_was_measured() {
        let mut errors = Vec::new();
        for (count, rows, columns, depth, forward, gradient) in MEASURED {
            let product = Product {
                count,
                at_once: 4,
                rows,
                columns,
                depth,
                of: Operands::Weight,
                narrow: true,
            };
            let [_, weights] = product.backward();
            for (time, share) in
                [(B200.product(&product), forward), (B200.product(&weights), gradient)]
            {
                let measured = product.flops() / (2250e12 * share);
                errors.push((time / measured - 1.0).abs());
            }
        }
        let mean = errors.iter().sum::<f64>() / to_f64(u64::try_from(errors.len()).expect("few"));
        assert!(mean < 0.15, "{errors:?}");
    }

    /// Four experts of 128 tokens have too few tiles for 148 multiprocessors: 459 TFLOP/s were
    /// measured.
    #[test]
    fn few_tokens_leave_multiprocessors_idle() {
        let streams = Product {
            count: 256,
            at_once: 4,
            rows: 128,
            columns: 4096,
            depth: 7168,
            of: Operands::Weight,
            narrow: true,
        };
        let single = Product { at_once: 256, ..streams };
        let measured = streams.flops() / (2250e12 * 0.204);
        let (streams, single) = (B200.product(&streams), B200.product(&single));
        assert!(single < streams && streams < measured, "{streams} {single} {measured}");
    }
}
