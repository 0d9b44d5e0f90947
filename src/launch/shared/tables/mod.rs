//! Arguments of tools that are no inputs here: those without any effect, and those that are not modelled.

pub mod llama_cpp;
pub mod sglang;
pub mod sglang_quiet;
pub mod tensorrt_llm;
pub mod vllm;
pub mod vllm_quiet;
