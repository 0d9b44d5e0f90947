//! The step played on the tape for the `fused` kernels against PyTorch's own memory, byte by byte.
//!
//! `data/truth_fused.jsonl` holds rows measured with PyTorch's memory tracker on real transformers
//! models (PyTorch 2.15, transformers 5.23); nothing in the engine is fitted to them.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use headroom::config::{
    DataSharding, Dispatch, Family, GENERIC, Job, ModelConfig, ParallelLayout, Recompute, Stack,
    TrainingPrecision,
};
use headroom::estimator::{Certainty, MemoryKind, estimate, measured};
use headroom::ops;
use headroom::units::Bytes;
use serde_json::Value;

fn number(row: &Value, path: &str) -> u64 {
    row.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} is in the row"))
}

fn job_of(row: &Value) -> Job {
    let config =
        headroom::import::config_json(&row["config"].to_string()).expect("a known model").config;
    support::training_job(&config, ParallelLayout::SINGLE, |run| {
        run.seq_length = number(row, "/run/seq_length");
        run.micro_batch_size = Some(number(row, "/run/micro_batch_size"));
        run.global_batch_size =
            number(row, "/run/micro_batch_size") * number(row, "/run/gradient_accumulation_steps");
        run.precision = TrainingPrecision::Bf16Pure;
        run.dispatch = Dispatch::CpuTracker;
        run.recompute =
            if row["run"]["recompute"] == "full" { Recompute::Full } else { Recompute::None };
    })
}

