//! Times of single operations on six accelerators: written by `tests/data/tools/serving_rates.py`
//! from the operator measurements of PyPI aiconfigurator-core 0.12.0 (Apache-2.0), never from a
//! served request. Shares are of the datasheet's bandwidth and dense peak.

use super::{Ggml, Kernels, Ramp, Roofline, Sum, own};

/// Fits to measurements of A100.
pub const A100: Kernels = Kernels {
    products: [
        Some(Roofline { start: 6.37, bandwidth: 1.000, rate: 0.795, power: 1.30 }),
        None,
        None,
        None,
    ],
    alone: [
        Some(Roofline { start: 13.47, bandwidth: 0.953, rate: 0.851, power: 1.23 }),
        Some(Roofline { start: 14.63, bandwidth: 1.000, rate: 0.806, power: 1.11 }),
    ],
    experts: [
        Some(Roofline { start: 42.08, bandwidth: 1.000, rate: 0.539, power: 0.85 }),
        None,
        None,
        None,
        Some(Roofline { start: 39.36, bandwidth: 0.934, rate: 0.492, power: 1.17 }),
    ],
    decode: [Some(Roofline { start: 14.30, bandwidth: 0.822, rate: 0.160, power: 2.09 }), None],
    prefill: [Some(Ramp { start: 15.5, rate: 0.490, tokens: 549.0 }), None],
    sums: Some([
        Sum { start: 4.58, bandwidth: 189.9, root: 0.575 },
        Sum { start: 4.79, bandwidth: 147.0, root: 5.471 },
        Sum { start: 5.12, bandwidth: 135.5, root: 11.034 },
    ]),
    nccl: Some([
        Sum { start: 9.53, bandwidth: 220.1, root: 12.271 },
        Sum { start: 13.41, bandwidth: 158.7, root: 13.528 },
        Sum { start: 20.59, bandwidth: 137.3, root: 12.777 },
    ]),
    link: Some(300e9),
    ggml: &Ggml::AMPERE,
    own: Some(&own::A100),
    is_measured: true,
};

/// Fits to measurements of H100.
pub const H100: Kernels = Kernels {
    products: [
        Some(Roofline { start: 3.25, bandwidth: 0.889, rate: 0.816, power: 3.01 }),
        Some(Roofline { start: 5.72, bandwidth: 1.000, rate: 0.614, power: 1.31 }),
        Some(Roofline { start: 5.02, bandwidth: 1.000, rate: 0.603, power: 1.38 }),
        None,
    ],
    alone: [Some(Roofline { start: 26.00, bandwidth: 0.736, rate: 0.462, power: 2.52 }), None],
    experts: [
        Some(Roofline { start: 28.38, bandwidth: 1.000, rate: 0.977, power: 0.96 }),
        Some(Roofline { start: 36.54, bandwidth: 1.000, rate: 0.999, power: 0.80 }),
        Some(Roofline { start: 30.84, bandwidth: 1.000, rate: 0.372, power: 1.15 }),
        None,
        Some(Roofline { start: 26.84, bandwidth: 0.962, rate: 0.283, power: 1.16 }),
    ],
    decode: [
        Some(Roofline { start: 9.80, bandwidth: 0.911, rate: 0.118, power: 1.96 }),
        Some(Roofline { start: 7.49, bandwidth: 0.757, rate: 0.999, power: 2.09 }),
    ],
    prefill: [
        Some(Ramp { start: 11.8, rate: 0.679, tokens: 749.0 }),
        Some(Ramp { start: 12.1, rate: 0.822, tokens: 953.0 }),
    ],
    sums: Some([
        Sum { start: 2.60, bandwidth: 323.0, root: 0.315 },
        Sum { start: 2.51, bandwidth: 238.2, root: 2.982 },
        Sum { start: 2.92, bandwidth: 274.8, root: 6.579 },
    ]),
    nccl: Some([
        Sum { start: 6.01, bandwidth: 337.6, root: 5.364 },
        Sum { start: 9.53, bandwidth: 247.5, root: 5.299 },
        Sum { start: 15.22, bandwidth: 296.2, root: 10.228 },
    ]),
    link: Some(450e9),
    ggml: &Ggml::CUDA,
    own: Some(&own::H100),
    is_measured: true,
};

