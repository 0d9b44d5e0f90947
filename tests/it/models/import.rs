//! Reading a pasted `config.json`: exact architectures, honest reports, clear refusals, and no
//! panic.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::support;

use headroom::catalog::model;
use headroom::config::{GENERIC, LayerSet, MlpKind, Normalization, PositionEmbedding};
use headroom::import::{
    How, ImportError, Imported, ReportRow, config_json, config_json_as_generic,
};
use headroom::models::families;
use headroom::ops::parameters_of;
use proptest::prelude::*;
use support::parameters;

const LLAMA: &str = include_str!("../../data/configs/llama3-8b.json");

fn read(text: &str) -> Imported {
    config_json(text).unwrap_or_else(|problem| panic!("{problem}"))
}

fn refused(text: &str) -> String {
    config_json(text).expect_err("this must be refused").to_string()
}

fn row<'a>(imported: &'a Imported, key: &str) -> &'a ReportRow {
    imported
        .report
        .iter()
        .find(|row| row.key == key)
        .unwrap_or_else(|| panic!("{key} is not in the report"))
}

/// The Llama file with one key replaced or added.
fn llama_with(key: &str, value: &str) -> String {
    let mut file: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(LLAMA).expect("a JSON object");
    file.remove(key);
    let text = serde_json::to_string(&file).expect("JSON");
    format!("{{\"{key}\": {value}, {}", &text[1..])
}

#[test]
fn real_files_give_the_catalogs_architecture() {
    let files = [
        ("llama3-8b", LLAMA),
        ("qwen2.5-7b", include_str!("../../data/configs/qwen2.5-7b.json")),
        ("qwen3-8b", include_str!("../../data/configs/qwen3-8b.json")),
        ("mistral-7b", include_str!("../../data/configs/mistral-7b.json")),
        ("gpt2", include_str!("../../data/configs/gpt2.json")),
        ("opt-6.7b", include_str!("../../data/configs/opt-6.7b.json")),
        ("pythia-6.9b", include_str!("../../data/configs/pythia-6.9b.json")),
        ("bloom", include_str!("../../data/configs/bloom.json")),
        ("phi-4", include_str!("../../data/configs/phi-4.json")),
    ];
    for (id, text) in files {
        let known = &model(id).expect("in the catalog").config;
        assert_eq!(&read(text).config, known, "{id}");
    }
}

#[test]
fn real_files_give_the_published_counts() {
    let counts = [
        (include_str!("../../data/configs/mistral-7b.json"), 7_241_732_096),
        (include_str!("../../data/configs/gemma-2b.json"), 2_506_172_416),
        // MPT 7B as published on Hugging Face: no biases, ALiBi.
        (include_str!("../../data/configs/mpt-7b.json"), 6_649_286_656),
    ];
    for (text, count) in counts {
        assert_eq!(parameters(&read(text).config), count);
    }
}

#[test]
fn the_report_tells_how_each_value_came_about() {
    let gpt2 = read(include_str!("../../data/configs/gpt2.json"));
    assert_eq!(row(&gpt2, "hidden_size").how, How::Read);
    assert!(row(&gpt2, "hidden_size").note.contains("n_embd"));
    assert_eq!(
        (row(&gpt2, "intermediate_size").how, row(&gpt2, "intermediate_size").value.as_str()),
        (How::Derived, "3072")
    );
    assert_eq!(row(&gpt2, "tie_word_embeddings").how, How::Assumed);
    assert_eq!(row(&gpt2, "attn_pdrop").how, How::Read);
    assert_eq!(row(&gpt2, "layer_norm_epsilon").how, How::Ignored);
    let opt = read(include_str!("../../data/configs/opt-6.7b.json"));
    assert_eq!(opt.name.as_deref(), Some("opt-6.7b"));
    assert_eq!((opt.model_type.as_str(), opt.config.position_rows), ("opt", 2050));
}

#[test]
fn every_key_of_the_file_is_in_the_report() {
    let imported = read(LLAMA);
    let file: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(LLAMA).expect("a JSON object");
    for key in file.keys() {
        assert!(imported.report.iter().any(|row| &row.key == key), "{key}");
    }
    let dtype = row(&imported, "torch_dtype");
    assert!(dtype.how == How::Ignored && dtype.note.contains("Run"));
}

#[test]
fn missing_keys_are_derived_or_assumed() {
    let text = r#"{"model_type":"llama","hidden_size":512,"num_hidden_layers":2,"num_attention_heads":8,
        "intermediate_size":1024,"vocab_size":1000}"#;
    let imported = read(text);
    assert_eq!((imported.config.num_key_value_heads, imported.config.head_dim), (8, 64));
    assert_eq!(row(&imported, "num_key_value_heads").how, How::Derived);
    assert_eq!(row(&imported, "head_dim").how, How::Derived);
    let positions = row(&imported, "max_position_embeddings");
    assert_eq!((positions.how, positions.value.as_str()), (How::Assumed, "2048"));
    let mistral = read(
        &text
            .replace("llama", "mistral")
            .replace("\"num_attention_heads\":8", "\"num_attention_heads\":16"),
    );
    assert_eq!(mistral.config.num_key_value_heads, 8);
    assert_eq!(row(&mistral, "num_key_value_heads").how, How::Assumed);
}

#[test]
fn lenient_notation_is_read() {
    let exact = read(LLAMA).config;
    assert_eq!(read(&llama_with("time_step_limit", "[0.0, Infinity]")).config, exact);
    assert_eq!(read(&llama_with("nan", "NaN")).config, exact);
    assert_eq!(read(&llama_with("hidden_size", "/* wide */ 4096.0")).config, exact);
    assert_eq!(
        read(&format!("\u{feff}\n{}", LLAMA.replace("128256\n", "128256,\n"))).config,
        exact
    );
    assert_eq!(read(&LLAMA.replace("\"model_type\": \"llama\",", "")).model_type, "llama");
}