#[test]
fn memory_is_what_pytorch_measures() {
    let rows: Vec<Value> = include_str!("../../data/truth_fused.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect();
    assert_eq!(rows.len(), 12);
    for row in &rows {
        let job = job_of(row);
        assert_eq!(
            ops::lower(&ops::lowering(&job)).parameters(),
            number(row, "/measured/parameters")
        );
        let (after_forward, peak) = measured(&job).expect("a training job of played kernels");
        let saved = after_forward[MemoryKind::Activation.index()];
        assert_eq!(
            saved.0,
            number(row, "/measured/after_forward_bytes/act"),
            "saved activations of {}",
            row["id"]
        );
        let total: Bytes = peak.into_iter().sum();
        assert_eq!(total.0, number(row, "/measured/peak_bytes/total"), "peak of {}", row["id"]);
    }
}

/// The rows of a file.
fn rows_of(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn imported(row: &Value) -> ModelConfig {
    headroom::import::config_json(&row["config"].to_string()).expect("a known model").config
}

/// The confidence marks of a small job's saved activations.
fn sureness(model: &ModelConfig, kernels: Stack, layout: ParallelLayout) -> BTreeSet<&'static str> {
    let job = support::training_job(model, layout, |run| {
        (run.stack, run.seq_length, run.global_batch_size) = (kernels, 64, layout.d());
    });
    let lines = estimate(&job).ledger.lines;
    lines
        .iter()
        .filter(|line| line.kind == MemoryKind::Activation)
        .map(|line| line.certainty.word())
        .collect()
}

#[test]
fn exact_is_what_was_measured() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<PathBuf> = fs::read_dir(data.join("measured"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.extend([data.join("truth/training_memory.jsonl"), data.join("truth_fused.jsonl")]);
    let measured: BTreeSet<(&str, bool)> = files
        .iter()
        .flat_map(|path| rows_of(path))
        .filter(|row| row["kind"] == "single")
        .map(|row| (imported(&row).family.model_type(), row["run"]["kernels"] == "fused"))
        .collect();
    let models: BTreeMap<&str, ModelConfig> =
        rows_of(&data.join("truth/parameters_families.jsonl"))
            .iter()
            .map(imported)
            .map(|model| (model.family.model_type(), ModelConfig { num_hidden_layers: 2, ..model }))
            .filter(|(_, model)| !model.is_only_served())
            .collect();
    // Telechat's code is not part of transformers, and of some encoders only the parameters are
    // counted.
    let plays =
        |family: &Family| family.model_type() != "telechat" && family.modules().encoder.trains;
    for family in headroom::models::families().filter(plays) {
        let model = models.get(family.model_type()).expect("a row of every family");
        for kernels in [support::eager(), support::fused()] {
            let expected = if measured.contains(&(family.model_type(), kernels == support::fused()))
            {
                "exact"
            } else {
                "heuristic"
            };
            assert_eq!(
                sureness(model, kernels, ParallelLayout::SINGLE),
                BTreeSet::from([expected]),
                "{family:?} {kernels:?}"
            );
        }
    }
    let generic = ModelConfig { family: GENERIC, ..models["llama"].clone() };
    assert_eq!(
        sureness(&generic, support::fused(), ParallelLayout::SINGLE),
        BTreeSet::from([Certainty::Assumed.word()])
    );
}

#[test]
fn what_no_row_has_is_heuristic() {
    let [llama, qwen] = ["llama", "qwen3"].map(|kind| {
        let config = format!(r#"{{"model_type": "{kind}", "num_hidden_layers": 4}}"#);
        headroom::import::config_json(&config).expect("a known model").config
    });
    let plain = DataSharding::NOTHING;
    for (model, kernels, layout, word) in [
        (&llama, support::eager(), support::layout(2, 1, 1, plain), "exact"),
        (&llama, support::fused(), support::layout(2, 1, 1, plain), "heuristic"),
        (&qwen, support::eager(), support::layout(2, 1, 1, plain), "heuristic"),
        (&llama, support::eager(), support::layout(1, 2, 1, plain), "heuristic"),
        (&llama, support::fused(), support::layout(1, 1, 8, support::fsdp()), "exact"),
    ] {
        assert_eq!(
            sureness(model, kernels, layout),
            BTreeSet::from([word]),
            "{kernels:?} {layout:?}"
        );
    }
    for (sharding, word) in [(support::fsdp(), "exact"), (support::zero3(), "heuristic")] {
        // The model has so many parameters that DeepSpeed frees gathered weights after use.
        let job = support::training_job(&llama, support::layout(1, 1, 8, sharding), |run| {
            run.seq_length = 64;
        });
        let lines = estimate(&job).ledger.lines;
        let gathered =
            lines.iter().find(|line| line.label == "Gathered weights").expect("gathered weights");
        assert_eq!(gathered.certainty.word(), word, "{sharding:?}");
    }
}

/// Number of parameters on the tape of a played step, in which all of them are in fp32.
fn played(model: &ModelConfig, kernels: Stack) -> u64 {
    let job = support::training_job(model, ParallelLayout::SINGLE, |run| {
        (run.stack, run.seq_length, run.global_batch_size) = (kernels, 8, 1);
        run.precision = TrainingPrecision::Fp32;
    });
    let (after_forward, _) = measured(&job).expect("a training job of played kernels");
    after_forward[MemoryKind::Parameter.index()].0 / 4
}

/// For every kind of file that is read, also without a known family, all parameters are on the
/// tape.
#[test]
fn the_tape_holds_every_parameter() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/truth/parameters_families.jsonl");
    for row in rows_of(&path) {
        let model = imported(&row);
        let family = model.family_of_shape();
        assert!(family == model.family || (model.hybrid.is_some() && family == GENERIC), "{row}");
        if model.is_only_served() {
            // This model is served only, so no step is played.
            let list = headroom::ops::lower(&headroom::ops::Lowering::parameters_only(&model));
            assert_eq!(list.parameters(), number(&row, "/parameters"), "{row}");
            continue;
        }
        for kernels in [support::eager(), support::fused()] {
            assert_eq!(played(&model, kernels), number(&row, "/parameters"), "{row}");
        }
    }
}

/// A model whose shape its family does not have becomes a generic decoder with all of its stated
/// fields.
#[test]
fn a_shape_that_its_family_does_not_have_is_generic() {
    let import = |kind: &str| {
        let text = format!(
            r#"{{"model_type": "{kind}", "num_hidden_layers": 2, "num_experts": 8, "num_experts_per_tok": 2}}"#
        );
        headroom::import::config_json(&text).expect("a known model").config
    };
    let moe = import("qwen3_moe").moe;
    for kind in [
        "gpt2",
        "bloom",
        "gpt_neox",
        "opt",
        "falcon",
        "gemma2",
        "phi",
        "stablelm",
        "glm4",
        "llama",
        "starcoder2",
    ] {
        let model = import(kind);
        let experts = ModelConfig { moe: moe.clone(), ..model.clone() };
        let norms = ModelConfig { norms_per_block: 3, ..model.clone() };
        let keys = ModelConfig { num_key_value_heads: 1, ..model.clone() };
        for changed in [experts, norms, keys] {
            let generic = ModelConfig { family: GENERIC, ..changed.clone() };
            let expected = support::parameters(&generic);
            let family = changed.family_of_shape();
            assert!(family == GENERIC || changed.num_key_value_heads == 1, "{kind} {family:?}");
            let count = if family == GENERIC { expected } else { support::parameters(&changed) };
            assert_eq!(played(&changed, support::eager()), count, "{kind} {changed:?}");
        }
    }
}

fn import(config: &str) -> ModelConfig {
    headroom::import::config_json(config).expect("a known model").config
}

/// Parameters of one tensor-parallel rank, and the bytes of activations that it saves.
fn on_one_rank(model: &ModelConfig, kernels: Stack, t: u64) -> (u64, u64) {
    let job =
        support::training_job(model, support::layout(t, 1, 1, DataSharding::NOTHING), |run| {
            (run.stack, run.seq_length, run.global_batch_size) = (kernels, 256, 1);
            run.precision = TrainingPrecision::Bf16Pure;
        });
    let (after_forward, _) = measured(&job).expect("a training job of played kernels");
    (
        after_forward[MemoryKind::Parameter.index()].0 / 2,
        after_forward[MemoryKind::Activation.index()].0,
    )
}

/// transformers 5.23's tensor-parallel plans: experts are divided, latent attention only in
/// `deepseek_v2`; tensors that a plan gathers are whole on every rank.
#[test]
fn tensor_parallel_ranks_share_what_the_librarys_plan_says() {
    let shape = r#""num_hidden_layers": 2, "hidden_size": 512, "intermediate_size": 1024, "vocab_size": 1000, "num_attention_heads": 8,
        "num_key_value_heads": 8, "head_dim": 64, "num_experts": 8, "num_local_experts": 8, "n_routed_experts": 8,
        "num_experts_per_tok": 2, "moe_intermediate_size": 256, "first_k_dense_replace": 0, "n_group": 1, "topk_group": 1"#;
    let model = |kind: &str| import(&format!(r#"{{"model_type": "{kind}", {shape}}}"#));
    let (h, ends) = (512, 2 * 1000 * 512 + 512);
    let attention = 4 * h * h;
    for (kind, whole, divided) in [
        ("llama", ends + 4 * h, 2 * (attention + 3 * h * 1024)),
        // Mixtral's modules do not read `moe_intermediate_size`.
        ("mixtral", ends + 4 * h + 2 * 8 * h, 2 * (attention + 8 * 3 * h * 1024)),
        ("qwen3_moe", ends + 4 * h + 4 * 64 + 2 * 8 * h, 2 * (attention + 8 * 3 * h * 256)),
        // No plan: nothing is divided.
        ("stablelm", on_one_rank(&model("stablelm"), support::eager(), 1).0, 0),
        ("gpt_oss", on_one_rank(&model("gpt_oss"), support::eager(), 1).0, 0),
    ] {
        assert_eq!(on_one_rank(&model(kind), support::eager(), 1).0, whole + divided, "{kind}");
        assert_eq!(on_one_rank(&model(kind), support::eager(), 4).0, whole + divided / 4, "{kind}");
    }
    // Attention of deepseek_v3 is not divided. Only three quarters of the experts and of the shared
    // experts are on the other three ranks.
    let (three, two) = (model("deepseek_v3"), model("deepseek_v2"));
    let elsewhere = |model: &ModelConfig, kernels| {
        on_one_rank(model, kernels, 1).0 - on_one_rank(model, kernels, 4).0
    };
    let moe = three.moe.as_ref().expect("experts");
    let experts = 2
        * 3
        * h
        * (moe.num_experts * moe.moe_intermediate_size + moe.shared_expert_intermediate_size);
    assert_eq!(elsewhere(&three, support::eager()), experts / 4 * 3);
    assert!(elsewhere(&two, support::eager()) > experts / 4 * 3);
    // These plans divide weights but gather their outputs, so a rank saves more than where outputs
    // stay divided.
    for kind in ["phi3", "glm4", "olmo2"] {
        let (gathered, divided) = (
            on_one_rank(&model(kind), support::eager(), 4),
            on_one_rank(&model(kind), support::eager(), 1),
        );
        assert!(gathered.0 < divided.0 && 2 * gathered.1 > divided.1, "{kind}");
    }
}

/// A tensor degree that the plan's sizes do not divide by is refused by a sentence that names the
/// degree and the program that refuses it.
#[test]
fn forbidden_tensor_degrees_are_named() {
    let refusals = |model: &ModelConfig, kernels, t| {
        let job =
            support::training_job(model, support::layout(t, 1, 1, DataSharding::NOTHING), |run| {
                run.stack = kernels;
            });
        headroom::estimator::blockers(&job).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let gpt2 = import(r#"{"model_type": "gpt2", "n_layer": 12}"#);
    let plan = "transformers 5.23 has no tensor-parallel plan for gpt2; use 1 tensor-parallel rank \
        or another software stack";
    assert_eq!(refusals(&gpt2, support::eager(), 2), [plan]);
    assert_eq!(refusals(&gpt2, support::eager(), 1), [""; 0]);
    assert_eq!(refusals(&gpt2, support::fused(), 2), [""; 0]);
    let llama =
        import(r#"{"model_type": "llama", "num_hidden_layers": 2, "num_key_value_heads": 8}"#);
    assert_eq!(
        refusals(&llama, support::eager(), 16),
        ["num_key_value_heads (8) does not divide by the tensor-parallel degree 16"]
    );
    assert_eq!(refusals(&llama, support::fused(), 16), [""; 0]);
    let qwen = import(
        r#"{"model_type": "qwen3_moe", "num_hidden_layers": 2, "moe_intermediate_size": 777, "num_experts_per_tok": 2}"#,
    );
    assert_eq!(
        refusals(&qwen, support::fused(), 2),
        ["moe_intermediate_size (777) does not divide by the tensor-parallel degree 2"]
    );
}

/// Some routers stay in fp32 inside a model of 16 bits, and so do their gradients and moments. They
/// do not where master weights are kept, because then the whole model is cast, nor under FSDP2,
/// which requires one format.
#[test]
fn routers_keep_their_format_where_nothing_casts_them() {
    let sizes = r#""num_hidden_layers": 3, "hidden_size": 512, "intermediate_size": 768, "num_attention_heads": 8, "head_dim": 64,
        "vocab_size": 4000, "num_experts": 8, "moe_topk": 2"#;
    let model = import(&format!(r#"{{"model_type": "hunyuan_v1_moe", {sizes}}}"#));
    let (routers, all) = (3 * 8 * 512, support::parameters(&model));
    let job = |precision, layout| {
        support::training_job(&model, layout, |run| {
            (run.stack, run.seq_length, run.global_batch_size, run.precision) =
                (support::eager(), 64, 8, precision);
        })
    };
    for (precision, weights, moments) in [
        (TrainingPrecision::Bf16Pure, 2 * (all + routers), 4 * (all + routers)),
        (TrainingPrecision::Bf16Mixed, 2 * all, 12 * all),
        (TrainingPrecision::AmpBf16, 4 * all, 8 * all),
    ] {
        let ledger = estimate(&job(precision, ParallelLayout::SINGLE)).ledger;
        assert_eq!(ledger.of(MemoryKind::Parameter), Bytes(weights), "{precision:?}");
        assert_eq!(ledger.of(MemoryKind::OptimizerState), Bytes(moments), "{precision:?}");
        for line in &ledger.lines {
            assert_eq!(
                line.tensors.iter().map(|tensor| tensor.bytes).sum::<Bytes>(),
                line.bytes,
                "{}",
                line.label
            );
        }
    }
    let refused = |precision| {
        let found = headroom::estimator::blockers(&job(
            precision,
            support::layout(1, 1, 4, support::fsdp()),
        ));
        found.iter().any(|blocker| blocker.to_string().contains("parameters of one format"))
    };
    assert!(refused(TrainingPrecision::Bf16Pure));
    assert!(!refused(TrainingPrecision::FsdpMixed) && !refused(TrainingPrecision::Bf16Mixed));
}
