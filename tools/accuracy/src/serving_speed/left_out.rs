//! Rows answered without what was measured on their own accelerator, or of their own engine.
//!
//! No constant is fitted to a row. What remains to be left out are measurements of single
//! operations: rows of an accelerator that has such are answered with those of another
//! architecture, as accelerators without any are, and rows of an engine by the rule of one without
//! any.

use headroom::config::{Cluster, Engine};
use headroom::engines::Steps;
use headroom::hardware::kernels::{A100, Kernels, RTX_PRO_6000};

/// The name of figures without measurements on the row's accelerator.
pub const ACCELERATOR: &str = "accelerator";
/// The name of figures without measurements of the row's engine.
pub const ENGINE: &str = "engine";

/// Accelerators on which operations were measured, and the kernels that answer without these.
const KERNELS: &[(&[&str], Kernels)] = &[
    (&["a100-80", "b200", "l40s", "rtx-pro-6000"], Kernels::ASSUMED),
    (&["h100-80"], A100.elsewhere()),
    (&["gb10"], RTX_PRO_6000.assumed()),
    (&["m2-ultra-192"], Kernels::ASSUMED),
];

/// The accelerator on which it was measured how many bytes one multiprocessor keeps on their way:
/// without that there is no limit.
const WITHOUT_LIMIT: &str = "h100-pcie";

/// SGLang's times around a step, which are assumed, with vLLM's rule of putting steps together.
static OF_VLLM: Steps =
    Steps { host: 1e-3, sequence: 10e-6, launch: 35e-6, captured: 512, ..Steps::SERVER };

/// Servers' kernels with llama.cpp's rule of putting steps together.
static OF_LLAMA_CPP: Steps =
    Steps { captured: 1, most_tokens: 512, most_sequences: 64, ..Steps::NONE };

/// A cluster of that accelerator without what was measured on it; `None` where nothing was.
pub fn without_accelerator(id: &str, cluster: &Cluster) -> Option<Cluster> {
    if id == WITHOUT_LIMIT {
        let mut other = cluster.clone();
        other.speed.multiprocessors = u64::from(u32::MAX);
        return Some(other);
    }
    let (_, kernels) = KERNELS.iter().find(|(ids, _)| ids.contains(&id))?;
    let mut other = cluster.clone();
    other.speed.kernels = kernels;
    other.speed.matmul_16bit = None;
    Some(other)
}

/// The steps of an engine without what was measured of it; `None` where nothing was.
pub fn without_engine(engine: Engine) -> Option<&'static Steps> {
    match engine.spec().key {
        "vllm" => Some(&OF_VLLM),
        "llama-cpp" => Some(&OF_LLAMA_CPP),
        _ => None,
    }
}
