//! Times of single operations on six accelerators: written by `tests/data/tools/serving_rates.py`
//! from the operator measurements of PyPI aiconfigurator-core 0.12.0 (Apache-2.0), never from a
//! served request. Shares are of the datasheet's bandwidth and dense peak.

use super::{Ggml, Kernels, Ramp, Roofline, Sum, fitted, own};

/// Fits to measurements of A100.
pub const A100: Kernels = Kernels {
    products: [
        Some(Roofline {
            start: fitted(6.37),
            bandwidth: fitted(1.000),
            rate: fitted(0.795),
            power: fitted(1.30),
        }),
        None,
        None,
        None,
    ],
    alone: [
        Some(Roofline {
            start: fitted(13.47),
            bandwidth: fitted(0.953),
            rate: fitted(0.851),
            power: fitted(1.23),
        }),
        Some(Roofline {
            start: fitted(14.63),
            bandwidth: fitted(1.000),
            rate: fitted(0.806),
            power: fitted(1.11),
        }),
    ],
    experts: [
        Some(Roofline {
            start: fitted(42.08),
            bandwidth: fitted(1.000),
            rate: fitted(0.539),
            power: fitted(0.85),
        }),
        None,
        None,
        None,
        Some(Roofline {
            start: fitted(39.36),
            bandwidth: fitted(0.934),
            rate: fitted(0.492),
            power: fitted(1.17),
        }),
    ],
    decode: [
        Some(Roofline {
            start: fitted(14.30),
            bandwidth: fitted(0.822),
            rate: fitted(0.160),
            power: fitted(2.09),
        }),
        None,
    ],
    prefill: [Some(Ramp { start: fitted(15.5), rate: fitted(0.490), tokens: fitted(549.0) }), None],
    sums: Some([
        Sum { start: fitted(4.58), bandwidth: fitted(189.9), root: fitted(0.575) },
        Sum { start: fitted(4.79), bandwidth: fitted(147.0), root: fitted(5.471) },
        Sum { start: fitted(5.12), bandwidth: fitted(135.5), root: fitted(11.034) },
    ]),
    nccl: Some([
        Sum { start: fitted(9.53), bandwidth: fitted(220.1), root: fitted(12.271) },
        Sum { start: fitted(13.41), bandwidth: fitted(158.7), root: fitted(13.528) },
        Sum { start: fitted(20.59), bandwidth: fitted(137.3), root: fitted(12.777) },
    ]),
    link: Some(300e9),
    ggml: &Ggml::AMPERE,
    own: Some(&own::A100),
    is_measured: true,
};