/// Fits to measurements of B200.
pub const B200: Kernels = Kernels {
    products: [
        Some(Roofline { start: 2.73, bandwidth: 0.810, rate: 0.717, power: 2.30 }),
        Some(Roofline { start: 6.18, bandwidth: 1.000, rate: 0.529, power: 1.18 }),
        Some(Roofline { start: 6.64, bandwidth: 1.000, rate: 0.623, power: 1.31 }),
        Some(Roofline { start: 5.45, bandwidth: 1.000, rate: 0.535, power: 0.87 }),
    ],
    alone: [None, None],
    experts: [
        Some(Roofline { start: 19.22, bandwidth: 1.000, rate: 1.000, power: 0.81 }),
        Some(Roofline { start: 20.66, bandwidth: 1.000, rate: 1.000, power: 0.68 }),
        Some(Roofline { start: 26.99, bandwidth: 1.000, rate: 1.000, power: 0.58 }),
        Some(Roofline { start: 16.00, bandwidth: 1.000, rate: 0.535, power: 1.40 }),
        Some(Roofline { start: 25.26, bandwidth: 0.788, rate: 0.339, power: 0.69 }),
    ],
    decode: [
        Some(Roofline { start: 7.00, bandwidth: 0.910, rate: 0.157, power: 1.88 }),
        Some(Roofline { start: 6.14, bandwidth: 0.882, rate: 0.222, power: 2.02 }),
    ],
    prefill: [
        Some(Ramp { start: 12.0, rate: 0.593, tokens: 826.0 }),
        Some(Ramp { start: 12.0, rate: 0.723, tokens: 975.0 }),
    ],
    sums: Some([
        Sum { start: 4.18, bandwidth: 522.4, root: 0.094 },
        Sum { start: 4.29, bandwidth: 444.4, root: 2.936 },
        Sum { start: 4.64, bandwidth: 432.8, root: 4.928 },
    ]),
    nccl: Some([
        Sum { start: 9.25, bandwidth: 594.7, root: 3.595 },
        Sum { start: 14.46, bandwidth: 472.7, root: 4.535 },
        Sum { start: 24.39, bandwidth: 492.5, root: 9.496 },
    ]),
    link: Some(900e9),
    ggml: &Ggml::CUDA,
    own: Some(&own::B200),
    is_measured: true,
};

/// Fits to measurements of L40S.
pub const L40S: Kernels = Kernels {
    products: [
        Some(Roofline { start: 0.93, bandwidth: 0.796, rate: 0.665, power: 2.09 }),
        Some(Roofline { start: 2.78, bandwidth: 0.789, rate: 0.513, power: 1.99 }),
        Some(Roofline { start: 3.30, bandwidth: 0.867, rate: 0.341, power: 1.67 }),
        None,
    ],
    alone: [None, None],
    experts: [
        Some(Roofline { start: 0.50, bandwidth: 0.939, rate: 0.433, power: 1.30 }),
        Some(Roofline { start: 1.37, bandwidth: 0.969, rate: 1.000, power: 0.76 }),
        Some(Roofline { start: 6.50, bandwidth: 0.932, rate: 0.821, power: 0.87 }),
        None,
        Some(Roofline { start: 3.67, bandwidth: 0.993, rate: 0.792, power: 1.07 }),
    ],
    decode: [
        Some(Roofline { start: 5.81, bandwidth: 0.850, rate: 0.117, power: 2.09 }),
        Some(Roofline { start: 9.12, bandwidth: 0.811, rate: 0.999, power: 2.18 }),
    ],
    prefill: [
        Some(Ramp { start: 7.8, rate: 0.588, tokens: 261.0 }),
        Some(Ramp { start: 9.8, rate: 0.742, tokens: 540.0 }),
    ],
    sums: Some([
        Sum { start: 5.24, bandwidth: 20.2, root: 1.209 },
        Sum { start: 10.16, bandwidth: 14.5, root: 29.697 },
        Sum { start: 19.04, bandwidth: 12.4, root: 47.152 },
    ]),
    nccl: None,
    link: None,
    ggml: &Ggml::CUDA,
    own: Some(&own::L40S),
    is_measured: true,
};

