//! The catalog's data files: every row can be read, names its source, and its parameters add up.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use headroom::catalog::{AcceleratorRow, MemoryBasis, accelerator, accelerators, model, models};
use headroom::config::{
    GENERIC, MlpKind, ModelConfig, Normalization, PeakRates, PositionEmbedding,
};
use headroom::estimator::sequence;
use headroom::ops::{Lowering, lower};
use headroom::scenario::codec::{Decoded, decode, encode};
use headroom::scenario::{FieldId, Scenario, Value};
use support::parameters;

/// Models whose exact number of parameters no source states; it is computed from the shape.
const COMPUTED: [(&str, u64); 4] = [
    ("ju-7b", 6_705_127_424),
    ("opt-175b", 174_604_468_224),
    ("gpt3-175b", 174_604_259_328),
    ("mt-nlg-530b", 529_600_819_200),
];

#[test]
fn every_row_can_be_read() {
    assert_eq!(models().len(), 389);
    assert_eq!(accelerators().len(), 209);
}

#[test]
fn stated_counts_are_met_to_the_unit() {
    let mut stated = 0;
    for row in models() {
        let expected = row
            .published_parameters
            .or_else(|| COMPUTED.iter().find(|(id, _)| *id == row.id).map(|(_, count)| *count));
        assert_eq!(Some(parameters(&row.config)), expected, "{}", row.id);
        stated += usize::from(row.published_parameters.is_some());
    }
    assert_eq!(stated, 385);
}

/// `truth/catalog.jsonl` holds the parameters of transformers' own classes on the meta device,
/// written by `tools/catalog.py`.
#[test]
fn the_library_counts_every_row_that_has_a_file_alike() {
    let mut counted = BTreeSet::new();
    for line in include_str!("../../data/truth/catalog.jsonl").lines() {
        let found: serde_json::Value = serde_json::from_str(line).expect("a row");
        let id = found["id"].as_str().expect("an id");
        let row = model(id).unwrap_or_else(|| panic!("{id} is in the catalog"));
        assert_eq!(
            Some(lower(&Lowering::parameters_only(&row.config)).parameters()),
            found["parameters"].as_u64(),
            "{id}"
        );
        counted.insert(id.to_owned());
    }
    assert_eq!(files().into_iter().map(|(id, _)| id).collect::<BTreeSet<_>>(), counted);
}

/// The search for the longest text tries very long ones. A step over them must not play more
/// tensors than one over a short text, or an answer would take minutes.
#[test]
fn no_model_plays_more_of_a_long_text_than_of_a_short_one() {
    let mut families = BTreeSet::new();
    let mut compared = 0;
    for row in models().iter().filter(|row| families.insert(row.config.family.model_type())) {
        let played = |tokens: u64| {
            let Decoded { scenario, .. } = decode(&format!("v2&m={}&n=1&s={tokens}", row.id));
            // Some models are only served.
            let job = scenario.resolve().ok()?;
            sequence(&job).map(|sequence| sequence.build.len() + sequence.first_micro_batch.len())
        };
        // The last chunk of a text may be shorter than the others and is then played in addition.
        let [short, long] = [4096, 1_000_000].map(played);
        assert!(long <= short.map(|short| short + short / 10), "{}: {short:?} {long:?}", row.id);
        compared += usize::from(short.is_some() && long.is_some());
    }
    assert!(compared > 0, "no row plays both texts");
    assert!(families.len() > 40, "{}", families.len());
}

