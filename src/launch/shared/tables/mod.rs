//! Arguments of tools that set no input: those without an effect, and those that are not modelled.

pub mod accelerate;
pub mod axolotl;
pub mod llama_cpp;
pub mod llamafactory;
pub mod megatron_bridge;
pub mod megatron_quiet;
pub mod sglang;
pub mod sglang_quiet;
pub mod swift;
pub mod tensorrt_llm;
pub mod torchtitan;
pub mod torchtune;
pub mod trl;
pub mod vllm;
pub mod vllm_quiet;