/// Fits to measurements of RTX PRO 6000.
pub const RTX_PRO_6000: Kernels = Kernels {
    products: [
        Some(Roofline { start: 2.94, bandwidth: 0.995, rate: 0.806, power: 1.63 }),
        Some(Roofline { start: 5.53, bandwidth: 1.000, rate: 0.707, power: 1.60 }),
        Some(Roofline { start: 9.33, bandwidth: 1.000, rate: 0.453, power: 1.83 }),
        Some(Roofline { start: 7.51, bandwidth: 0.825, rate: 0.594, power: 5.09 }),
    ],
    alone: [None, None],
    experts: [
        Some(Roofline { start: 4.98, bandwidth: 1.000, rate: 0.664, power: 1.40 }),
        Some(Roofline { start: 17.30, bandwidth: 1.000, rate: 0.637, power: 1.49 }),
        Some(Roofline { start: 18.67, bandwidth: 1.000, rate: 0.569, power: 1.53 }),
        Some(Roofline { start: 47.40, bandwidth: 1.000, rate: 0.849, power: 1.23 }),
        Some(Roofline { start: 6.87, bandwidth: 1.000, rate: 0.592, power: 1.60 }),
    ],
    decode: [
        Some(Roofline { start: 6.29, bandwidth: 0.954, rate: 0.132, power: 2.03 }),
        Some(Roofline { start: 8.95, bandwidth: 0.942, rate: 0.743, power: 1.99 }),
    ],
    prefill: [
        Some(Ramp { start: 9.6, rate: 0.659, tokens: 234.0 }),
        Some(Ramp { start: 12.4, rate: 0.797, tokens: 398.0 }),
    ],
    sums: Some([
        Sum { start: 4.49, bandwidth: 38.9, root: 0.000 },
        Sum { start: 11.21, bandwidth: 20.4, root: 19.691 },
        Sum { start: 22.75, bandwidth: 14.4, root: 35.205 },
    ]),
    nccl: Some([
        Sum { start: 5.85, bandwidth: 38.5, root: 8.209 },
        Sum { start: 11.98, bandwidth: 17.4, root: 13.514 },
        Sum { start: 22.87, bandwidth: 14.6, root: 35.727 },
    ]),
    link: None,
    ggml: &Ggml::CUDA,
    own: Some(&own::RTX_PRO_6000),
    is_measured: true,
};

/// Fits to measurements of ARC PRO B60.
pub const ARC_PRO_B60: Kernels = Kernels {
    products: [
        Some(Roofline { start: 19.48, bandwidth: 1.000, rate: 0.968, power: 2.30 }),
        Some(Roofline { start: 14.86, bandwidth: 1.000, rate: 0.483, power: 2.13 }),
        None,
        None,
    ],
    alone: [None, None],
    experts: [
        Some(Roofline { start: 74.69, bandwidth: 1.000, rate: 1.000, power: 0.70 }),
        Some(Roofline { start: 91.56, bandwidth: 1.000, rate: 0.412, power: 0.87 }),
        None,
        None,
        Some(Roofline { start: 147.84, bandwidth: 0.812, rate: 0.294, power: 1.59 }),
    ],
    decode: [
        Some(Roofline { start: 64.09, bandwidth: 0.988, rate: 0.983, power: 2.80 }),
        Some(Roofline { start: 67.51, bandwidth: 0.970, rate: 0.154, power: 2.02 }),
    ],
    prefill: [
        Some(Ramp { start: 52.9, rate: 0.703, tokens: 390.0 }),
        Some(Ramp { start: 70.3, rate: 0.378, tokens: 381.0 }),
    ],
    sums: None,
    nccl: None,
    link: None,
    ggml: &Ggml::CUDA,
    own: None,
    is_measured: true,
};
