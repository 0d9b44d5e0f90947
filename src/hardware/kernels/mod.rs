//! Times of the kernels of a served step: a few constants per architecture, fitted to published
//! measurements of single operations.
//!
//! A kernel starts, and then reads or multiplies, whichever takes longer; near the point where both
//! take as long it reaches neither rate: `t = start + ((bytes / bandwidth)^p + (FLOPs /
//! rate)^p)^(1/p)` (roofline, Williams et al. 2009, with a rounded corner). Bandwidth and rate are
//! shares of the datasheet's, at most 1, so that no time is below the roofline.

mod amd;
mod ggml;
mod measured;
mod own;

pub use amd::{MI300X, MI355X};
pub use ggml::{FROM_CACHE, Ggml, MOST_IN_TILE, MOST_VECTORS};
pub use measured::{A100, ARC_PRO_B60, B200, H100, L40S, RTX_PRO_6000};

/// Seconds of a microsecond.
const MICRO: f64 = 1e-6;

/// The kernels of one architecture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernels {
    /// Products with weights by [`Multiplied`]; `None`: the format has no product of its own here.
    pub products: [Option<Roofline>; 4],
    /// Products in 16 bits with weights alone in 8 bits, and in 4; `None`: not measured.
    pub alone: [Option<Roofline>; 2],
    /// Routed experts of one layer with their dispatch, by [`Multiplied`], and with weights alone
    /// in 4 bits.
    pub experts: [Option<Roofline>; 5],
    /// One query against a cache in 16 bits, and in 8.
    pub decode: [Option<Roofline>; 2],
    /// Causal attention over a prompt, with a cache in 16 bits and in 8.
    pub prefill: [Option<Ramp>; 2],
    /// Sums over 2, 4 and 8 ranks of one node.
    pub sums: Option<[Sum; 3]>,
    /// The sums by NCCL.
    pub nccl: Option<[Sum; 3]>,
    /// The link of these sums, bytes per second in one direction; `None`: PCIe.
    pub link: Option<f64>,
    /// Those of llama.cpp.
    pub ggml: &'static Ggml,
    /// The attention that engines run, by the column of their steps; `None`: not measured apart.
    pub own: Option<&'static [Attention; 3]>,
    /// TFLOP/s of products in 16 bits for each watt of the board, where power is what limits them;
    /// `None`: not known.
    pub per_watt: Option<Fitted>,
    /// True if they were measured on this accelerator or its chip; otherwise they are another
    /// architecture's shares.
    pub is_measured: bool,
}

/// The attention of one engine, as [`Kernels`] says; `None`: not measured of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// One query against a cache.
    pub decode: [Option<Roofline>; 2],
    /// Causal attention over a prompt.
    pub prefill: [Option<Ramp>; 2],
}

/// The format in which a product multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplied {
    /// In 16 bits, whatever the weights are stored in.
    Wide,
    /// In 8 bits with one scale per tensor or column.
    Eight,
    /// In 8 bits with one scale for each square of weights.
    Blocks,
    /// In 4 bits.
    Four,
}

impl Multiplied {
    /// Its place in the tables.
    const fn place(self) -> usize {
        match self {
            Self::Wide => 0,
            Self::Eight => 1,
            Self::Blocks => 2,
            Self::Four => 3,
        }
    }
}

/// A fitted number, in thousandths: in the page's program it takes a third of the room of a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted(u32);

impl Fitted {
    /// Returns the number, which is the float nearest to its decimals.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

/// Returns a fitted number, which has three decimals at most.
///
/// ```
/// assert_eq!(headroom::hardware::kernels::fitted(0.822).value(), 0.822);
/// ```
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "fits are positive and far below four million"
)]
pub const fn fitted(number: f64) -> Fitted {
    Fitted((number * 1000.0 + 0.5) as u32)
}

const fn roofline(start: f64, bandwidth: f64, rate: f64, power: f64) -> Roofline {
    Roofline {
        start: fitted(start),
        bandwidth: fitted(bandwidth),
        rate: fitted(rate),
        power: fitted(power),
    }
}

const fn ramp(start: f64, rate: f64, tokens: f64) -> Ramp {
    Ramp { start: fitted(start), rate: fitted(rate), tokens: fitted(tokens) }
}

const fn sum(start: f64, bandwidth: f64, root: f64) -> Sum {
    Sum { start: fitted(start), bandwidth: fitted(bandwidth), root: fitted(root) }
}

