//! Times of single operations on AMD's cards: products in 8 and 4 bits and sums over ranks, fitted
//! by `tests/data/tools/serving_rates_amd.py` to the times that AITER's tuning and three pull
//! requests of vLLM and AITER publish, never to a served request. Products in 16 bits, experts and
//! attention have the shares of the H100, an assumption.

use super::{H100, Kernels, Sum, roofline, sum};

/// MI300X and MI325X, which have the same chip.
pub const MI300X: Kernels = Kernels {
    products: [
        H100.products[0],
        Some(roofline(5.53, 0.565, 0.434, 2.03)),
        Some(roofline(3.41, 0.585, 0.327, 0.80)),
        None,
    ],
    sums: Some(SUMS),
    link: Some(LINK),
    own: None,
    per_watt: None,
    is_measured: false,
    ..H100
};

/// MI350X and MI355X, which have the same chip.
pub const MI355X: Kernels = Kernels {
    products: [
        H100.products[0],
        Some(roofline(6.25, 1.000, 0.538, 0.81)),
        Some(roofline(4.16, 0.354, 0.268, 1.59)),
        Some(roofline(13.68, 0.732, 0.490, 2.08)),
    ],
    sums: Some(SUMS),
    link: Some(LINK),
    own: None,
    per_watt: None,
    is_measured: false,
    ..H100
};

/// Seven links of 64 GB/s, as MI300X has them.
const LINK: f64 = 448e9;

/// Sums over 2 and 4 ranks were measured on MI300X. Those over 8 ranks were measured on MI355X,
/// whose links are 1.2 times as fast (241.6 GB/s, 10.487 ns): they are scaled to these links.
const SUMS: [Sum; 3] = [sum(6.62, 48.1, 0.0), sum(6.77, 78.5, 2.186), sum(4.54, 201.3, 11.488)];
