//! vLLM's lines from 0.5 on. Its GB are 2³⁰ bytes, like its GiB (`vllm/utils/mem_utils.py`,
//! `DeviceMemoryProfiler`).

use crate::launch::logs::{Figure, LineSpec, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "vllm",
    label: "vLLM",
    trains: false,
    place: 0,
    lines: &[
        LineSpec::gib("", "Loading model weights took ", Figure::Weights),
        LineSpec::gib("", "Model loading took ", Figure::Weights),
        LineSpec::gib("PyTorch activation peak memory takes", "model weights take ", Figure::Weights),
        LineSpec::gib("", "Available KV cache memory: ", Figure::Cache),
        LineSpec::gib("", "the rest of the memory reserved for KV Cache is ", Figure::Cache),
        LineSpec::count("", "GPU KV cache size: ", Figure::CacheTokens),
        LineSpec::count("", "# GPU blocks: ", Figure::CacheBlocks),
        LineSpec::count("", "# cuda blocks: ", Figure::CacheBlocks),
        LineSpec::count("tokens per request: ", "Maximum concurrency for ", Figure::Context),
        LineSpec::count("Maximum concurrency for", "tokens per request: ", Figure::Concurrency),
        LineSpec::gib("Graph capturing finished", "took ", Figure::Graphs),
        LineSpec::gib("model weights take", "PyTorch activation peak memory takes ", Figure::Working),
        LineSpec::gib("model weights take", "non_torch_memory takes ", Figure::OutsidePyTorch),
        LineSpec::gib("gpu_memory_utilization", "total_gpu_memory (", Figure::Capacity),
        LineSpec::gib("total_gpu_memory", ") = ", Figure::Budget),
    ],
};
