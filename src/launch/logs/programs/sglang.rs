//! SGLang's lines from 0.4 on. Its GB are 2³⁰ bytes (`get_available_gpu_memory` of `srt/utils`,
//! `GB` of `srt/mem_cache/memory_pool.py`).

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "sglang",
    label: "SGLang",
    trains: false,
    place: 1,
    lines: &[
        LineSpec::gib("Load weight end", "mem usage=", LogFigure::Weights),
        LineSpec::gib("Load weight end", "avail mem=", LogFigure::Free),
        LineSpec::count("KV Cache is allocated", "#tokens: ", LogFigure::CacheTokens),
        LineSpec::gib("KV Cache is allocated", "K size: ", LogFigure::Cache),
        LineSpec::gib("KV Cache is allocated", "V size: ", LogFigure::Cache).adding(),
        LineSpec::gib("KV Cache is allocated", "KV size: ", LogFigure::Cache),
        LineSpec::gib("Memory pool end", "avail mem=", LogFigure::Free),
        LineSpec::gib("Capture cuda graph end", "mem usage=", LogFigure::Graphs),
        LineSpec::gib("Capture cuda graph end", "avail mem=", LogFigure::Free),
        LineSpec::count("max_running_requests=", "context_len=", LogFigure::Context),
    ],
};
