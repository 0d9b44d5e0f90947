//! Kinds with code of their own on the Hugging Face hub, and kinds whose parameters alone are
//! counted.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::support;

use headroom::config::{AttentionKernel, Loss, ParallelLayout};
use headroom::estimator::estimate;
use headroom::import::config_json;
use headroom::ops::parameters_of;
use headroom::scenario::codec::{decode, encode};
use headroom::scenario::{FieldId, Mode, Scenario, Value};

/// Files from the hub with their numbers of parameters, stated by a source
/// (`shared/data/configs/index.jsonl`) or computed from the layers.
const COUNTED: [(&str, u64); 6] = [
    (
        r#"{"model_type":"internlm2","bias":false,"hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,
            "num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":92544}"#,
        7_737_708_544,
    ),
    (
        r#"{"model_type":"deepseek","hidden_size":2048,"intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":64,
            "n_shared_experts":2,"num_attention_heads":16,"num_experts_per_tok":6,"num_hidden_layers":28,"num_key_value_heads":16,
            "first_k_dense_replace":1,"vocab_size":102400}"#,
        16_375_728_128,
    ),
    (
        r#"{"model_type":"phi-msft","n_embd":2048,"n_head":32,"n_layer":24,"rotary_dim":32,"vocab_size":51200}"#,
        1_418_270_720,
    ),
    (
        r#"{"model_type":"qwen","hidden_size":4096,"intermediate_size":22016,"kv_channels":128,"num_attention_heads":32,
            "num_hidden_layers":32,"vocab_size":151936}"#,
        7_721_324_544,
    ),
    (
        r#"{"model_type":"chatglm","add_qkv_bias":true,"ffn_hidden_size":13696,"hidden_size":4096,"kv_channels":128,
            "multi_query_attention":true,"multi_query_group_num":2,"num_attention_heads":32,"num_layers":28,"padded_vocab_size":65024}"#,
        6_243_584_000,
    ),
    // This file has ordinary attention, although its kind has latent attention by default.
    (
        r#"{"model_type":"deepseek_v2","use_mla":false,"first_k_dense_replace":1,"hidden_size":1280,"intermediate_size":6848,
            "moe_intermediate_size":896,"n_routed_experts":64,"n_shared_experts":2,"num_attention_heads":10,"num_experts_per_tok":6,
            "num_hidden_layers":12,"num_key_value_heads":10,"qk_nope_head_dim":0,"qk_rope_head_dim":0,"v_head_dim":0,
            "topk_method":"greedy","vocab_size":129280}"#,
        2_934_734_080,
    ),
];

/// Files with stated counts: `print_trainable_parameters`' for ChatGLM-6B, and the checkpoints' for
/// RWKV-6 1.6B, LLaDA 8B and Ling-mini 2.0. The last includes 4,864 corrections of experts' scores.
const STATED: [(&str, u64); 4] = [
    (include_str!("../../data/configs/corpus/THUDM__chatglm-6b.json"), 6_255_206_400),
    (include_str!("../../data/configs/corpus/RWKV__rwkv-6-world-1b6.json"), 1_599_873_024),
    (
        r#"{"model_type":"llada","d_model":4096,"n_layers":32,"n_heads":32,"n_kv_heads":32,"mlp_hidden_size":12288,"block_type":"llama",
            "embedding_size":126464,"vocab_size":126464,"weight_tying":false,"max_sequence_length":4096}"#,
        8_015_581_184,
    ),
    (
        r#"{"model_type":"bailing_moe_v2","hidden_size":2048,"intermediate_size":5120,"moe_intermediate_size":512,"num_experts":256,
            "num_experts_per_tok":8,"num_shared_experts":1,"first_k_dense_replace":1,"num_hidden_layers":20,"num_attention_heads":16,
            "num_key_value_heads":4,"head_dim":128,"vocab_size":157184,"use_qkv_bias":false,"use_bias":false}"#,
        16_255_643_392 - 4_864,
    ),
];

