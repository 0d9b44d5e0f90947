//! Bibliography: one entry per paper, document, code file, datasheet, measurement or assumption
//! that a figure rests on.

/// The kind of evidence that a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// A published paper.
    Paper,
    /// One of the five source documents.
    Document,
    /// Source code of a framework.
    Code,
    /// A measurement.
    Measurement,
    /// Follows from a definition by arithmetic.
    Arithmetic,
    /// An assumption of ours, adjustable on the page.
    Assumption,
}

/// One entry, by reference: lines of a ledger, tensors and operations all carry their source, and
/// copying five texts for each would make a large part of the page's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source(&'static Entry);

impl std::ops::Deref for Source {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        self.0
    }
}

impl Source {
    /// Title, or file.
    pub fn title(self) -> &'static str {
        TITLES.iter().find(|(key, _)| *key == self.key).map_or("", |(_, title)| title)
    }
}

/// The texts of an entry.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Short unique key.
    pub key: &'static str,
    /// Authors and year, or the program.
    pub who: &'static str,
    /// The place in it.
    pub locator: &'static str,
    /// Kind of evidence.
    pub kind: SourceKind,
}

macro_rules! sources {
    ($($name:ident = ($key:literal, $who:literal, $title:literal, $locator:literal, $kind:ident, $doc:literal);)*) => {
        $(#[doc = $doc]
        pub const $name: Source = Source(&Entry {
            key: $key, who: $who, locator: $locator, kind: SourceKind::$kind,
        });)*

        /// Key and title of every entry. They are in a table of their own, because the page's own
        /// program shows no titles.
        static TITLES: &[(&str, &str)] = &[$(($key, $title)),*];

        /// All entries, in the order of this file.
        pub const ALL: &[Source] = &[$($name),*];
    };
}

