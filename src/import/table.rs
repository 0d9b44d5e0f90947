//! The kinds of model that are read, one entry each: what `transformers` 5.23 builds for that `model_type`.
//!
//! Facts are taken from its configuration classes (defaults) and modules (biases, norms, shapes of the weights).

use super::heads::Heads;
use super::hybrid::{Attends, States};
use super::kind::{Experts, Flag, Kind, Latent, Norms, Positions, Sizes, Window};
use crate::config::{Family, HiddenAct, MixerKind, MlpKind, Normalization, PositionEmbedding};

const LEARNED: Positions = Positions::LearnedPlus(0);
const ATTENTION_BIAS: Flag = Flag::Key("attention_bias", false);

/// Matrices that choose the tokens which attention sees, and the keys that they cache.
const INDEXER: &[&str] = &["index_head_dim", "index_n_heads", "index_topk"];

/// Keys that choose layers with experts, as DeepSeek's files and their relatives have them.
const FROM_FIRST: &[&str] = &["mlp_layer_types", "moe_layer_freq", "first_k_dense_replace"];
/// Keys that choose layers with experts in Qwen's files.
const BY_STEP: &[&str] = &["decoder_sparse_step", "mlp_only_layers"];

const LLAMA: Kind = Kind {
    names: &["llama", "smollm"],
    class: "Llama",
    family: Family::Llama,
    sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    ..Kind::PLAIN
};

const MISTRAL: Kind = Kind {
    names: &["mistral"],
    class: "Mistral",
    family: Family::Mistral,
    sizes: Sizes::of([4096, 14_336], 32, 32, 32_000, 131_072).kv(8),
    window: Window::All(4096),
    ..Kind::PLAIN
};