/// Files whose parameters alone are counted, because they have keys that no input holds, or because
/// a key shows another kind than their name.
const OF_FILES: [&str; 9] = [
    include_str!("../../data/configs/corpus/IEITYuan__Yuan2-2B-hf__v2.json"),
    include_str!("../../data/configs/corpus/jet-ai__Jet-Nemotron-4B.json"),
    include_str!("../../data/configs/corpus/moonshotai__Kimi-K3.json"),
    include_str!("../../data/configs/corpus/NaiveAI-Labs__Naive-N0.5-Flash.json"),
    include_str!("../../data/configs/corpus/stepfun-ai__step3__v2.json"),
    include_str!("../../data/configs/corpus/openbmb__MiniCPM-MoE-8x2B.json"),
    include_str!("../../data/configs/corpus/openbmb__MiniCPM-V-2_6.json"),
    include_str!("../../data/configs/corpus/LiquidAI__LFM2.5-Encoder-230M.json"),
    include_str!("../../data/configs/corpus/togethercomputer__evo-1-131k-base.json"),
];

#[test]
fn kinds_with_code_of_their_own_are_counted() {
    for (text, parameters) in COUNTED.into_iter().chain(STATED) {
        let read = config_json(text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
        assert_eq!(parameters_of(&read.config), parameters, "{text}");
    }
}

/// A list of layers with experts replaces a period, and a key tells two kinds with one name apart.
#[test]
fn lists_of_layers_and_keys_of_kinds_count() {
    let llama4 = |more: &str| {
        let text = format!(
            r#"{{"model_type":"llama4_text","hidden_size":64,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,
                "num_hidden_layers":4,"intermediate_size":32,"intermediate_size_mlp":48,"num_local_experts":4,"vocab_size":128{more}}}"#
        );
        config_json(&text)
            .expect("a known kind")
            .config
            .moe
            .map(|moe| (0..4).map(|layer| moe.layers.contains(layer)).collect::<Vec<_>>())
    };
    assert_eq!(llama4(r#","interleave_moe_layer_step":2"#), Some(vec![false, true, false, true]));
    assert_eq!(
        llama4(r#","interleave_moe_layer_step":2,"moe_layers":[0,3]"#),
        Some(vec![true, false, false, true])
    );
    let baichuan = |hidden: u64| {
        let text = format!(
            r#"{{"model_type":"baichuan","hidden_size":{hidden},"num_attention_heads":32,"vocab_size":64000}}"#
        );
        config_json(&text).expect("a known kind").model_type
    };
    assert_eq!((baichuan(4096).as_str(), baichuan(5120).as_str()), ("baichuan", "baichuan-13b"));
}

/// Links carry all of these files' settings, such as an inner width stated for gate and up
/// together, and biases under other keys.
#[test]
fn they_survive_in_links() {
    let texts = COUNTED.into_iter().chain(STATED).map(|(text, _)| text).chain(OF_FILES);
    for text in texts {
        let mut scenario = Scenario::default();
        let read = config_json(text).expect("a known kind");
        scenario.apply_imported(&read);
        let link = encode(&scenario);
        assert_eq!(decode(&link).scenario.model_config(), read.config, "{link}");
    }
}

/// The file of DeepSeek-V4-Flash. The number of parameters of a layer depends on the rate at which
/// it compresses keys.
const V4: &str = r#"{"model_type":"deepseek_v4","hc_mult":4,"head_dim":512,"hidden_size":4096,"index_head_dim":128,
    "index_n_heads":64,"moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,"num_attention_heads":64,
    "num_experts_per_tok":6,"num_hidden_layers":6,"o_groups":8,"o_lora_rank":1024,"q_lora_rank":1024,"vocab_size":129280,
    "compress_ratios":[0,0,4,128,4,128,4]}"#;

#[test]
fn compressed_keys_travel_in_links_and_are_trained() {
    let read = config_json(V4).expect("a known kind");
    let as_words = V4.replace(
        r#""compress_ratios":[0,0,4,128,4,128,4]"#,
        r#""layer_types":["sliding_attention","sliding_attention","compressed_sparse_attention","heavily_compressed_attention",
            "compressed_sparse_attention","heavily_compressed_attention"]"#,
    );
    assert_eq!(
        parameters_of(&read.config),
        parameters_of(&config_json(&as_words).expect("a known kind").config)
    );
    assert_eq!(config_json(&as_words).expect("a known kind").config, read.config);
    // Links carry compression rates, the Sinkhorn iterations of the residual streams, and the
    // number of layers whose experts are chosen by a hash.
    let further = r#""compress_rates":{"compressed_sparse_attention":8,"heavily_compressed_attention":64},"hc_sinkhorn_iters":5,"num_hash_layers":1,"compress_ratios""#;
    let read = config_json(&V4.replace(r#""compress_ratios""#, further)).expect("a known kind");
    let sizes = read.config.compressed.as_ref().expect("compressed keys");
    assert_eq!(
        (sizes.rates, sizes.hc_sinkhorn_iters, sizes.layer(0).hashed, sizes.layer(1).hashed),
        ([8, 64], 5, true, false)
    );
    let mut scenario = Scenario::default();
    scenario.apply_imported(&read);
    let link = encode(&scenario);
    assert_eq!(decode(&link).scenario.model_config(), read.config, "{link}");
    // Flash kernels take no masks, so the model is trained with standard attention only.
    for (attention, trains) in [(AttentionKernel::Flash, false), (AttentionKernel::Standard, true)]
    {
        let job = support::training_job(&read.config, ParallelLayout::SINGLE, |run| {
            (run.loss, run.attention) = (Loss::OfStack, attention);
        });
        assert_eq!(estimate(&job).blockers.is_empty(), trains);
    }
}

#[test]
fn what_is_counted_alone_is_not_trained_and_served_where_its_cache_is_told() {
    let read =
        config_json(r#"{"model_type":"longcat_flash","hidden_size":6144}"#).expect("a known kind");
    let job =
        support::training_job(&read.config, ParallelLayout::SINGLE, |run| run.loss = Loss::OfStack);
    assert!(
        estimate(&job).blockers.iter().any(|blocker| blocker.to_string().contains("counted alone"))
    );
    let mut scenario = Scenario::default();
    scenario.apply_imported(&read);
    let link = encode(&scenario);
    assert_eq!(decode(&link).scenario.model_config(), read.config, "{link}");
    // Serving works, because the family describes its cache.
    scenario.set(FieldId::Mode, Value::choice(Mode::Serve));
    assert!(scenario.resolve().is_ok());
    // The cache of a model with code of its own is unknown, so serving is refused.
    scenario.apply_imported(
        &config_json(r#"{"model_type":"yuan","hidden_size":2048}"#).expect("a known kind"),
    );
    scenario.set(FieldId::Mode, Value::choice(Mode::Serve));
    let problems = scenario.resolve().expect_err("serving is not modelled");
    assert!(
        problems.iter().any(|problem| problem.message.contains("counted alone")),
        "{problems:?}"
    );
}

/// Gemma 4 E2B: every layer has an embedding of its own; the last layers share keys and are wider.
#[test]
fn small_models_of_gemma_4_are_trained() {
    let text = r#"{"model_type":"gemma4_text","hidden_size":1536,"intermediate_size":6144,"num_hidden_layers":35,"num_attention_heads":8,
        "num_key_value_heads":1,"head_dim":256,"global_head_dim":512,"num_kv_shared_layers":20,"use_double_wide_mlp":true,
        "hidden_size_per_layer_input":256,"vocab_size_per_layer_input":262144,"vocab_size":262144}"#;
    let read = config_json(text).expect("a known kind");
    assert_eq!(parameters_of(&read.config), support::parameters(&read.config));
    let mut scenario = Scenario::default();
    scenario.apply_imported(&read);
    assert!(scenario.resolve().is_ok(), "{:?}", scenario.resolve());
    let link = encode(&scenario);
    assert_eq!(decode(&link).scenario.model_config(), read.config, "{link}");
}