/// The time of one kernel: its start in microseconds, shares of bandwidth and peak, and how sharp
/// the corner between both is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Microseconds before the first byte, and behind the last.
    pub start: Fitted,
    /// Share of the datasheet's bandwidth.
    pub bandwidth: Fitted,
    /// Share of the datasheet's dense peak.
    pub rate: Fitted,
    /// Sharpness of the corner.
    pub power: Fitted,
}

impl Roofline {
    /// Returns the kernel's times on an accelerator of that memory bandwidth, bytes per second, and
    /// peak rate, FLOPs per second.
    ///
    /// ```
    /// # use headroom::hardware::kernels::{Roofline, fitted};
    /// let [start, bandwidth, rate, power] = [2.0, 0.8, 0.6, 4.0].map(fitted);
    /// let law = Roofline { start, bandwidth, rate, power };
    /// let card = law.on(3.35e12, 990e12);
    /// // Far from the corner a kernel takes as long as it reads, behind its start.
    /// let seconds = card.seconds(1e9, 1e6);
    /// assert!((seconds - (2e-6 + 1e9 / (0.8 * 3.35e12))).abs() < 1e-9);
    /// ```
    pub fn on(self, bandwidth: f64, peak: f64) -> OnCard {
        OnCard {
            start: self.start.value() * MICRO,
            per_byte: 1.0 / (self.bandwidth.value() * bandwidth),
            per_flop: 1.0 / (self.rate.value() * peak),
            power: self.power.value(),
        }
    }
}

/// A [`Roofline`] on an accelerator: seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnCard {
    /// Seconds of the start.
    pub start: f64,
    /// Seconds of a byte.
    pub per_byte: f64,
    /// Seconds of an operation.
    pub per_flop: f64,
    /// Sharpness of the corner.
    pub power: f64,
}

impl OnCard {
    /// Returns the seconds of a kernel that reads and writes `bytes` bytes and does `flops`
    /// operations.
    ///
    /// Symbols: `s` seconds of the start, `r` seconds to read, `c` seconds to compute, `p`
    /// sharpness of the corner. Formula: `s + (rᵖ + cᵖ)^(1/p)`, which is near the larger of both
    /// away from the corner.
    pub fn seconds(&self, bytes: f64, flops: f64) -> f64 {
        let (reads, computes) = (bytes * self.per_byte, flops * self.per_flop);
        let (long, short) = (reads.max(computes), reads.min(computes));
        if long <= 0.0 {
            return self.start;
        }
        // The larger is taken out, so that powers of tiny numbers do not vanish.
        self.start + long * (1.0 + (short / long).powf(self.power)).powf(1.0 / self.power)
    }
}

/// Attention over a prompt: seconds = start + FLOPs / rate · (1 + tokens / length).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Microseconds of the start.
    pub start: Fitted,
    /// Share of the 16-bit peak on long prompts.
    pub rate: Fitted,
    /// Tokens at which half of that is reached.
    pub tokens: Fitted,
}

impl Ramp {
    /// Returns the seconds of one layer's attention over a prompt that ends at `length` tokens.
    ///
    /// `flops` are the operations, `peak` the accelerator's 16-bit peak in FLOPs per second.
    /// Formula: `start + flops / (rate · peak) · (1 + tokens / length)`.
    pub fn seconds(self, flops: f64, length: f64, peak: f64) -> f64 {
        let (rate, tokens) = (self.rate.value(), self.tokens.value());
        self.start.value() * MICRO + flops / (rate * peak) * (1.0 + tokens / length.max(1.0))
    }
}

/// A sum over ranks: seconds = start + root · √bytes + bytes / bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// Microseconds of the start.
    pub start: Fitted,
    /// GB/s of the summed buffer.
    pub bandwidth: Fitted,
    /// Nanoseconds of the square root of a byte: between the sizes where latency and bandwidth
    /// count alone.
    pub root: Fitted,
}

impl Sum {
    /// Returns the seconds of a sum of so many bytes over links `times` as fast as those that were
    /// measured.
    ///
    /// Formula: `start + root · √(bytes / times) + bytes / (bandwidth · times)`.
    pub fn seconds(self, bytes: f64, times: f64) -> f64 {
        self.start.value() * MICRO
            + self.root.value() * 1e-9 * (bytes / times).sqrt()
            + bytes / (self.bandwidth.value() * 1e9 * times)
    }
}

impl Kernels {
    /// The kernels of an architecture of which nothing was measured: the shares of the H100, an
    /// assumption.
    pub const ASSUMED: Self = H100.elsewhere();

