//! The step played on the tape against PyTorch's CUDA kernels: every tensor in order, and the bytes
//! requested at the peak.
//!
//! Sequences and rows were recorded with PyTorch 2.15 on a pretended H100, see
//! `data/cuda/README.md`; nothing is fitted to them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

use crate::support;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use headroom::config::{AttentionKernel, Job, ParallelLayout, Recompute, Stack, TrainingPrecision};
use headroom::estimator::{
    MemoryKind, NotReplayed, Sequence, TensorEvent, device_memory, estimate, measured, sequence,
};
use headroom::optimizers::{Optimizer, OptimizerImplementation};
use headroom::units::Bytes;
use serde_json::{Value, json};

pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// The config with GPT-2's missing keys filled in with the defaults of transformers' `GPT2Config`.
fn whole(config: &Value) -> String {
    let mut config = config.clone();
    if config["model_type"] == "gpt2" {
        for (key, value) in [
            ("n_embd", 768),
            ("n_layer", 12),
            ("n_head", 12),
            ("n_positions", 1024),
            ("vocab_size", 50_257),
        ] {
            if config.get(key).is_none() {
                config[key] = json!(value);
            }
        }
    }
    config.to_string()
}

pub(super) fn job_of(row: &Value) -> Job {
    let config =
        headroom::import::config_json(&whole(&row["config"])).expect("a known model").config;
    let of = &row["run"];
    support::training_job(&config, ParallelLayout::SINGLE, |run| {
        let micro_batch_size = number(&of["micro_batch_size"]);
        run.seq_length = number(&of["seq_length"]);
        run.micro_batch_size = Some(micro_batch_size);
        run.global_batch_size = micro_batch_size * number(&of["gradient_accumulation_steps"]);
        run.precision = match of["precision"].as_str() {
            Some("bf16") => TrainingPrecision::Bf16Pure,
            Some("fp32") => TrainingPrecision::Fp32,
            Some("amp_bf16") => TrainingPrecision::AmpBf16,
            other => panic!("the precision {other:?}"),
        };
        run.optimizer =
            of["optimizer"].as_str().and_then(Optimizer::of_name).expect("an optimizer");
        run.optimizer_implementation = match of["optimizer_implementation"].as_str() {
            Some("for_loop") => OptimizerImplementation::ForLoop,
            Some("foreach") => OptimizerImplementation::Foreach,
            Some("fused") => OptimizerImplementation::Fused,
            other => panic!("the implementation {other:?}"),
        };
        run.zero_grad_to_none = of["zero_grad"] != "to_zero";
        run.stack = of["kernels"].as_str().and_then(Stack::named).expect("a stack");
        run.attention = if of["attention"] == "eager" {
            AttentionKernel::Standard
        } else {
            AttentionKernel::Flash
        };
        run.recompute = if of["recompute"] == "full" { Recompute::Full } else { Recompute::None };
        run.library.made_on_gpu = of["build"] == "device";
        run.library.cublas_workspace_cache = of["cublas_workspace_cache"] == true;
    })
}

/// A tensor's number, with its bytes and a description where it is allocated, and `None` where it
/// is freed.
type Happens = (u32, Option<(u64, String)>);

/// One allocation (positive bytes) or free (negative bytes), with a description of the tensor for
/// messages.
#[derive(Clone, Debug)]
struct Step {
    bytes: i128,
    words: String,
}

/// The sizes that are allocated and freed, in order. Consecutive frees are sorted, because the
/// allocator ends in one state in whichever order they come.
fn steps(parts: &[Vec<Happens>]) -> Vec<Vec<Step>> {
    let mut sizes: HashMap<u32, Step> = HashMap::new();
    let mut all = Vec::new();
    for part in parts {
        let (mut steps, mut freed): (Vec<Step>, Vec<Step>) = (Vec::new(), Vec::new());
        let flush = |freed: &mut Vec<Step>, steps: &mut Vec<Step>| {
            freed.sort_by_key(|step| step.bytes);
            steps.append(freed);
        };
        for event in part {
            if let (tensor, Some((bytes, words))) = event {
                flush(&mut freed, &mut steps);
                let step = Step { bytes: i128::from(*bytes), words: words.clone() };
                sizes.insert(*tensor, step.clone());
                steps.push(step);
            } else {
                let step = sizes.remove(&event.0).expect("what is freed was taken");
                freed.push(Step { bytes: -step.bytes, ..step });
            }
        }
        flush(&mut freed, &mut steps);
        all.push(steps);
    }
    all
}