/// A row whose file states a weight format is served in that format and trained like the row in 16
/// bits. A link states the format only where it differs from the row's.
#[test]
fn a_row_is_served_in_the_format_in_which_it_is_published() {
    let weights = |scenario: &Scenario| match scenario.get(FieldId::WeightDType) {
        Value::Choice(word) => word,
        other => panic!("{other:?}"),
    };
    let mut scenario = decode("v1&do=serve&m=qwen3-32b-fp8&gpu=h200&n=1&tp=1").scenario;
    assert_eq!((weights(&scenario), scenario.is_set(FieldId::WeightDType)), ("fp8-block", false));
    assert!(!encode(&scenario).contains("w="), "{}", encode(&scenario));
    let bytes = |scenario: &Scenario| {
        let job = scenario.resolve().expect("a job");
        headroom::estimator::estimate(&job).ledger.of(headroom::estimator::MemoryKind::Parameter).0
    };
    let in_fp8 = bytes(&scenario);
    scenario.set(FieldId::WeightDType, Value::Choice("bf16"));
    assert_eq!(weights(&decode(&encode(&scenario)).scenario), "bf16");
    assert!(
        (0.5..0.6).contains(
            &(headroom::units::to_f64(in_fp8) / headroom::units::to_f64(bytes(&scenario)))
        )
    );
    scenario.clear(FieldId::WeightDType);
    assert!(scenario.set_model("qwen3-32b"));
    assert_eq!(weights(&scenario), "bf16");
    // Links name the rows in 16 bits, whatever format their files state.
    let published: Vec<_> = models().iter().filter(|row| row.weights.is_some()).collect();
    assert_eq!(published.len(), 13);
    assert!(
        published.iter().all(|row| row.id.ends_with("-fp8") || row.id.ends_with("-mxfp4")),
        "{published:?}"
    );
    for row in published {
        let base = models().iter().find(|base| base.weights.is_none() && base.config == row.config);
        assert!(
            base.is_some_and(|base| base.published_parameters == row.published_parameters),
            "{}",
            row.id
        );
    }
    // A pasted file in FP8 is recognised as the FP8 row, and a file in 16 bits as the row in 16
    // bits.
    let file = |id: &str| {
        fs::read_to_string(format!("{}/src/catalog/configs/{id}.json", env!("CARGO_MANIFEST_DIR")))
            .expect("a file")
    };
    for id in ["qwen3-32b-fp8", "granite3.3-8b-fp8"] {
        let mut scenario = Scenario::default();
        scenario.apply_imported(&headroom::import::config_json(&file(id)).expect("a model"));
        assert_eq!(scenario.model().map(|row| row.id), Some(id));
    }
}

/// The files beside the rows, by id.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalog/configs");
    let read = |path: &Path| {
        (path.file_stem()?.to_str().map(str::to_owned)).zip(fs::read_to_string(path).ok())
    };
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| read(&entry.expect("a file").path()).expect("a text"))
        .collect()
}

#[test]
fn a_pasted_file_is_its_row() {
    for (id, text) in files() {
        let imported = headroom::import::config_json(&text)
            .unwrap_or_else(|problem| panic!("{id}: {problem}"));
        assert_eq!(imported.upper_bounds, Vec::<String>::new(), "{id}");
        let row = model(&id).unwrap_or_else(|| panic!("{id} is in the catalog"));
        assert_eq!(imported.config, row.config, "{id}");
        // A file without a name whose shape several rows share stays a pasted file.
        let mut scenario = Scenario::default();
        scenario.apply_imported(&imported);
        assert!(scenario.is_pasted() || !scenario.is_custom_model(), "{id}");
        assert_eq!(scenario.model_config(), row.config, "{id}");
    }
}

/// The first sixty rows have the shapes that they had before shapes came from files. Each is
/// recorded as a link that states the whole shape on top of another row.
#[test]
fn the_first_rows_keep_their_shapes() {
    let first: Vec<_> = include_str!("../../data/catalog/first_sixty.tsv")
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    assert_eq!(first.len(), 60);
    for (id, link) in first {
        let Decoded { scenario, notices, .. } = decode(link);
        assert!(notices.is_empty(), "{id}: {notices:?}");
        let job = scenario.resolve().unwrap_or_else(|problem| panic!("{id}: {problem:?}"));
        let row = &model(id).expect("in the catalog").config;
        // These old links name no family where the model had none.
        let family = if job.model().family == GENERIC { row.family } else { job.model().family };
        assert_eq!(ModelConfig { family, ..job.model().clone() }, *row, "{id}");
    }
}

#[test]
fn families_stand_together_and_examples_of_documents_last() {
    let mut families: Vec<_> = models().iter().map(|row| row.family).collect();
    families.dedup();
    let all = families.len();
    families.sort_unstable();
    families.dedup();
    assert_eq!(families.len(), all, "a family stands in two places");
    assert_eq!(models().last().map(|row| row.id), Some("ju-7b"));
}