sources! {
    ARITHMETIC = ("arithmetic", "Headroom", "Shape times width", "the operation list", Arithmetic,
        "Follows from shapes and formats alone.");
    KORTHIKANTI_2022 = ("korthikanti-2022", "Korthikanti et al. 2022",
        "Reducing Activation Recomputation in Large Transformer Models (arXiv 2205.05198)", "section 4, equations 1 to 6", Paper,
        "What a block saves for backward, with dropout masks.");
    ZERO_2020 = ("zero-2020", "Rajbhandari et al. 2020",
        "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models (arXiv 1910.02054)", "section 3.1 and figure 1", Paper,
        "Model states of mixed-precision Adam and their sharding.");
    FLASH_ATTENTION_2022 = ("flash-attention-2022", "Dao et al. 2022",
        "FlashAttention (arXiv 2205.14135)", "algorithm 1 and 4", Paper,
        "Scores stay on the chip; log-sum-exp is kept for backward.");
    FUSED_KERNELS = ("fused-kernels", "Hsu et al. 2024",
        "Liger Kernel: Efficient Triton Kernels for LLM Training (arXiv 2410.10989)", "section 3: RMSNorm, SwiGLU, fused linear cross entropy",
        Paper, "What fused norm, fused SwiGLU and chunked linear cross-entropy keep.");
    CUT_CROSS_ENTROPY = ("cut-cross-entropy", "Wijmans et al. 2024",
        "Cut Your Losses in Large-Vocabulary Language Models (arXiv 2411.09009); axolotl-ai-cloud/ml-cross-entropy, cut_cross_entropy 25",
        "cce.py, cce_lse_forward.py, cce_backward.py", Code, "Head and loss in one kernel that writes no logits.");
    STATE_SPACES = ("state-spaces", "Gu and Dao 2023, 2024",
        "Mamba (arXiv 2312.00752), Transformers are SSMs (arXiv 2405.21060); transformers 5.23, models/{mamba,jamba,mamba2,falcon_h1,lfm2}",
        "vLLM, vllm/model_executor/layers/mamba/mamba_utils.py", Code, "Weights of a state space, and what is kept of every sequence.");
    LINEAR_ATTENTION = ("linear-attention", "Yang et al. 2024",
        "Gated Delta Networks (arXiv 2412.06464); transformers 5.23, models/{qwen3_next,kimi_linear,minimax}",
        "vLLM, vllm/model_executor/layers/mamba/mamba_utils.py", Code, "Weights of linear attention, and what is kept of every sequence.");
    ADAM_8BIT_2022 = ("adam-8bit-2022", "Dettmers et al. 2022",
        "8-bit Optimizers via Block-wise Quantization (arXiv 2110.02861)", "section 2; block size 256 as in bitsandbytes", Paper,
        "One-byte moments with one fp32 scale per block.");
    PEFT = ("peft", "Hugging Face peft",
        "peft 0.21", "tuners/lora/layer.py, tuners/lora/dora.py, tuners/lora/bnb.py, utils/other.py", Code,
        "What adapters add to linear layers, and what stays frozen.");
    MS_SWIFT = ("ms-swift", "ModelScope",
        "ms-swift 4.0.0", "swift/megatron/tuners/lora.py, swift/megatron/utils/utils.py", Code,
        "Low-rank adapters beside Transformer Engine's layers under Megatron-Core.");
    QLORA_2023 = ("qlora-2023", "Dettmers et al. 2023",
        "QLoRA: Efficient Finetuning of Quantized LLMs (arXiv 2305.14314)", "section 3: blocks of 64 with an fp32 scale; double quantisation in blocks of 256", Paper,
        "NormalFloat weights of four bits, scales of eight, paged optimizers.");
    LLM_INT8_2022 = ("llm-int8-2022", "Dettmers et al. 2022",
        "LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale (arXiv 2208.07339)", "section 3; bitsandbytes 0.50", Paper,
        "Weights of eight bits with a scale for each output.");
    DPO_2023 = ("dpo-2023", "Rafailov et al. 2023",
        "Direct Preference Optimization (arXiv 2305.18290)", "section 4", Paper,
        "Two answers at once, and a reference model beside the one that learns.");
    INSTRUCT_2022 = ("instruct-2022", "Ouyang et al. 2022",
        "Training language models to follow instructions with human feedback (arXiv 2203.02155)", "section 3.5", Paper,
        "Policy, reference, critic and reward model of PPO.");
    GRPO_2024 = ("grpo-2024", "Shao et al. 2024",
        "DeepSeekMath (arXiv 2402.03300)", "section 4.1", Paper,
        "PPO without a critic: rewards are compared within a group of answers.");
    PACKING_2024 = ("packing-2024", "Kundu et al. 2024; Hugging Face",
        "Enhancing Training Efficiency Using Packing with Flash Attention (arXiv 2407.09105)", "sections 2 and 3; transformers 5.23: DataCollatorWithFlattening", Paper,
        "Several texts in a sequence, each of which sees itself alone.");
    ADAFACTOR_2018 = ("adafactor-2018", "Shazeer and Stern 2018",
        "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost (arXiv 1804.04235)", "section 3", Paper,
        "Row and column statistics instead of a full second moment.");
    CHINCHILLA_2022 = ("chinchilla-2022", "Hoffmann et al. 2022",
        "Training Compute-Optimal Large Language Models (arXiv 2203.15556)", "section 3; about 20 tokens per parameter", Paper,
        "Compute-optimal tokens.");
    PALM_2022 = ("palm-2022", "Chowdhery et al. 2022",
        "PaLM: Scaling Language Modeling with Pathways (arXiv 2204.02311)", "appendix B", Paper,
        "Model FLOPs utilisation, with attention's own term.");
    FSDP2 = ("fsdp2", "PyTorch", "torch/distributed/fsdp/_fully_shard", "all-gather of one group while the one before is used", Code,
        "Sharded blocks are gathered, with one prefetched.");
    TORCHTITAN = ("torchtitan", "PyTorch", "torchtitan 0.3.0", "models/common, distributed/fsdp.py, distributed/activation_checkpoint.py", Code,
        "Modules, groups and checkpointing of torchtitan.");
    TORCHTUNE = ("torchtune", "PyTorch", "torchtune 0.6.1, torchao 0.9.0", "modules, modules/peft/lora.py, dtypes/nf4tensor.py", Code,
        "Modules, adapters and loss of torchtune.");
    TORCHTITAN_2025 = ("torchtitan-2025", "PyTorch", "torchtitan 0.1.0", "models/llama3/model/model.py, models/llama3/infra/parallelize.py, components/loss.py", Code,
        "Modules, groups and checkpointing of torchtitan in 2025.");
    TORCHAO_OPTIM = ("torchao-optim", "PyTorch", "torchao 0.18.0: torchao/optim", "adam.py, subclass_8bit.py, subclass_4bit.py", Code,
        "Moments of eight and four bits, and the step that reads them.");
    TORCHAO_FLOAT8 = ("torchao-float8", "PyTorch", "torchao 0.18.0: torchao/float8", "float8_linear.py, float8_training_tensor.py, fsdp_utils.py", Code,
        "Operands of a linear layer are cast to float8 as they come, in forward and again in backward.");
    TORCH_COMPILE = ("torch-compile", "PyTorch", "torch/_functorch/partitioners.py, torch/_inductor", "min_cut_rematerialization_partition", Code,
        "What a compiled graph keeps for backward, and what it never writes to memory.");
    FSDP1 = ("fsdp1", "PyTorch", "torch/distributed/fsdp/_flat_param.py, _runtime_utils.py", "one flat parameter per unit, gathered and reduced as one tensor", Code,
        "Sharded flat parameters, with one prefetched in backward.");
    PYTORCH_DDP = ("pytorch-ddp", "PyTorch", "torch/nn/parallel/distributed.py, torch/csrc/distributed/c10d/reducer.cpp", "buckets of 1 MiB, then 25 MiB, made when the model is wrapped", Code,
        "Gradients are copied into flat buckets that stay.");
    DEEPSPEED = ("deepspeed", "DeepSpeed", "deepspeed/runtime/zero", "stage 3 gathers a module's parameters before use", Code,
        "Live parameters of ZeRO stage 3.");
    TRANSFORMERS_TRAINER = ("transformers-trainer", "Hugging Face", "transformers 5.23: trainer.py", "Trainer.evaluation_loop and prediction_step", Code,
        "An evaluation is a forward without gradients, whose loss alone is read.");
    TRANSFORMERS_ADAFACTOR = ("transformers-adafactor", "Hugging Face", "transformers 5.23: optimization.py", "class Adafactor", Code,
        "Statistics and fp32 copies of one parameter after the other.");
    TRANSFORMERS_TENSOR_PLANS = ("transformers-tensor-plans", "Hugging Face", "transformers 5.23", "base_model_tp_plan of each model", Code,
        "Which modules the library splits over tensor-parallel ranks.");
    NCCL = ("nccl", "NVIDIA", "NCCL: src/include/comm.h, src/init.cc", "buffers of 4 MiB (Simple), 4.7 MiB (LL128) and 0.5 MiB (LL) per channel and connection; github.com/NVIDIA/nccl/issues/864 and 1685", Code,
        "Every communicator has buffers of its own.");
    ZERO_OFFLOAD_2021 = ("zero-offload-2021", "Ren et al. 2021",
        "ZeRO-Offload: Democratizing Billion-Scale Model Training (arXiv 2101.06840)", "section 4", Paper,
        "Optimizer states and gradients wait in host memory.");
    PYTORCH_AUTOGRAD = ("pytorch-autograd", "PyTorch", "Autograd and torch.optim", "gradients stay until zero_grad; optimizer temporaries", Code,
        "When gradients exist and what the step allocates.");
    MEGATRON_CORE = ("megatron-core", "NVIDIA", "Megatron-LM: megatron/core", "transformer, tensor_parallel, distributed, optimizer, pipeline_parallel", Code,
        "Schedules, buffers and modules of Megatron-Core.");
    MEGATRON_FSDP = ("megatron-fsdp", "NVIDIA", "Megatron-LM: megatron/core/distributed/fsdp", "megatron_fsdp.py, param_and_grad_buffer.py", Code,
        "What Megatron-FSDP gathers ahead and queues for reduction.");
    TRANSFORMER_ENGINE = ("transformer-engine", "NVIDIA", "Transformer Engine 2: transformer_engine/pytorch",
        "module/{layernorm_linear,linear,grouped_linear,base}.py, attention/dot_product_attention", Code,
        "What its modules save for backward.");
    GPIPE_2019 = ("gpipe-2019", "Huang et al. 2019",
        "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism (arXiv 1811.06965)", "section 2.3 and figure 2", Paper,
        "All forward passes, then all backward passes.");
    MEGATRON_2021 = ("megatron-2021", "Narayanan et al. 2021",
        "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM (arXiv 2104.04473)", "sections 2.2.1 and 2.2.2", Paper,
        "One forward, one backward, and its interleaved form.");
    ZERO_BUBBLE_2023 = ("zero-bubble-2023", "Qi et al. 2023",
        "Zero Bubble Pipeline Parallelism (arXiv 2401.10241)", "section 2, figure 3 and table 1", Paper,
        "Schedules H1 and H2, which part backward for inputs and for weights.");
    DEEPSEEK_V3_2024 = ("deepseek-v3-2024", "DeepSeek-AI 2024",
        "DeepSeek-V3 Technical Report (arXiv 2412.19437)", "section 3.2.1 and table 2; github.com/deepseek-ai/DualPipe", Paper,
        "DualPipe: bubble, two copies of the parameters, p + 1 micro-batches in flight.");
    VLLM = ("vllm", "vLLM", "vllm/v1/worker", "KV cache sized per layer and head, profiling run for activations", Code,
        "Serving memory.");
    VLLM_HOST = ("vllm-host", "vLLM", "vllm/model_executor/models/utils.py: maybe_offload_to_cpu",
        "cpu_offload_gb of each GPU's layers, parameter by parameter from the first, in pinned host memory", Code,
        "Weights in host memory.");
    SGLANG_HOST = ("sglang-host", "SGLang", "python/sglang/srt/utils/offloader.py: OffloaderV1",
        "cpu_offload_gb of each GPU's layers, parameter by parameter from the first, copied before a layer runs", Code,
        "Weights in host memory.");
    LLAMA_CPP_HOST = ("llama-cpp-host", "llama.cpp", "src/llama-model.cpp: load_tensors; ggml/src/ggml-cuda/ggml-cuda.cu: offload_op",
        "the first layers and the token table are the processor's; weights are copied to the GPU for 32 tokens and more", Code,
        "Layers, experts and cache in host memory.");
    VLLM_LORA = ("vllm-lora", "vLLM", "vllm/lora/layers and model_manager.py: create_lora_weights",
        "max_loras slots of max_lora_rank beside every linear layer, and at both ends of some models", Code,
        "Slots for adapters.");
    VLLM_SPECULATION = ("vllm-speculation", "vLLM", "vllm/config/speculative.py and vllm/v1/spec_decode",
        "methods, equal vocabularies, one first pass over the tokens that were checked; llama_eagle3.py: the layer's shapes", Code,
        "Speculative decoding.");
    SGLANG_SPECULATION = ("sglang-speculation", "SGLang", "python/sglang/srt/server_args.py and docs: speculative decoding",
        "EAGLE, EAGLE3, NEXTN, STANDALONE; not with pipeline stages", Code,
        "Speculative decoding.");
    TENSORRT_LLM_SPECULATION = ("tensorrt-llm-speculation", "TensorRT-LLM", "docs/source/features/speculative-decoding.md",
        "one chain of max_draft_len tokens for every request", Code,
        "Speculative decoding.");
    LLAMA_CPP_SPECULATION = ("llama-cpp-speculation", "llama.cpp", "docs/speculative.md and common/speculative.cpp",
        "draft, draft-mtp, draft-eagle3; the draft has a context of its own", Code,
        "Speculative decoding.");
    SPECULATIVE_2022 = ("speculative-2022", "Leviathan et al. 2022", "Fast Inference from Transformers via Speculative Decoding (arXiv 2211.17192)",
        "equation 1: tokens of a step; table 2: acceptance of T5-small before T5-XXL, 0.53 to 0.75", Paper,
        "Tokens that a step of speculative decoding gives.");
    EAGLE_2024 = ("eagle-2024", "Li et al. 2024", "EAGLE (arXiv 2401.15077)",
        "section 1: about 0.8 of the first proposed tokens are accepted; the layer's shapes", Paper,
        "Acceptance of EAGLE's proposals.");
    MTP_2024 = ("mtp-2024", "DeepSeek-AI 2024", "DeepSeek-V3 Technical Report (arXiv 2412.19437)",
        "section 2.2: the layer's shapes; section 5.4.3: 85 to 90 % of second tokens are accepted", Paper,
        "Multi-token prediction.");
    VLLM_QUANTIZATION = ("vllm-quantization", "vLLM", "vllm/model_executor/layers/quantization: fp8, compressed-tensors",
        "one fp32 scale for each matrix or output column; lm_head and embeddings stay in 16 bits", Code,
        "8-bit weights with scales.");
    DEEPSEEK_V3 = ("deepseek-v3", "DeepSeek-AI 2024", "DeepSeek-V3 Technical Report (arXiv 2412.19437)",
        "section 3.3.2 and the checkpoint's weight_scale_inv: one fp32 scale for each 128 × 128", Paper,
        "fp8 weights in blocks.");
    GPTQ_2022 = ("gptq-2022", "Frantar et al. 2022", "GPTQ (arXiv 2210.17323)",
        "AutoGPTQ's qweight, scales (fp16) and qzeros (4 bits) for each group; the order of columns is not counted", Paper,
        "4-bit weights in groups.");
    AWQ_2023 = ("awq-2023", "Lin et al. 2023", "AWQ (arXiv 2306.00978)",
        "AutoAWQ's qweight, scales (fp16) and qzeros (4 bits) for each group", Paper,
        "4-bit weights in groups.");
    OCP_MX_2023 = ("ocp-mx-2023", "Open Compute Project 2023", "Microscaling Formats (MX) Specification 1.0",
        "section 5: blocks of 32 with one E8M0 byte; gpt-oss stores its experts so", Paper,
        "4-bit floats with a shared exponent.");
    NVFP4 = ("nvfp4", "NVIDIA", "TensorRT Model Optimizer: NVFP4", "blocks of 16 with an fp8 scale, one fp32 scale for each matrix", Code,
        "4-bit floats with fp8 scales.");
    GGUF = ("gguf", "llama.cpp", "ggml/src/ggml-common.h and src/llama-quant.cpp",
        "block_q4_K and its like; llama_tensor_get_type at 007dbbf3", Code,
        "Block layouts and which tensor gets which.");
    TENSORRT_LLM = ("tensorrt-llm", "TensorRT-LLM", "tensorrt_llm/llmapi/llm_args.py", "KvCacheConfig: free_gpu_memory_fraction, tokens_per_block", Code,
        "Memory taken for the cache.");
    SGLANG = ("sglang", "SGLang", "python/sglang/srt/model_executor/model_runner.py", "mem_fraction_static: weights and cache", Code,
        "Memory taken for the cache.");
    LMDEPLOY = ("lmdeploy", "LMDeploy", "docs: INT4/INT8 KV cache", "a scale and a zero point for each head and token", Code,
        "Quantised keys and values.");
    CUDA_CONTEXT = ("cuda-context", "Hugging Face and BigScience; Headroom's rows of a real H100",
        "Context and kernels after one tiny tensor: 1,343 MiB on V100, 1,573 MiB on A100; in training steps of PyTorch 2.11 with CUDA 13 on H100: 751 MiB",
        "model_memory_anatomy; chronicles-prequel; tests/data/cuda/h100.jsonl", Measurement,
        "Memory taken outside the allocator of the framework.");
    FLASH_ATTENTION_2023 = ("flash-attention-2023", "Dao 2023; Shah et al. 2024; FlashAttention 4 2026",
        "FlashAttention 2, 3 and 4: attention's rate on A100, H100 and B200 (arXiv 2307.08691, 2407.08608)", "figures 4 to 7; figures 5 and 6", Paper,
        "How fast fused attention runs.");
    MATMUL_CEILING = ("matmul-ceiling", "Bekman", "Machine Learning Engineering: maximum achievable matmul FLOPS; SimuMax's tables of products on A100 PCIe and B200; SemiAnalysis 2024 on H100 and MI300X",
        "stas00/ml-engineering, compute/accelerator; tiles and waves: NVIDIA, Matrix Multiplication Background", Measurement,
        "The best rate of matrix products, and what keeps a shape under it.");
    SERVING_KERNELS = ("serving-kernels", "NVIDIA; AMD", "aiconfigurator-core 0.12.0: operator measurements on A100, H100, B200, L40S, RTX PRO 6000 and Arc Pro B60; amd-aiter 0.1.7 and pull requests of vLLM: products and sums on MI300X and MI355X",
        "products, attention, experts and all-reduce by size, as shares of the datasheet's rates; tests/data/tools/serving_rates.py, serving_rates_amd.py", Measurement,
        "How fast single operations of a server run.");
    ROOFLINE = ("roofline", "Williams et al. 2009", "Roofline; BabelStream 5.0 on H100 NVL; CUDA's bandwidthTest on B200",
        "bytes over bandwidth, of which streaming kernels reach 75 to 84 per cent", Paper,
        "What only moves bytes takes bytes over bandwidth.");
    NCCL_TUNING = ("nccl-tuning", "NVIDIA", "NCCL: rings and trees, their bandwidth and latency; its maintainers in nccl-tests issues 212 and 290",
        "src/graph/tuning.cc, src/graph/topo.h", Code,
        "How long collective operations take.");
    GRID = ("grid", "Headroom", "Emissions of electricity", "adjustable under Time and cost", Assumption,
        "Grams of CO2 per kWh that the user sets.");
    RESERVE = ("reserve", "Headroom", "Reserve for allocator fragmentation", "adjustable under Reserve", Assumption,
        "A reserve that the user sets.");
    OWN_LOG = ("own-log", "You", "A log of your own machine beside the estimate", "adjustable under Reserve", Assumption,
        "Measured minus predicted, which the user keeps.");
    SERVING_GRAPHS = ("serving-graphs", "Headroom", "Captured CUDA graphs of a serving program", "adjustable under Reserve", Assumption,
        "Memory of captured graphs, which the user sets.");
    SERVING_OVERHEAD = ("serving-overhead", "Five documents", "Inference overhead of 5, 10 or 20 per cent of the weights",
        "adjustable under Reserve", Assumption, "A factor on weights that three documents state differently.");
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn keys_are_unique() {
        let mut keys: Vec<_> = ALL.iter().map(|source| source.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), ALL.len());
    }
}
