//! Files of a model beside `config.json`: reading them, comparing them with the model, and refusing
//! broken ones.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use headroom::checkpoint::{CheckpointError, FileStart, ModelFiles, read, understood};
use headroom::config::WeightFormat;
use headroom::ops::parameters_of;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/checkpoints")
}

/// The file of that name, or the files of the folder of that name.
fn files(name: &str) -> Vec<(String, Vec<u8>)> {
    let path = folder().join(name);
    let paths = if path.is_dir() {
        let mut inside: Vec<_> = fs::read_dir(&path)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        inside.sort();
        inside
    } else {
        vec![path]
    };
    let named = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    paths.iter().map(|path| (named(path), fs::read(path).expect("a file"))).collect()
}

fn found(files: &[(String, Vec<u8>)]) -> Result<ModelFiles, CheckpointError> {
    read(&files.iter().map(|(name, start)| FileStart { name, start }).collect::<Vec<_>>())
}

/// The header of a GGUF file with these keys, whose values are given as bytes, and these tensors.
fn gguf(keys: &[(&str, u32, Vec<u8>)], tensors: &[(&str, &[u64], u32)]) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((keys.len() as u64).to_le_bytes());
    let text = |file: &mut Vec<u8>, text: &str| {
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text.as_bytes());
    };
    for (name, of, value) in keys {
        text(&mut file, name);
        file.extend(of.to_le_bytes());
        file.extend(value);
    }
    for (name, shape, of) in tensors {
        text(&mut file, name);
        file.extend(u32::try_from(shape.len()).expect("few").to_le_bytes());
        shape.iter().for_each(|size| file.extend(size.to_le_bytes()));
        file.extend(of.to_le_bytes());
        file.extend(0_u64.to_le_bytes());
    }
    file
}

fn number(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn word(text: &str) -> Vec<u8> {
    let mut value = (text.len() as u64).to_le_bytes().to_vec();
    value.extend(text.as_bytes());
    value
}

/// The refusal of one file.
fn refused(name: &str, start: &[u8]) -> String {
    read(&[FileStart { name, start }]).map(|found| found.from).expect_err("refused").to_string()
}

/// The rows of `checkpoints/counts.jsonl`, written by `tools/checkpoints.py`, hold headers as
/// gguf-py and safetensors write them.
#[test]
fn headers_give_the_model_whose_tensors_they_hold() {
    let mut rows = 0;
    for line in include_str!("../../data/checkpoints/counts.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a row");
        let name = row["file"].as_str().expect("a name");
        let found = found(&files(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            Some(parameters_of(&found.imported.config)),
            row["parameters"].as_u64(),
            "{name}"
        );
        assert!(
            understood(&found.imported).ends_with("all keys understood."),
            "{name}: {}",
            understood(&found.imported)
        );
        let stored = found.stored.as_ref().expect("tensors");
        assert_eq!(
            (Some(stored.elements()), stored.missing),
            (row["parameters"].as_u64(), 0),
            "{name}"
        );
        let said = found.compared();
        assert!(
            said.iter()
                .any(|sentence| sentence.starts_with("All are parameters that Headroom counts")),
            "{name}: {said:?}"
        );
        if std::path::Path::new(name).extension().is_some_and(|ending| ending == "gguf") {
            assert_eq!(
                found.imported.quantization.map(|stored| stored.format),
                Some(WeightFormat::Gguf16),
                "{name}"
            );
            // Headroom counts the experts' biases as vectors, but the file has them in two
            // dimensions.
            let same = said.iter().any(|sentence| sentence.contains("counts as many bytes"));
            assert!(same || name == "gpt-oss.gguf", "{name}: {said:?}");
        }
        rows += 1;
    }
    assert_eq!(rows, 14);
}

#[test]
fn mistrals_own_file_is_its_row_of_the_catalog() {
    let text = r#"{"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32, "n_kv_heads": 8,
        "norm_eps": 1e-05, "vocab_size": 32000, "sliding_window": 4096}"#;
    let of = |text: &str| {
        read(&[FileStart { name: "params.json", start: text.as_bytes() }])
            .map(|found| found.imported)
    };
    let window = of(text).expect("read");
    assert_eq!(window.config.sliding_window, Some(4096));
    assert_eq!(parameters_of(&window.config), 7_241_732_096);
    let experts = of(&text.replace(
        "\"sliding_window\": 4096",
        r#""moe": {"num_experts": 8, "num_experts_per_tok": 2}"#,
    ));
    let experts = experts.expect("read");
    assert_eq!(
        (parameters_of(&experts.config), experts.config.sliding_window),
        (46_702_792_704, None)
    );
    let more = text.replace(
        "\"sliding_window\": 4096",
        r#""vision_encoder": {"image_size": 1540}, "q_lora_rank": 5, "yarn": {}"#,
    );
    let said = understood(&of(&more).expect("read"));
    assert!(
        said.ends_with("7.2 B parameters, without its vision tower, not understood: q_lora_rank."),
        "{said}"
    );
    assert_eq!(
        refused("params.json", b"{\"dim\": 4096}"),
        "params.json cannot be read: it does not state n_layers. Choose the file again, or the \
         model's config.json."
    );
}