    /// Those of Apple's chips, on which nothing was measured but llama.cpp's.
    pub const APPLE: Self = Self { ggml: &Ggml::METAL, ..Self::ASSUMED };

    /// Those of the RTX 3090's architecture: A100's but for the cache.
    pub const GA10X: Self = Self { ggml: &Ggml::AMPERE, ..A100.assumed() };

    /// Those of DGX Spark, beside llama.cpp's those of the larger chip of its architecture.
    pub const GB10: Self = Self { ggml: &Ggml::GB10, ..RTX_PRO_6000.assumed() };

    /// Returns how many times the share of the peak an accelerator of that power (watts) and peak in
    /// 16 bits (FLOPs per second) reaches, beside the accelerator that was measured.
    ///
    /// Formula: the smaller of the largest share that was measured and `watts · per_watt / peak`,
    /// over the share of the measured accelerator.
    pub fn by_power(&self, watts: Option<f64>, peak: f64) -> f64 {
        let measured = self.products[0].map_or(LARGEST, |law| law.rate.value());
        let power =
            watts.zip(self.per_watt).map(|(watts, each)| watts * each.value() * 1e12 / peak);
        power.map_or(1.0, |share| share.min(LARGEST) / measured)
    }

    /// These shares, assumed of another accelerator of the same architecture.
    #[must_use]
    pub const fn assumed(self) -> Self {
        Self { is_measured: false, ..self }
    }

    /// These shares, assumed of another architecture, which makes something else of a watt.
    #[must_use]
    pub const fn elsewhere(self) -> Self {
        Self { per_watt: None, ..self.assumed() }
    }

    /// Returns these with the attention that the engine of that column runs, where it was measured;
    /// elsewhere the quickest of all engines stays.
    #[must_use]
    pub fn run_by(&self, column: Option<usize>) -> Self {
        let own = column.zip(self.own).and_then(|(column, own)| own.get(column));
        let Some(&Attention { decode: [wide, eight], prefill: [all, narrow] }) = own else {
            return *self;
        };
        Self {
            decode: [wide.or(self.decode[0]), eight.or(self.decode[1])],
            prefill: [all.or(self.prefill[0]), narrow.or(self.prefill[1])],
            ..*self
        }
    }

    /// Returns the law of a product in 16 bits with weights alone in fewer; where none was
    /// measured, that of weights in 16 bits.
    pub fn alone(&self, bits: u64) -> Roofline {
        let [eight, four] = self.alone;
        let law = if bits > 4 { eight } else { four };
        law.unwrap_or(self.product(Multiplied::Wide).0)
    }

    /// Returns the law of a product with weights of that format, and the format in which it
    /// multiplies: that one, or else 16 bits, to which weights are widened on their way.
    pub fn product(&self, of: Multiplied) -> (Roofline, Multiplied) {
        self.found(&self.products, of)
    }

    /// Returns the law of routed experts, and the format in which they multiply; `alone`: weights
    /// are in 4 bits and activations in 16.
    pub fn of_experts(&self, of: Multiplied, alone: bool) -> (Roofline, Multiplied) {
        match self.experts {
            [.., Some(law)] if alone => (law, Multiplied::Wide),
            [wide, eight, blocks, four, _] => self.found(&[wide, eight, blocks, four], of),
        }
    }

    /// Returns a format's law and the format in which it multiplies. Where another architecture's
    /// shares are assumed, which lacks the format, it is that of 8 bits, or of 16 with three
    /// quarters of the share: products in 8 and 4 bits reach 0.71 to 0.88 of it on the four
    /// accelerators that have both.
    fn found(&self, laws: &[Option<Roofline>; 4], of: Multiplied) -> (Roofline, Multiplied) {
        let wide = laws[0].unwrap_or(FALLBACK);
        match laws.get(of.place()).copied().flatten() {
            Some(law) => (law, of),
            None if self.is_measured => (wide, Multiplied::Wide),
            None => {
                let narrow = Roofline { rate: Fitted(wide.rate.0 * 3 / 4), ..wide };
                (laws[Multiplied::Eight.place()].unwrap_or(narrow), of)
            }
        }
    }

    /// Returns true if products in 4 bits were measured.
    pub const fn multiplies_four(&self) -> bool {
        self.products[3].is_some()
    }

    /// Returns the law of one query against a cache; `narrow`: in 8 bits.
    pub fn decode(&self, narrow: bool) -> Roofline {
        let [wide, eight] = self.decode;
        eight.filter(|_| narrow).or(wide).unwrap_or(FALLBACK)
    }