/// Checks that every search in `queries/models.jsonl` asks for a row that exists, and that no
/// search is there twice. The ranking itself is tested in `catalog_queries.rs`.
#[test]
fn queries_ask_for_rows_that_exist() {
    let mut typed = BTreeSet::new();
    for line in include_str!("../../data/queries/models.jsonl").lines() {
        let query: serde_json::Value = serde_json::from_str(line).expect("a query");
        let rows = query["rows"].as_array().cloned().unwrap_or_else(|| vec![query["row"].clone()]);
        assert!(
            !rows.is_empty()
                && rows.iter().all(|row| row
                    .as_str()
                    .is_some_and(|id| model(id).is_some_and(|found| found.id == id))),
            "{line}"
        );
        assert!(typed.insert(query["query"].as_str().expect("a text").to_lowercase()), "{line}");
    }
    assert!(typed.len() >= 90);
}

/// Short names that people type.
#[test]
fn short_names_find_their_row() {
    for (typed, id) in [("r1", "deepseek-r1"), ("k2", "kimi-k2"), ("QwQ", "qwq-32b")] {
        assert_eq!(model(typed).map(|row| row.id), Some(id));
    }
    for name in ["meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"] {
        assert_eq!(model(name).map(|row| row.id), Some("llama3.1-8b"));
    }
}

#[test]
fn the_engine_counts_every_row_as_the_closed_form_does() {
    for row in models() {
        assert_eq!(
            lower(&Lowering::parameters_only(&row.config)).parameters(),
            parameters(&row.config),
            "{}",
            row.id
        );
    }
}

#[test]
fn a_row_without_a_published_count_is_marked() {
    let mut marked = 0;
    for row in models().iter().filter(|row| row.published_parameters.is_none() && row.id != "ju-7b")
    {
        assert!(!row.verified, "{}", row.id);
        assert!(row.provenance().note.contains("No published exact count"), "{}", row.id);
        marked += 1;
    }
    assert!(marked > 0, "no row is without a published count");
}

#[test]
fn details_that_are_easy_to_get_wrong() {
    let row = |id: &str| &model(id).unwrap_or_else(|| panic!("{id} is in the catalog")).config;
    assert_eq!(
        (row("opt-66b").max_position_embeddings, row("opt-66b").position_rows),
        (2048, 2050)
    );
    assert!(
        row("bloom").embedding_norm && row("bloom").position_embedding == PositionEmbedding::Alibi
    );
    assert_eq!(row("gemma-2b").head_dim, 256);
    assert!(row("qwen3-8b").qk_norm && !row("qwen3-8b").attention_bias);
    assert!(row("qwen2.5-7b").attention_bias && !row("qwen2.5-7b").attention_output_bias);
    assert!(!row("gpt-neox-20b").tie_word_embeddings && row("gpt2").tie_word_embeddings);
    let first = row("ju-7b");
    assert_eq!(
        (first.mlp, first.normalization, first.norms_per_block),
        (MlpKind::Plain, Normalization::LayerNorm, 2)
    );
}

#[test]
fn shapes_are_whole() {
    for row in models() {
        let config = &row.config;
        assert!(
            config.num_attention_heads.is_multiple_of(config.num_key_value_heads),
            "{}",
            row.id
        );
        // DeBERTa encodes positions by distances alone, so it has no table of positions.
        let has_none = config.encoder.is_some() && config.position_rows == 0;
        assert!(has_none || config.position_rows >= config.max_position_embeddings, "{}", row.id);
        assert!(config.norms_per_block <= 4 && config.head_dim >= 32, "{}", row.id);
    }
}

/// Ids and aliases of both lists; each list has its own name space.
fn names() -> [Vec<(&'static str, Vec<&'static str>)>; 2] {
    let of_models = models().iter().map(|row| (row.id, row.aliases().to_vec())).collect();
    let of_cards = accelerators().iter().map(|row| (row.id, row.aliases().to_vec())).collect();
    [of_models, of_cards]
}

