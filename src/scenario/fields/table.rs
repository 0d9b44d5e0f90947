//! The table itself: data, one entry per input.

use super::{Applies, Choice, Field, FieldDefault, FieldId, FieldKind, Group};

/// An input as the table writes it.
#[derive(Clone, Copy)]
struct Entry {
    field: Field,
    /// One sentence: what it is and what it does to memory or time.
    help: &'static str,
    /// Sentences about its options, if it has some.
    options: &'static [&'static str],
}

impl Entry {
    const fn new(id: FieldId, key: &'static str, name: &'static str, label: &'static str, kind: FieldKind) -> Self {
        let field = Field {
            id,
            key,
            name,
            label,
            unit: "",
            kind,
            kilo: 1000,
            default: FieldDefault::Preset,
            group: Group::Model,
            applies: Applies::Both,
            folded: false,
        };
        Self { field, help: "", options: &[] }
    }

    const fn whole(
        id: FieldId,
        key: &'static str,
        name: &'static str,
        label: &'static str,
        range: (u64, u64),
        step: u64,
    ) -> Self {
        let kind = FieldKind::Integer { min: range.0, max: range.1, step_hint: step, optional: false };
        Self::new(id, key, name, label, kind)
    }

    const fn number(id: FieldId, key: &'static str, name: &'static str, label: &'static str, range: (f64, f64)) -> Self {
        Self::new(id, key, name, label, FieldKind::Decimal { min: range.0, max: range.1, optional: false })
    }

    const fn choice(id: FieldId, key: &'static str, name: &'static str, label: &'static str, options: Options) -> Self {
        let entry = Self::new(id, key, name, label, FieldKind::Choice(options.shown));
        Self { options: options.helps, ..entry }
    }

    const fn flag(id: FieldId, key: &'static str, name: &'static str, label: &'static str) -> Self {
        Self::new(id, key, name, label, FieldKind::Flag)
    }

    const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    const fn unit(mut self, unit: &'static str) -> Self {
        self.field.unit = unit;
        self
    }

    /// A length in tokens, where `4k` means 4096.
    const fn tokens(mut self) -> Self {
        self.field.unit = "tokens";
        self.field.kilo = 1024;
        self
    }

    const fn optional(mut self) -> Self {
        self.field.kind = match self.field.kind {
            FieldKind::Integer { min, max, step_hint, .. } => FieldKind::Integer { min, max, step_hint, optional: true },
            FieldKind::Decimal { min, max, .. } => FieldKind::Decimal { min, max, optional: true },
            other => other,
        };
        self
    }

    const fn default(mut self, default: FieldDefault) -> Self {
        self.field.default = default;
        self
    }

    const fn group(mut self, group: Group) -> Self {
        self.field.group = group;
        self
    }

    /// A field of the architecture, with the model's own value as default.
    const fn architecture(mut self) -> Self {
        self.field.group = Group::Architecture;
        self.field.folded = true;
        self
    }

    /// A field of a rarer part of the architecture.
    const fn structure(mut self) -> Self {
        self.field.group = Group::Structure;
        self.field.folded = true;
        self
    }

    /// A field that only the stack `megatron` reads.
    const fn megatron(mut self) -> Self {
        self.field.group = Group::Megatron;
        self.field.applies = Applies::Train;
        self.field.folded = true;
        self
    }

    const fn train(mut self) -> Self {
        self.field.applies = Applies::Train;
        self
    }

    const fn scratch(mut self) -> Self {
        self.field.applies = Applies::Scratch;
        self
    }

    const fn tune(mut self) -> Self {
        self.field.applies = Applies::Tune;
        self
    }

    /// Whether linear layers of that kind have adapters.
    const fn adapter(self) -> Self {
        self.help(
            "A layer with an adapter keeps its input for it; one that does the work of several has one if any has. With experts gate, up and down start without: theirs are not modelled.",
        )
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Flag(true))
    }

    const fn serve(mut self) -> Self {
        self.field.applies = Applies::Serve;
        self
    }

    const fn folded(mut self) -> Self {
        self.field.folded = true;
        self
    }
}

/// The options of a choice, with a sentence for each.
#[derive(Clone, Copy)]
struct Options {
    shown: &'static [Choice],
    helps: &'static [&'static str],
}

/// One list of options: the word in links, what the form shows, what it does to memory.
macro_rules! choices {
    ($name:ident: $(option($value:expr, $label:expr, $help:expr $(,)?)),+ $(,)?) => {
        const $name: Options =
            Options { shown: &[$(Choice { value: $value, label: $label }),+], helps: &[$($help),+] };
    };
}

choices! {
    MODES:
    option("train", "Train", "Weights, gradients, optimizer states and saved activations share the memory."),
    option("tune", "Fine-tune", "A trained model learns more: adapters or all of it, with the models beside it that this takes."),
    option("serve", "Serve", "Weights and the key/value cache share the memory."),
}

choices! {
    OBJECTIVES:
    option("sft", "Examples (SFT)", "The next token of example texts, packed or padded to the sequence length."),
    option("dpo", "Preferences (DPO)", "Two answers at once for each of the batch, and a reference model."),
    option("reward", "Preferences (reward model)", "Two answers at once; one number in place of scores for every token."),
    option(
        "ppo",
        "Rewards (PPO)",
        "A critic that learns too, reference and reward models, and an engine that generates. Time counts the model's own passes only.",
    ),
    option(
        "grpo",
        "Rewards (GRPO)",
        "A reference model and an engine that generates; no critic. Time counts the model's own passes only.",
    ),
}

choices! {
    METHODS:
    option("full", "All parameters", "As in training: gradients and optimizer states for every parameter."),
    option("lora", "LoRA", "Small matrices beside frozen linear layers."),
    option("qlora", "QLoRA", "LoRA beside weights of 4 bits, which are made whole for each product."),
    option("dora", "DoRA", "LoRA with a magnitude for every column; the adapted weight is made in each pass."),
    option("prompt", "A prompt", "Embedded tokens before every text, beside a frozen model."),
    option(
        "prefix",
        "Keys and values",
        "Prefix tuning: keys and values before those of the text in every layer, beside a frozen model.",
    ),
}

choices! {
    ADAPTER_DTYPES:
    option("fp32", "fp32", "4 bytes per value, for gradients and each state as well."),
    option("weights", "As the weights", "In the format of the weights beside them."),
}

choices! {
    ROLLOUTS:
    option("apart", "Other GPUs", "Nothing of the engine is here."),
    option("colocated", "These GPUs", "The engine's weights and cache stay beside the training."),
    option("sleeping", "These GPUs, in turn", "The engine gives its memory back while the model trains."),
}

choices! {
    MEMORY_UNITS:
    option("gb", "GB", "Decimal gigabytes: 1 GB is 1 000 000 000 bytes."),
    option("gib", "GiB", "Binary gigabytes: 1 GiB is 1 073 741 824 bytes."),
}

choices! {
    NORMALIZATIONS:
    option("layernorm", "LayerNorm", "A scale and a bias per norm: twice the parameters of RMSNorm."),
    option("rmsnorm", "RMSNorm", "A scale per norm."),
}

choices! {
    MLPS:
    option("plain", "Plain", "Two matrices: up and down."),
    option("gated", "Gated (SwiGLU)", "Three matrices: gate, up and down."),
}

choices! {
    POSITIONS:
    option("learned", "Learned table", "A table with one row per position adds parameters."),
    option("rotary", "Rotary", "Queries and keys are rotated; no parameters."),
    option("alibi", "ALiBi", "Scores get a linear bias; no parameters."),
}

choices! {
    RECOMPUTES:
    option("none", "None", "Every activation is saved: the most memory, no extra time."),
    option("selective", "Selective", "Only attention's scores are computed again: much memory saved for little time."),
    option("full", "Full", "Only the input of each block is saved: the least memory, about a third more time."),
}

choices! {
    ATTENTIONS:
    option("flash", "FlashAttention", "Scores stay on the chip: no memory that grows with the square of the length."),
    option("standard", "Standard", "Scores are written to memory and grow with the square of the length."),
}

choices! {
    KERNELS:
    option(
        "eager",
        "Hugging Face",
        "transformers' modules as they are written, on PyTorch: every operation saves its own tensors, logits in full.",
    ),
    option("fused", "Fused", "Fused norms and activation and a loss in chunks save far fewer tensors, and no logits."),
    option("megatron", "Megatron-LM", "Megatron-Core's modules with Transformer Engine's kernels."),
    option(
        "korthikanti",
        "Korthikanti et al. 2022",
        "What the paper's operation list saves, with dropout masks: 34sbh + 5as²b a block.",
    ),
}