#[test]
fn infinity_where_a_size_belongs_is_refused() {
    let message = refused(&llama_with("vocab_size", "Infinity"));
    assert!(message.contains("vocab_size") && message.contains("whole number"), "{message}");
    assert!(refused(r#"{"time_step_limit":[0.0, Infinity]}"#).contains("model_type"));
}

#[test]
fn the_text_part_of_a_larger_model_is_used() {
    let text = format!(
        r#"{{"model_type":"llava","tie_word_embeddings":true,"text_config":{},"vision_config":{{"model_type":"zebra","depth":2}}}}"#,
        LLAMA.replace("\"tie_word_embeddings\": false,", "")
    );
    let imported = read(&text);
    assert_eq!(imported.config.hidden_size, 4096);
    assert!(imported.config.tie_word_embeddings);
    assert_eq!(row(&imported, "vision_config").how, How::Ignored);
}

#[test]
fn biases_and_windows_follow_the_file() {
    assert!(read(&llama_with("attention_bias", "true")).config.attention_output_bias);
    assert!(read(&llama_with("mlp_bias", "true")).config.mlp_bias);
    let mpt = read(include_str!("../../data/configs/mpt-7b.json")).config;
    assert_eq!(
        (mpt.normalization, mpt.position_embedding),
        (Normalization::RmsNorm, PositionEmbedding::Alibi)
    );
}

#[test]
fn structures_that_are_not_modelled_are_named() {
    let cases = [
        (r#"{"model_type":"zebra","hidden_size":2560,"state_size":128}"#.to_owned(), "state-space"),
        (r#"{"model_type":"zamba2","hidden_size":2560,"tie_word_embeddings":false}"#.to_owned(), "an \
            output head of its own"),
        (r#"{"model_type":"bailing_hybrid","hidden_size":2560,"kda_safe_gate":false}"#.to_owned(), "decays \
            without limits"),
        (r#"{"model_type":"zebra","mamba_d_state":16,"hidden_size":8}"#.to_owned(), "state-space \
            layers (mamba_d_state)"),
        (r#"{"model_type":"zebra","hidden_size":8,"full_attention_interval":4}"#.to_owned(), "linear \
            attention"),
        (r#"{"model_type":"nemotron_h","hidden_size":64,"hybrid_override_pattern":"M?"}"#.to_owned(), "the \
            kind \"?\""),
        (r#"{"model_type":"llama","hidden_size":64,"num_attention_heads":4,"moe_latent_size":32}"#.to_owned(), "narrower \
            space"),
        (r#"{"model_type":"mamba2","hidden_size":64,"use_bias":true}"#.to_owned(), "biases on \
            projections of the state"),
        (r#"{"model_type":"zebra","hidden_size":8,"hidden_size_per_layer_input":256}"#.to_owned(), "for \
            every layer"),
        (r#"{"model_type":"doge","hidden_size":1024,"is_moe":true}"#.to_owned(), "experts of one \
            neuron each"),
        (r#"{"model_type":"deberta-v2","hidden_size":768,"conv_kernel_size":3}"#.to_owned(), "a \
            convolution beside"),
        (
            r#"{"model_type":"esm","hidden_size":320,"num_hidden_layers":6,"num_attention_heads":20,"vocab_size":33}"#.to_owned(),
            "positions that are not rotated",
        ),
        (r#"{"model_type":"albert","hidden_size":768,"num_hidden_groups":2}"#.to_owned(), "groups \
            of shared blocks"),
        (r#"{"model_type":"modernbert","hidden_size":768,"norm_bias":true}"#.to_owned(), "norms \
            with biases (norm_bias)"),
        (r#"{"model_type":"dia","is_encoder_decoder":true}"#.to_owned(), "encoder beside"),
        (r#"{"model_type":"clip_vision_model"}"#.to_owned(), "vision"),
        (r#"{"model_type":"zebra","image_size":224,"hidden_size":768}"#.to_owned(), "images or \
            sound (image_size)"),
        (llama_with("layer_types", r#"["full_attention","linear_attention"]"#), "\"linear_attention\" \
            (layer_types)"),
        (
            include_str!("../../data/configs/gpt2.json").replace("\"n_ctx\"", "\"add_cross_attention\": \
                true, \"n_ctx\""),
            "cross-attention",
        ),
    ];
    for (text, what) in cases {
        let problem = config_json(&text).expect_err(what);
        assert!(matches!(problem, ImportError::NotModelled { .. }), "{problem:?}");
        let message = problem.to_string();
        assert!(
            message.contains(what) && message.contains("by hand under Architecture"),
            "{message}"
        );
    }
}

#[test]
fn a_list_of_too_few_layers_is_a_sentence() {
    let text =
        r#"{"model_type":"qwen3_next","num_hidden_layers":2,"layer_types":["full_attention"]}"#;
    let problem = config_json(text).expect_err("a list of one").to_string();
    assert!(
        problem.starts_with("The file lists 1 layers one by one, but has 2 of them"),
        "{problem}"
    );
}

/// For a known kind, each unread key that may change the answer is named, and all other unread keys
/// are ignored.
#[test]
fn keys_that_may_change_the_answer_are_named() {
    let named = |key: &str, value: &str| read(&llama_with(key, value)).not_counted;
    let loud = [
        ("hybrid_layer_pattern", "[0, 1, 1]"),
        ("swa_num_key_value_heads", "8"),
        ("num_experts", "8"),
        ("global_head_dim", "512"),
        ("sliding_window", "4096"),
        ("mlp_type", "\"wide\""),
        ("kv_share_pattern", "2"),
    ];
    for (key, value) in loud {
        assert_eq!(named(key, value), [key]);
    }
    let quiet = [
        ("num_experts", "null"),
        ("num_experts", "0"),
        ("swa_head_dim", "null"),
        ("use_head_gate", "false"),
        ("layer_norm_eps", "1e-5"),
        ("dtype", "\"bfloat16\""),
        ("num_beam_groups", "1"),
        ("pruned_heads", "{}"),
        ("rope_scaling", r#"{"rope_type": "llama3", "factor": 8.0}"#),
        ("task_specific_params", r#"{"text": {"max_size": 50}}"#),
        ("hidden_dropout", "0.1"),
        ("mtp_num_hidden_layers", "0"),
    ];
    for (key, value) in quiet {
        assert_eq!(named(key, value), <[String; 0]>::default(), "{key}");
    }
    // A key inside an object is named with both names. A second name of a size is named where its
    // value contradicts the first.
    assert_eq!(
        named("attention_other_setting", r#"{"num_heads": 96, "kind": "wide"}"#),
        ["attention_other_setting.num_heads"]
    );
    assert_eq!(named("n_head", "16"), ["n_head"]);
    assert_eq!(named("n_head", "32"), <[String; 0]>::default());
    assert_eq!(named("use_sliding_window", "true"), ["use_sliding_window"]);
}

/// A class of another task or of an unknown model is named. Where kind and class name two known
/// models, the class counts, because servers run the class.
#[test]
fn a_class_that_contradicts_the_kind_is_named() {
    let of = |class: &str| read(&llama_with("architectures", &format!("[\"{class}\"]")));
    assert_eq!(of("LlamaForCausalLM").not_counted, <[String; 0]>::default());
    assert_eq!(of("LLaMAForCausalLM").not_counted, <[String; 0]>::default());
    for class in
        ["ZebraForCausalLM", "LlamaForMultipleChoice", "ZebraModel", "LlamaForCausalLMEagle3"]
    {
        assert_eq!(of(class).not_counted, ["architectures"], "{class}");
    }
    let air = include_str!("../../data/configs/corpus/zai-org__GLM-4.5-Air.json");
    let air = read(air);
    assert_eq!((air.model_type.as_str(), parameters(&air.config)), ("glm4_moe", 106_852_245_504));
    assert_eq!(air.not_counted, ["model_type"]);
}

/// transformers' Granite Speech has an encoder and a projector beside its text model, under keys
/// that few files have. Fuyu has a matrix for image patches that no key of its file describes.
#[test]
fn parts_of_unknown_names_are_left_out_by_their_key() {
    let parts = |text: &str| -> Vec<String> {
        read(text).left_out.into_iter().map(|left| left.part).collect()
    };
    let text = r#""text_config":{"model_type":"granite","hidden_size":512,"num_hidden_layers":2}"#;
    let speech = parts(&format!(
        r#"{{"model_type":"granite_speech_further","encoder_config":{{"num_layers":2}},"projector_config":{{"num_layers":2}},{text}}}"#
    ));
    assert_eq!(
        speech,
        ["the part that encoder_config describes", "the part that projector_config describes"]
    );
    let zebra = parts(
        r#"{"model_type":"zebra","text_config":{"model_type":"persimmon","hidden_size":512,"num_hidden_layers":2}}"#,
    );
    assert_eq!(zebra, ["whatever a model of the kind zebra has beside its text part"]);
}

#[test]
fn parts_beside_the_text_are_left_out_by_name() {
    let qwen = read(include_str!("../../data/configs/corpus/Qwen__Qwen3-VL-8B-Instruct.json"));
    let of_text = headroom::config::ModelConfig { tower: None, ..qwen.config.clone() };
    assert_eq!(parameters_of(&qwen.config) - parameters_of(&of_text), 576_388_336);
    assert!(qwen.left_out.is_empty() && qwen.not_counted.is_empty() && qwen.known);
    // A tower of an unknown kind is left out.
    let other = include_str!("../../data/configs/corpus/Qwen__Qwen3-VL-8B-Instruct.json")
        .replace("\"qwen3_vl\"", "\"qwen9_vl\"");
    let other = read(&other);
    let [tower] = other.left_out.as_slice() else { panic!("{:?}", other.left_out) };
    assert_eq!((tower.part.as_str(), tower.key.as_str()), ("vision tower", "vision_config"));
    let deepseek = read(include_str!("../../data/configs/corpus/deepseek-ai__DeepSeek-V3.json"));
    assert_eq!(
        deepseek.left_out.first().map(|left| left.part.as_str()),
        Some("layers of the checkpoint that predict further tokens")
    );
}

/// The name of the text model inside a file, or of somebody's folder, would mislead, so only a name
/// of the whole file is taken.
#[test]
fn only_a_name_of_the_whole_file_is_taken() {
    let named = |name: &str| read(&llama_with("_name_or_path", &format!("\"{name}\""))).name;
    assert_eq!(named("meta-llama/Meta-Llama-3-8B").as_deref(), Some("Meta-Llama-3-8B"));
    for folder in ["/tmp/x", ".", "checkpoint-500", "./out", ""] {
        assert_eq!(named(folder), None, "{folder}");
    }
    let llava = read(include_str!("../../data/configs/corpus/llava-hf__llava-1.5-7b-hf.json"));
    assert_eq!((llava.name, llava.config.hidden_size), (None, 4096));
}

/// MiMo-V2-Flash: 9 layers see the whole text with 4 key/value heads, 39 have a window and 8 heads;
/// keys are 192 wide, values 128.
#[test]
fn mimo_v2_has_two_kinds_of_attention() {
    let mimo = read(include_str!("../../data/configs/corpus/XiaomiMiMo__MiMo-V2-Flash.json"));
    assert_eq!(parameters(&mimo.config), 308_778_768_832);
    assert_eq!((mimo.not_counted.len(), mimo.upper_bounds.len()), (0, 0));
    let left_out: Vec<_> = mimo.left_out.iter().map(|left| left.part.as_str()).collect();
    assert_eq!(left_out, ["layers of the checkpoint that predict further tokens"]);
    assert_eq!(
        (mimo.config.rotary_dim, mimo.config.family_of_shape().model_type()),
        (Some(64), "mimo_v2_flash")
    );
    let hybrid = mimo.config.hybrid.as_ref().expect("other heads");
    let other = hybrid.other_heads.as_ref().expect("other heads");
    assert_eq!((mimo.config.num_key_value_heads, other.num_key_value_heads), (4, 8));
    assert_eq!(
        (mimo.config.head_dim, hybrid.v_head_dim, other.head_dim, other.v_head_dim),
        (192, Some(128), 192, 128)
    );
    let slides = (0..48).filter(|layer| other.layers.contains(*layer)).count();
    assert_eq!(
        (slides, mimo.config.sliding_window, &other.layers),
        (39, Some(128), &mimo.config.sliding_layers)
    );
    assert!(other.attention_sinks && !mimo.config.attention_sinks);
}

/// Gemma 4 26B-A4B: 5 layers see the whole text with 2 key/value heads of 512; every block has a
/// dense layer beside 128 experts.
#[test]
fn gemma_4_has_wider_heads_on_global_layers() {
    let gemma = read(include_str!("../../data/configs/corpus/google__gemma-4-26B-A4B.json"));
    assert_eq!(parameters(&gemma.config), 25_805_933_872);
    let other = gemma
        .config
        .hybrid
        .as_ref()
        .and_then(|hybrid| hybrid.other_heads.clone())
        .expect("other heads");
    assert_eq!((other.num_key_value_heads, other.head_dim, other.attention_k_eq_v), (2, 512, true));
    assert_eq!(
        (gemma.config.num_key_value_heads, gemma.config.head_dim, gemma.config.sliding_window),
        (8, 256, Some(1024))
    );
    let moe = gemma.config.moe.expect("experts");
    assert_eq!(
        (moe.num_experts, moe.num_experts_per_tok, moe.shared_expert_intermediate_size),
        (128, 8, 2112)
    );
    assert_eq!(gemma.left_out.len(), 0);
}

/// Heads need not divide the hidden size: GLM-4.5 has 96 heads of 128 at width 5120, and Air at
/// width 4096. The counts are transformers'.
#[test]
fn heads_of_a_stated_width_need_no_multiple() {
    let text = r#"{"model_type":"glm4_moe","hidden_size":5120,"intermediate_size":12288,"num_hidden_layers":92,"num_attention_heads":96,
        "num_key_value_heads":8,"head_dim":128,"vocab_size":151552,"moe_intermediate_size":1536,"n_routed_experts":160,
        "n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,"use_qk_norm":true,"attention_bias":true,
        "partial_rotary_factor":0.5,"num_nextn_predict_layers":1,"tie_word_embeddings":false}"#;
    let glm = read(text);
    assert_eq!((glm.config.head_dim, parameters(&glm.config)), (128, 352_797_814_784));
}

/// Falcon Mamba's file says `expand` 16, but the model has the 8192 channels of
/// `intermediate_size`.
#[test]
fn falcon_mambas_width_is_the_stated_one() {
    let text = r#"{"_name_or_path":"./","architectures":["FalconMambaForCausalLM"],"conv_kernel":4,"expand":16,"hidden_act":"silu",
        "hidden_size":4096,"intermediate_size":8192,"layer_norm_epsilon":1e-05,"model_type":"falcon_mamba","num_hidden_layers":64,
        "state_size":16,"tie_word_embeddings":false,"time_step_rank":256,"use_bias":false,"use_conv_bias":true,"vocab_size":65024}"#;
    let falcon = read(text);
    assert_eq!(parameters(&falcon.config), 7_272_665_088);
    assert!(falcon.name.is_none() && falcon.not_counted.is_empty(), "{:?}", falcon.not_counted);
}

/// A list with a number for each layer is read as that number where all are equal, and refused by
/// name where they differ.
#[test]
fn lists_of_one_number_for_each_layer_are_read() {
    let text = r#"{"model_type":"qwen3_moe","num_hidden_layers":4,"num_experts":8,"moe_topk":[2,2,2,2],"moe_intermediate_size":[768,768]}"#;
    let moe = read(text).config.moe.expect("experts");
    assert_eq!((moe.num_experts_per_tok, moe.moe_intermediate_size), (2, 768));
    assert!(
        refused(&text.replace("[2,2,2,2]", "[2,2,2,1]"))
            .contains("layers that are not all alike (moe_topk)")
    );
}

#[test]
fn no_shared_expert_may_be_written_as_nothing() {
    let text = r#"{"model_type":"granitemoehybrid","num_hidden_layers":4,"num_local_experts":4,"num_experts_per_tok":2,
        "shared_intermediate_size":0,"layer_types":["mamba","attention","mamba","mamba"]}"#;
    assert_eq!(parameters(&read(text).config), 2_803_626_624);
}

/// The report of a dense model does not list the library's defaults for experts.
#[test]
fn a_dense_model_speaks_of_no_experts() {
    let text = r#"{"model_type":"nemotron_h","hidden_size":1024,"hybrid_override_pattern":"M-M*-","num_experts_per_tok":2}"#;
    let dense = read(text);
    assert!(dense.config.moe.is_none());
    assert!(dense.report.iter().all(|row| row.key != "num_experts"), "{:?}", dense.report);
    assert_eq!(row(&dense, "num_experts_per_tok").how, How::Ignored);
}

/// DeepSeek-V3.2 is V3 with an indexer, also where the file does not mention it; some of GLM-5's
/// layers have no indexer.
#[test]
fn an_indexer_is_read() {
    let stated = read(include_str!("../../data/configs/corpus/nvidia__DeepSeek-V3.2-NVFP4.json"));
    assert_eq!(parameters(&stated.config), 671_877_929_216);
    assert_eq!(stated.not_counted, <[String; 0]>::default());
    assert_eq!(
        read(r#"{"model_type":"deepseek_v32","hidden_size":7168}"#).config.hybrid,
        stated.config.hybrid
    );
    let few = read(r#"{"model_type":"glm_moe_dsa","num_hidden_layers":6,"index_topk_freq":2,"index_skip_topk_offset":1}"#).config;
    let own = |layer| few.indexer().is_some_and(|indexer| indexer.layers.contains(layer));
    assert_eq!([0, 1, 2, 3, 4, 5].map(own), [true, false, true, false, true, false]);
    let lost = config_json(
        r#"{"model_type":"glm_moe_dsa","num_hidden_layers":2,"indexer_types":["shared","full"]}"#,
    );
    assert!(lost.expect_err("nothing to share").to_string().contains("indexer_types"));
}

/// Laguna's sliding layers may have another number of query heads, read by one rule. Its gates for
/// every column are not modelled.
#[test]
fn query_heads_of_sliding_layers_are_read() {
    let file = |more: &str| {
        format!(
            r#"{{"model_type":"laguna","num_hidden_layers":3,"layer_types":["full_attention","sliding_attention","sliding_attention"]{more}}}"#
        )
    };
    let listed = read(&file(r#","num_attention_heads_per_layer":[48,64,64]"#)).config;
    let other = listed.hybrid.and_then(|hybrid| hybrid.other_heads).expect("other heads");
    assert_eq!(
        (listed.num_attention_heads, other.num_attention_heads, listed.rotary_dim),
        (48, 64, Some(64))
    );
    for refused in [r#","num_attention_heads_per_layer":[48,64,32]"#, r#","gating":"per-element""#]
    {
        assert!(config_json(&file(refused)).is_err(), "{refused}");
    }
}

/// For an unknown kind, a window without a list of layers does not tell which layers slide.
#[test]
fn a_window_of_an_unknown_kind_needs_a_list() {
    let text = r#"{"model_type":"zebra","hidden_size":1024,"num_hidden_layers":2,"num_attention_heads":16,"intermediate_size":2816,
        "vocab_size":1000,"sliding_window":512,"rms_norm_eps":1e-6}"#;
    let zebra = config_json_as_generic(text).expect("sizes");
    assert_eq!(
        (zebra.config.sliding_window, zebra.not_counted),
        (None, vec!["sliding_window".to_owned()])
    );
    let listed =
        text.replace("512", "512,\"layer_types\":[\"sliding_attention\",\"full_attention\"]");
    let zebra = config_json_as_generic(&listed).expect("sizes");
    assert_eq!((zebra.config.sliding_window, zebra.not_counted), (Some(512), Vec::new()));
    assert!((0..2).all(|layer| zebra.config.sliding_layers.contains(layer) == (layer == 0)));
}

/// Partial files give the parameters of the models that transformers builds from them, for every
/// family with modules of its own and for others.
#[test]
fn partial_files_take_the_librarys_defaults() {
    let mut kinds = std::collections::BTreeSet::new();
    let further = include_str!("../../data/truth/parameters_further.jsonl");
    for line in
        include_str!("../../data/truth/parameters_families.jsonl").lines().chain(further.lines())
    {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row");
        let imported = read(&row["config"].to_string());
        let kind = row["model"].as_str().expect("a kind");
        assert_eq!(Some(parameters(&imported.config)), row["parameters"].as_u64(), "{line}");
        kinds.insert(kind.to_owned());
    }
    // The code of these kinds is not part of transformers.
    kinds.extend(["telechat", "counted"].map(str::to_owned));
    assert!(families().all(|family| kinds.contains(family.model_type())));
}

/// The modules of these kinds do not read `num_key_value_heads`.
#[test]
fn stray_key_value_heads_change_nothing() {
    for kind in ["gpt2", "gpt_neox", "opt", "bloom", "persimmon"] {
        let text = format!(r#"{{"model_type":"{kind}","num_hidden_layers":2}}"#);
        let stray = read(&text.replace('}', ",\"num_key_value_heads\":2}")).config;
        assert_eq!(stray, read(&text).config);
        assert_eq!(stray.num_key_value_heads, stray.num_attention_heads);
    }
}

#[test]
fn each_family_is_recognised() {
    for family in families() {
        // transformers has no default for some kinds' experts, nor for the vocabulary of protein
        // models.
        let experts =
            r#""n_routed_experts":8,"num_experts":8,"num_local_experts":8,"num_experts_per_tok":1"#;
        // A nemotron_h file has to state which layers have attention.
        let layers = if family.model_type() == "nemotron_h" {
            r#","layers_block_type":["mamba","mlp"]"#
        } else {
            ""
        };
        let letters = r#""vocab_size":33,"position_embedding_type":"rotary""#;
        let text = format!(
            r#"{{"model_type":"{}","num_hidden_layers":2,{letters},{experts}{layers}}}"#,
            family.model_type()
        );
        let imported = read(&text);
        assert_eq!(imported.config.family, family);
        assert_eq!(row(&imported, "model_type").how, How::Read);
        assert!(imported.upper_bounds.is_empty());
    }
}

#[test]
fn windows_of_mixed_layers_are_read() {
    let gemma = read(r#"{"model_type":"gemma3_text","hidden_size":2304}"#).config;
    assert_eq!(
        (gemma.sliding_window, gemma.sliding_layers),
        (Some(4096), LayerSet::AllButEvery(6))
    );
    let old = read(r#"{"model_type":"gemma3_text","hidden_size":2304,"sliding_window_pattern":4,"sliding_window":512}"#).config;
    assert_eq!((old.sliding_window, old.sliding_layers), (Some(512), LayerSet::AllButEvery(4)));
    let listed = r#"["sliding_attention","full_attention","sliding_attention"]"#;
    let oss = read(&format!(
        r#"{{"model_type":"gpt_oss","num_hidden_layers":3,"layer_types":{listed}}}"#
    ))
    .config;
    assert_eq!((oss.sliding_window, oss.sliding_layers), (Some(128), LayerSet::AllButEvery(2)));
    let qwen = LLAMA.replace("LlamaForCausalLM", "Qwen2ForCausalLM");
    let qwen = qwen
        .replace("\"llama\"", "\"qwen2\", \"use_sliding_window\": true, \"max_window_layers\": 16");
    assert_eq!(read(&qwen).config.sliding_layers, LayerSet::From(16));
    assert_eq!(read(&qwen.replace("true, \"max", "false, \"max")).config.sliding_window, None);
    let none = read(r#"{"model_type":"mistral","hidden_size":4096,"sliding_window":null}"#).config;
    assert_eq!((none.sliding_window, none.sliding_layers), (None, LayerSet::None));
    // Llama's modules do not read `layer_types`.
    assert_eq!(
        read(&llama_with("layer_types", r#"["full_attention","sliding_attention"]"#))
            .config
            .sliding_window,
        None
    );
}

#[test]
fn experts_and_latent_attention_are_read() {
    let deepseek = read(include_str!("../../data/configs/deepseek-v3.json")).config;
    assert_eq!(&deepseek, &model("deepseek-v3").expect("in the catalog").config);
    let mixtral = read(include_str!("../../data/configs/mixtral-8x7b.json")).config;
    assert_eq!(&mixtral, &model("mixtral-8x7b").expect("in the catalog").config);
    let lite = read(r#"{"model_type":"deepseek_v2","q_lora_rank":null,"hidden_size":2048,"num_experts_per_tok":6}"#).config;
    assert_eq!(lite.mla.map(|mla| mla.q_lora_rank), Some(None));
    let sparse = r#"{"model_type":"qwen3_moe","num_hidden_layers":4,"mlp_only_layers":[0],"num_experts":16}"#;
    assert_eq!(read(sparse).config.moe.map(|moe| moe.layers), Some(LayerSet::From(1)));
    let second = sparse.replace("[0]", "[],\"decoder_sparse_step\":2");
    assert_eq!(read(&second).config.moe.map(|moe| moe.layers), Some(LayerSet::Every(2)));
    // PhiMoE's router always picks two experts and does not read `num_experts_per_tok`.
    let phi = read(r#"{"model_type":"phimoe","hidden_size":4096,"num_experts_per_tok":4}"#).config;
    assert_eq!(
        phi.moe.as_ref().map(|moe| (moe.num_experts, moe.num_experts_per_tok)),
        Some((16, 2))
    );
    // PhiMoE's head has a bias where the file states one.
    let biased = read(r#"{"model_type":"phimoe","hidden_size":4096,"lm_head_bias":true}"#).config;
    assert!(biased.lm_head_bias && !phi.lm_head_bias);
}

#[test]
fn spellings_of_both_library_versions_agree() {
    let old = r#"{"model_type":"gpt_neox","hidden_size":2048,"num_attention_heads":16,"rotary_pct":0.25,"torch_dtype":"float16"}"#;
    let new = r#"{"model_type":"gpt_neox","hidden_size":2048,"num_attention_heads":16,"dtype":"float16",
        "rope_parameters":{"rope_theta":10000.0,"partial_rotary_factor":0.25,"rope_type":"default"}}"#;
    assert_eq!(read(old).config, read(new).config);
    assert_eq!(read(old).config.rotary_dim, Some(32));
    assert_eq!(row(&read(new), "dtype").how, How::Ignored);
    let whole = new.replace("0.25", "1.0");
    assert_eq!(read(&whole).config.rotary_dim, None);
}

#[test]
fn an_unknown_kind_is_a_generic_decoder_and_says_so() {
    let text = r#"{"model_type":"zebra","hidden_size":1024,"num_hidden_layers":4,"num_attention_heads":16,"num_kv_heads":4,
        "intermediate_size":2816,"vocab_size":1000,"rms_norm_eps":1e-6,"rope_theta":1e4,"qkv_bias":true,
        "num_experts":8,"moe_top_k":2,"moe_intermediate_size":512,"hidden_act":"zebralu","layer_types":["chunked_attention"]}"#;
    assert!(
        refused(text).starts_with("Not counted: the kind \"zebra\" is not known."),
        "{}",
        refused(text)
    );
    let read = |text: &str| config_json_as_generic(text).expect("its sizes are stated");
    let imported = read(text);
    let config = &imported.config;
    assert!(!imported.known);
    assert_eq!(
        (config.family, config.num_key_value_heads, config.attention_bias),
        (GENERIC, 4, true)
    );
    assert_eq!(
        config.moe.as_ref().map(|moe| (moe.num_experts, moe.num_experts_per_tok)),
        Some((8, 2))
    );
    assert_eq!(row(&imported, "model_type").how, How::Assumed);
    assert_eq!(imported.upper_bounds.len(), 2, "{:?}", imported.upper_bounds);
    let classic = r#"{"model_type":"zebra","n_embd":768,"n_layer":2,"n_head":12,"n_inner":3072,"vocab_size":1000,
        "layer_norm_epsilon":1e-5,"activation_function":"gelu_new"}"#;
    let classic = read(classic).config;
    assert_eq!((classic.normalization, classic.mlp), (Normalization::LayerNorm, MlpKind::Plain));
    assert_eq!(classic.position_embedding, PositionEmbedding::Learned);
    let short = config_json_as_generic(r#"{"model_type":"zebra","hidden_size":1024}"#)
        .expect_err("sizes are missing");
    assert!(short.to_string().contains("num_hidden_layers"), "{short}");
    // A class that is not listed is refused like an unknown kind.
    let class =
        text.replace("\"model_type\":\"zebra\"", "\"architectures\":[\"ZebraForCausalLM\"]");
    assert!(matches!(config_json(&class),
            Err(ImportError::UnknownKind { model_type }) if model_type == "ZebraForCausalLM"));
}

#[test]
fn texts_that_are_no_config_are_refused_with_a_way_out() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1_000_001));
    let deep = "[".repeat(200_000);
    let cases = [
        ("", "nothing here yet"),
        (" \n\t", "nothing here yet"),
        ("<!DOCTYPE html><html></html>", "web page"),
        (long.as_str(), "bytes long"),
        (deep.as_str(), "cannot be read as JSON"),
        ("{\"a\": }", "cannot be read as JSON"),
        ("[1, 2]", "a list"),
        ("7", "a number"),
        ("\"llama\"", "text"),
        ("{}", "model_type"),
        (r#"{"model_type":"falcon"}"#, "hidden_size"),
        ("\u{fffd}PNG\r\n\u{1a}\n\0\0\0", "a picture"),
        (r#"{"model_type":7}"#, "must be text"),
        (r#"{"model_type":"llama"}"#, "hidden_size"),
    ];
    for (text, part) in cases {
        let message = refused(text);
        assert!(message.contains(part), "{message}");
        assert!(message.ends_with('.') && message.len() < 320, "{message}");
    }
}

#[test]
fn impossible_sizes_are_refused_by_name() {
    let cases = [
        ("hidden_size", "0"),
        ("hidden_size", "-4096"),
        ("hidden_size", "4096.5"),
        ("hidden_size", "\"4096\""),
        ("hidden_size", "[4096]"),
        ("hidden_size", "1e30"),
        ("vocab_size", "10000001"),
        ("num_hidden_layers", "10001"),
        ("num_hidden_layers", "18446744073709551615"),
        ("num_key_value_heads", "5"),
        ("num_attention_heads", "33"),
        ("tie_word_embeddings", "\"no\""),
    ];
    for (key, value) in cases {
        let message = refused(&llama_with(key, value));
        assert!(message.contains(key), "{key} = {value}: {message}");
    }
}

#[test]
fn a_flood_of_keys_gives_a_short_report() {
    let keys: Vec<String> = (0..5000).map(|index| format!("\"key{index}\": {index}")).collect();
    let imported = read(&format!("{{{}, {}", keys.join(","), &LLAMA.trim_start()[1..]));
    assert!(imported.report.len() < 100);
    assert!(imported.report.iter().any(|row| row.value.ends_with("more keys")));
}

/// Arbitrary JSON, in which keys of real files are more frequent than others.
fn json() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("model_type".to_owned()),
        Just("hidden_size".to_owned()),
        Just("num_hidden_layers".to_owned()),
        Just("num_attention_heads".to_owned()),
        Just("num_key_value_heads".to_owned()),
        Just("intermediate_size".to_owned()),
        Just("vocab_size".to_owned()),
        Just("text_config".to_owned()),
        Just("attn_config".to_owned()),
        Just("n_embd".to_owned()),
        Just("layer_types".to_owned()),
        Just("sliding_window".to_owned()),
        "[a-z_]{1,8}",
    ];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        (1_u64..100_000).prop_map(|value| value.to_string()),
        any::<f64>().prop_map(|value| format!("{value:e}")),
        prop_oneof![Just("Infinity"), Just("-Infinity"), Just("NaN")].prop_map(str::to_owned),
        prop_oneof![
            Just("\"llama\""),
            Just("\"qwen3\""),
            Just("\"gpt2\""),
            Just("\"opt\""),
            Just("\"bloom\""),
            Just("\"mpt\"")
        ]
        .prop_map(str::to_owned),
        "\"[a-zéß☃]{0,80}\"",
    ];
    leaf.prop_recursive(5, 60, 12, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6)
                .prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key.clone(), inner), 0..12).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.into_iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

/// Asserts that a text gives either a refusal in a sentence or an architecture that can be
/// estimated.
fn is_sound(text: &str) {
    match config_json(text) {
        Ok(imported) => {
            let config = imported.config;
            assert!(config.num_attention_heads.is_multiple_of(config.num_key_value_heads));
            assert!((1..=10_000_000).contains(&config.hidden_size) && config.head_dim >= 1);
            assert!(config.intermediate_size >= 1 && config.position_rows >= 1);
        }
        Err(problem) => assert!(problem.to_string().ends_with('.')),
    }
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused(text in json()) {
        is_sound(&text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}", cut in 0_usize..700) {
        is_sound(&text);
        is_sound(&format!("{{{text}}}"));
        is_sound(LLAMA.get(..cut).unwrap_or(LLAMA));
    }

    #[test]
    fn any_value_under_a_real_key_is_read_or_refused(kind in 0_usize..4, key in 0_usize..30,
        value in json()) {
        let files = [LLAMA, include_str!("../../data/configs/gpt2.json"),
            include_str!("../../data/configs/opt-6.7b.json"),
            include_str!("../../data/configs/mpt-7b.json")];
        let mut file: serde_json::Map<String, serde_json::Value> = serde_json::from_str(files[kind]).expect("a \
            JSON object");
        if let Some(key) = file.keys().nth(key).cloned() {
            file.remove(&key);
            let text = serde_json::to_string(&file).expect("JSON");
            is_sound(&format!("{{\"{key}\": {value}, {}", &text[1..]));
        }
    }
}

#[test]
fn stored_formats_are_read() {
    use headroom::config::WeightFormat;
    let stored = |value: &str| read(&llama_with("quantization_config", value)).quantization;
    let format = |value: &str| stored(value).map(|found| found.format);
    let gptq = stored(r#"{"quant_method": "gptq", "bits": 4, "group_size": 64, "desc_act": true}"#)
        .expect("a format");
    assert_eq!((gptq.format, gptq.group_size), (WeightFormat::Gptq, Some(64)));
    for (value, expected) in [
        (
            r#"{"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true}"#,
            Some(WeightFormat::Awq),
        ),
        (
            r#"{"quant_method": "fp8", "weight_block_size": [128, 128]}"#,
            Some(WeightFormat::Fp8Block),
        ),
        (
            r#"{"quant_method": "fp8", "activation_scheme": "dynamic"}"#,
            Some(WeightFormat::Fp8Tensor),
        ),
        (r#"{"quant_method": "fbgemm_fp8"}"#, Some(WeightFormat::Fp8Channel)),
        (r#"{"quant_method": "mxfp4"}"#, Some(WeightFormat::Mxfp4)),
        (
            r#"{"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_use_double_quant": true}"#,
            Some(WeightFormat::Nf4Double),
        ),
        (r#"{"quant_method": "bitsandbytes", "load_in_4bit": true}"#, Some(WeightFormat::Nf4)),
        (
            r#"{"quant_method": "bitsandbytes", "load_in_8bit": true}"#,
            Some(WeightFormat::Int8Channel),
        ),
        (r#"{"quant_method": "modelopt", "quant_algo": "NVFP4"}"#, Some(WeightFormat::Nvfp4)),
        (
            r#"{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}}}"#,
            Some(WeightFormat::Fp8Channel),
        ),
        // These formats are not listed: another width, one group for all inputs, an unknown method.
        (r#"{"quant_method": "gptq", "bits": 3, "group_size": 128}"#, None),
        (r#"{"quant_method": "gptq", "bits": 4, "group_size": -1}"#, None),
        (r#"{"quant_method": "aqlm"}"#, None),
        ("{}", None),
        ("7", None),
    ] {
        assert_eq!(format(value), expected, "{value}");
    }
}

#[test]
fn a_stored_format_is_told_and_served() {
    use headroom::config::WeightFormat;
    use headroom::scenario::{FieldId, Value};
    let told = read(&llama_with("quantization_config", r#"{"quant_method": "aqlm"}"#));
    assert_eq!(
        (row(&told, "quantization_config").how, row(&told, "quantization_config").value.as_str()),
        (How::Ignored, "aqlm")
    );
    assert_eq!(read(LLAMA).quantization, None);
    // A quantisation stated outside the part for text is read, too.
    let around = format!(
        r#"{{"model_type": "llava", "text_config": {LLAMA}, "quantization_config": {{"quant_method": "mxfp4"}}}}"#
    );
    let around = read(&around);
    assert_eq!(around.quantization.map(|found| found.format), Some(WeightFormat::Mxfp4));
    assert_eq!(around.report.iter().filter(|row| row.key == "quantization_config").count(), 1);
    // The scenario is served in the format that the file stores.
    let mut scenario = headroom::scenario::Scenario::default();
    scenario.apply_imported(&read(&llama_with(
        "quantization_config",
        r#"{"quant_method": "gptq", "bits": 4, "group_size": 64}"#,
    )));
    assert_eq!(scenario.get(FieldId::WeightDType), Value::choice(WeightFormat::Gptq));
    assert_eq!(scenario.get(FieldId::GroupSize), Value::Integer(64));
}

/// Training does what the file says, or the library where the file is silent; other kinds' keys are
/// named, and say that nothing is counted.
#[test]
fn dropout_follows_the_file() {
    let sizes = r#""n_embd":64,"n_layer":2,"n_head":4,"vocab_size":100"#;
    let of = |keys: &str| read(&format!(r#"{{"model_type":"gpt2",{sizes}{keys}}}"#)).dropout();
    assert_eq!(of(""), [Some(0.1); 3]);
    assert_eq!(of(r#","resid_pdrop":0.0,"embd_pdrop":0.2"#), [Some(0.2), Some(0.0), Some(0.1)]);
    let llama = read(&llama_with("attention_dropout", "0.1"));
    assert_eq!(llama.dropout(), [None; 3]);
    assert!(row(&llama, "attention_dropout").note.contains("not counted"));
}