/// A recorded sequence, part by part: each forward with its backward, each step of the optimizer.
fn recorded(trace: &Value) -> Vec<(String, Vec<Happens>)> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    for event in trace["events"].as_array().expect("a list") {
        let tensor = || u32::try_from(number(&event[1])).expect("a tensor");
        match event[0].as_str() {
            Some("a") => part.push((tensor(), Some((number(&event[2]), String::new())))),
            Some("f") => part.push((tensor(), None)),
            // Forward and its backward are compared as one part.
            Some("m") if event[1].as_str().is_some_and(|mark| mark.ends_with("forward")) => {}
            Some("m") => parts.push((
                event[1].as_str().unwrap_or_default().to_owned(),
                std::mem::take(&mut part),
            )),
            _ => {}
        }
    }
    parts
}

/// The engine's sequence cut into the parts of the recorded one; optimizer states are created in
/// the first step.
fn played(sequence: &Sequence, like: &[(String, Vec<Happens>)]) -> Vec<Vec<Happens>> {
    let mut further = false;
    let mut stepped = false;
    let happens = |event: &TensorEvent| match *event {
        TensorEvent::Taken { tensor, bytes, op, name, .. } => {
            Some((tensor, Some((bytes, format!("{op}: {name}")))))
        }
        TensorEvent::Freed { tensor, .. } => Some((tensor, None)),
        TensorEvent::CacheEmptied => None,
    };
    let mut part = |(name, _): &(String, Vec<Happens>)| {
        if name == "built" {
            return sequence.build.clone();
        }
        if name.ends_with("optimizer") {
            let states = if std::mem::replace(&mut stepped, true) {
                Vec::new()
            } else {
                sequence.states.clone()
            };
            further = false;
            return [states, sequence.step.clone()].concat();
        }
        let further = std::mem::replace(&mut further, true);
        if further {
            sequence.further_micro_batch.clone()
        } else {
            sequence.first_micro_batch.clone()
        }
    };
    like.iter().map(|like| part(like).iter().filter_map(happens).collect()).collect()
}

fn traces(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    files.sort();
    files
}

/// Compares every part after the model's construction with the recorded one: forward, backward and
/// the optimizer's step.
fn is_played_as_recorded(path: &Path) {
    let file = flate2::read::GzDecoder::new(std::fs::File::open(path).expect("a file"));
    let trace: Value = serde_json::from_reader(std::io::BufReader::new(file)).expect("JSON");
    let recorded = recorded(&trace);
    let played =
        steps(&played(&sequence(&job_of(&trace)).expect("a step that is played"), &recorded));
    let theirs = steps(&recorded.iter().map(|(_, events)| events.clone()).collect::<Vec<_>>());
    let mut compared = 0;
    for (((name, _), mut theirs), ours) in recorded.iter().zip(theirs).zip(played).skip(1) {
        if name == "step 0 backward" && compared == 0 {
            // A recorded step allocates its tokens first; the engine counts them as part of the
            // model's construction.
            theirs.remove(0);
        }
        let differs =
            theirs.iter().zip(&ours).position(|(theirs, ours)| theirs.bytes != ours.bytes);
        if let Some(at) = differs {
            let Step { bytes, words } = &ours[at];
            panic!(
                "{}, {name}, {at}: {bytes} ({words}) where PyTorch has {}",
                path.display(),
                theirs[at].bytes
            );
        }
        assert_eq!(theirs.len(), ours.len(), "{}, {name}", path.display());
        compared += ours.len();
    }
    assert!(compared > 500, "{}", path.display());
}

#[test]
fn a_step_takes_and_frees_what_pytorch_does_in_order() {
    let files: Vec<_> =
        [traces("tests/data/allocator/traces"), traces("tests/data/cuda/traces")].concat();
    assert_eq!(files.len(), 12 + 15);
    for path in &files {
        is_played_as_recorded(path);
    }
}