choices! {
    FAMILIES:
    option("llama", "Llama", "Hugging Face's model_type llama."),
    option("mistral", "Mistral", "Hugging Face's model_type mistral."),
    option("qwen2", "Qwen2", "Hugging Face's model_type qwen2."),
    option("qwen3", "Qwen3", "Hugging Face's model_type qwen3."),
    option("gemma", "Gemma", "Hugging Face's model_type gemma."),
    option("gemma2", "Gemma 2", "Hugging Face's model_type gemma2."),
    option("gemma3", "Gemma 3", "Hugging Face's model_type gemma3_text."),
    option("gpt2", "GPT-2", "Hugging Face's model_type gpt2."),
    option("gpt-neox", "GPT-NeoX", "Hugging Face's model_type gpt_neox."),
    option("opt", "OPT", "Hugging Face's model_type opt."),
    option("bloom", "BLOOM", "Hugging Face's model_type bloom."),
    option("falcon", "Falcon", "Hugging Face's model_type falcon."),
    option("phi", "Phi", "Hugging Face's model_type phi."),
    option("phi3", "Phi-3", "Hugging Face's model_type phi3."),
    option("mixtral", "Mixtral", "Hugging Face's model_type mixtral."),
    option("qwen3-moe", "Qwen3 MoE", "Hugging Face's model_type qwen3_moe."),
    option("deepseek-v2", "DeepSeek-V2", "Hugging Face's model_type deepseek_v2."),
    option("deepseek-v3", "DeepSeek-V3", "Hugging Face's model_type deepseek_v3."),
    option("gpt-oss", "gpt-oss", "Hugging Face's model_type gpt_oss."),
    option("olmo2", "OLMo 2", "Hugging Face's model_type olmo2."),
    option("cohere", "Cohere", "Hugging Face's model_type cohere."),
    option("starcoder2", "StarCoder2", "Hugging Face's model_type starcoder2."),
    option("stablelm", "StableLM", "Hugging Face's model_type stablelm."),
    option("granite", "Granite", "Hugging Face's model_type granite."),
    option("glm4", "GLM-4", "Hugging Face's model_type glm4."),
    option("generic", "Generic", "A decoder put together from the sizes alone: what it saves is assumed."),
}

choices! {
    ACTIVATIONS:
    option("silu", "SiLU", "One operation."),
    option("gelu", "GELU", "One operation."),
    option("gelu-new", "GELU, written out", "GPT-2's approximation in eight operations, each of which saves tensors."),
    option("gelu-fast", "GELU, fast form", "Another approximation in several operations."),
    option("quick-gelu", "Quick GELU", "A product and a sigmoid."),
    option("relu", "ReLU", "One operation."),
    option("relu2", "Squared ReLU", "Two operations."),
}

choices! {
    MIXERS:
    option("none", "None", "Every layer keeps keys and values."),
    option("mamba", "Mamba", "A state space for every channel."),
    option("jamba", "Mamba of Jamba", "A state space for every channel, with norms."),
    option("mamba2", "Mamba 2", "A state space for every head."),
    option("falcon-h1", "Mamba 2 of Falcon-H1", "A state space for every head, without a norm."),
    option("qwen3-next", "Gated delta rule", "Linear attention of Qwen3-Next."),
    option("kimi-linear", "Kimi delta attention", "Linear attention with a decay for every channel."),
    option("minimax", "Lightning attention", "Linear attention of MiniMax-01."),
    option("lfm2", "Short convolution", "A few tokens alone, in LFM2."),
}

choices! {
    IMPLEMENTATIONS:
    option("for-loop", "One by one", "Temporaries as large as one parameter."),
    option("foreach", "All at once", "Temporaries as large as all gradients; PyTorch's default on GPUs."),
    option("fused", "Fused", "One kernel without temporaries."),
}

choices! {
    PRECISIONS:
    option("bf16", "bf16 mixed", "16-bit weights and gradients, with 32-bit weights kept in the optimizer."),
    option("fp16", "fp16 mixed", "As bf16 mixed, in fp16."),
    option("fp32", "fp32", "Everything in 32 bit: activations take twice as much."),
    option("bf16-pure", "bf16 pure", "Everything in 16 bit, optimizer states too: half the model states, less accurate."),
    option(
        "amp-bf16",
        "Autocast to bf16",
        "32-bit weights, gradients and states; PyTorch casts weights to bf16 and keeps the casts for the step.",
    ),
    option("fsdp-mixed", "FSDP mixed", "32-bit shards, gradients and states; weights are gathered and computed with in bf16."),
}

choices! {
    GRADIENTS:
    option("as-weights", "As the weights", "2 bytes per parameter under mixed precision."),
    option("fp32", "fp32", "4 bytes per parameter: sums of many micro-batches stay accurate."),
    option("fp32-copy", "16 bit and an fp32 copy", "6 bytes per parameter under mixed precision."),
}

choices! {
    OPTIMIZERS:
    option("adamw", "AdamW", "Two moments: 8 bytes per parameter in fp32."),
    option("adamw8", "AdamW, 8-bit", "Two moments of one byte: about 2 bytes per parameter."),
    option("sgd", "SGD", "No state."),
    option("sgdm", "SGD with momentum", "One momentum: 4 bytes per parameter in fp32."),
    option("adafactor", "Adafactor", "Row and column statistics: almost no memory."),
}

/// One sentence for every mix of GGUF types.
const MIX: &str = "llama.cpp's blocks of 32 or 256 weights, head and some tensors with more bits.";

choices! {
    WEIGHT_DTYPES:
    option("bf16", "bf16", "2 bytes per parameter."),
    option("fp16", "fp16", "2 bytes per parameter."),
    option("fp32", "fp32", "4 bytes per parameter."),
    option("fp8", "fp8, without scales", "1 byte for every parameter and nothing else: what documents count with."),
    option("int8", "int8, without scales", "1 byte for every parameter and nothing else: what documents count with."),
    option("int4", "int4, without scales", "Half a byte for every parameter and nothing else: what documents count with."),
    option("fp8-tensor", "fp8, a scale per matrix", "Linear layers in 1 byte, embedding and head in 16 bits; vLLM's fp8."),
    option(
        "fp8-column",
        "fp8, a scale per column",
        "Linear layers in 1 byte, embedding and head in 16 bits; compressed-tensors.",
    ),
    option("fp8-block", "fp8, a scale per 128 × 128", "Linear layers in 1 byte, embedding and head in 16 bits; as DeepSeek-V3."),
    option(
        "w8a8",
        "int8, a scale per column",
        "Linear layers in 1 byte, embedding and head in 16 bits; SmoothQuant, bitsandbytes.",
    ),
    option(
        "gptq",
        "GPTQ, 4 bits",
        "Linear layers in 4 bits with a scale and a zero point per group, embedding and head in 16 bits.",
    ),
    option(
        "awq",
        "AWQ, 4 bits",
        "Linear layers in 4 bits with a scale and a zero point per group, embedding and head in 16 bits.",
    ),
    option("nf4", "NF4", "Linear layers in 4 bits with an fp32 scale per 64 weights, embedding and head in 16 bits."),
    option("nf4-dq", "NF4, double quantised", "As NF4, with scales of 8 bits."),
    option(
        "mxfp4",
        "MXFP4",
        "Experts, or without experts all linear layers, in 4 bits with one byte per 32 weights; the rest in 16 bits.",
    ),
    option("nvfp4", "NVFP4", "Linear layers in 4 bits with one byte per 16 weights, embedding and head in 16 bits."),
    option("gguf-16", "GGUF, 16 bits", "Matrices in 16 bits, vectors in 32."),
    option("q8-0", "GGUF Q8_0", MIX),
    option("q6-k", "GGUF Q6_K", MIX),
    option("q5-k-m", "GGUF Q5_K_M", MIX),
    option("q5-k-s", "GGUF Q5_K_S", MIX),
    option("q5-1", "GGUF Q5_1", MIX),
    option("q5-0", "GGUF Q5_0", MIX),
    option("q4-k-m", "GGUF Q4_K_M", MIX),
    option("q4-k-s", "GGUF Q4_K_S", MIX),
    option("q4-1", "GGUF Q4_1", MIX),
    option("q4-0", "GGUF Q4_0", MIX),
    option("iq4-nl", "GGUF IQ4_NL", MIX),
    option("iq4-xs", "GGUF IQ4_XS", MIX),
    option("q3-k-l", "GGUF Q3_K_L", MIX),
    option("q3-k-m", "GGUF Q3_K_M", MIX),
    option("q3-k-s", "GGUF Q3_K_S", MIX),
    option("iq3-m", "GGUF IQ3_M", MIX),
    option("iq3-s", "GGUF IQ3_S", MIX),
    option("iq3-xs", "GGUF IQ3_XS", MIX),
    option("iq3-xxs", "GGUF IQ3_XXS", MIX),
    option("q2-k", "GGUF Q2_K", MIX),
    option("q2-k-s", "GGUF Q2_K_S", MIX),
    option("iq2-m", "GGUF IQ2_M", MIX),
    option("iq2-s", "GGUF IQ2_S", MIX),
    option("iq2-xs", "GGUF IQ2_XS", MIX),
    option("iq2-xxs", "GGUF IQ2_XXS", MIX),
    option("iq1-m", "GGUF IQ1_M", MIX),
    option("iq1-s", "GGUF IQ1_S", MIX),
    option("mxfp4-moe", "GGUF MXFP4_MOE", "Experts in MXFP4, the rest in Q8_0."),
}