    /// Returns the law of attention over a prompt; `narrow`: the cache is in 8 bits.
    pub fn prefill(&self, narrow: bool) -> Ramp {
        let [wide, eight] = self.prefill;
        eight.filter(|_| narrow).or(wide).unwrap_or(ramp(12.0, 0.5, 750.0))
    }

    /// Returns the law of a sum over so many ranks of one node, by an engine's own kernel or by
    /// NCCL, and how many times as fast the link is as the one that was measured.
    ///
    /// `link` is the node's link in bytes per second; without one it is PCIe, as L40S have it.
    pub fn sum(&self, ranks: f64, link: Option<f64>, own_kernel: bool) -> (Sum, f64) {
        let sums = |kernels: &Self| if own_kernel { kernels.sums } else { kernels.nccl };
        let own = sums(self).filter(|_| link.is_some() && self.link.is_some());
        let times = own.and(link).zip(self.link).map_or(1.0, |(link, measured)| link / measured);
        let [two, four, eight] =
            own.or_else(|| sums(&L40S)).or(RTX_PRO_6000.nccl).unwrap_or([sum(5.0, 20.0, 1.0); 3]);
        let sum = if ranks <= 2.0 {
            two
        } else if ranks <= 4.0 {
            four
        } else {
            eight
        };
        (sum, times)
    }
}

/// The largest share of the peak in 16 bits that large products reach on any accelerator that was
/// measured (H100).
const LARGEST: f64 = 0.816;

/// A law of an architecture whose tables lack one: an assumption.
const FALLBACK: Roofline = roofline(5.0, 0.8, 0.7, 2.0);

#[cfg(test)]
mod tests {
    use super::{
        A100, ARC_PRO_B60, B200, Ggml, H100, Kernels, L40S, MI300X, MI355X, RTX_PRO_6000, Roofline,
    };

    const ALL: [Kernels; 8] = [A100, H100, B200, L40S, RTX_PRO_6000, ARC_PRO_B60, MI300X, MI355X];

    fn laws() -> impl Iterator<Item = Roofline> {
        let ggml = [Ggml::CUDA, Ggml::A100, Ggml::GB10, Ggml::METAL];
        let of_ggml = ggml
            .into_iter()
            .flat_map(|ggml| ggml.vectors.into_iter().chain(ggml.tiles.into_iter().flatten()));
        of_ggml.chain(ALL.into_iter().flat_map(|kernels| {
            let all = kernels.products.into_iter().chain(kernels.experts).chain(kernels.decode);
            all.flatten().collect::<Vec<_>>()
        }))
    }

    #[test]
    fn no_kernel_is_above_the_roofline() {
        for law in laws() {
            assert!(
                law.bandwidth.value() <= 1.0
                    && law.rate.value() <= 1.0
                    && law.start.value() > 0.0
                    && law.power.value() > 0.0,
                "{law:?}"
            );
        }
        assert!(
            ALL.iter()
                .flat_map(|kernels| kernels.prefill)
                .flatten()
                .all(|ramp| ramp.rate.value() < 1.0)
        );
    }

    #[test]
    fn more_work_takes_longer() {
        for law in laws() {
            let timed = law.on(3e12, 1e15);
            let seconds = |bytes: f64, flops: f64| timed.seconds(bytes, flops);
            assert!(
                seconds(1e6, 1e9) < seconds(2e6, 1e9) && seconds(2e6, 1e9) < seconds(2e6, 1e12),
                "{law:?}"
            );
            assert!(
                seconds(1e9, 0.0) >= 1e9 / 3e12 && seconds(0.0, 1e12) >= 1e12 / 1e15,
                "{law:?}"
            );
        }
    }

    #[test]
    fn larger_sums_and_more_ranks_take_longer() {
        for kernels in ALL {
            let seconds = |ranks: f64, bytes: f64| {
                let (sum, times) = kernels.sum(ranks, kernels.link, true);
                sum.seconds(bytes, times)
            };
            for bytes in [1e3, 1e5, 1e7] {
                for ranks in [2.0, 4.0, 8.0] {
                    assert!(seconds(ranks, bytes) < seconds(ranks, 2.0 * bytes));
                }
                // Where every pair of ranks has a link of its own, two ranks have one of seven.
                let is_mesh = kernels.link == MI300X.link;
                assert!(is_mesh || seconds(2.0, bytes) < seconds(8.0, bytes));
            }
        }
    }
}