/// Fits to measurements of H100.
pub const H100: Kernels = Kernels {
    products: [
        Some(Roofline {
            start: fitted(3.25),
            bandwidth: fitted(0.889),
            rate: fitted(0.816),
            power: fitted(3.01),
        }),
        Some(Roofline {
            start: fitted(5.72),
            bandwidth: fitted(1.000),
            rate: fitted(0.614),
            power: fitted(1.31),
        }),
        Some(Roofline {
            start: fitted(5.02),
            bandwidth: fitted(1.000),
            rate: fitted(0.603),
            power: fitted(1.38),
        }),
        None,
    ],
    alone: [
        Some(Roofline {
            start: fitted(26.00),
            bandwidth: fitted(0.736),
            rate: fitted(0.462),
            power: fitted(2.52),
        }),
        None,
    ],
    experts: [
        Some(Roofline {
            start: fitted(28.38),
            bandwidth: fitted(1.000),
            rate: fitted(0.977),
            power: fitted(0.96),
        }),
        Some(Roofline {
            start: fitted(36.54),
            bandwidth: fitted(1.000),
            rate: fitted(0.999),
            power: fitted(0.80),
        }),
        Some(Roofline {
            start: fitted(30.84),
            bandwidth: fitted(1.000),
            rate: fitted(0.372),
            power: fitted(1.15),
        }),
        None,
        Some(Roofline {
            start: fitted(26.84),
            bandwidth: fitted(0.962),
            rate: fitted(0.283),
            power: fitted(1.16),
        }),
    ],
    decode: [
        Some(Roofline {
            start: fitted(9.80),
            bandwidth: fitted(0.911),
            rate: fitted(0.118),
            power: fitted(1.96),
        }),
        Some(Roofline {
            start: fitted(7.49),
            bandwidth: fitted(0.757),
            rate: fitted(0.999),
            power: fitted(2.09),
        }),
    ],
    prefill: [
        Some(Ramp { start: fitted(11.8), rate: fitted(0.679), tokens: fitted(749.0) }),
        Some(Ramp { start: fitted(12.1), rate: fitted(0.822), tokens: fitted(953.0) }),
    ],
    sums: Some([
        Sum { start: fitted(2.60), bandwidth: fitted(323.0), root: fitted(0.315) },
        Sum { start: fitted(2.51), bandwidth: fitted(238.2), root: fitted(2.982) },
        Sum { start: fitted(2.92), bandwidth: fitted(274.8), root: fitted(6.579) },
    ]),
    nccl: Some([
        Sum { start: fitted(6.01), bandwidth: fitted(337.6), root: fitted(5.364) },
        Sum { start: fitted(9.53), bandwidth: fitted(247.5), root: fitted(5.299) },
        Sum { start: fitted(15.22), bandwidth: fitted(296.2), root: fitted(10.228) },
    ]),
    link: Some(450e9),
    ggml: &Ggml::CUDA,
    own: Some(&own::H100),
    is_measured: true,
};

/// Fits to measurements of B200.
pub const B200: Kernels = Kernels {
    products: [
        Some(Roofline {
            start: fitted(2.73),
            bandwidth: fitted(0.810),
            rate: fitted(0.717),
            power: fitted(2.30),
        }),
        Some(Roofline {
            start: fitted(6.18),
            bandwidth: fitted(1.000),
            rate: fitted(0.529),
            power: fitted(1.18),
        }),
        Some(Roofline {
            start: fitted(6.64),
            bandwidth: fitted(1.000),
            rate: fitted(0.623),
            power: fitted(1.31),
        }),
        Some(Roofline {
            start: fitted(5.45),
            bandwidth: fitted(1.000),
            rate: fitted(0.535),
            power: fitted(0.87),
        }),
    ],
    alone: [None, None],
    experts: [
        Some(Roofline {
            start: fitted(19.22),
            bandwidth: fitted(1.000),
            rate: fitted(1.000),
            power: fitted(0.81),
        }),
        Some(Roofline {
            start: fitted(20.66),
            bandwidth: fitted(1.000),
            rate: fitted(1.000),
            power: fitted(0.68),
        }),
        Some(Roofline {
            start: fitted(26.99),
            bandwidth: fitted(1.000),
            rate: fitted(1.000),
            power: fitted(0.58),
        }),
        Some(Roofline {
            start: fitted(16.00),
            bandwidth: fitted(1.000),
            rate: fitted(0.535),
            power: fitted(1.40),
        }),
        Some(Roofline {
            start: fitted(25.26),
            bandwidth: fitted(0.788),
            rate: fitted(0.339),
            power: fitted(0.69),
        }),
    ],
    decode: [
        Some(Roofline {
            start: fitted(7.00),
            bandwidth: fitted(0.910),
            rate: fitted(0.157),
            power: fitted(1.88),
        }),
        Some(Roofline {
            start: fitted(6.14),
            bandwidth: fitted(0.882),
            rate: fitted(0.222),
            power: fitted(2.02),
        }),
    ],
    prefill: [
        Some(Ramp { start: fitted(12.0), rate: fitted(0.593), tokens: fitted(826.0) }),
        Some(Ramp { start: fitted(12.0), rate: fitted(0.723), tokens: fitted(975.0) }),
    ],
    sums: Some([
        Sum { start: fitted(4.18), bandwidth: fitted(522.4), root: fitted(0.094) },
        Sum { start: fitted(4.29), bandwidth: fitted(444.4), root: fitted(2.936) },
        Sum { start: fitted(4.64), bandwidth: fitted(432.8), root: fitted(4.928) },
    ]),
    nccl: Some([
        Sum { start: fitted(9.25), bandwidth: fitted(594.7), root: fitted(3.595) },
        Sum { start: fitted(14.46), bandwidth: fitted(472.7), root: fitted(4.535) },
        Sum { start: fitted(24.39), bandwidth: fitted(492.5), root: fitted(9.496) },
    ]),
    link: Some(900e9),
    ggml: &Ggml::CUDA,
    own: Some(&own::B200),
    is_measured: true,
};

