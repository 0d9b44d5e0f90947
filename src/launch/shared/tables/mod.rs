//! Arguments of tools that set no input: those without an effect, and those that are not modelled.

pub mod llama_cpp;
pub mod sglang;
pub mod sglang_quiet;
pub mod tensorrt_llm;
pub mod vllm;
pub mod vllm_quiet;
