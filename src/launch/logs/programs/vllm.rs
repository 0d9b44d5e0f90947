//! vLLM's lines from 0.5 on. Its GB are 2³⁰ bytes, like its GiB (`vllm/utils/mem_utils.py`,
//! `DeviceMemoryProfiler`).

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "vllm",
    label: "vLLM",
    trains: false,
    place: 0,
    lines: &[
        LineSpec::gib("", "Loading model weights took ", LogFigure::Weights),
        LineSpec::gib("", "Model loading took ", LogFigure::Weights),
        LineSpec::gib(
            "PyTorch activation peak memory takes",
            "model weights take ",
            LogFigure::Weights,
        ),
        LineSpec::gib("", "Available KV cache memory: ", LogFigure::Cache),
        LineSpec::gib("", "the rest of the memory reserved for KV Cache is ", LogFigure::Cache),
        LineSpec::count("", "GPU KV cache size: ", LogFigure::CacheTokens),
        LineSpec::count("", "# GPU blocks: ", LogFigure::CacheBlocks),
        LineSpec::count("", "# cuda blocks: ", LogFigure::CacheBlocks),
        LineSpec::count("tokens per request: ", "Maximum concurrency for ", LogFigure::Context),
        LineSpec::count("Maximum concurrency for", "tokens per request: ", LogFigure::Concurrency),
        LineSpec::gib("Graph capturing finished", "took ", LogFigure::Graphs),
        LineSpec::gib(
            "model weights take",
            "PyTorch activation peak memory takes ",
            LogFigure::Working,
        ),
        LineSpec::gib("model weights take", "non_torch_memory takes ", LogFigure::OutsidePyTorch),
        LineSpec::gib("gpu_memory_utilization", "total_gpu_memory (", LogFigure::Capacity),
        LineSpec::gib("total_gpu_memory", ") = ", LogFigure::Budget),
    ],
};