#[test]
fn ids_are_short_plain_and_unique_with_their_aliases() {
    for list in names() {
        let mut seen = BTreeSet::new();
        for (id, aliases) in list {
            assert!((2..=20).contains(&id.len()), "{id}");
            assert!(
                id.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c)),
                "{id}"
            );
            assert!(seen.insert(id.to_ascii_lowercase()), "{id} twice");
            for alias in aliases {
                assert!(seen.insert(alias.to_ascii_lowercase()), "{alias} twice");
            }
        }
    }
}

#[test]
fn every_row_is_found_by_each_of_its_names_in_any_case() {
    for row in models() {
        for name in row.aliases().iter().chain([&row.id]) {
            assert_eq!(model(&name.to_ascii_uppercase()).map(|found| &found.id), Some(&row.id));
        }
    }
    for row in accelerators() {
        for name in row.aliases().iter().chain([&row.id]) {
            assert_eq!(
                accelerator(&format!(" {} ", name.to_ascii_uppercase())).map(|found| &found.id),
                Some(&row.id)
            );
        }
    }
    assert_eq!(model("no such model"), None);
    assert_eq!(accelerator(""), None);
}

#[test]
fn every_row_names_its_source() {
    for row in models() {
        assert!(
            row.provenance().source.len() > 20 && row.provenance().source.ends_with('.'),
            "{}: {}",
            row.id,
            row.provenance().source
        );
        assert!(!row.name.is_empty() && !row.family.is_empty(), "{}", row.id);
    }
    for row in accelerators() {
        assert!(
            row.provenance().source.len() > 10 && row.provenance().source.ends_with('.'),
            "{}: {}",
            row.id,
            row.provenance().source
        );
        if row.provenance().source.starts_with("Recalled") {
            assert!(
                !row.verified && !row.unverified_fields.is_empty(),
                "{} is only recalled",
                row.id
            );
        }
        if row.memory_basis == MemoryBasis::DriverReported {
            assert!(row.provenance().source.contains("nvidia-smi"), "{}", row.id);
        }
    }
}

#[test]
fn memory_is_near_the_marketed_number() {
    for row in accelerators() {
        let memory = row.accelerator.memory.as_f64();
        let marketed = f64::from(u32::try_from(row.marketed_gb).expect("a small number"));
        let (least, most) = (marketed * 1e9 * 0.95, marketed * f64::from(1 << 30) * 1.02);
        match row.memory_basis {
            MemoryBasis::MacosShare | MemoryBasis::MacosShareByRule => continue,
            MemoryBasis::AssumedGibibytes => {
                assert_eq!(row.accelerator.memory.0, row.marketed_gb << 30, "{}", row.id);
            }
            MemoryBasis::DriverReported
            | MemoryBasis::SeenInLogs
            | MemoryBasis::VendorGibibytes => {}
        }
        assert!((least..=most).contains(&memory), "{}: {memory} bytes", row.id);
    }
    let mebibytes = |id: &str| accelerator(id).map(|row| row.accelerator.memory.0 >> 20);
    assert_eq!(mebibytes("h100-80"), Some(81_559));
    assert_eq!(mebibytes("a100-40"), Some(40_960));
}

/// By default macOS gives the GPU two thirds of a memory below 36 GB, and three quarters of a
/// larger one. The amounts are whole MiB, as logs print them.
#[test]
fn a_mac_counts_what_macos_gives_its_gpu() {
    let is_share = |row: &AcceleratorRow| {
        matches!(row.memory_basis, MemoryBasis::MacosShare | MemoryBasis::MacosShareByRule)
    };
    let macs: Vec<_> = accelerators().iter().filter(|row| is_share(row)).collect();
    assert_eq!(macs.len(), 52);
    for row in macs {
        let all = row.marketed_gb * 1024;
        let share = if row.marketed_gb < 36 { all * 2 / 3 } else { all * 3 / 4 };
        assert_eq!(row.accelerator.memory.0, share << 20, "{}", row.id);
        let note = row.provenance().note;
        assert!(
            note.contains(if row.marketed_gb < 36 { "two thirds" } else { "three quarters" }),
            "{}: {note}",
            row.id
        );
        let by_rule = row.memory_basis == MemoryBasis::MacosShareByRule;
        assert_eq!(row.unverified_fields.contains(&"memory"), by_rule, "{}", row.id);
        assert_eq!(row.provenance().source.contains("logs in public"), !by_rule, "{}", row.id);
    }
}

