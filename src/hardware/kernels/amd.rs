//! Times of single operations on AMD's cards: products in 8 and 4 bits and sums over ranks, fitted
//! by `tests/data/tools/serving_rates_amd.py` to the times that AITER's tuning and three pull
//! requests of vLLM and AITER publish, never to a served request. Products in 16 bits, experts and
//! attention have the shares of the H100, an assumption.

use super::{H100, Kernels, Roofline, Sum, fitted};

/// MI300X and MI325X, which have the same chip.
pub const MI300X: Kernels = Kernels {
    products: [
        H100.products[0],
        Some(Roofline {
            start: fitted(5.53),
            bandwidth: fitted(0.565),
            rate: fitted(0.434),
            power: fitted(2.03),
        }),
        Some(Roofline {
            start: fitted(3.41),
            bandwidth: fitted(0.585),
            rate: fitted(0.327),
            power: fitted(0.80),
        }),
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
        Some(Roofline {
            start: fitted(6.25),
            bandwidth: fitted(1.000),
            rate: fitted(0.538),
            power: fitted(0.81),
        }),
        Some(Roofline {
            start: fitted(4.16),
            bandwidth: fitted(0.354),
            rate: fitted(0.268),
            power: fitted(1.59),
        }),
        Some(Roofline {
            start: fitted(13.68),
            bandwidth: fitted(0.732),
            rate: fitted(0.490),
            power: fitted(2.08),
        }),
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
    Sum { start: fitted(6.62), bandwidth: fitted(48.1), root: fitted(0.0) },
    Sum { start: fitted(6.77), bandwidth: fitted(78.5), root: fitted(2.186) },
    Sum { start: fitted(4.54), bandwidth: fitted(201.3), root: fitted(11.488) },
];
