//! Links between accelerators and the host's memory, by generation.

use super::AcceleratorRow;

/// Bytes per second in one direction of 16 lanes, by generation of PCIe: 8, 16 and 32 GT/s a lane
/// with 128 of 130 bits for data (PCI Express Base Specification 3.0 to 5.0).
const PCIE: [f64; 3] = [15.75e9, 31.5e9, 63.0e9];
/// NVLink-C2C between Grace and the GPU, one of two directions (NVIDIA's whitepaper of GH200: 900
/// GB/s in both).
const C2C: f64 = 450e9;

/// Beginnings of ids that share one memory with the processor.
const UNIFIED: &[&str] = &["gb10", "jetson", "ai-max"];
/// Beginnings of ids with NVLink-C2C.
const WITH_C2C: &[&str] = &["gh200", "gb200", "gb300"];
/// Beginnings of ids of the third generation.
const THIRD: &[&str] =
    &["v100", "p100", "p40", "t4", "rtx20", "titan-rtx", "gtx1", "quadro-rtx", "tpu-v3", "tpu-v4"];
/// Beginnings of ids of the fifth generation.
const FIFTH: &[&str] = &[
    "b200", "b300", "h200", "h100", "h800", "h20", "rtx50", "rtx-pro", "mi3", "gaudi3", "rx90",
    "r9700",
];
/// Beginnings of ids with 8 lanes.
const EIGHT_LANES: &[&str] = &[
    "rtx4060",
    "rtx4050",
    "rtx5060",
    "rtx5050",
    "rtx3050",
    "rtx-pro-2000",
    "a2",
    "rtx2000-ada",
    "arc-b580",
    "arc-pro-b50",
    "arc-pro-b60",
];

/// Returns the bytes per second from the host's memory to one such accelerator; `None` where both
/// share one memory.
///
/// It is the full rate of the slot that the card is made for, as datasheets list it, and that of
/// the fourth generation where none is known: an assumption.
pub fn host_link(row: &AcceleratorRow) -> Option<f64> {
    let is = |starts: &[&str]| starts.iter().any(|start| row.id.starts_with(start));
    if row.vendor == "Apple" || is(UNIFIED) {
        return None;
    }
    if is(WITH_C2C) {
        return Some(C2C);
    }
    let [third, fourth, fifth] = PCIE;
    let full = if is(FIFTH) {
        fifth
    } else if is(THIRD) {
        third
    } else {
        fourth
    };
    // The generation in the name of an Ada card is no generation of PCIe.
    let full = if row.id.ends_with("-ada") { fourth } else { full };
    Some(if is(EIGHT_LANES) { full / 2.0 } else { full })
}

#[cfg(test)]
mod tests {
    use super::host_link;
    use crate::catalog::accelerator;

    #[test]
    fn links_are_those_of_the_slot() {
        let link = |id| host_link(accelerator(id).expect("in the catalog"));
        assert_eq!(link("rtx4090"), Some(31.5e9));
        assert_eq!(link("rtx2080"), Some(15.75e9));
        assert_eq!(link("rtx5090"), Some(63.0e9));
        assert_eq!(link("rtx5060"), Some(31.5e9));
        assert_eq!(link("rtx5000-ada"), Some(31.5e9));
        assert_eq!(link("gh200-96"), Some(450e9));
        assert_eq!([link("gb10"), link("m4-max-128"), link("ai-max-395")], [None; 3]);
    }
}
