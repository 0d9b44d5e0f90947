//! Times of the attention that engines run: written by `tests/data/tools/serving_rates.py` from the
//! same measurements as `measured`, each engine's apart, in the order of their columns.
#![allow(clippy::approx_constant, reason = "microseconds that happen to be near a constant")]

use super::{Attention, Ramp, Roofline, fitted};

/// Fits to measurements of A100.
pub static A100: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(14.30),
                bandwidth: fitted(0.822),
                rate: fitted(0.160),
                power: fitted(2.09),
            }),
            None,
        ],
        prefill: [
            Some(Ramp { start: fitted(15.5), rate: fitted(0.490), tokens: fitted(549.0) }),
            None,
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(16.28),
                bandwidth: fitted(0.558),
                rate: fitted(0.999),
                power: fitted(0.61),
            }),
            None,
        ],
        prefill: [
            Some(Ramp { start: fitted(18.1), rate: fitted(0.669), tokens: fitted(257.0) }),
            None,
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(18.16),
                bandwidth: fitted(0.729),
                rate: fitted(0.125),
                power: fitted(2.12),
            }),
            None,
        ],
        prefill: [
            Some(Ramp { start: fitted(13.3), rate: fitted(0.583), tokens: fitted(360.0) }),
            None,
        ],
    },
];

/// Fits to measurements of H100.
pub static H100: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(10.96),
                bandwidth: fitted(0.878),
                rate: fitted(0.079),
                power: fitted(1.95),
            }),
            Some(Roofline {
                start: fitted(7.32),
                bandwidth: fitted(0.733),
                rate: fitted(0.999),
                power: fitted(2.19),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(15.8), rate: fitted(0.576), tokens: fitted(1167.0) }),
            Some(Ramp { start: fitted(15.2), rate: fitted(0.875), tokens: fitted(1796.0) }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(9.86),
                bandwidth: fitted(0.898),
                rate: fitted(0.155),
                power: fitted(1.93),
            }),
            Some(Roofline {
                start: fitted(13.71),
                bandwidth: fitted(0.613),
                rate: fitted(1.000),
                power: fitted(2.12),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(11.8), rate: fitted(0.657), tokens: fitted(712.0) }),
            Some(Ramp { start: fitted(12.1), rate: fitted(0.799), tokens: fitted(891.0) }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(12.49),
                bandwidth: fitted(0.931),
                rate: fitted(0.092),
                power: fitted(1.96),
            }),
            Some(Roofline {
                start: fitted(14.66),
                bandwidth: fitted(0.854),
                rate: fitted(1.000),
                power: fitted(0.86),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(14.4), rate: fitted(0.679), tokens: fitted(923.0) }),
            Some(Ramp { start: fitted(18.7), rate: fitted(0.664), tokens: fitted(1253.0) }),
        ],
    },
];

/// Fits to measurements of B200.
pub static B200: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(11.06),
                bandwidth: fitted(0.910),
                rate: fitted(0.183),
                power: fitted(1.46),
            }),
            Some(Roofline {
                start: fitted(11.07),
                bandwidth: fitted(0.891),
                rate: fitted(0.169),
                power: fitted(2.09),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(18.9), rate: fitted(0.558), tokens: fitted(1961.0) }),
            Some(Ramp { start: fitted(18.3), rate: fitted(0.697), tokens: fitted(2205.0) }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(10.11),
                bandwidth: fitted(0.913),
                rate: fitted(0.244),
                power: fitted(2.04),
            }),
            Some(Roofline {
                start: fitted(16.54),
                bandwidth: fitted(0.867),
                rate: fitted(0.329),
                power: fitted(1.99),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(14.6), rate: fitted(0.577), tokens: fitted(837.0) }),
            Some(Ramp { start: fitted(22.2), rate: fitted(0.686), tokens: fitted(2013.0) }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(7.25),
                bandwidth: fitted(0.905),
                rate: fitted(0.198),
                power: fitted(1.88),
            }),
            Some(Roofline {
                start: fitted(6.14),
                bandwidth: fitted(0.879),
                rate: fitted(0.239),
                power: fitted(2.05),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(11.7), rate: fitted(0.570), tokens: fitted(810.0) }),
            Some(Ramp { start: fitted(12.0), rate: fitted(0.723), tokens: fitted(975.0) }),
        ],
    },
];

/// Fits to measurements of L40S.
pub static L40S: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(8.68),
                bandwidth: fitted(0.915),
                rate: fitted(1.000),
                power: fitted(0.53),
            }),
            Some(Roofline {
                start: fitted(10.88),
                bandwidth: fitted(0.780),
                rate: fitted(0.999),
                power: fitted(2.03),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(11.0), rate: fitted(0.408), tokens: fitted(510.0) }),
            Some(Ramp { start: fitted(9.6), rate: fitted(0.764), tokens: fitted(770.0) }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(5.80),
                bandwidth: fitted(0.842),
                rate: fitted(0.310),
                power: fitted(2.03),
            }),
            Some(Roofline {
                start: fitted(9.07),
                bandwidth: fitted(0.768),
                rate: fitted(0.998),
                power: fitted(2.04),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(8.4), rate: fitted(0.587), tokens: fitted(255.0) }),
            Some(Ramp { start: fitted(10.9), rate: fitted(0.588), tokens: fitted(272.0) }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(11.08),
                bandwidth: fitted(0.785),
                rate: fitted(0.999),
                power: fitted(2.23),
            }),
            Some(Roofline {
                start: fitted(11.36),
                bandwidth: fitted(0.777),
                rate: fitted(1.000),
                power: fitted(2.08),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(8.2), rate: fitted(0.527), tokens: fitted(355.0) }),
            Some(Ramp { start: fitted(15.4), rate: fitted(0.452), tokens: fitted(268.0) }),
        ],
    },
];

/// Fits to measurements of RTX PRO 6000.
pub static RTX_PRO_6000: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(8.67),
                bandwidth: fitted(0.955),
                rate: fitted(0.151),
                power: fitted(1.73),
            }),
            Some(Roofline {
                start: fitted(9.00),
                bandwidth: fitted(0.934),
                rate: fitted(0.998),
                power: fitted(2.04),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(13.6), rate: fitted(0.432), tokens: fitted(532.0) }),
            Some(Ramp { start: fitted(13.7), rate: fitted(0.835), tokens: fitted(657.0) }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(6.28),
                bandwidth: fitted(0.951),
                rate: fitted(0.164),
                power: fitted(1.87),
            }),
            Some(Roofline {
                start: fitted(10.30),
                bandwidth: fitted(0.911),
                rate: fitted(0.348),
                power: fitted(2.06),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(10.6), rate: fitted(0.659), tokens: fitted(229.0) }),
            Some(Ramp { start: fitted(12.4), rate: fitted(0.660), tokens: fitted(235.0) }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline {
                start: fitted(12.62),
                bandwidth: fitted(0.952),
                rate: fitted(0.096),
                power: fitted(2.05),
            }),
            Some(Roofline {
                start: fitted(12.38),
                bandwidth: fitted(0.943),
                rate: fitted(0.262),
                power: fitted(2.07),
            }),
        ],
        prefill: [
            Some(Ramp { start: fitted(8.8), rate: fitted(0.599), tokens: fitted(451.0) }),
            Some(Ramp { start: fitted(17.6), rate: fitted(0.509), tokens: fitted(233.0) }),
        ],
    },
];