/// A mix of formats takes the bytes that llama.cpp stores: this small Llama has Q4_K, and Q6_K
/// where the mix puts it.
#[test]
fn the_mix_of_a_file_is_its_format() {
    let keys = |mix: u32| {
        vec![
            ("general.architecture", 8, word("llama")),
            ("general.file_type", 4, number(mix)),
            ("llama.block_count", 4, number(1)),
            ("llama.embedding_length", 4, number(256)),
            ("llama.feed_forward_length", 4, number(512)),
            ("llama.attention.head_count", 4, number(4)),
            ("llama.attention.head_count_kv", 4, number(2)),
        ]
    };
    let all = [
        ("token_embd.weight", &[256, 1000][..], 12),
        ("output.weight", &[256, 1000], 14),
        ("output_norm.weight", &[256], 0),
        ("blk.0.attn_norm.weight", &[256], 0),
        ("blk.0.ffn_norm.weight", &[256], 0),
        ("blk.0.attn_q.weight", &[256, 256], 12),
        ("blk.0.attn_k.weight", &[256, 128], 12),
        ("blk.0.attn_v.weight", &[256, 128], 14),
        ("blk.0.attn_output.weight", &[256, 256], 12),
        ("blk.0.ffn_gate.weight", &[256, 512], 12),
        ("blk.0.ffn_up.weight", &[256, 512], 12),
        ("blk.0.ffn_down.weight", &[512, 256], 14),
        ("rope_freqs.weight", &[32], 0),
    ];
    let file = gguf(&keys(15), &all);
    let found = read(&[FileStart { name: "a.gguf", start: &file }]).expect("a model");
    assert_eq!(found.imported.quantization.map(|stored| stored.format), Some(WeightFormat::Q4KM));
    let said = found.compared().join("\n");
    assert!(
        said.contains("32 of them are no parameters but tables that the model makes itself."),
        "{said}"
    );
    assert!(said.contains("All others are parameters that Headroom counts"), "{said}");
    assert!(said.contains("As GGUF Q4_K_M, Headroom counts as many bytes: 731.2 kB."), "{said}");
    let without_head: Vec<_> =
        all.iter().filter(|(name, ..)| *name != "output.weight").copied().collect();
    let tied = read(&[FileStart { name: "a.gguf", start: &gguf(&keys(15), &without_head) }])
        .expect("a model");
    assert!(tied.imported.config.tie_word_embeddings && !found.imported.config.tie_word_embeddings);
}

#[test]
fn broken_files_are_refused_in_a_sentence() {
    let whole = fs::read(folder().join("llama.gguf")).expect("a file");
    // A file that ends early, at any place, is refused.
    for end in (0..whole.len()).step_by(7) {
        assert!(read(&[FileStart { name: "cut.gguf", start: &whole[..end] }]).is_err(), "{end}");
    }
    let said = [
        (refused("a.gguf", &whole[..100]), "its header is longer than what was read of it"),
        (refused("a.gguf", b"GGUF\x01\0\0\0"), "it is of version 1 of GGUF"),
        (
            refused("a.gguf", b"GGUF\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0"),
            "it would have 18446744073709551615 tensors",
        ),
        (
            refused("a.gguf", &gguf(&[("general.architecture", 8, word("zebra"))], &[])),
            "of the architecture \"zebra\"",
        ),
        (refused("a.gguf", &gguf(&[("a", 77, Vec::new())], &[])), "a value of the unknown type 77"),
        (refused("a.gguf", &gguf(&[], &[("t", &[u64::MAX, 2], 0)])), "the shape of t is no shape"),
        (refused("a.gguf", &gguf(&[], &[("t", &[32], 99)])), "t is of the type 99 of ggml"),
        (refused("a.safetensors", b"\x02"), "it ends before its header"),
        (
            refused("a.safetensors", b"\xff\xff\xff\xff\xff\0\0\0{}"),
            "no length of a safetensors header",
        ),
        (
            refused("a.safetensors", b"\x09\0\0\0\0\0\0\0{}"),
            "its header is longer than what was read of it",
        ),
        (refused("tokenizer.bin", b"abc"), "This cannot be read as JSON"),
        (refused("model.safetensors.index.json", b"{}"), "it names no tensors under weight_map"),
    ];
    for (sentence, part) in said {
        assert!(sentence.contains(part), "{sentence}");
    }
    let header = br#"{"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,13]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    assert!(
        refused("a.safetensors", &file)
            .contains("the shape of w and its place in the file contradict each other")
    );
    assert_eq!(read(&[]).map(|found| found.from).expect_err("nothing"), CheckpointError::NoModel);
}

/// Tensors outside the counted parameters are named. Sizes alone, without `config.json`, do not
/// identify a model.
#[test]
fn tensors_beside_the_model_are_named() {
    let mut parts = files("qwen2-sharded");
    let header = br#"{"lm_head.weight":{"dtype":"BF16","shape":[96,256],"data_offsets":[0,49152]},"model.layers.3.mlp.up_proj.weight":{"dtype":"BF16","shape":[512,256],"data_offsets":[49152,311296]}}"#;
    let mut more = (header.len() as u64).to_le_bytes().to_vec();
    more.extend(header);
    parts.push(("model-00003.safetensors".to_owned(), more));
    let said = found(&parts).expect("read").compared().join("\n");
    assert!(said.contains("are a copy of the head, which is the table of tokens."), "{said}");
    assert!(
        said.contains("are of layers that predict further tokens, which are left out."),
        "{said}"
    );
    assert!(said.contains("All others are parameters that Headroom counts"), "{said}");
    let without: Vec<_> =
        files("qwen2-sharded").into_iter().filter(|(name, _)| name != "config.json").collect();
    let problem = found(&without).map(|found| found.from).expect_err("no model").to_string();
    assert!(
        problem.contains("hold 1\u{202f}797\u{202f}376 numbers in 3.59 MB.")
            && problem.contains("choose the model's config.json"),
        "{problem}"
    );
    // An index without its files states the total size; its tensors cannot be compared.
    let index: Vec<_> = files("qwen2-sharded")
        .into_iter()
        .filter(|(name, _)| !name.ends_with(".safetensors"))
        .collect();
    let said = found(&index).expect("read").compared();
    assert_eq!(said, ["The index names 38 tensors that take 3.59 MB together."]);
}
