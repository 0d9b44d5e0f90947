//! Times of the attention that engines run: written by `tests/data/tools/serving_rates.py` from the
//! same measurements as `measured`, each engine's apart, in the order of their columns.
#![allow(clippy::approx_constant, reason = "microseconds that happen to be near a constant")]

use super::{Attention, ramp, roofline};

/// Fits to measurements of A100.
pub static A100: [Attention; 3] = [
    Attention {
        decode: [Some(roofline(14.30, 0.822, 0.160, 2.09)), None],
        prefill: [Some(ramp(15.5, 0.490, 549.0)), None],
    },
    Attention {
        decode: [Some(roofline(16.28, 0.558, 0.999, 0.61)), None],
        prefill: [Some(ramp(18.1, 0.669, 257.0)), None],
    },
    Attention {
        decode: [Some(roofline(18.16, 0.729, 0.125, 2.12)), None],
        prefill: [Some(ramp(13.3, 0.583, 360.0)), None],
    },
];

/// Fits to measurements of H100.
pub static H100: [Attention; 3] = [
    Attention {
        decode: [
            Some(roofline(10.96, 0.878, 0.079, 1.95)),
            Some(roofline(7.32, 0.733, 0.999, 2.19)),
        ],
        prefill: [Some(ramp(15.8, 0.576, 1167.0)), Some(ramp(15.2, 0.875, 1796.0))],
    },
    Attention {
        decode: [
            Some(roofline(9.86, 0.898, 0.155, 1.93)),
            Some(roofline(13.71, 0.613, 1.000, 2.12)),
        ],
        prefill: [Some(ramp(11.8, 0.657, 712.0)), Some(ramp(12.1, 0.799, 891.0))],
    },
    Attention {
        decode: [
            Some(roofline(12.49, 0.931, 0.092, 1.96)),
            Some(roofline(14.66, 0.854, 1.000, 0.86)),
        ],
        prefill: [Some(ramp(14.4, 0.679, 923.0)), Some(ramp(18.7, 0.664, 1253.0))],
    },
];

/// Fits to measurements of B200.
pub static B200: [Attention; 3] = [
    Attention {
        decode: [
            Some(roofline(11.06, 0.910, 0.183, 1.46)),
            Some(roofline(11.07, 0.891, 0.169, 2.09)),
        ],
        prefill: [Some(ramp(18.9, 0.558, 1961.0)), Some(ramp(18.3, 0.697, 2205.0))],
    },
    Attention {
        decode: [
            Some(roofline(10.11, 0.913, 0.244, 2.04)),
            Some(roofline(16.54, 0.867, 0.329, 1.99)),
        ],
        prefill: [Some(ramp(14.6, 0.577, 837.0)), Some(ramp(22.2, 0.686, 2013.0))],
    },
    Attention {
        decode: [
            Some(roofline(7.25, 0.905, 0.198, 1.88)),
            Some(roofline(6.14, 0.879, 0.239, 2.05)),
        ],
        prefill: [Some(ramp(11.7, 0.570, 810.0)), Some(ramp(12.0, 0.723, 975.0))],
    },
];

/// Fits to measurements of L40S.
pub static L40S: [Attention; 3] = [
    Attention {
        decode: [
            Some(roofline(8.68, 0.915, 1.000, 0.53)),
            Some(roofline(10.88, 0.780, 0.999, 2.03)),
        ],
        prefill: [Some(ramp(11.0, 0.408, 510.0)), Some(ramp(9.6, 0.764, 770.0))],
    },
    Attention {
        decode: [
            Some(roofline(5.80, 0.842, 0.310, 2.03)),
            Some(roofline(9.07, 0.768, 0.998, 2.04)),
        ],
        prefill: [Some(ramp(8.4, 0.587, 255.0)), Some(ramp(10.9, 0.588, 272.0))],
    },
    Attention {
        decode: [
            Some(roofline(11.08, 0.785, 0.999, 2.23)),
            Some(roofline(11.36, 0.777, 1.000, 2.08)),
        ],
        prefill: [Some(ramp(8.2, 0.527, 355.0)), Some(ramp(15.4, 0.452, 268.0))],
    },
];

/// Fits to measurements of RTX PRO 6000.
pub static RTX_PRO_6000: [Attention; 3] = [
    Attention {
        decode: [
            Some(roofline(8.67, 0.955, 0.151, 1.73)),
            Some(roofline(9.00, 0.934, 0.998, 2.04)),
        ],
        prefill: [Some(ramp(13.6, 0.432, 532.0)), Some(ramp(13.7, 0.835, 657.0))],
    },
    Attention {
        decode: [
            Some(roofline(6.28, 0.951, 0.164, 1.87)),
            Some(roofline(10.30, 0.911, 0.348, 2.06)),
        ],
        prefill: [Some(ramp(10.6, 0.659, 229.0)), Some(ramp(12.4, 0.660, 235.0))],
    },
    Attention {
        decode: [
            Some(roofline(12.62, 0.952, 0.096, 2.05)),
            Some(roofline(12.38, 0.943, 0.262, 2.07)),
        ],
        prefill: [Some(ramp(8.8, 0.599, 451.0)), Some(ramp(17.6, 0.509, 233.0))],
    },
];
