//! How fast accelerators and links are beyond their datasheets: one row per accelerator, each figure with its source.
//!
//! - `matmul_*`: the highest rate measured over many shapes ("maximum achievable matmul", stas00/ml-engineering,
//!   `compute/accelerator/README.md`).
//! - `attention`: FlashAttention 2 (Dao 2023, figures 4 to 7: A100 causal, heads of 128, 16k tokens: about 200 TFLOP/s forward, 175
//!   backward; H100: 335 and 300). `attention_newest`: FlashAttention 3 (Shah et al. 2024, figures 5 and 6: H100 640 and 550) and
//!   FlashAttention 4 with cuDNN beside it (2026: B200 cuDNN about 1,240 forward, 950 backward).
//! - `scale_up_bandwidth`: NVLink or its like, one direction, from the vendors' datasheets.
//! - `network_bandwidth`: one adapter per accelerator, as the vendor's own systems have it: HDR or 200 Gb/s with A100, NDR (400 Gb/s)
//!   with H100, B200 and GB200, 800 Gb/s with B300 and GB300, 100 Gb/s with V100. An assumption about the user's cluster, adjustable.

use crate::config::Speed;

/// Rows by the ids of [`super::accelerators`].
const SPEEDS: &[(&[&str], Speed)] = &[
    (&["v100-16", "v100-32", "v100-pcie"], Speed { multiprocessors: 80, scale_up_bandwidth: Some(150e9), network_bandwidth: 12.5e9, ..Speed::GENERIC }),
    (&["a100-40", "a100-80"], A100),
    (&["a100-pcie"], Speed { matmul_16bit: Some(252.9), scale_up_bandwidth: None, ..A100 }),
    (&["h100-80", "h100-96"], H100),
    (&["h100-pcie"], Speed { matmul_16bit: None, matmul_8bit: None, multiprocessors: 114, scale_up_bandwidth: None, ..H100 }),
    (&["h100-nvl"], Speed { matmul_16bit: None, matmul_8bit: None, scale_up_bandwidth: Some(300e9), ..H100 }),
    (&["h800"], Speed { scale_up_bandwidth: Some(200e9), ..H100 }),
    (&["h20"], Speed { matmul_16bit: None, matmul_8bit: None, multiprocessors: 78, ..H100 }),
    (&["h200"], Speed { matmul_8bit: Some(1453.4), ..H100 }),
    (&["gh200-96", "gh200-144"], Speed { matmul_16bit: Some(828.6), matmul_8bit: Some(1535.0), ..H100 }),
    (&["b200"], B200),
    (&["b300"], Speed { matmul_16bit: Some(1769.0), matmul_8bit: Some(3353.3), peak_4bit: Some(12_600.0), network_bandwidth: 100e9, ..B200 }),
    (&["gb200"], Speed { matmul_16bit: Some(1822.0), matmul_8bit: Some(3615.6), peak_4bit: Some(10_000.0), multiprocessors: 152, scale_up_size: Some(72), ..B200 }),
    (
        &["gb300"],
        Speed { matmul_16bit: Some(1822.0), matmul_8bit: Some(3615.6), peak_4bit: Some(15_000.0), multiprocessors: 152, scale_up_size: Some(72), network_bandwidth: 100e9, ..B200 },
    ),
    (&["mi250x"], Speed { multiprocessors: 220, scale_up_bandwidth: Some(350e9), ..Speed::GENERIC }),
    (&["mi300x"], MI300X),
    (&["mi325x"], Speed { matmul_16bit: Some(784.9), ..MI300X }),
    (&["mi355x"], Speed { matmul_16bit: Some(1565.0), multiprocessors: 256, scale_up_bandwidth: Some(535.5e9), ..MI300X }),
    (&["gaudi2"], Speed { matmul_16bit: Some(418.7), matmul_8bit: Some(826.5), scale_up_bandwidth: Some(300e9), network_bandwidth: 37.5e9, ..Speed::GENERIC }),
    (&["gaudi3"], Speed { matmul_16bit: Some(1243.0), matmul_8bit: Some(1289.5), scale_up_bandwidth: Some(600e9), network_bandwidth: 75e9, ..Speed::GENERIC }),
];

/// NVLink 3, 108 multiprocessors.
const A100: Speed = Speed {
    matmul_16bit: Some(271.2),
    matmul_8bit: None,
    peak_4bit: None,
    multiprocessors: 108,
    attention: [0.65, 0.56],
    attention_newest: [0.65, 0.56],
    scale_up_bandwidth: Some(300e9),
    scale_up_size: None,
    network_bandwidth: 25e9,
    tdp_watts: None,
};

/// NVLink 4, 132 multiprocessors.
const H100: Speed = Speed {
    matmul_16bit: Some(794.5),
    matmul_8bit: Some(1402.6),
    peak_4bit: None,
    multiprocessors: 132,
    attention: [0.34, 0.30],
    attention_newest: [0.65, 0.55],
    scale_up_bandwidth: Some(450e9),
    scale_up_size: None,
    network_bandwidth: 50e9,
    tdp_watts: None,
};

/// NVLink 5, 148 multiprocessors.
const B200: Speed = Speed {
    matmul_16bit: Some(1745.0),
    matmul_8bit: Some(3432.5),
    peak_4bit: Some(9000.0),
    multiprocessors: 148,
    attention: [0.55, 0.42],
    attention_newest: [0.55, 0.42],
    scale_up_bandwidth: Some(900e9),
    scale_up_size: None,
    network_bandwidth: 50e9,
    tdp_watts: None,
};

/// Seven links of 64 GB/s.
const MI300X: Speed = Speed {
    matmul_16bit: Some(668.4),
    multiprocessors: 304,
    scale_up_bandwidth: Some(448e9),
    network_bandwidth: 50e9,
    ..Speed::GENERIC
};

/// What is known of the accelerator with that id; [`Speed::GENERIC`] where nothing is.
pub fn speed(id: &str) -> Speed {
    let found = SPEEDS.iter().find(|(ids, _)| ids.contains(&id)).map(|(_, speed)| *speed);
    let tdp_watts = super::accelerator(id).and_then(|row| row.tdp_watts);
    Speed { tdp_watts, ..found.unwrap_or(Speed::GENERIC) }
}

#[cfg(test)]
mod tests {
    use super::SPEEDS;

    #[test]
    fn every_row_names_known_accelerators() {
        for id in SPEEDS.iter().flat_map(|(ids, _)| *ids) {
            assert!(crate::catalog::accelerators().iter().any(|row| row.id == *id), "{id}");
        }
    }

    #[test]
    fn no_product_was_measured_above_its_peak() {
        for (ids, speed) in SPEEDS {
            let peaks = ids.iter().filter_map(|id| crate::catalog::accelerator(id)).filter_map(|row| row.accelerator.peak.bf16);
            for peak in peaks {
                assert!(speed.matmul_16bit.is_none_or(|rate| rate < peak), "{ids:?}");
            }
        }
    }
}