#[test]
fn what_is_asked_for_at_the_peak_is_met_to_the_byte() {
    let rows: Vec<Value> = include_str!("../../data/cuda/cuda.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect();
    let mut met = 0;
    // A row that ran out of memory has no whole step.
    for row in rows.iter().filter(|row| row["measured"].get("out_of_memory").is_none()) {
        let last =
            row["measured"]["steps"].as_array().and_then(|steps| steps.last()).expect("a step");
        let (after_forward, peak) =
            measured(&job_of(row)).expect("a training job of played kernels");
        let total = |kinds: [Bytes; 7]| kinds.into_iter().sum::<Bytes>().0;
        assert_eq!(
            total(after_forward),
            number(&last["after_forward_requested"]),
            "after forward, {}",
            row["id"]
        );
        assert_eq!(total(peak), number(&last["requested_peak"]), "peak, {}", row["id"]);
        met += 1;
    }
    assert_eq!((met, rows.len()), (43, 46));
}

/// Where the step's peak is during a matrix product, the product's workspace is a line of the
/// ledger.
#[test]
fn a_kernels_own_memory_is_a_line_of_the_ledger() {
    let config = r#"{"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 2, "vocab_size": 100,
        "num_attention_heads": 8, "num_key_value_heads": 8, "tie_word_embeddings": false}"#;
    let model = headroom::import::config_json(config).expect("a known model").config;
    let job = support::training_job(&model, ParallelLayout::SINGLE, |run| {
        (run.seq_length, run.global_batch_size, run.stack) = (16, 1, support::eager());
        run.precision = TrainingPrecision::Bf16Pure;
    });
    let lines = estimate(&job).ledger.lines;
    let line = lines.iter().find(|line| line.label == "Kernel workspace").expect("a line");
    assert_eq!((line.kind, line.bytes), (MemoryKind::Temporary, Bytes(32 << 20)));
}

/// The ledger and the allocator's replay count the same bytes, up to kernels' memory by tiles and
/// blocks that are larger than requested.
#[test]
fn ledger_and_replay_count_the_same() {
    for link in [
        "v2&m=llama3.2-1b&n=1",
        "v1&do=train&m=llama3-8b&n=8&prec=bf16-pure",
        "v1&do=train&m=command-r7b&opt=adamw&ept=1",
        "v1&m=ju-7b&mt=arcee&h=2560&l=2&hd=80&ff=18432&norm=rmsnorm&act=relu2",
        "v1&do=tune&m=llama3-8b&n=8&ft=prompt",
        // Frozen embeddings under FSDP: their group is freed when backward has ended.
        "v1&do=tune&m=gemma-2b&att=flash&ft=lora&z=fsdp&rc=none",
        "v1&do=tune&m=qwen2.5-coder-14b&rc=none&obj=sft&prec=bf16&opt=adamw",
        // Megatron-LM with other optimizers than AdamW.
        "v1&do=train&m=qwen2.5-coder-32b&ker=megatron&opt=sgd&z=none&tp=4&grad=fp32",
        "v1&do=train&m=falcon3-3b&rc=none&ker=megatron&opt=sgdm&n=1&hdo=0",
    ] {
        let job = headroom::scenario::codec::decode(link).scenario.resolve().expect("a job");
        let counted = estimate(&job);
        let reserve =
            counted.ledger.lines.iter().find(|line| line.label == "Fragmentation reserve");
        let ledger =
            counted.total().saturating_sub(reserve.map_or(Bytes::ZERO, |line| line.bytes)).as_f64();
        let memory = device_memory(&job.with_memory(Bytes(1 << 50))).expect("a replay");
        let outside = memory.in_use.saturating_sub(memory.reserved);
        let replayed = (memory.allocated + outside).as_f64();
        assert!(
            (replayed / ledger - 1.0).abs() < 0.02,
            "{link}: {replayed} in the replay, {ledger} in the ledger"
        );
    }
}

/// A job that cannot run has no step to replay, so the reason is given in place of memory.
#[test]
fn jobs_that_cannot_run_are_not_replayed() {
    let reason = |link: &str| {
        let job = headroom::scenario::codec::decode(link).scenario.resolve().expect("a job");
        device_memory(&job).err()
    };
    assert_eq!(reason("v1&m=llama3-8b&n=1024&gb=128"), Some(NotReplayed::CannotRun));
    assert_eq!(reason("v1&m=llama3-8b&n=8&ker=megatron&opt=adafactor"), Some(NotReplayed::Stack));
    assert_eq!(reason("v1&m=llama3-8b&n=8&sch=gpipe"), Some(NotReplayed::Pipeline));
}
