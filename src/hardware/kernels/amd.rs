//! Times of single operations on AMD's cards: products in 8 and 4 bits and sums over ranks, fitted
//! by `tests/data/tools/serving_rates_amd.py` to the times that AITER's tuning and three pull
//! requests of vLLM and AITER publish, never to a served request. Products in 16 bits, experts and
//! attention have the shares of the H100, an assumption.

use super::{H100, Kernels, Roofline, Sum};

/// MI300X and MI325X, which have the same chip.
pub const MI300X: Kernels = Kernels {
    products: [
        H100.products[0],
        Some(Roofline { start: 5.53, bandwidth: 0.565, rate: 0.434, power: 2.03 }),
        Some(Roofline { start: 3.41, bandwidth: 0.585, rate: 0.327, power: 0.80 }),
        None,
    ],
    sums: Some(SUMS),
    link: Some(LINK),
    own: None,
    is_measured: false,
    ..H100
};

/// MI350X and MI355X, which have the same chip.
pub const MI355X: Kernels = Kernels {
    products: [
        H100.products[0],
        Some(Roofline { start: 6.25, bandwidth: 1.000, rate: 0.538, power: 0.81 }),
        Some(Roofline { start: 4.16, bandwidth: 0.354, rate: 0.268, power: 1.59 }),
        Some(Roofline { start: 13.68, bandwidth: 0.732, rate: 0.490, power: 2.08 }),
    ],
    sums: Some(SUMS),
    link: Some(LINK),
    own: None,
    is_measured: false,
    ..H100
};

/// Seven links of 64 GB/s, as MI300X has them.
const LINK: f64 = 448e9;

/// Sums over 2 and 4 ranks were measured on MI300X. Those over 8 ranks were measured on MI355X,
/// whose links are 1.2 times as fast (241.6 GB/s, 10.487 ns): they are scaled to these links.
const SUMS: [Sum; 3] = [
    Sum { start: 6.62, bandwidth: 48.1, root: 0.0 },
    Sum { start: 6.77, bandwidth: 78.5, root: 2.186 },
    Sum { start: 4.54, bandwidth: 201.3, root: 11.488 },
];
