//! llama.cpp's lines, from `llm_load_tensors` of 2024 to `load_tensors` and `llama_kv_cache` of
//! today. Only buffers on GPUs are read: those of the host are called CPU and CUDA_Host, which the
//! entries do not match.

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "llama-cpp",
    label: "llama.cpp",
    trains: false,
    place: 2,
    lines: &[
        LineSpec::mib("load_tensors: ", "@ model buffer size = ", LogFigure::Weights),
        LineSpec::mib("load_tensors: ", "@ buffer size = ", LogFigure::Weights),
        LineSpec::mib("kv_cache", "@ KV buffer size = ", LogFigure::Cache),
        LineSpec::mib("", "@ compute buffer size = ", LogFigure::Working),
        LineSpec::count("", "n_ctx = ", LogFigure::Context),
    ],
};