choices! {
    KV_DTYPES:
    option("bf16", "16 bits", "2 bytes per cached number."),
    option("fp32", "fp32", "4 bytes per cached number."),
    option("fp8", "fp8", "1 byte per cached number: twice the context in the same memory."),
    option("int8", "int8", "1 byte per cached number: twice the context in the same memory."),
    option("int4", "int4", "Half a byte per cached number, and 4 bytes for each head and token."),
    option("q8-0", "llama.cpp q8_0", "34 bytes for 32 cached numbers."),
    option("q4-0", "llama.cpp q4_0", "18 bytes for 32 cached numbers."),
}

choices! {
    SERVERS:
    option("none", "No rule", "The cache takes what the sequences need."),
    option("vllm", "vLLM", "The cache takes everything up to gpu_memory_utilization."),
    option("sglang", "SGLang", "Weights and cache take up to mem_fraction_static."),
    option("llama-cpp", "llama.cpp", "The cache of the whole context is taken at the start."),
}

choices! {
    SHARDINGS:
    option("none", "None (DDP)", "Every rank holds the whole model states."),
    option("1", "ZeRO-1", "Ranks share out the optimizer states."),
    option("2", "ZeRO-2", "Ranks share out optimizer states and gradients."),
    option("3", "ZeRO-3", "Ranks share out optimizer states, gradients and weights."),
    option("fsdp", "FSDP", "As ZeRO-3, gathered block by block by PyTorch."),
}

choices! {
    LOSS_FUSIONS:
    option("none", "Operation by operation", "The logits and an fp32 copy of them are held."),
    option("te", "Transformer Engine", "One kernel, whose gradient is written over the logits."),
}

choices! {
    RECOMPUTE_METHODS:
    option("uniform", "All, in groups", "The input of every group of blocks is saved."),
    option("block", "The first of each stage", "So many blocks of a stage are recomputed; the others keep everything."),
}

choices! {
    DISPATCHERS:
    option("allgather", "All tokens to all", "Every GPU of the expert group sees all tokens and picks its own."),
    option("alltoall", "Each token to its expert", "Every GPU is sent the tokens of its experts."),
}

choices! {
    SCHEDULES:
    option("gpipe", "All forward, then all backward", "GPipe: every stage keeps the activations of all micro-batches."),
    option(
        "1f1b",
        "One forward, one backward",
        "Every stage keeps as many micro-batches as stages follow; interleaved with several chunks.",
    ),
    option(
        "zb-h1",
        "Zero bubble H1",
        "Weight gradients wait and fill idle time; every stage keeps as many micro-batches as there are stages.",
    ),
    option(
        "zb-h2",
        "Zero bubble H2",
        "Hardly any idle time; every stage keeps about twice as many micro-batches as there are stages.",
    ),
    option("dualpipe", "DualPipe", "Micro-batches enter at both ends; every GPU holds two stages and so twice the weights."),
}

const SIZE: u64 = 10_000_000;
const LENGTH: u64 = 100_000_000;

/// How many inputs there are.
const COUNT: usize = 185;

/// Every input, in the order of the form and of links.
pub(super) static FIELDS: [Field; COUNT] = {
    let mut fields = [TABLE[0].field; COUNT];
    let mut at = 0;
    while at < COUNT {
        fields[at] = TABLE[at].field;
        at += 1;
    }
    fields
};

/// What the form says about an input.
#[derive(Clone, Copy)]
struct Help {
    of: &'static str,
    options: &'static [&'static str],
}

static HELPS: [Help; COUNT] = {
    let mut helps = [Help { of: "", options: &[] }; COUNT];
    let mut at = 0;
    while at < COUNT {
        helps[at] = Help { of: TABLE[at].help, options: TABLE[at].options };
        at += 1;
    }
    helps
};

/// What an input is and does, in one sentence.
pub(super) fn help(field: &Field) -> &'static str {
    of(field).map_or("", |help| help.of)
}

/// What the option at that place does to memory, in one sentence.
pub(super) fn option_help(field: &Field, place: usize) -> &'static str {
    of(field).and_then(|help| help.options.get(place)).copied().unwrap_or_default()
}

fn of(field: &Field) -> Option<&'static Help> {
    FIELDS.iter().position(|of| of.id == field.id).and_then(|at| HELPS.get(at))
}

