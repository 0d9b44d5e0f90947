//! Times of single operations on six accelerators: written by `tests/data/tools/serving_rates.py`
//! from the operator measurements of PyPI aiconfigurator-core 0.12.0 (Apache-2.0), never from a
//! served request. Shares are of the datasheet's bandwidth and dense peak.

use super::{Ggml, Kernels, fitted, own, ramp, roofline, sum};

/// Fits to measurements of A100.
pub const A100: Kernels = Kernels {
    products: [Some(roofline(6.37, 1.000, 0.795, 1.30)), None, None, None],
    alone: [Some(roofline(13.47, 0.953, 0.851, 1.23)), Some(roofline(14.63, 1.000, 0.806, 1.11))],
    experts: [
        Some(roofline(42.08, 1.000, 0.539, 0.85)),
        None,
        None,
        None,
        Some(roofline(39.36, 0.934, 0.492, 1.17)),
    ],
    decode: [Some(roofline(14.30, 0.822, 0.160, 2.09)), None],
    prefill: [Some(ramp(15.5, 0.490, 549.0)), None],
    sums: Some([sum(4.58, 189.9, 0.575), sum(4.79, 147.0, 5.471), sum(5.12, 135.5, 11.034)]),
    nccl: Some([sum(9.53, 220.1, 12.271), sum(13.41, 158.7, 13.528), sum(20.59, 137.3, 12.777)]),
    link: Some(300e9),
    ggml: &Ggml::A100,
    own: Some(&own::A100),
    per_watt: Some(fitted(0.843)),
    is_measured: true,
};

/// Fits to measurements of H100.
pub const H100: Kernels = Kernels {
    products: [
        Some(roofline(3.25, 0.889, 0.816, 3.01)),
        Some(roofline(5.72, 1.000, 0.614, 1.31)),
        Some(roofline(5.02, 1.000, 0.603, 1.38)),
        None,
    ],
    alone: [Some(roofline(26.00, 0.736, 0.462, 2.52)), None],
    experts: [
        Some(roofline(28.38, 1.000, 0.977, 0.96)),
        Some(roofline(36.54, 1.000, 0.999, 0.80)),
        Some(roofline(30.84, 1.000, 0.372, 1.15)),
        None,
        Some(roofline(26.84, 0.962, 0.283, 1.16)),
    ],
    decode: [Some(roofline(9.80, 0.911, 0.118, 1.96)), Some(roofline(7.49, 0.757, 0.999, 2.09))],
    prefill: [Some(ramp(11.8, 0.679, 749.0)), Some(ramp(12.1, 0.822, 953.0))],
    sums: Some([sum(2.60, 323.0, 0.315), sum(2.51, 238.2, 2.982), sum(2.92, 274.8, 6.579)]),
    nccl: Some([sum(6.01, 337.6, 5.364), sum(9.53, 247.5, 5.299), sum(15.22, 296.2, 10.228)]),
    link: Some(450e9),
    ggml: &Ggml::CUDA,
    own: Some(&own::H100),
    per_watt: Some(fitted(1.309)),
    is_measured: true,
};

/// Fits to measurements of B200.
pub const B200: Kernels = Kernels {
    products: [
        Some(roofline(2.73, 0.810, 0.717, 2.30)),
        Some(roofline(6.18, 1.000, 0.529, 1.18)),
        Some(roofline(6.64, 1.000, 0.623, 1.31)),
        Some(roofline(5.45, 1.000, 0.535, 0.87)),
    ],
    alone: [None, None],
    experts: [
        Some(roofline(19.22, 1.000, 1.000, 0.81)),
        Some(roofline(20.66, 1.000, 1.000, 0.68)),
        Some(roofline(26.99, 1.000, 1.000, 0.58)),
        Some(roofline(16.00, 1.000, 0.535, 1.40)),
        Some(roofline(25.26, 0.788, 0.339, 0.69)),
    ],
    decode: [Some(roofline(7.00, 0.910, 0.157, 1.88)), Some(roofline(6.14, 0.882, 0.222, 2.02))],
    prefill: [Some(ramp(12.0, 0.593, 826.0)), Some(ramp(12.0, 0.723, 975.0))],
    sums: Some([sum(4.18, 522.4, 0.094), sum(4.29, 444.4, 2.936), sum(4.64, 432.8, 4.928)]),
    nccl: Some([sum(9.25, 594.7, 3.595), sum(14.46, 472.7, 4.535), sum(24.39, 492.5, 9.496)]),
    link: Some(900e9),
    ggml: &Ggml::CUDA,
    own: Some(&own::B200),
    per_watt: Some(fitted(1.614)),
    is_measured: true,
};