const QWEN2: Kind = Kind {
    names: &["qwen2", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"],
    class: "Qwen2",
    family: Family::Qwen2,
    sizes: Sizes::of([4096, 22_016], 32, 32, 151_936, 32_768).kv(32),
    attention_bias: Flag::Is(true),
    window: Window::FromIfUsed,
    ..Kind::PLAIN
};

const QWEN3: Kind = Kind {
    names: &["qwen3", "qwen3_vl_text", "qwen3_vl"],
    class: "Qwen3",
    family: Family::Qwen3,
    sizes: Sizes::of([4096, 22_016], 32, 32, 151_936, 32_768).kv(32).head(128),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    window: Window::FromIfUsed,
    ..Kind::PLAIN
};

const GEMMA: Kind = Kind {
    names: &["gemma"],
    class: "Gemma",
    family: Family::Gemma,
    sizes: Sizes::of([3072, 24_576], 28, 16, 256_000, 8192).kv(16).head(256),
    act: HiddenAct::Gelu,
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    ..Kind::PLAIN
};

const GEMMA2: Kind = Kind {
    names: &["gemma2"],
    class: "Gemma2",
    family: Family::Gemma2,
    sizes: Sizes::of([2304, 9216], 26, 8, 256_000, 8192).kv(4).head(256),
    norms: Norms::Are(4),
    window: Window::AllButEvery { period: 2, window: 4096 },
    attention_cap: Flag::Number("attn_logit_softcapping", true),
    logit_cap: Flag::Number("final_logit_softcapping", true),
    ..GEMMA
};

const MIXTRAL: Kind = Kind {
    names: &["mixtral"],
    class: "Mixtral",
    family: Family::Mixtral,
    window: Window::All(0),
    experts: Some(Experts::of(8, 2)),
    ..MISTRAL
};

const QWEN3_MOE: Kind = Kind {
    names: &["qwen3_moe", "qwen3_vl_moe_text", "qwen3_vl_moe"],
    class: "Qwen3Moe",
    family: Family::Qwen3Moe,
    sizes: Sizes::of([2048, 6144], 24, 32, 151_936, 32_768).kv(4),
    window: Window::AllIfUsed,
    experts: Some(Experts {
        width: 768,
        chosen_by: BY_STEP,
        norm_topk: Flag::Key("norm_topk_prob", false),
        ..Experts::of(128, 8)
    }),
    ..QWEN3
};

const DEEPSEEK_V3: Kind = Kind {
    names: &["deepseek_v3", "kimi_k2"],
    class: "DeepseekV3",
    family: Family::DeepseekV3,
    sizes: Sizes::of([7168, 18_432], 61, 128, 129_280, 4096),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    experts: Some(Experts {
        width: 2048,
        shared: 1,
        first_dense: 3,
        chosen_by: FROM_FIRST,
        groups: [8, 4],
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(256, 8)
    }),
    latent: Some(Latent { query_rank: 1536, rank: 512, rope: 64, nope: 128, value: 128 }),
    ..Kind::PLAIN
};

const GPT2: Kind = Kind {
    names: &["gpt2", "gpt-sw3"],
    class: "GPT2",
    family: Family::Gpt2,
    sizes: Sizes::of([768, 0], 12, 12, 50_257, 1024),
    act: HiddenAct::GeluNew,
    positions: LEARNED,
    tied: true,
    ..Kind::CLASSIC
};

const PHI: Kind = Kind {
    names: &["phi"],
    class: "Phi",
    family: Family::Phi,
    sizes: Sizes::of([2048, 8192], 24, 32, 51_200, 2048),
    act: HiddenAct::GeluNew,
    rotary_percent: 50,
    qk_norm: Flag::Key("qk_layernorm", false),
    parallel: Flag::Is(true),
    norms: Norms::Are(1),
    head_bias: Flag::Is(true),
    ..Kind::CLASSIC
};

const COHERE: Kind = Kind {
    names: &["cohere"],
    class: "Cohere",
    family: Family::Cohere,
    // Its layer norms have a scale and no bias: counted as RMS norms, which have the same one vector.
    sizes: Sizes::of([8192, 22_528], 40, 64, 256_000, 8192),
    tied: true,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Key("use_qk_norm", false),
    parallel: Flag::Is(true),
    norms: Norms::Are(1),
    ..Kind::PLAIN
};

const OLMO2: Kind = Kind {
    names: &["olmo2"],
    class: "Olmo2",
    family: Family::Olmo2,
    sizes: Sizes::of([4096, 11_008], 32, 32, 50_304, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    ..Kind::PLAIN
};

const GRANITE: Kind = Kind { names: &["granite"], class: "Granite", family: Family::Granite, ..LLAMA };

const GLM4: Kind = Kind {
    names: &["glm4"],
    class: "Glm4",
    family: Family::Glm4,
    sizes: Sizes::of([4096, 13_696], 40, 32, 151_552, 131_072).kv(2).head(128),
    rotary_percent: 50,
    attention_bias: Flag::Key("attention_bias", true),
    norms: Norms::Are(4),
    ..Kind::PLAIN
};

const GLM4_MOE: Kind = Kind {
    names: &["glm4_moe"],
    class: "Glm4Moe",
    family: Family::Generic,
    sizes: Sizes::of([4096, 10_944], 46, 96, 151_552, 131_072).kv(8),
    attention_bias: ATTENTION_BIAS,
    qk_norm: Flag::Key("use_qk_norm", false),
    norms: Norms::Are(2),
    experts: Some(Experts {
        width: 1408,
        shared: 1,
        first_dense: 1,
        chosen_by: FROM_FIRST,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(128, 8)
    }),
    ..GLM4
};

/// GPT-J and CodeGen: side by side with one norm, biases on the feed-forward layer and the head only.
const GPTJ: Kind = Kind {
    names: &["gptj"],
    class: "GPTJ",
    sizes: Sizes::of([4096, 0], 28, 16, 50_400, 2048),
    act: HiddenAct::GeluNew,
    attention_bias: Flag::Is(false),
    output_bias: Flag::Is(false),
    parallel: Flag::Is(true),
    norms: Norms::Are(1),
    head_bias: Flag::Is(true),
    ..Kind::CLASSIC
};

const QWEN3_NEXT: Kind = Kind {
    names: &["qwen3_next"],
    class: "Qwen3Next",
    family: Family::Generic,
    sizes: Sizes::of([2048, 5632], 48, 16, 151_936, 32_768).kv(2).head(256),
    rotary_percent: 25,
    window: Window::None,
    experts: Some(Experts {
        width: 512,
        shared_width: 512,
        shared_gate: true,
        chosen_by: BY_STEP,
        norm_topk: Flag::Key("norm_topk_prob", true),
        ..Experts::of(512, 10)
    }),
    states: Some(States {
        gate: true,
        prefix: "linear_",
        ..States::of(MixerKind::Qwen3Next, Attends::Every(4), [32, 128, 16, 128, 4])
    }),
    ..QWEN3
};

/// Mamba alone: no attention and no feed-forward layer, so that heads and inner width mean nothing.
const MAMBA: Kind = Kind {
    names: &["mamba", "falcon_mamba"],
    class: "Mamba",
    sizes: Sizes::of([768, 1], 32, 1, 50_280, 4096),
    tied: true,
    states: Some(States::of(MixerKind::Mamba, Attends::Never, [0, 0, 0, 16, 4])),
    ..Kind::PLAIN
};

const BAMBA: Kind = Kind {
    names: &["bamba"],
    class: "Bamba",
    sizes: Sizes::of([4096, 14_336], 32, 32, 128_000, 262_144).kv(8),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    states: Some(States {
        prefix: "mamba_",
        ..States::of(MixerKind::Mamba2, Attends::Listed { otherwise: false }, [128, 0, 1, 256, 4])
    }),
    ..Kind::PLAIN
};

/// Its layers that see the whole text have wider heads; experts stand beside the dense layer.
const GEMMA4: Kind = Kind {
    names: &["gemma4_text", "gemma4"],
    class: "Gemma4",
    family: Family::Generic,
    sizes: Sizes::of([2304, 9216], 30, 8, 262_144, 131_072).kv(4).head(256),
    norms: Norms::Are(4),
    qk_norm: Flag::Is(true),
    window: Window::AllButEveryAndLast { period: 6, window: 512 },
    attention_cap: Flag::Is(false),
    logit_cap: Flag::Number("final_logit_softcapping", false),
    experts: Some(Experts { only_if: Some("enable_moe_block"), width_is_inner: false, beside_dense: true, ..Experts::of(0, 0) }),
    heads: Some(Heads::GlobalOfGemma4),
    ..GEMMA
};

const HUNYUAN: Kind = Kind {
    names: &["hunyuan_v1_dense"],
    class: "HunYuanDenseV1",
    sizes: Sizes::of([4096, 11_008], 32, 32, 290_943, 2048),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    qk_norm: Flag::Is(true),
    ..Kind::PLAIN
};

/// Every kind; those of [`Family::Generic`] have no modules of their own here.
pub(super) static KINDS: [Kind; 75] = [
    LLAMA,
    MISTRAL,
    QWEN2,
    QWEN3,
    GEMMA,
    GEMMA2,
    Kind {
        names: &["gemma3_text", "gemma3"],
        class: "Gemma3",
        family: Family::Gemma3,
        sizes: Sizes::of([2304, 9216], 26, 8, 262_208, 131_072).kv(4).head(256),
        qk_norm: Flag::Is(true),
        window: Window::AllButEvery { period: 6, window: 4096 },
        attention_cap: Flag::Number("attn_logit_softcapping", false),
        logit_cap: Flag::Number("final_logit_softcapping", false),
        ..GEMMA2
    },
    GPT2,
    Kind {
        names: &["gpt_neox"],
        class: "GPTNeoX",
        family: Family::GptNeox,
        sizes: Sizes::of([6144, 24_576], 44, 64, 50_432, 2048),
        rotary_percent: 25,
        attention_bias: Flag::Key("attention_bias", true),
        output_bias: Flag::Key("attention_bias", true),
        parallel: Flag::Key("use_parallel_residual", true),
        ..Kind::CLASSIC
    },
    Kind {
        names: &["opt"],
        class: "OPT",
        family: Family::Opt,
        sizes: Sizes::of([768, 3072], 12, 12, 50_272, 2048),
        act: HiddenAct::Relu,
        positions: Positions::LearnedPlus(2),
        tied: true,
        attention_bias: Flag::Key("enable_bias", true),
        output_bias: Flag::Key("enable_bias", true),
        mlp_bias: Flag::Key("enable_bias", true),
        ..Kind::CLASSIC
    },
    Kind {
        names: &["bloom"],
        class: "Bloom",
        family: Family::Bloom,
        sizes: Sizes::of([64, 0], 2, 8, 250_880, 2048),
        positions: Positions::Are(PositionEmbedding::Alibi),
        tied: true,
        embedding_norm: true,
        ..Kind::CLASSIC
    },
    Kind {
        names: &["falcon", "RefinedWeb", "RefinedWebModel", "RW"],
        class: "Falcon",
        family: Family::Falcon,
        sizes: Sizes::of([4544, 0], 32, 71, 65_024, 2048),
        positions: Positions::AlibiOrRotary,
        tied: true,
        attention_bias: Flag::Key("bias", false),
        output_bias: Flag::Key("bias", false),
        mlp_bias: Flag::Key("bias", false),
        parallel: Flag::Key("parallel_attn", true),
        norms: Norms::Falcon,
        ..Kind::CLASSIC
    },
    PHI,
    Kind {
        names: &["phi3"],
        class: "Phi3",
        family: Family::Phi3,
        sizes: Sizes::of([3072, 8192], 32, 32, 32_064, 4096),
        window: Window::All(0),
        ..Kind::PLAIN
    },
    MIXTRAL,
    QWEN3_MOE,
    Kind {
        names: &["deepseek_v2"],
        class: "DeepseekV2",
        family: Family::DeepseekV2,
        sizes: Sizes::of([4096, 11_008], 32, 32, 102_400, 2048),
        experts: Some(Experts {
            width: 1407,
            shared: 2,
            chosen_by: FROM_FIRST,
            norm_topk: Flag::Key("norm_topk_prob", false),
            ..Experts::of(64, 0)
        }),
        ..DEEPSEEK_V3
    },
    DEEPSEEK_V3,
    // As the third version, with an indexer that is named as not counted.
    Kind { names: &["deepseek_v32"], class: "DeepseekV32", family: Family::Generic, never_counted: INDEXER, ..DEEPSEEK_V3 },
    Kind {
        names: &["glm_moe_dsa"],
        class: "GlmMoeDsa",
        family: Family::Generic,
        sizes: Sizes::of([6144, 12_288], 78, 64, 154_880, 202_752),
        experts: Some(Experts {
            width: 2048,
            shared: 1,
            first_dense: 3,
            chosen_by: FROM_FIRST,
            norm_topk: Flag::Key("norm_topk_prob", true),
            ..Experts::of(256, 8)
        }),
        latent: Some(Latent { query_rank: 2048, rank: 512, rope: 64, nope: 192, value: 256 }),
        never_counted: INDEXER,
        ..DEEPSEEK_V3
    },
    Kind {
        names: &["gpt_oss"],
        class: "GptOss",
        family: Family::GptOss,
        sizes: Sizes::of([2880, 2880], 36, 64, 201_088, 131_072).kv(8).head(64),
        attention_bias: Flag::Key("attention_bias", true),
        output_bias: Flag::Key("attention_bias", true),
        window: Window::AllButEvery { period: 2, window: 128 },
        experts: Some(Experts { norm_topk: Flag::Is(false), bias: true, ..Experts::of(128, 4) }),
        sinks: true,
        ..Kind::PLAIN
    },
    OLMO2,
    COHERE,
    Kind {
        names: &["starcoder2"],
        class: "Starcoder2",
        family: Family::Starcoder2,
        sizes: Sizes::of([3072, 12_288], 30, 24, 49_152, 4096).kv(2),
        tied: true,
        attention_bias: Flag::Key("use_bias", true),
        output_bias: Flag::Key("use_bias", true),
        mlp_bias: Flag::Key("use_bias", true),
        window: Window::All(0),
        ..Kind::CLASSIC
    },
    Kind {
        names: &["stablelm"],
        class: "StableLm",
        family: Family::Stablelm,
        sizes: Sizes::of([2560, 6912], 32, 32, 50_304, 4096).kv(32),
        normalization: Normalization::LayerNorm,
        rotary_percent: 25,
        attention_bias: Flag::Key("use_qkv_bias", false),
        qk_norm: Flag::Key("qk_layernorm", false),
        parallel: Flag::Key("use_parallel_residual", false),
        norms: Norms::OneIfParallel,
        ..Kind::PLAIN
    },
    GRANITE,
    GLM4,
    // Kinds without modules of their own here: their shape is known, the software that runs them is assumed.
    Kind {
        names: &["mpt"],
        class: "Mpt",
        sizes: Sizes::of([2048, 0], 24, 16, 50_368, 2048),
        normalization: Normalization::RmsNorm,
        positions: Positions::Mpt,
        tied: true,
        attention_bias: Flag::Is(false),
        output_bias: Flag::Is(false),
        mlp_bias: Flag::Is(false),
        ..Kind::CLASSIC
    },
    GPTJ,
    Kind { names: &["codegen"], class: "CodeGen", ..GPTJ },
    Kind {
        names: &["gpt_neo"],
        class: "GPTNeo",
        sizes: Sizes::of([2048, 0], 24, 16, 50_257, 2048),
        family: Family::Generic,
        attention_bias: Flag::Is(false),
        ..GPT2
    },
    Kind {
        names: &["gpt_bigcode"],
        class: "GPTBigCode",
        family: Family::Generic,
        sizes: Sizes::of([768, 0], 12, 12, 50_257, 1024).kv(1),
        act: HiddenAct::Gelu,
        ..GPT2
    },
    Kind {
        names: &["qwen2_moe"],
        class: "Qwen2Moe",
        attention_bias: Flag::Key("qkv_bias", true),
        family: Family::Generic,
        sizes: Sizes::of([2048, 5632], 24, 16, 151_936, 32_768).kv(16),
        experts: Some(Experts {
            width: 1408,
            shared_width: 5632,
            shared_gate: true,
            chosen_by: BY_STEP,
            norm_topk: Flag::Key("norm_topk_prob", false),
            ..Experts::of(60, 4)
        }),
        ..QWEN2
    },
    Kind {
        names: &["phimoe"],
        class: "PhiMoE",
        sizes: Sizes::of([4096, 6400], 32, 32, 32_064, 131_072).kv(8),
        normalization: Normalization::LayerNorm,
        attention_bias: ATTENTION_BIAS,
        output_bias: ATTENTION_BIAS,
        window: Window::All(0),
        // `sparsemixer` picks a first and a second expert.
        experts: Some(Experts { always: true, ..Experts::of(16, 2) }),
        head_bias: Flag::Key("lm_head_bias", false),
        ..Kind::PLAIN
    },
    Kind {
        names: &["granitemoe"],
        class: "GraniteMoe",
        family: Family::Generic,
        mlp_bias: Flag::Is(false),
        experts: Some(Experts::of(8, 2)),
        ..GRANITE
    },
    Kind {
        names: &["olmo"],
        class: "Olmo",
        family: Family::Generic,
        qk_norm: Flag::Is(false),
        // Its layer norms have no parameters.
        norms: Norms::Are(0),
        final_norm: false,
        ..OLMO2
    },
    Kind { names: &["olmo3"], class: "Olmo3", window: Window::AllButEvery { period: 4, window: 4096 }, ..OLMO2 },
    Kind {
        names: &["cohere2"],
        class: "Cohere2",

        sizes: Sizes::of([8192, 22_528], 40, 64, 256_000, 8192),
        window: Window::AllButEvery { period: 4, window: 4096 },
        ..COHERE
    },
    Kind { names: &["glm"], class: "Glm", family: Family::Generic, norms: Norms::Are(2), ..GLM4 },
    GLM4_MOE,
    Kind {
        names: &["smollm3"],
        class: "SmolLM3",

        sizes: Sizes::of([2048, 11_008], 36, 16, 128_256, 32_768).kv(4),
        tied: true,
        window: Window::FromIfUsed,
        ..LLAMA
    },
    // Layers with heads of another shape: served here, not trained.
    GEMMA4,
    Kind {
        names: &["gemma4_unified_text", "gemma4_unified"],
        class: "Gemma4Unified",
        sizes: Sizes::of([2304, 9216], 30, 8, 262_144, 262_144).kv(4).head(256),
        window: Window::AllButEveryAndLast { period: 6, window: 1024 },
        experts: None,
        ..GEMMA4
    },
    Kind {
        names: &["mimo_v2_flash"],
        class: "MiMoV2Flash",
        sizes: Sizes::of([4096, 16_384], 48, 64, 152_576, 131_072).kv(4).head(192),
        attention_bias: ATTENTION_BIAS,
        window: Window::AllButFirstAndEvery { period: 6, window: 129 },
        experts: Some(Experts {
            width: 2048,
            first_dense: 1,
            chosen_by: FROM_FIRST,
            norm_topk: Flag::Key("norm_topk_prob", true),
            ..Experts::of(256, 8)
        }),
        heads: Some(Heads::SlidingOfMimoV2),
        ..Kind::PLAIN
    },
    Kind { names: &["ministral"], class: "Ministral", window: Window::Listed(4096), ..MISTRAL },
    Kind {
        names: &["ministral3"],
        class: "Ministral3",
        sizes: Sizes::of([4096, 14_336], 34, 32, 131_072, 262_144).kv(8).head(128),
        window: Window::Listed(0),
        ..MISTRAL
    },
    Kind {
        names: &["nemotron"],
        class: "Nemotron",
        sizes: Sizes::of([6144, 24_576], 32, 48, 256_000, 4096),
        act: HiddenAct::Relu2,
        rotary_percent: 50,
        attention_bias: ATTENTION_BIAS,
        output_bias: ATTENTION_BIAS,
        mlp_bias: Flag::Key("mlp_bias", false),
        ..Kind::CLASSIC
    },
    Kind {
        names: &["seed_oss"],
        class: "SeedOss",

        sizes: Sizes::of([4096, 27_648], 64, 80, 155_136, 524_288).kv(8).head(128),
        attention_bias: Flag::Key("attention_bias", true),
        output_bias: Flag::Key("attention_out_bias", false),
        ..LLAMA
    },
    Kind {
        names: &["arcee"],
        class: "Arcee",
        family: Family::Generic,
        sizes: Sizes::of([2560, 18_432], 32, 32, 32_000, 4096),
        mlp: MlpKind::Plain,
        act: HiddenAct::Relu2,
        ..LLAMA
    },
    Kind {
        names: &["helium"],
        class: "Helium",

        sizes: Sizes::of([2560, 7040], 24, 20, 48_000, 4096).kv(20).head(128),
        output_bias: Flag::Is(false),
        ..LLAMA
    },
    Kind {
        names: &["ernie4_5"],
        class: "Ernie4_5",
        sizes: Sizes::of([1024, 3072], 18, 16, 103_424, 131_072).kv(2).head(128),
        tied: true,
        attention_bias: Flag::Key("use_bias", false),
        output_bias: Flag::Key("use_bias", false),
        mlp_bias: Flag::Key("use_bias", false),
        ..Kind::PLAIN
    },
    Kind {
        names: &["exaone4"],
        class: "Exaone4",
        sizes: Sizes::of([4096, 16_384], 32, 32, 102_400, 2048).kv(32),
        qk_norm: Flag::Is(true),
        window: Window::AllButEvery { period: 4, window: 4096 },
        ..Kind::PLAIN
    },
    Kind {
        names: &["llama4_text", "llama4"],
        class: "Llama4",
        sizes: Sizes::of([5120, 8192], 48, 40, 202_048, 131_072).kv(8).head(128),
        attention_bias: ATTENTION_BIAS,
        output_bias: ATTENTION_BIAS,
        experts: Some(Experts { shared: 1, chosen_by: &["interleave_moe_layer_step"], ..Experts::of(16, 1) }),
        dense_inner: Some(("intermediate_size_mlp", 16_384)),
        chunks: true,
        ..Kind::PLAIN
    },
    Kind {
        names: &["persimmon"],
        class: "Persimmon",
        sizes: Sizes::of([4096, 16_384], 36, 64, 262_144, 16_384),
        act: HiddenAct::Relu2,
        rotary_percent: 50,
        qk_norm: Flag::Key("qk_layernorm", true),
        ..Kind::CLASSIC
    },
    Kind {
        names: &["olmoe"],
        class: "Olmoe",
        // Its norms of queries and keys span all heads, here each head: a few thousand parameters fewer.
        sizes: Sizes::of([2048, 2048], 16, 16, 50_304, 4096),
        attention_bias: ATTENTION_BIAS,
        output_bias: ATTENTION_BIAS,
        qk_norm: Flag::Is(true),
        experts: Some(Experts { norm_topk: Flag::Key("norm_topk_prob", false), ..Experts::of(64, 8) }),
        ..Kind::PLAIN
    },
    Kind {
        names: &["minimax_m2"],
        class: "MiniMaxM2",
        // As above.
        sizes: Sizes::of([3072, 1536], 62, 48, 200_064, 196_608).kv(8).head(128),
        qk_norm: Flag::Is(true),
        experts: Some(Experts::of(256, 8)),
        ..Kind::PLAIN
    },
    Kind {
        names: &["solar_open"],
        class: "SolarOpen",
        sizes: Sizes::of([4096, 10_240], 48, 64, 196_608, 131_072).kv(8).head(128),
        attention_bias: ATTENTION_BIAS,
        experts: Some(Experts { width: 1280, shared: 1, norm_topk: Flag::Key("norm_topk_prob", true), ..Experts::of(128, 8) }),
        ..Kind::PLAIN
    },
    HUNYUAN,
    Kind {
        names: &["hunyuan_v1_moe"],
        class: "HunYuanMoEV1",
        experts: Some(Experts { shared: 1, ..Experts::of(1, 1) }),
        ..HUNYUAN
    },
    Kind {
        names: &["granitemoeshared"],
        class: "GraniteMoeShared",
        family: Family::Generic,
        mlp_bias: Flag::Is(false),
        output_bias: ATTENTION_BIAS,
        experts: Some(Experts { may_share: true, ..Experts::of(8, 2) }),
        ..GRANITE
    },
    Kind {
        names: &["glm4v", "glm4v_text"],
        class: "Glm4v",
        family: Family::Generic,
        sizes: Sizes::of([4096, 13_696], 40, 32, 151_552, 32_768).kv(2),
        attention_bias: Flag::Is(true),
        ..GLM4
    },
    Kind {
        names: &["glm4v_moe", "glm4v_moe_text"],
        class: "Glm4vMoe",
        sizes: Sizes::of([4096, 10_944], 46, 96, 151_424, 65_536).kv(8),
        attention_bias: Flag::Key("attention_bias", true),
        qk_norm: Flag::Is(false),
        ..GLM4_MOE
    },
    // Kinds with layers that keep a state: served here, not trained.
    QWEN3_NEXT,
    Kind {
        names: &["qwen3_5_text", "qwen3_5"],
        class: "Qwen3_5",
        sizes: Sizes::of([4096, 12_288], 32, 16, 248_320, 32_768).kv(4).head(256),
        experts: None,
        ..QWEN3_NEXT
    },
    Kind {
        names: &["qwen3_5_moe_text", "qwen3_5_moe"],
        class: "Qwen3_5Moe",
        sizes: Sizes::of([2048, 0], 40, 16, 248_320, 32_768).kv(2).head(256),
        experts: Some(Experts {
            width: 512,
            shared_width: 512,
            shared_gate: true,
            norm_topk: Flag::Key("norm_topk_prob", true),
            ..Experts::of(256, 8)
        }),
        ..QWEN3_NEXT
    },
    Kind {
        names: &["kimi_linear"],
        class: "KimiLinear",
        family: Family::Generic,
        sizes: Sizes::of([2304, 9216], 27, 32, 163_840, 1_048_576),
        experts: Some(Experts {
            width: 1024,
            shared: 1,
            first_dense: 1,
            chosen_by: FROM_FIRST,
            groups: [1, 1],
            ..Experts::of(256, 8)
        }),
        latent: Some(Latent { query_rank: 0, rank: 512, rope: 64, nope: 128, value: 128 }),
        states: Some(States {
            fp32: true,
            prefix: "linear_",
            ..States::of(MixerKind::KimiLinear, Attends::Every(4), [32, 128, 32, 128, 4])
        }),
        ..DEEPSEEK_V3
    },
    Kind {
        names: &["minimax", "minimax_text_01", "minimax_m1"],
        class: "MiniMax",
        sizes: Sizes::of([4096, 14_336], 32, 32, 32_000, 131_072).kv(8),
        experts: Some(Experts::of(8, 2)),
        states: Some(States::of(MixerKind::Minimax, Attends::Alternate, [0; 5])),
        ..Kind::PLAIN
    },
    MAMBA,
    Kind {
        names: &["mamba2"],
        class: "Mamba2",
        sizes: Sizes::of([4096, 1], 64, 128, 32_768, 4096).head(64),
        tied: false,
        states: Some(States::of(MixerKind::Mamba2, Attends::Never, [128, 64, 8, 128, 4])),
        ..MAMBA
    },
    Kind {
        names: &["jamba"],
        class: "Jamba",
        sizes: Sizes::of([4096, 14_336], 32, 32, 65_536, 262_144).kv(8),
        experts: Some(Experts { dense_if_one: true, norm_topk: Flag::Is(false), ..Experts::of(16, 2) }),
        states: Some(States { prefix: "mamba_", ..States::of(MixerKind::Jamba, Attends::Period, [0, 0, 0, 16, 4]) }),
        ..Kind::PLAIN
    },
    BAMBA,
    Kind {
        names: &["falcon_h1"],
        class: "FalconH1",
        sizes: Sizes::of([4096, 14_336], 32, 32, 128_000, 8192).kv(8),
        states: Some(States { prefix: "mamba_", ..States::of(MixerKind::FalconH1, Attends::Beside, [128, 0, 1, 256, 4]) }),
        ..BAMBA
    },
    Kind {
        names: &["granitemoehybrid"],
        class: "GraniteMoeHybrid",
        sizes: Sizes::of([4096, 11_008], 32, 32, 32_000, 2048).kv(32),
        mlp_bias: Flag::Is(false),
        experts: Some(Experts { shared_width: 1024, ..Experts::of(8, 2) }),
        ..BAMBA
    },
    Kind {
        names: &["nemotron_h"],
        class: "NemotronH",
        sizes: Sizes::of([4096, 21_504], 52, 32, 131_072, 4096).kv(8).head(128),
        mlp: MlpKind::Plain,
        act: HiddenAct::Relu2,
        experts: Some(Experts { width: 7688, shared: 1, norm_topk: Flag::Key("norm_topk_prob", true), ..Experts::of(8, 2) }),
        states: Some(States { fp32: true, ..States::of(MixerKind::Mamba2, Attends::MustBeListed, [128, 64, 8, 128, 4]) }),
        ..BAMBA
    },
    Kind {
        names: &["lfm2"],
        class: "Lfm2",
        sizes: Sizes::of([2560, 12_288], 32, 32, 65_536, 128_000).kv(8),
        tied: true,
        qk_norm: Flag::Is(true),
        states: Some(States::of(MixerKind::Lfm2, Attends::Listed { otherwise: true }, [0, 0, 0, 0, 3])),
        ..Kind::PLAIN
    },
];
