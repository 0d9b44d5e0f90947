//! Times of the attention that engines run: written by `tests/data/tools/serving_rates.py` from the
//! same measurements as `measured`, each engine's apart, in the order of their columns.
#![allow(clippy::approx_constant, reason = "microseconds that happen to be near a constant")]

use super::{Attention, Ramp, Roofline};

/// Fits to measurements of A100.
pub static A100: [Attention; 3] = [
    Attention {
        decode: [Some(Roofline { start: 14.30, bandwidth: 0.822, rate: 0.160, power: 2.09 }), None],
        prefill: [Some(Ramp { start: 15.5, rate: 0.490, tokens: 549.0 }), None],
    },
    Attention {
        decode: [Some(Roofline { start: 16.28, bandwidth: 0.558, rate: 0.999, power: 0.61 }), None],
        prefill: [Some(Ramp { start: 18.1, rate: 0.669, tokens: 257.0 }), None],
    },
    Attention {
        decode: [Some(Roofline { start: 18.16, bandwidth: 0.729, rate: 0.125, power: 2.12 }), None],
        prefill: [Some(Ramp { start: 13.3, rate: 0.583, tokens: 360.0 }), None],
    },
];

/// Fits to measurements of H100.
pub static H100: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline { start: 10.96, bandwidth: 0.878, rate: 0.079, power: 1.95 }),
            Some(Roofline { start: 7.32, bandwidth: 0.733, rate: 0.999, power: 2.19 }),
        ],
        prefill: [
            Some(Ramp { start: 15.8, rate: 0.576, tokens: 1167.0 }),
            Some(Ramp { start: 15.2, rate: 0.875, tokens: 1796.0 }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline { start: 9.86, bandwidth: 0.898, rate: 0.155, power: 1.93 }),
            Some(Roofline { start: 13.71, bandwidth: 0.613, rate: 1.000, power: 2.12 }),
        ],
        prefill: [
            Some(Ramp { start: 11.8, rate: 0.657, tokens: 712.0 }),
            Some(Ramp { start: 12.1, rate: 0.799, tokens: 891.0 }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline { start: 12.49, bandwidth: 0.931, rate: 0.092, power: 1.96 }),
            Some(Roofline { start: 14.66, bandwidth: 0.854, rate: 1.000, power: 0.86 }),
        ],
        prefill: [
            Some(Ramp { start: 14.4, rate: 0.679, tokens: 923.0 }),
            Some(Ramp { start: 18.7, rate: 0.664, tokens: 1253.0 }),
        ],
    },
];

/// Fits to measurements of B200.
pub static B200: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline { start: 11.06, bandwidth: 0.910, rate: 0.183, power: 1.46 }),
            Some(Roofline { start: 11.07, bandwidth: 0.891, rate: 0.169, power: 2.09 }),
        ],
        prefill: [
            Some(Ramp { start: 18.9, rate: 0.558, tokens: 1961.0 }),
            Some(Ramp { start: 18.3, rate: 0.697, tokens: 2205.0 }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline { start: 10.11, bandwidth: 0.913, rate: 0.244, power: 2.04 }),
            Some(Roofline { start: 16.54, bandwidth: 0.867, rate: 0.329, power: 1.99 }),
        ],
        prefill: [
            Some(Ramp { start: 14.6, rate: 0.577, tokens: 837.0 }),
            Some(Ramp { start: 22.2, rate: 0.686, tokens: 2013.0 }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline { start: 7.25, bandwidth: 0.905, rate: 0.198, power: 1.88 }),
            Some(Roofline { start: 6.14, bandwidth: 0.879, rate: 0.239, power: 2.05 }),
        ],
        prefill: [
            Some(Ramp { start: 11.7, rate: 0.570, tokens: 810.0 }),
            Some(Ramp { start: 12.0, rate: 0.723, tokens: 975.0 }),
        ],
    },
];

/// Fits to measurements of L40S.
pub static L40S: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline { start: 8.68, bandwidth: 0.915, rate: 1.000, power: 0.53 }),
            Some(Roofline { start: 10.88, bandwidth: 0.780, rate: 0.999, power: 2.03 }),
        ],
        prefill: [
            Some(Ramp { start: 11.0, rate: 0.408, tokens: 510.0 }),
            Some(Ramp { start: 9.6, rate: 0.764, tokens: 770.0 }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline { start: 5.80, bandwidth: 0.842, rate: 0.310, power: 2.03 }),
            Some(Roofline { start: 9.07, bandwidth: 0.768, rate: 0.998, power: 2.04 }),
        ],
        prefill: [
            Some(Ramp { start: 8.4, rate: 0.587, tokens: 255.0 }),
            Some(Ramp { start: 10.9, rate: 0.588, tokens: 272.0 }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline { start: 11.08, bandwidth: 0.785, rate: 0.999, power: 2.23 }),
            Some(Roofline { start: 11.36, bandwidth: 0.777, rate: 1.000, power: 2.08 }),
        ],
        prefill: [
            Some(Ramp { start: 8.2, rate: 0.527, tokens: 355.0 }),
            Some(Ramp { start: 15.4, rate: 0.452, tokens: 268.0 }),
        ],
    },
];

/// Fits to measurements of RTX PRO 6000.
pub static RTX_PRO_6000: [Attention; 3] = [
    Attention {
        decode: [
            Some(Roofline { start: 8.67, bandwidth: 0.955, rate: 0.151, power: 1.73 }),
            Some(Roofline { start: 9.00, bandwidth: 0.934, rate: 0.998, power: 2.04 }),
        ],
        prefill: [
            Some(Ramp { start: 13.6, rate: 0.432, tokens: 532.0 }),
            Some(Ramp { start: 13.7, rate: 0.835, tokens: 657.0 }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline { start: 6.28, bandwidth: 0.951, rate: 0.164, power: 1.87 }),
            Some(Roofline { start: 10.30, bandwidth: 0.911, rate: 0.348, power: 2.06 }),
        ],
        prefill: [
            Some(Ramp { start: 10.6, rate: 0.659, tokens: 229.0 }),
            Some(Ramp { start: 12.4, rate: 0.660, tokens: 235.0 }),
        ],
    },
    Attention {
        decode: [
            Some(Roofline { start: 12.62, bandwidth: 0.952, rate: 0.096, power: 2.05 }),
            Some(Roofline { start: 12.38, bandwidth: 0.943, rate: 0.262, power: 2.07 }),
        ],
        prefill: [
            Some(Ramp { start: 8.8, rate: 0.599, tokens: 451.0 }),
            Some(Ramp { start: 17.6, rate: 0.509, tokens: 233.0 }),
        ],
    },
];