/// Links made before the catalog knew macOS' share keep counting all of a Mac's memory.
#[test]
fn macs_of_old_links_keep_all_of_their_memory() {
    for (id, gb) in [("m3-ultra", 512), ("m2-ultra", 192), ("m4-max", 128)] {
        let row = accelerator(id).unwrap_or_else(|| panic!("{id} is in the catalog"));
        assert_eq!(
            (row.accelerator.memory.0, row.accelerator.peak),
            (gb << 30, PeakRates::default()),
            "{id}"
        );
        assert!(
            row.name.contains("all of")
                && row.provenance().note.starts_with("All of the unified memory"),
            "{id}"
        );
    }
}

#[test]
fn consumer_cards_stand_one_in_a_node_and_cards_of_a_series_together() {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for row in accelerators() {
        let group = (row.vendor, row.series);
        if seen.last() != Some(&group) {
            assert!(!seen.contains(&group), "{}: {group:?} is listed in two places", row.id);
            seen.push(group);
        }
        if ["GeForce", "Radeon", "Arc", "Mac"].iter().any(|series| row.series.starts_with(series)) {
            assert_eq!(row.accelerator.accelerators_per_node, 1, "{}", row.id);
        }
    }
}

#[test]
fn every_accelerator_has_a_rate_or_says_that_none_is_known() {
    const KNOWN: [&str; 8] = [
        "memory",
        "memory_bandwidth",
        "peak",
        "peak.bf16",
        "peak.fp16",
        "peak.fp8",
        "accelerators_per_node",
        "tdp_watts",
    ];
    for row in accelerators() {
        let peak = &row.accelerator.peak;
        let rates = [peak.bf16, peak.fp16, peak.fp8, peak.int8, peak.tf32, peak.fp32];
        let flagged = row.unverified_fields.contains(&"peak");
        assert!(rates.iter().any(Option::is_some) || flagged, "{}", row.id);
        for rate in rates.into_iter().flatten() {
            assert!((2.0..20_000.0).contains(&rate), "{}: {rate} TFLOP/s", row.id);
        }
        let bandwidth = row.accelerator.memory_bandwidth.expect("every row has one");
        assert!((6e10..1e13).contains(&bandwidth), "{}: {bandwidth} B/s", row.id);
        assert!((1..=16).contains(&row.accelerator.accelerators_per_node), "{}", row.id);
        assert!(row.accelerator.price_per_hour.abs() < f64::EPSILON, "{}", row.id);
        assert!(row.unverified_fields.iter().all(|field| KNOWN.contains(field)), "{}", row.id);
    }
}

#[test]
fn the_cache_follows_windows_and_latent_attention() {
    let bytes = |id: &str, tokens: u64| {
        let config = &model(id).unwrap_or_else(|| panic!("{id} is in the catalog")).config;
        let job = support::serving_job(config, headroom::config::ParallelLayout::SINGLE, |run| {
            run.context_length = tokens;
        });
        headroom::estimator::estimate(&job).ledger.of(headroom::estimator::MemoryKind::KvCache).0
    };
    // Half of gpt-oss' layers look back on 128 tokens: 18 full and 18 windows of 2 · 8 heads · 64 ·
    // 2 bytes.
    assert_eq!(bytes("gpt-oss-120b", 100_000), 18 * (100_000 + 128) * 2048);
    assert_eq!(bytes("gpt-oss-120b", 100), 36 * 100 * 2048);
    // All of Mistral's layers look back on 4096.
    assert_eq!(bytes("mistral-7b", 32_768), bytes("mistral-7b", 4096));
    // DeepSeek keeps 512 + 64 numbers for all heads together.
    assert_eq!(bytes("deepseek-v3", 1000), 61 * 1000 * (512 + 64) * 2);
}