/// Fits to measurements of L40S.
pub const L40S: Kernels = Kernels {
    products: [
        Some(roofline(0.93, 0.796, 0.665, 2.09)),
        Some(roofline(2.78, 0.789, 0.513, 1.99)),
        Some(roofline(3.30, 0.867, 0.341, 1.67)),
        None,
    ],
    alone: [None, None],
    experts: [
        Some(roofline(0.50, 0.939, 0.433, 1.30)),
        Some(roofline(1.37, 0.969, 1.000, 0.76)),
        Some(roofline(6.50, 0.932, 0.821, 0.87)),
        None,
        Some(roofline(3.67, 0.993, 0.792, 1.07)),
    ],
    decode: [Some(roofline(5.81, 0.850, 0.117, 2.09)), Some(roofline(9.12, 0.811, 0.999, 2.18))],
    prefill: [Some(ramp(7.8, 0.588, 261.0)), Some(ramp(9.8, 0.742, 540.0))],
    sums: Some([sum(5.24, 20.2, 1.209), sum(10.16, 14.5, 29.697), sum(19.04, 12.4, 47.152)]),
    nccl: None,
    link: None,
    ggml: &Ggml::ADA,
    own: Some(&own::L40S),
    per_watt: Some(fitted(0.688)),
    is_measured: true,
};

/// Fits to measurements of RTX PRO 6000.
pub const RTX_PRO_6000: Kernels = Kernels {
    products: [
        Some(roofline(2.94, 0.995, 0.806, 1.63)),
        Some(roofline(5.53, 1.000, 0.707, 1.60)),
        Some(roofline(9.33, 1.000, 0.453, 1.83)),
        Some(roofline(7.51, 0.825, 0.594, 5.09)),
    ],
    alone: [None, None],
    experts: [
        Some(roofline(4.98, 1.000, 0.664, 1.40)),
        Some(roofline(17.30, 1.000, 0.637, 1.49)),
        Some(roofline(18.67, 1.000, 0.569, 1.53)),
        Some(roofline(47.40, 1.000, 0.849, 1.23)),
        Some(roofline(6.87, 1.000, 0.592, 1.60)),
    ],
    decode: [Some(roofline(6.29, 0.954, 0.132, 2.03)), Some(roofline(8.95, 0.942, 0.743, 1.99))],
    prefill: [Some(ramp(9.6, 0.659, 234.0)), Some(ramp(12.4, 0.797, 398.0))],
    sums: Some([sum(4.49, 38.9, 0.000), sum(11.21, 20.4, 19.691), sum(22.75, 14.4, 35.205)]),
    nccl: Some([sum(5.85, 38.5, 8.209), sum(11.98, 17.4, 13.514), sum(22.87, 14.6, 35.727)]),
    link: None,
    ggml: &Ggml::CUDA,
    own: Some(&own::RTX_PRO_6000),
    per_watt: Some(fitted(0.677)),
    is_measured: true,
};

/// Fits to measurements of ARC PRO B60.
pub const ARC_PRO_B60: Kernels = Kernels {
    products: [
        Some(roofline(19.48, 1.000, 0.968, 2.30)),
        Some(roofline(14.86, 1.000, 0.483, 2.13)),
        None,
        None,
    ],
    alone: [None, None],
    experts: [
        Some(roofline(74.69, 1.000, 1.000, 0.70)),
        Some(roofline(91.56, 1.000, 0.412, 0.87)),
        None,
        None,
        Some(roofline(147.84, 0.812, 0.294, 1.59)),
    ],
    decode: [Some(roofline(64.09, 0.988, 0.983, 2.80)), Some(roofline(67.51, 0.970, 0.154, 2.02))],
    prefill: [Some(ramp(52.9, 0.703, 390.0)), Some(ramp(70.3, 0.378, 381.0))],
    sums: None,
    nccl: None,
    link: None,
    ggml: &Ggml::CUDA,
    own: None,
    per_watt: None,
    is_measured: true,
};