#[allow(clippy::large_const_arrays, reason = "the statics above are made of it; it is not kept itself")]
const TABLE: [Entry; COUNT] = [
    Entry::choice(FieldId::Mode, "do", "mode", "Mode", MODES)
        .help("Whether the model is trained, fine-tuned or served; each needs other memory.")
        .group(Group::Run)
        .default(FieldDefault::Choice("train")),
    Entry::new(FieldId::Name, "name", "name", "Name", FieldKind::Text { max_len: 60 })
        .help("A name for this scenario, for you and for those who open its link; it changes no memory.")
        .default(FieldDefault::Text("")),
    Entry::choice(FieldId::MemoryUnit, "u", "memory_unit", "Memory unit", MEMORY_UNITS)
        .help("How memory is written on the page; it changes no result.")
        .default(FieldDefault::Choice("gib")),
    Entry::new(FieldId::Model, "m", "model", "Model", FieldKind::Model)
        .help("The model the architecture starts from; its number of parameters decides most of the memory.")
        .default(FieldDefault::Text("llama3-8b")),
    Entry::new(FieldId::ModelName, "mn", "model_name", "Model's own name", FieldKind::Text { max_len: 60 })
        .help("What this model is called here; without a name, its kind and its number of parameters stand for one. It changes no number.")
        .default(FieldDefault::Text("")),
    Entry::new(FieldId::ModelType, "mt", "model_type", "Read from a file of kind", FieldKind::Keys { max_len: 32 })
        .help("The model_type of the config.json that the architecture was read from.")
        .default(FieldDefault::Text("")),
    Entry::flag(FieldId::AsGeneric, "gd", "as_generic", "Counted as a generic decoder")
        .help("The file's kind is not known: the architecture is put together from the sizes that the file states.")
        .default(FieldDefault::Flag(false)),
    Entry::new(FieldId::NotCounted, "nc", "not_counted", "Not counted", FieldKind::Keys { max_len: 160 })
        .help("Keys of the file that were not understood and may change the answer.")
        .default(FieldDefault::Text("")),
    Entry::new(FieldId::LeftOut, "lo", "left_out", "Left out", FieldKind::Keys { max_len: 80 })
        .help("Parts of the model that are not counted, each with its number of parameters where that is known.")
        .default(FieldDefault::Text("")),
    // Architecture, with Hugging Face's keys.
    Entry::whole(FieldId::HiddenSize, "h", "hidden_size", "Hidden size", (1, SIZE), 128)
        .help("Width of the stream between blocks; parameters grow with its square, activations in proportion.")
        .architecture(),
    Entry::whole(FieldId::NumHiddenLayers, "l", "num_hidden_layers", "Layers", (1, 10_000), 1)
        .help("Number of transformer blocks; parameters and activations grow in proportion.")
        .architecture(),
    Entry::whole(FieldId::NumAttentionHeads, "a", "num_attention_heads", "Attention heads", (1, 100_000), 1)
        .help("Number of query heads; standard attention saves one square of scores for each.")
        .architecture(),
    Entry::whole(FieldId::NumKeyValueHeads, "kv", "num_key_value_heads", "Key/value heads", (1, 100_000), 1)
        .help("Number of heads that are cached when serving; fewer make the key/value cache smaller.")
        .architecture(),
    Entry::whole(FieldId::HeadDim, "hd", "head_dim", "Head size", (1, 100_000), 8)
        .help("Width of one attention head; the key/value cache grows in proportion.")
        .architecture(),
    Entry::whole(FieldId::IntermediateSize, "ff", "intermediate_size", "Feed-forward size", (1, SIZE), 128)
        .help("Inner width of the feed-forward layer, which holds most parameters of a block.")
        .architecture(),
    Entry::whole(FieldId::VocabSize, "v", "vocab_size", "Vocabulary", (1, SIZE), 64)
        .unit("tokens")
        .help("Rows of the embedding; it decides the size of embedding, output head and logits.")
        .architecture(),
    Entry::whole(FieldId::MaxPositionEmbeddings, "mp", "max_position_embeddings", "Longest sequence", (1, LENGTH), 0)
        .tokens()
        .help("Longest sequence the model was made for; it takes no memory by itself. 4k means 4096.")
        .architecture(),
    Entry::whole(FieldId::PositionRows, "pr", "position_rows", "Position rows", (0, LENGTH), 0)
        .tokens()
        .help("Rows of a learned position table, each as wide as the hidden size; unused with other positions. 4k means 4096.")
        .architecture(),
    Entry::choice(FieldId::Normalization, "norm", "normalization", "Normalisation", NORMALIZATIONS)
        .help("The kind of norm; LayerNorm has a few more parameters and saves a little more.")
        .architecture(),
    Entry::choice(FieldId::Mlp, "mlp", "mlp", "Feed-forward kind", MLPS)
        .help("Two or three matrices in the feed-forward layer.")
        .architecture(),
    Entry::choice(FieldId::PositionEmbedding, "pos", "position_embedding", "Positions", POSITIONS)
        .help("How the model knows positions; only a learned table takes parameters.")
        .architecture(),
    Entry::flag(FieldId::AttentionBias, "qb", "attention_bias", "Bias on queries, keys and values")
        .help("A bias vector for each of the three projections; very few parameters.")
        .architecture(),
    Entry::flag(FieldId::AttentionOutputBias, "ob", "attention_output_bias", "Bias on attention's output")
        .help("A bias vector on attention's output projection; very few parameters.")
        .architecture(),
    Entry::flag(FieldId::MlpBias, "fb", "mlp_bias", "Bias on the feed-forward layer")
        .help("A bias vector for each feed-forward matrix; very few parameters.")
        .architecture(),
    Entry::flag(FieldId::TieWordEmbeddings, "tie", "tie_word_embeddings", "Head reuses the embedding")
        .help("The output head shares the embedding's weights, which saves vocabulary × hidden size parameters.")
        .architecture(),
    Entry::flag(FieldId::QkNorm, "qn", "qk_norm", "Norms on queries and keys")
        .help("A small norm over each query and key head; very few parameters.")
        .architecture(),
    Entry::flag(FieldId::EmbeddingNorm, "en", "embedding_norm", "Norm after the embedding")
        .help("One more norm right after the embedding; very few parameters.")
        .architecture(),
    Entry::whole(FieldId::NormsPerBlock, "nb", "norms_per_block", "Norms per block", (0, 4), 1)
        .help("Norm layers in one block; each saves its input for the backward pass.")
        .architecture(),
    Entry::flag(FieldId::FinalNorm, "fn", "final_norm", "Norm before the head")
        .help("A norm before the output head; very few parameters.")
        .architecture(),
    // What only some architectures have.
    Entry::choice(FieldId::Family, "fam", "model_type", "Modules", FAMILIES)
        .help("Whose modules run the model: they decide which tensors are saved for the backward pass.")
        .structure(),
    Entry::choice(FieldId::HiddenAct, "act", "hidden_act", "Activation", ACTIVATIONS)
        .help("The feed-forward layer's activation function; one written out in several operations saves more.")
        .structure(),
    Entry::whole(FieldId::RotaryDim, "rd", "rotary_dim", "Rotated part of a head", (1, 100_000), 8)
        .optional()
        .help("How much of each head rotary positions turn; empty: all of it. It changes only small temporaries.")
        .structure(),
    Entry::whole(FieldId::SlidingWindow, "sw", "sliding_window", "Attention window", (1, LENGTH), 0)
        .tokens()
        .optional()
        .help("Tokens that sliding layers look back on; it limits their key/value cache. Empty: the whole text. 4k means 4096.")
        .structure(),
    Entry::new(FieldId::SlidingLayers, "swl", "layer_types", "Layers with a window", FieldKind::Layers)
        .help("Which layers look back on the window only: all, all-but-every-6, from-3, or a list counted from 0 such as 0-2.5.")
        .structure(),
    Entry::flag(FieldId::ParallelResidual, "par", "use_parallel_residual", "Attention beside feed-forward")
        .help("Both read the same input and are added together; it changes what is saved a little.")
        .structure(),
    Entry::flag(FieldId::AttentionSinks, "snk", "attention_sinks", "Attention sinks")
        .help("One learned extra score per head; very few parameters.")
        .structure(),
    Entry::flag(FieldId::AttentionSoftcap, "cap", "attn_logit_softcapping", "Scores capped")
        .help("Attention's scores are squashed by a tanh; standard attention saves them once more.")
        .structure(),
    Entry::flag(FieldId::LogitSoftcap, "capl", "final_logit_softcapping", "Logits capped")
        .help("Logits are squashed by a tanh, which keeps one more tensor of the vocabulary's size.")
        .structure(),
    Entry::flag(FieldId::HeadBias, "hb", "lm_head_bias", "Bias on the head")
        .help("One number per row of the vocabulary; very few parameters.")
        .structure(),
    Entry::whole(FieldId::EmbeddingWidth, "wp", "word_embed_proj_dim", "Width of the embedding", (1, SIZE), 128)
        .optional()
        .help("Width of the token embedding where it differs from the hidden size; two projections join them. Empty: no difference.")
        .structure(),
    Entry::flag(FieldId::NewDecoder, "nd", "new_decoder_architecture", "Falcon's newer decoder")
        .help("Grouped key/value heads and a norm each for attention and feed-forward, in Falcon's modules.")
        .structure(),
    Entry::flag(FieldId::Pooler, "pl", "pooler", "Pooler")
        .help("A dense layer over the first token in place of an output head; hidden size squared parameters.")
        .structure(),
    Entry::whole(FieldId::NumExperts, "ex", "num_experts", "Experts", (1, 100_000), 0)
        .optional()
        .help("Feed-forward layers that share the tokens among them; all of them take memory. Empty: one dense layer.")
        .structure(),
    Entry::whole(FieldId::ExpertsPerToken, "ept", "num_experts_per_tok", "Experts per token", (1, 100_000), 1)
        .optional()
        .help("Experts that each token goes through; activations and FLOPs grow in proportion.")
        .structure(),
    Entry::whole(FieldId::ExpertWidth, "exf", "moe_intermediate_size", "Width of an expert", (1, SIZE), 128)
        .optional()
        .help("Inner width of one expert; empty: the feed-forward size.")
        .structure(),
    Entry::whole(FieldId::SharedExpertWidth, "exs", "shared_expert_intermediate_size", "Width of shared experts", (0, SIZE), 128)
        .optional()
        .help("Inner width of all experts together that every token goes through; 0 for none.")
        .structure(),
    Entry::flag(FieldId::SharedExpertGate, "exh", "shared_expert_gate", "Gate on shared experts")
        .help("One number per token that weighs the shared experts' output; few parameters.")
        .structure(),
    Entry::new(FieldId::ExpertLayers, "exl", "moe_layers", "Layers with experts", FieldKind::Layers)
        .help("Which layers have experts; the others keep a dense feed-forward layer.")
        .structure(),
    Entry::whole(FieldId::ExpertGroups, "exg", "n_group", "Groups of experts", (1, 100_000), 1)
        .optional()
        .help("Groups that a token chooses among first; it changes only the router's small tensors.")
        .structure(),
    Entry::whole(FieldId::ExpertGroupsKept, "exk", "topk_group", "Groups kept", (1, 100_000), 1)
        .optional()
        .help("How many groups a token keeps; it changes only the router's small tensors.")
        .structure(),
    Entry::flag(FieldId::ExpertNorm, "ext", "norm_topk_prob", "Router's weights sum to 1")
        .help("The chosen experts' weights are made to sum to 1 again; it changes only the router's small tensors.")
        .structure(),
    Entry::flag(FieldId::ExpertBias, "exb", "expert_bias", "Bias on experts")
        .help("A bias on the router and on each expert; few parameters.")
        .structure(),
    Entry::whole(FieldId::KvLoraRank, "lat", "kv_lora_rank", "Latent key/value width", (1, SIZE), 64)
        .optional()
        .help("Latent attention: width of the compressed keys and values, which is what the cache keeps. Empty: no latent attention.")
        .structure(),
    Entry::whole(FieldId::QLoraRank, "latq", "q_lora_rank", "Latent query width", (1, SIZE), 64)
        .optional()
        .help("Latent attention: width of the compressed query; empty: queries are made directly.")
        .structure(),
    Entry::whole(FieldId::QkRopeHeadDim, "latr", "qk_rope_head_dim", "Rotated head part", (1, 100_000), 8)
        .optional()
        .help("Latent attention: rotated part of a query or key head, cached once for all heads.")
        .structure(),
    Entry::whole(FieldId::QkNopeHeadDim, "latn", "qk_nope_head_dim", "Unrotated head part", (1, 100_000), 8)
        .optional()
        .help("Latent attention: unrotated part of a query or key head.")
        .structure(),
    Entry::whole(FieldId::VHeadDim, "latv", "v_head_dim", "Value head size", (1, 100_000), 8)
        .optional()
        .help("Latent attention: width of a value head.")
        .structure(),
    // What is done with it.
    Entry::choice(FieldId::Mixer, "mx", "mixer", "State of fixed size", MIXERS)
        .help("What some layers keep of a text whatever its length, in place of keys and values or beside them. Serving only.")
        .structure(),
    Entry::new(FieldId::MixerLayers, "mxl", "mixer_layers", "Layers with a state", FieldKind::Layers)
        .help("Which layers keep a state: all, all-but-every-4, every-4, from-3, or a list counted from 0 such as 0-2.5.")
        .structure(),
    Entry::whole(FieldId::MixerHeads, "mxn", "linear_num_value_heads", "Heads of the state", (1, SIZE), 1)
        .optional()
        .help("Heads of the state (mamba_n_heads); where every channel has a state of its own, the channels.")
        .structure(),
    Entry::whole(FieldId::MixerHeadDim, "mxd", "linear_value_head_dim", "Width of its heads", (1, SIZE), 8)
        .optional()
        .help("Width of one head of the state (mamba_d_head); 1 where every channel has a state of its own.")
        .structure(),
    Entry::whole(FieldId::MixerKeyHeads, "mxg", "linear_num_key_heads", "Heads of its keys", (1, SIZE), 1)
        .optional()
        .help("Heads of the state's keys, or groups that share its input and output (mamba_n_groups).")
        .structure(),
    Entry::whole(FieldId::MixerState, "mxs", "linear_key_head_dim", "Width of its keys", (1, SIZE), 8)
        .optional()
        .help("Width of one key, or of a state space (mamba_d_state); the state grows in proportion.")
        .structure(),
    Entry::whole(FieldId::MixerKernel, "mxc", "linear_conv_kernel_dim", "Tokens of its convolution", (0, 1024), 1)
        .optional()
        .help("Tokens that the convolution before the state sees (mamba_d_conv); all but one are kept.")
        .structure(),
    Entry::whole(FieldId::MixerRank, "mxr", "mamba_dt_rank", "Width of its step", (1, SIZE), 8)
        .optional()
        .help("Width of the narrow projection of a state space's step; Mamba and Jamba only.")
        .structure(),
    Entry::flag(FieldId::MixerFp32, "mxf", "mamba_ssm_dtype", "State in fp32")
        .help("The state is kept in fp32 rather than in the format of activations: twice as large.")
        .structure(),
    Entry::new(FieldId::AttentionLayers, "al", "attention_layers", "Layers with attention", FieldKind::Layers)
        .help("Which layers have attention with keys and values; the others have a state, or a feed-forward layer alone.")
        .structure(),
    Entry::new(FieldId::FeedForwardLayers, "fl", "feed_forward_layers", "Layers with feed-forward", FieldKind::Layers)
        .help("Which layers have a feed-forward layer or experts; the others have attention or a state alone.")
        .structure(),
    Entry::new(FieldId::SharedKeyLayers, "kvs", "kv_shared_layers", "Layers with shared keys", FieldKind::Layers)
        .help("Which layers read the keys and values of an earlier layer and keep none of their own.")
        .structure(),
    Entry::flag(FieldId::AttentionGate, "og", "attention_output_gate", "Gate on attention's output")
        .help("A gate as wide as the queries, made with them: more parameters.")
        .structure(),
    Entry::whole(FieldId::ValueHeadDim, "vhd", "v_head_dim (all layers)", "Value head size (no latent attention)", (1, 100_000), 8)
        .optional()
        .help("Width of a value head without latent attention; empty: as a query head. It changes the cache. Serving only.")
        .structure(),
    Entry::new(FieldId::OtherHeadLayers, "ohl", "layers_with_other_heads", "Layers with different heads", FieldKind::Layers)
        .help("Layers whose attention has another shape than the rest (Gemma 4's global layers, MiMo-V2's sliding ones). Serving only.")
        .structure(),
    Entry::whole(FieldId::OtherHeads, "oha", "swa_num_attention_heads", "Query heads in those layers", (1, SIZE), 1)
        .optional()
        .help("Query heads of the layers with other heads; empty: as in the rest.")
        .structure(),
    Entry::whole(FieldId::OtherKvHeads, "ohk", "swa_num_key_value_heads", "Key/value heads in those layers", (1, SIZE), 1)
        .optional()
        .help("Key/value heads of the layers with other heads (num_global_key_value_heads); empty: as in the rest.")
        .structure(),
    Entry::whole(FieldId::OtherHeadDim, "ohd", "swa_head_dim", "Head size in those layers", (1, 100_000), 8)
        .optional()
        .help("Width of a query or key head of the layers with other heads (global_head_dim); empty: as in the rest.")
        .structure(),
    Entry::whole(FieldId::OtherValueDim, "ohv", "swa_v_head_dim", "Value head size in those layers", (1, 100_000), 8)
        .optional()
        .help("Width of a value head of the layers with other heads; empty: as their query heads.")
        .structure(),
    Entry::flag(FieldId::OtherSinks, "ohs", "add_swa_attention_sink_bias", "Attention sinks in those layers")
        .help("One learned score per head in the layers with other heads; few parameters.")
        .structure(),
    Entry::flag(FieldId::OtherJointKeys, "ohj", "attention_k_eq_v", "Values from the keys' matrix in those layers")
        .help("One matrix makes keys and values in the layers with other heads; both are cached.")
        .structure(),
    Entry::flag(FieldId::ExpertsNormed, "exn", "experts_normed", "Extra norms around experts")
        .help("Experts and the dense layer beside them have norms of their own (Gemma 4); few parameters. Serving only.")
        .structure(),
    Entry::whole(FieldId::SeqLength, "s", "seq_length", "Sequence length", (1, LENGTH), 0)
        .tokens()
        .help(
            "Tokens in one training sequence; activations grow in proportion, standard attention with the square. 4k means 4096.",
        )
        .group(Group::Run)
        .train()
        .default(FieldDefault::Integer(8192)),
    Entry::whole(FieldId::GlobalBatchSize, "gb", "global_batch_size", "Global batch", (1, SIZE), 0)
        .unit("sequences")
        .help(
            "Sequences of one optimizer step over all GPUs; it decides how many GPUs can share the work, not the memory of one.",
        )
        .group(Group::Run)
        .train()
        .default(FieldDefault::Integer(128)),
    Entry::whole(FieldId::MicroBatchSize, "b", "micro_batch_size", "Micro-batch", (1, SIZE), 1)
        .unit("sequences")
        .optional()
        .help(
            "Sequences a GPU holds at once; activations grow in proportion. Empty: its whole share of the global batch at once.",
        )
        .group(Group::Run)
        .train()
        .default(FieldDefault::Integer(1)),
    Entry::choice(FieldId::Recompute, "rc", "recompute_granularity", "Recompute activations", RECOMPUTES)
        .help("What is computed again in the backward pass instead of being saved; it trades time for memory.")
        .group(Group::Run)
        .train()
        .default(FieldDefault::Choice("full")),
    Entry::whole(FieldId::ContextLength, "ctx", "context_length", "Context length", (1, LENGTH), 0)
        .tokens()
        .help("Tokens of prompt and answer kept for each sequence; the key/value cache grows in proportion. 4k means 4096.")
        .group(Group::Run)
        .serve()
        .default(FieldDefault::Integer(8192)),
    Entry::whole(FieldId::ConcurrentSequences, "seqs", "max_num_seqs", "Requests per replica", (1, 1_000_000), 1)
        .unit("requests")
        .help("Requests that one replica serves at the same time; the key/value cache grows in proportion.")
        .group(Group::Run)
        .serve()
        .default(FieldDefault::Integer(16)),
    Entry::whole(FieldId::PrefillChunkSize, "pf", "max_num_batched_tokens", "Prefill chunk", (1, LENGTH), 0)
        .tokens()
        .help("Tokens of prompts processed at once; temporary activations grow in proportion. 4k means 4096.")
        .group(Group::Run)
        .serve()
        .folded()
        .default(FieldDefault::Integer(2048)),
    // Serving: the server's rule, blocks, prompts, lengths, users.
    Entry::whole(FieldId::PromptLength, "in", "prompt_tokens", "Prompt", (1, LENGTH), 0)
        .tokens()
        .optional()
        .help("Tokens of a prompt, for the time to the first token; empty: the whole context. 4k means 4096.")
        .group(Group::Run)
        .serve()
        .folded()
        .default(FieldDefault::Empty),
    Entry::whole(FieldId::SharedPrefix, "pre", "prefix_tokens", "Shared prefix", (0, LENGTH), 0)
        .tokens()
        .help("Tokens at the start that all sequences have in common: prefix caching keeps whole blocks of them once. 4k means 4096.")
        .group(Group::Run)
        .serve()
        .folded()
        .default(FieldDefault::Integer(0)),
    Entry::whole(FieldId::MeanTokens, "len", "mean_tokens", "Mean sequence", (1, LENGTH), 0)
        .tokens()
        .optional()
        .help("Tokens that a sequence holds in the mean, for how many find room at once; empty: as long as the context. 4k means 4096.")
        .group(Group::Run)
        .serve()
        .folded()
        .default(FieldDefault::Empty),
    Entry::whole(FieldId::TailTokens, "lenp", "p95_tokens", "95 of 100 sequences", (1, LENGTH), 0)
        .tokens()
        .optional()
        .help("Tokens that 95 of 100 sequences do not exceed; empty: as many as the mean. 4k means 4096.")
        .group(Group::Run)
        .serve()
        .folded()
        .default(FieldDefault::Empty),
    Entry::whole(FieldId::Users, "usr", "users", "Users in total", (1, 1_000_000_000), 0)
        .optional()
        .help("Users whose requests are served at the same time by all replicas together: how many GPUs they need, how fast and at what price. Empty: not asked.")
        .group(Group::Run)
        .serve()
        .default(FieldDefault::Empty),
    Entry::choice(FieldId::Server, "srv", "engine", "Server", SERVERS)
        .help("By which rule memory is taken for the key/value cache: tokens, blocks and concurrency come out as that program prints them.")
        .group(Group::Run)
        .serve()
        .default(FieldDefault::Choice("none")),
    Entry::number(FieldId::MemoryUtilization, "gmu", "gpu_memory_utilization", "vLLM's share of memory", (0.01, 1.0))
        .help("Share of each GPU's memory that vLLM uses for everything together.")
        .group(Group::Reserve)
        .serve()
        .folded()
        .default(FieldDefault::Decimal(0.9)),
    Entry::number(FieldId::StaticFraction, "mfs", "mem_fraction_static", "SGLang's share of memory", (0.01, 1.0))
        .help("Share of the free memory that SGLang gives weights and cache; 0.88 is an assumption: SGLang chooses by GPU.")
        .group(Group::Reserve)
        .serve()
        .folded()
        .default(FieldDefault::Decimal(0.88)),
    Entry::whole(FieldId::BlockSize, "bs", "block_size", "Cache block", (1, 65_536), 0)
        .unit("tokens")
        .optional()
        .help("Tokens that the cache is handed out in; empty: the server's own, 16 for vLLM, 1 for SGLang, 256 for llama.cpp.")
        .group(Group::Reserve)
        .serve()
        .folded()
        .default(FieldDefault::Empty),
    Entry::number(FieldId::CudaGraphs, "cg", "cuda_graphs", "CUDA graphs", (0.0, 1000.0))
        .unit("GiB")
        .help("Memory of captured graphs: an assumption, often 0.3 to 1 GiB; 0 counts none.")
        .group(Group::Reserve)
        .serve()
        .folded()
        .default(FieldDefault::Decimal(0.0)),
    Entry::whole(FieldId::GroupSize, "grp", "group_size", "Weights per scale", (8, 65_536), 0)
        .help("Weights that share a scale and a zero point under GPTQ and AWQ; other formats have their own.")
        .group(Group::Precision)
        .serve()
        .folded()
        .default(FieldDefault::Integer(128)),
    Entry::flag(FieldId::WholeExperts, "eep", "enable_expert_parallel", "Whole experts")
        .help("Tensor ranks hold whole experts instead of a part of each.")
        .group(Group::Layout)
        .serve()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::TokensSent, "ata", "moe_a2a_backend", "Tokens sent to experts")
        .help("With whole experts: each GPU keeps a part of the tokens and sends them to their experts (SGLang's DeepEP); otherwise all GPUs have all tokens.")
        .group(Group::Layout)
        .serve()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::choice(FieldId::Attention, "att", "attn_implementation", "Attention", ATTENTIONS)
        .help("Whether attention's scores are written to memory.")
        .group(Group::Run)
        .default(FieldDefault::Choice("flash")),
    Entry::choice(FieldId::Kernels, "ker", "kernels", "Software stack", KERNELS)
        .help("The software that runs the model decides which tensors are saved for the backward pass.")
        .group(Group::Run)
        .train()
        .default(FieldDefault::Choice("fused")),
    // Fine-tuning.
    Entry::choice(FieldId::Objective, "obj", "objective", "Learns from", OBJECTIVES)
        .help("What the model learns from decides which models share the memory.")
        .group(Group::Run)
        .tune()
        .default(FieldDefault::Choice("sft")),
    Entry::choice(FieldId::Method, "ft", "peft_type", "What learns", METHODS)
        .help("Parameters that do not learn need no gradients and no optimizer states, and their inputs are not saved.")
        .group(Group::Run)
        .tune()
        .default(FieldDefault::Choice("lora")),
    Entry::whole(FieldId::Rank, "r", "r", "Rank of adapters", (1, 65_536), 0)
        .help("Inner width of adapters: their parameters, gradients and states grow in proportion.")
        .group(Group::Run)
        .tune()
        .default(FieldDefault::Integer(16)),
    Entry::number(FieldId::LoraAlpha, "la", "lora_alpha", "Alpha", (0.0, 1_000_000.0))
        .help("Scales what adapters add; memory does not depend on it.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Decimal(32.0)),
    Entry::flag(FieldId::AdaptQuery, "aq", "target_modules.q_proj", "Adapters on queries").adapter(),
    Entry::flag(FieldId::AdaptKey, "ak", "target_modules.k_proj", "Adapters on keys").adapter(),
    Entry::flag(FieldId::AdaptValue, "av", "target_modules.v_proj", "Adapters on values").adapter(),
    Entry::flag(FieldId::AdaptOutput, "ao", "target_modules.o_proj", "Adapters on attention's output").adapter(),
    Entry::flag(FieldId::AdaptGate, "ag", "target_modules.gate_proj", "Adapters on the gate").adapter(),
    Entry::flag(FieldId::AdaptUp, "au", "target_modules.up_proj", "Adapters on feed-forward up").adapter(),
    Entry::flag(FieldId::AdaptDown, "ad", "target_modules.down_proj", "Adapters on feed-forward down").adapter(),
    Entry::whole(FieldId::VirtualTokens, "nvt", "num_virtual_tokens", "Learned tokens", (1, 1_000_000), 1)
        .unit("tokens")
        .help("A learned prompt: so many embedded tokens stand before every text, which is that much longer. Prefix tuning: so many keys and values in every layer.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Integer(20)),
    Entry::number(FieldId::LoraDropout, "ld", "lora_dropout", "Dropout before adapters", (0.0, 0.99))
        .help("Above 0, every adapter keeps its input after dropout and a mask.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Decimal(0.0)),
    Entry::choice(FieldId::AdapterDType, "adt", "autocast_adapter_dtype", "Format of adapters", ADAPTER_DTYPES)
        .help("peft makes adapters fp32 unless told otherwise; their inputs are then copied to fp32.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Choice("fp32")),
    Entry::flag(FieldId::DoubleQuant, "dq", "bnb_4bit_use_double_quant", "Double quantisation")
        .help("QLoRA: scales of the 4-bit weights take 8 bits instead of 32.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Flag(true)),
    Entry::flag(FieldId::PagedOptimizer, "pag", "paged_optimizer", "Paged optimizer")
        .help("Optimizer states of large tensors live in pages that move to the host when memory is short.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::whole(FieldId::FrozenLayers, "fzl", "frozen_layers", "Frozen layers", (0, 10_000), 1)
        .help("So many of the first layers do not learn, when parameters of the model learn.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Integer(0)),
    Entry::flag(FieldId::FrozenEmbeddings, "fze", "frozen_embeddings", "Frozen embeddings")
        .help("Embeddings do not learn, when parameters of the model learn.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::Reference, "ref", "reference_model", "Reference model")
        .help("DPO, PPO and GRPO: a frozen copy of the model beside it. With adapters none is needed: the model without them is its own reference.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Flag(true)),
    Entry::choice(FieldId::Rollout, "ro", "rollout", "Answers come from", ROLLOUTS)
        .help("PPO and GRPO: where the engine that generates answers keeps its weights and cache.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Choice("sleeping")),
    Entry::whole(FieldId::RolloutSequences, "ron", "rollout_sequences", "Answers at once", (1, 1_000_000), 1)
        .unit("sequences")
        .help("PPO and GRPO: sequences that the engine on one GPU generates at once; its cache grows in proportion.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Integer(64)),
    Entry::whole(FieldId::TextTokens, "txt", "text_tokens", "Mean text", (1, LENGTH), 0)
        .tokens()
        .optional()
        .help("Tokens of a text in the mean: padded to the sequence, or packed. Empty: as long as the sequence. 4k means 4096.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Empty),
    Entry::flag(FieldId::Packing, "pack", "packing", "Packing")
        .help("Sequences are filled with several texts instead of padding; each text sees itself alone.")
        .group(Group::Run)
        .tune()
        .folded()
        .default(FieldDefault::Flag(false)),
    // Number formats and optimizer.
    Entry::choice(FieldId::Precision, "prec", "precision", "Precision", PRECISIONS)
        .help("Number formats of weights, gradients, optimizer states and activations.")
        .group(Group::Precision)
        .train()
        .default(FieldDefault::Choice("bf16")),
    Entry::choice(FieldId::Gradients, "grad", "grad_reduce_dtype", "Gradients", GRADIENTS)
        .help("In which format gradients are kept: 2, 4 or 6 bytes per parameter under mixed precision.")
        .group(Group::Precision)
        .train()
        .folded()
        .default(FieldDefault::Choice("as-weights")),
    Entry::choice(FieldId::Optimizer, "opt", "optimizer", "Optimizer", OPTIMIZERS)
        .help("What the optimizer keeps for each parameter besides the weights.")
        .group(Group::Precision)
        .train()
        .default(FieldDefault::Choice("adamw")),
    Entry::choice(
        FieldId::OptimizerImplementation,
        "oi",
        "optimizer_implementation",
        "Optimizer's step",
        IMPLEMENTATIONS,
    )
    .help("How PyTorch's optimizer walks over the parameters; it decides the temporaries of its step.")
    .group(Group::Precision)
    .train()
    .folded()
    .default(FieldDefault::Choice("fused")),
    Entry::choice(FieldId::WeightDType, "w", "quantization", "Weight format", WEIGHT_DTYPES)
        .help("How the served weights are stored, with the scales and zero points that belong to it.")
        .group(Group::Precision)
        .serve()
        .default(FieldDefault::Choice("bf16")),
    Entry::choice(FieldId::KvCacheDType, "kvd", "kv_cache_dtype", "Key/value cache format", KV_DTYPES)
        .help("Number format of the cached keys and values.")
        .group(Group::Precision)
        .serve()
        .default(FieldDefault::Choice("bf16")),
    // Hardware.
    Entry::new(FieldId::Accelerator, "gpu", "accelerator", "GPU", FieldKind::Accelerator)
        .help("The accelerator; its memory is what everything must fit in.")
        .group(Group::Hardware)
        .default(FieldDefault::Text("h100-80")),
    Entry::number(FieldId::AcceleratorMemory, "mem", "memory", "Memory per GPU", (0.1, 100_000.0))
        .unit("GiB")
        .help("Memory that a program can use on one GPU, as the driver reports it; GB and MiB are converted.")
        .group(Group::Hardware)
        .folded(),
    Entry::number(FieldId::PeakRate, "pk", "peak_bf16", "Peak rate, 16 bit", (0.001, 1_000_000.0))
        .unit("TFLOP/s")
        .optional()
        .help("Dense 16-bit peak, for time and cost only; a value typed here leaves the peaks of other formats unknown.")
        .group(Group::Hardware)
        .folded(),
    Entry::number(FieldId::MemoryBandwidth, "bw", "memory_bandwidth", "Memory bandwidth", (0.001, 10_000_000.0))
        .unit("GB/s")
        .optional()
        .help("How fast one GPU reads its memory, for time only; TB/s are converted.")
        .group(Group::Hardware)
        .folded(),
    Entry::number(FieldId::BoardPower, "tdp", "tdp_watts", "Board power", (1.0, 100_000.0))
        .unit("W")
        .optional()
        .help("What one GPU draws while it computes, for energy and emissions only.")
        .group(Group::Hardware)
        .folded(),
    Entry::whole(FieldId::AcceleratorsPerNode, "npn", "accelerators_per_node", "GPUs per node", (1, 10_000), 1)
        .unit("GPUs")
        .help("GPUs in one machine; GPU counts are rounded up to whole machines.")
        .group(Group::Hardware)
        .folded(),
    // Layout, with Megatron-LM's words.
    Entry::whole(FieldId::Gpus, "n", "world_size", "GPUs", (1, 1_000_000), 0)
        .unit("GPUs")
        .help("Number of GPUs: tensor × pipeline × data-parallel ranks, or replicas when serving.")
        .group(Group::Layout)
        .default(FieldDefault::Integer(8)),
    Entry::choice(FieldId::Sharding, "z", "zero_stage", "Sharding", SHARDINGS)
        .help("What data-parallel ranks share out among themselves instead of each holding all of it.")
        .group(Group::Layout)
        .train()
        .default(FieldDefault::Choice("fsdp")),
    Entry::flag(FieldId::ReshardAfterForward, "rs", "reshard_after_forward", "FSDP reshards after forward")
        .help("A block's gathered weights are given back after forward and gathered again for backward: less memory, more traffic.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Flag(true)),
    Entry::flag(FieldId::ReduceInFp32, "rf", "reduce_dtype", "FSDP reduces in fp32")
        .help("Gradients are summed over ranks in fp32, in buffers twice as large as 16-bit ones.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Flag(true)),
    Entry::whole(FieldId::TensorParallel, "tp", "tensor_model_parallel_size", "Tensor parallel", (1, 1_000_000), 0)
        .unit("GPUs")
        .help("GPUs that split every matrix among them; weights and most activations shrink in proportion.")
        .group(Group::Layout)
        .default(FieldDefault::Integer(1)),
    Entry::whole(FieldId::PipelineParallel, "pp", "pipeline_model_parallel_size", "Pipeline parallel", (1, 10_000), 0)
        .unit("stages")
        .help("Stages that split the layers among them; weights shrink in proportion.")
        .group(Group::Layout)
        .default(FieldDefault::Integer(1)),
    Entry::whole(FieldId::ContextParallel, "cp", "context_parallel_size", "Context parallel", (1, 1_000_000), 0)
        .unit("GPUs")
        .help("GPUs that share the tokens of a sequence out among themselves; activations shrink in proportion. Megatron-LM only.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Integer(1)),
    Entry::whole(FieldId::ExpertParallel, "ep", "expert_model_parallel_size", "Expert parallel", (1, 1_000_000), 0)
        .unit("GPUs")
        .help("GPUs that share the experts out among themselves; they are taken from the data-parallel ones. Megatron-LM only.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Integer(1)),
    Entry::whole(FieldId::ExpertTensorParallel, "etp", "expert_tensor_parallel_size", "Expert tensor parallel", (1, 1_000_000), 0)
        .unit("GPUs")
        .optional()
        .help("GPUs that split one expert; empty: as many as tensor-parallel GPUs. Megatron-LM only.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Empty),
    Entry::whole(FieldId::VirtualPipeline, "vp", "virtual_pipeline_model_parallel_size", "Chunks per stage", (1, 10_000), 1)
        .help("Chunks of layers on each pipeline stage: shorter idle times, more activations in flight. Megatron-LM only.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Integer(1)),
    Entry::choice(FieldId::PipelineSchedule, "sch", "pipeline_schedule", "Pipeline schedule", SCHEDULES)
        .help("How micro-batches take turns on the stages: it decides how many of them keep their activations, and idle time.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Choice("1f1b")),
    Entry::whole(FieldId::FirstStageLayers, "lf", "num_layers_in_first_pipeline_stage", "Layers on the first stage", (1, 10_000), 1)
        .optional()
        .help("Layers on the first pipeline stage, which also holds the embedding; empty: as many as on the others.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Empty),
    Entry::whole(FieldId::LastStageLayers, "ll", "num_layers_in_last_pipeline_stage", "Layers on the last stage", (1, 10_000), 1)
        .optional()
        .help("Layers on the last pipeline stage, which also holds the output head; empty: as many as on the others.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Empty),
    Entry::flag(FieldId::AccountForEnds, "afe", "account_for_embedding_and_loss_in_pipeline_split", "Ends count as layers")
        .help("Embedding and loss count as a layer each when layers are dealt out: the first and the last stage get one fewer.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::SequenceParallel, "sp", "sequence_parallel", "Sequence parallel")
        .help("Tensor-parallel GPUs also split the activations outside attention and feed-forward.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::whole(FieldId::Replicas, "rep", "num_replicas", "Sharding groups", (1, 1_000_000), 0)
        .help("Groups of data-parallel GPUs that each hold all that is sharded (hybrid sharding, HSDP): more memory, less traffic between machines.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Integer(1)),
    Entry::flag(FieldId::OffloadOptimizer, "oo", "offload_optimizer", "Optimizer in host memory")
        .help("Optimizer states and master weights wait in the host's memory, and the optimizer steps there: less GPU memory, slower steps.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::OffloadParameters, "ow", "offload_param", "Weights in host memory")
        .help("Shares of the weights wait in the host's memory until they are gathered; with ZeRO 3 or FSDP only.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::OffloadActivations, "oa", "offload_activations", "Activations in host memory")
        .help("What blocks save for backward waits in the host's memory; two blocks' worth stays on the GPU.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Flag(false)),
    Entry::whole(FieldId::ReduceBucket, "rb", "reduce_bucket_size", "Reduction bucket", (1, 100_000_000_000), 0)
        .unit("elements")
        .help("Buffer in which DeepSpeed reduces gradients under ZeRO 1 to 3; with other sharding and stacks it is not there.")
        .group(Group::Layout)
        .train()
        .folded()
        .default(FieldDefault::Integer(500_000_000)),
    // What only Megatron-LM asks.
    Entry::flag(FieldId::TransformerEngine, "te", "transformer_impl", "Transformer Engine")
        .help("Modules of Transformer Engine; otherwise Megatron-Core's own, which save more.")
        .megatron()
        .default(FieldDefault::Flag(true)),
    Entry::choice(FieldId::LossFusion, "xef", "cross_entropy_fusion_impl", "Cross-entropy", LOSS_FUSIONS)
        .help("How the loss over the vocabulary is computed: it decides how often the logits are held.")
        .megatron()
        .default(FieldDefault::Choice("none")),
    Entry::flag(FieldId::GradientFusion, "gaf", "gradient_accumulation_fusion", "Gradients added in place")
        .help("Matrix products add to the main gradients themselves, without a gradient of their own for each weight.")
        .megatron()
        .default(FieldDefault::Flag(true)),
    Entry::flag(FieldId::HiddenDropout, "hdo", "hidden_dropout", "Dropout")
        .help("Dropout after attention, feed-forward and embedding keeps a mask of one byte per element.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::AttentionDropout, "ado", "attention_dropout", "Dropout in attention")
        .help("Where scores are written to memory, a mask and a copy stand beside them.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::whole(FieldId::VocabMultiple, "vd", "make_vocab_size_divisible_by", "Vocabulary padded to", (1, 1_000_000), 0)
        .help("Vocabulary rows are rounded up to a multiple of this number times the tensor-parallel GPUs.")
        .megatron()
        .default(FieldDefault::Integer(128)),
    Entry::choice(FieldId::RecomputeMethod, "rm", "recompute_method", "Blocks recomputed", RECOMPUTE_METHODS)
        .help("Which blocks full recomputation covers.")
        .megatron()
        .default(FieldDefault::Choice("uniform")),
    Entry::whole(FieldId::RecomputeLayers, "rn", "recompute_num_layers", "How many blocks", (1, 10_000), 1)
        .help("Blocks between two saved inputs, or blocks recomputed on each stage.")
        .megatron()
        .default(FieldDefault::Integer(1)),
    Entry::flag(FieldId::RecomputeCore, "rca", "recompute_modules_core_attn", "Recompute attention's core")
        .help("Selective recomputation brings scores, probabilities and attention's output back.")
        .megatron()
        .default(FieldDefault::Flag(true)),
    Entry::flag(FieldId::RecomputeNorms, "rln", "recompute_modules_layernorm", "Recompute norms")
        .help("Selective recomputation brings the norms' outputs back.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::RecomputeMlp, "rml", "recompute_modules_mlp", "Recompute feed-forward")
        .help("Selective recomputation brings the dense feed-forward layer back.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::RecomputeLatent, "rup", "recompute_modules_mla_up_proj", "Recompute latent projections")
        .help("Selective recomputation makes queries, keys and values from the compressed ones again.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::RecomputeExperts, "rmo", "recompute_modules_moe", "Recompute experts")
        .help("Selective recomputation brings the whole mixture of experts back.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::RecomputeExpertAct, "rma", "recompute_modules_moe_act", "Recompute experts' activation")
        .help("Selective recomputation brings the experts' activation function back.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::RecomputeShared, "rse", "recompute_modules_shared_experts", "Recompute shared experts")
        .help("Selective recomputation brings the shared experts back.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::choice(FieldId::TokenDispatcher, "mtd", "moe_token_dispatcher_type", "Tokens to experts", DISPATCHERS)
        .help("How tokens reach the experts of other GPUs.")
        .megatron()
        .default(FieldDefault::Choice("allgather")),
    Entry::flag(FieldId::GroupedExperts, "mgg", "moe_grouped_gemm", "Grouped experts")
        .help("All experts of a GPU in one product.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::flag(FieldId::PadExperts, "mpc", "moe_pad_expert_input_to_capacity", "Experts padded")
        .help("Every expert gets the same number of tokens, rounded up.")
        .megatron()
        .default(FieldDefault::Flag(false)),
    Entry::number(FieldId::LoadImbalance, "imb", "moe_load_imbalance", "Load of the busiest GPU", (1.0, 1000.0))
        .unit("×")
        .help("Tokens that the busiest expert-parallel GPU gets, as a multiple of an even share; its activations grow in proportion: an assumption.")
        .megatron()
        .default(FieldDefault::Decimal(1.0)),
    // Memory outside the model.
    Entry::number(FieldId::FrameworkContext, "fc", "framework_context", "Framework context", (0.0, 1000.0))
        .unit("GiB")
        .help("Memory that driver, libraries and kernels take before the model's first tensor.")
        .group(Group::Reserve)
        .folded()
        .default(FieldDefault::Decimal(1.3)),
    Entry::number(FieldId::FragmentationReserve, "fr", "fragmentation_percent", "Fragmentation reserve", (0.0, 100.0))
        .unit("%")
        .help("Share kept free because the allocator cannot use every gap: an assumption. The rule of a server takes its place.")
        .group(Group::Reserve)
        .folded()
        .default(FieldDefault::Decimal(3.0)),
    Entry::number(FieldId::CommunicatorBuffers, "cb", "communicator_buffers", "Buffers per communicator", (0.0, 100_000.0))
        .unit("MiB")
        .help("GPU memory of one group of GPUs that exchange data; NCCL takes about 10 MiB per channel and connection. 0 counts none.")
        .group(Group::Reserve)
        .folded()
        .default(FieldDefault::Decimal(0.0)),
    Entry::number(FieldId::ServingOverhead, "ovh", "overhead_percent", "Inference overhead", (0.0, 1000.0))
        .unit("%")
        .help("Further memory as a share of the weights, as some documents add it; 0 adds nothing.")
        .group(Group::Reserve)
        .serve()
        .folded()
        .default(FieldDefault::Decimal(0.0)),
    // Time and money.
    Entry::whole(FieldId::TrainingTokens, "tok", "training_tokens", "Training tokens", (1, 10_000_000_000_000_000), 0)
        .unit("tokens")
        .help("Tokens of the whole training, for time and cost only; 1T means 1 000 000 000 000.")
        .group(Group::Cost)
        .scratch()
        .default(FieldDefault::Integer(1_000_000_000_000)),
    Entry::whole(FieldId::TuningTokens, "tt", "tuning_tokens", "Tokens of the fine-tuning", (1, 10_000_000_000_000_000), 0)
        .unit("tokens")
        .help("Tokens of all examples and epochs, for time and cost only; 10M means 10 000 000.")
        .group(Group::Cost)
        .tune()
        .default(FieldDefault::Integer(50_000_000)),
    Entry::number(FieldId::Mfu, "mfu", "mfu", "Utilisation (MFU)", (0.1, 100.0))
        .unit("%")
        .help("A second answer at this share of the peak rate stands beside the time that follows from the operations; the default states nothing.")
        .group(Group::Cost)
        .train()
        .default(FieldDefault::Decimal(40.0)),
    Entry::number(FieldId::PricePerHour, "price", "price_per_hour", "Price per GPU-hour", (0.0, 1_000_000.0))
        .help("Price of one GPU for one hour in your currency, for cost only: an assumption, yours to change.")
        .group(Group::Cost)
        .default(FieldDefault::Decimal(2.0)),
    Entry::number(FieldId::NetworkBandwidth, "net", "network_bandwidth", "Network per GPU", (0.001, 1_000_000.0))
        .unit("GB/s")
        .help("Bandwidth of one GPU to other nodes, one direction, for time only: assumed as its vendor's systems have it.")
        .group(Group::Cost)
        .train(),
    Entry::number(FieldId::GridEmissions, "grid", "grid_grams_per_kwh", "Emissions of electricity", (0.0, 10_000.0))
        .unit("g CO₂/kWh")
        .help("Grams of CO₂ for each kWh, for emissions only: an assumption near the world's average.")
        .group(Group::Cost)
        .train()
        .default(FieldDefault::Decimal(450.0)),
];