/// Fits to measurements of L40S.
pub const L40S: Kernels = Kernels {
    products: [
        Some(Roofline {
            start: fitted(0.93),
            bandwidth: fitted(0.796),
            rate: fitted(0.665),
            power: fitted(2.09),
        }),
        Some(Roofline {
            start: fitted(2.78),
            bandwidth: fitted(0.789),
            rate: fitted(0.513),
            power: fitted(1.99),
        }),
        Some(Roofline {
            start: fitted(3.30),
            bandwidth: fitted(0.867),
            rate: fitted(0.341),
            power: fitted(1.67),
        }),
        None,
    ],
    alone: [None, None],
    experts: [
        Some(Roofline {
            start: fitted(0.50),
            bandwidth: fitted(0.939),
            rate: fitted(0.433),
            power: fitted(1.30),
        }),
        Some(Roofline {
            start: fitted(1.37),
            bandwidth: fitted(0.969),
            rate: fitted(1.000),
            power: fitted(0.76),
        }),
        Some(Roofline {
            start: fitted(6.50),
            bandwidth: fitted(0.932),
            rate: fitted(0.821),
            power: fitted(0.87),
        }),
        None,
        Some(Roofline {
            start: fitted(3.67),
            bandwidth: fitted(0.993),
            rate: fitted(0.792),
            power: fitted(1.07),
        }),
    ],
    decode: [
        Some(Roofline {
            start: fitted(5.81),
            bandwidth: fitted(0.850),
            rate: fitted(0.117),
            power: fitted(2.09),
        }),
        Some(Roofline {
            start: fitted(9.12),
            bandwidth: fitted(0.811),
            rate: fitted(0.999),
            power: fitted(2.18),
        }),
    ],
    prefill: [
        Some(Ramp { start: fitted(7.8), rate: fitted(0.588), tokens: fitted(261.0) }),
        Some(Ramp { start: fitted(9.8), rate: fitted(0.742), tokens: fitted(540.0) }),
    ],
    sums: Some([
        Sum { start: fitted(5.24), bandwidth: fitted(20.2), root: fitted(1.209) },
        Sum { start: fitted(10.16), bandwidth: fitted(14.5), root: fitted(29.697) },
        Sum { start: fitted(19.04), bandwidth: fitted(12.4), root: fitted(47.152) },
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
        Some(Roofline {
            start: fitted(2.94),
            bandwidth: fitted(0.995),
            rate: fitted(0.806),
            power: fitted(1.63),
        }),
        Some(Roofline {
            start: fitted(5.53),
            bandwidth: fitted(1.000),
            rate: fitted(0.707),
            power: fitted(1.60),
        }),
        Some(Roofline {
            start: fitted(9.33),
            bandwidth: fitted(1.000),
            rate: fitted(0.453),
            power: fitted(1.83),
        }),
        Some(Roofline {
            start: fitted(7.51),
            bandwidth: fitted(0.825),
            rate: fitted(0.594),
            power: fitted(5.09),
        }),
    ],
    alone: [None, None],
    experts: [
        Some(Roofline {
            start: fitted(4.98),
            bandwidth: fitted(1.000),
            rate: fitted(0.664),
            power: fitted(1.40),
        }),
        Some(Roofline {
            start: fitted(17.30),
            bandwidth: fitted(1.000),
            rate: fitted(0.637),
            power: fitted(1.49),
        }),
        Some(Roofline {
            start: fitted(18.67),
            bandwidth: fitted(1.000),
            rate: fitted(0.569),
            power: fitted(1.53),
        }),
        Some(Roofline {
            start: fitted(47.40),
            bandwidth: fitted(1.000),
            rate: fitted(0.849),
            power: fitted(1.23),
        }),
        Some(Roofline {
            start: fitted(6.87),
            bandwidth: fitted(1.000),
            rate: fitted(0.592),
            power: fitted(1.60),
        }),
    ],
    decode: [
        Some(Roofline {
            start: fitted(6.29),
            bandwidth: fitted(0.954),
            rate: fitted(0.132),
            power: fitted(2.03),
        }),
        Some(Roofline {
            start: fitted(8.95),
            bandwidth: fitted(0.942),
            rate: fitted(0.743),
            power: fitted(1.99),
        }),
    ],
    prefill: [
        Some(Ramp { start: fitted(9.6), rate: fitted(0.659), tokens: fitted(234.0) }),
        Some(Ramp { start: fitted(12.4), rate: fitted(0.797), tokens: fitted(398.0) }),
    ],
    sums: Some([
        Sum { start: fitted(4.49), bandwidth: fitted(38.9), root: fitted(0.000) },
        Sum { start: fitted(11.21), bandwidth: fitted(20.4), root: fitted(19.691) },
        Sum { start: fitted(22.75), bandwidth: fitted(14.4), root: fitted(35.205) },
    ]),
    nccl: Some([
        Sum { start: fitted(5.85), bandwidth: fitted(38.5), root: fitted(8.209) },
        Sum { start: fitted(11.98), bandwidth: fitted(17.4), root: fitted(13.514) },
        Sum { start: fitted(22.87), bandwidth: fitted(14.6), root: fitted(35.727) },
    ]),
    link: None,
    ggml: &Ggml::CUDA,
    own: Some(&own::RTX_PRO_6000),
    is_measured: true,
};

/// Fits to measurements of ARC PRO B60.
pub const ARC_PRO_B60: Kernels = Kernels {
    products: [
        Some(Roofline {
            start: fitted(19.48),
            bandwidth: fitted(1.000),
            rate: fitted(0.968),
            power: fitted(2.30),
        }),
        Some(Roofline {
            start: fitted(14.86),
            bandwidth: fitted(1.000),
            rate: fitted(0.483),
            power: fitted(2.13),
        }),
        None,
        None,
    ],
    alone: [None, None],
    experts: [
        Some(Roofline {
            start: fitted(74.69),
            bandwidth: fitted(1.000),
            rate: fitted(1.000),
            power: fitted(0.70),
        }),
        Some(Roofline {
            start: fitted(91.56),
            bandwidth: fitted(1.000),
            rate: fitted(0.412),
            power: fitted(0.87),
        }),
        None,
        None,
        Some(Roofline {
            start: fitted(147.84),
            bandwidth: fitted(0.812),
            rate: fitted(0.294),
            power: fitted(1.59),
        }),
    ],
    decode: [
        Some(Roofline {
            start: fitted(64.09),
            bandwidth: fitted(0.988),
            rate: fitted(0.983),
            power: fitted(2.80),
        }),
        Some(Roofline {
            start: fitted(67.51),
            bandwidth: fitted(0.970),
            rate: fitted(0.154),
            power: fitted(2.02),
        }),
    ],
    prefill: [
        Some(Ramp { start: fitted(52.9), rate: fitted(0.703), tokens: fitted(390.0) }),
        Some(Ramp { start: fitted(70.3), rate: fitted(0.378), tokens: fitted(381.0) }),
    ],
    sums: None,
    nccl: None,
    link: None,
    ggml: &Ggml::CUDA,
    own: None,
    is_measured: true,
};
