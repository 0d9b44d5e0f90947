//! Images in the texts of vision-language models: the towers' memory byte by byte, the number of
//! tokens per image, and refusals.
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use crate::support;

use headroom::config::{
    AttentionKernel, Dispatch, Images, Job, OptimizerImplementation, ParallelLayout, Recompute,
    Run, TrainingPrecision, TrainingRun, Tuning,
};
use headroom::estimator::{MemoryKind, estimate, measured};
use headroom::import::config_json;
use headroom::ops;
use headroom::planner::{Change, fixes, gpu_count};
use headroom::scenario::codec::decode;
use headroom::units::Bytes;
use serde_json::{Value, json};

const ROWS: &str = include_str!("../../data/measured/images.jsonl");

fn rows() -> impl Iterator<Item = Value> {
    ROWS.lines().map(|line| serde_json::from_str(line).expect("a row"))
}

fn number(row: &Value, path: &str) -> u64 {
    row.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} is in the row"))
}

fn images(row: &Value) -> Images {
    let of = |key: &str| number(row, &format!("/run/{key}"));
    Images {
        per_sequence: of("images_per_sequence"),
        width: of("image_width"),
        height: of("image_height"),
        ..Images::NONE
    }
}

const FSDP2: &str = include_str!("../../data/measured/images_fsdp2.jsonl");
const TOKENS: &str = include_str!("../../data/truth/image_tokens.jsonl");

fn job(config: &Value, edit: impl FnOnce(&mut TrainingRun)) -> Job {
    let model = config_json(&config.to_string()).expect("a known model").config;
    support::training_job(&model, ParallelLayout::SINGLE, |run| {
        run.stack = support::eager();
        edit(run);
    })
}

fn of_row(row: &Value) -> Job {
    let run = &row["run"];
    job(&row["config"], |made| {
        let sequences = number(row, "/run/micro_batch_size");
        (made.seq_length, made.global_batch_size, made.micro_batch_size) =
            (number(row, "/run/seq_length"), sequences, Some(sequences));
        made.dispatch = Dispatch::CpuTracker;
        made.precision = match run["precision"].as_str() {
            Some("bf16") => TrainingPrecision::Bf16Pure,
            Some("fp32") => TrainingPrecision::Fp32,
            Some("fsdp_mixed") => TrainingPrecision::FsdpMixed,
            _ => TrainingPrecision::AmpBf16,
        };
        made.attention = if run["attention"] == "eager" {
            AttentionKernel::Standard
        } else {
            AttentionKernel::Flash
        };
        made.recompute = if run["recompute"] == "full" { Recompute::Full } else { Recompute::None };
        made.images = images(row);
        made.tuning = Tuning { frozen_tower: run["freeze_vision_tower"] == true, ..Tuning::FULL };
    })
}

#[test]
fn memory_of_images_is_what_pytorch_measures() {
    let mut compared = 0;
    for row in rows() {
        let job = of_row(&row);
        let (after_forward, peak) = measured(&job).expect("a training job of played kernels");
        let saved = after_forward[MemoryKind::Activation.index()];
        assert_eq!(
            saved.0,
            number(&row, "/measured/after_forward_bytes/act"),
            "saved activations of {}",
            row["id"]
        );
        let total: Bytes = peak.into_iter().sum();
        assert_eq!(
            total.0,
            number(&row, "/measured/peak_bytes/total"),
            "peak of {} {}",
            row["model"],
            row["id"]
        );
        compared += 1;
    }
    assert!(compared > 90, "{compared}");
}

/// Under FSDP2 each block of a tower is a group of weights of its own. The last block is gathered
/// in backward even where no gradient reaches the tower.
#[test]
fn memory_of_images_under_fsdp2_is_what_pytorch_measures() {
    let mut compared = 0;
    for row in FSDP2.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row")) {
        let ranks = number(&row, "/parallel/fully_sharded");
        let alone = of_row(&row);
        let layout = ParallelLayout {
            reduce_in_fp32: true,
            ..support::layout(1, 1, ranks, support::fsdp())
        };
        let job = alone.with_run(|run| {
            if let Run::Training(run) = run {
                run.optimizer_implementation = OptimizerImplementation::ForLoop;
                run.global_batch_size *= ranks;
            }
        });
        let (after_forward, peak) =
            measured(&job.with_layout(layout)).expect("a training job of played kernels");
        let saved = after_forward[MemoryKind::Activation.index()];
        assert_eq!(
            saved.0,
            number(&row, "/measured/after_forward_bytes/act"),
            "saved activations of {}",
            row["id"]
        );
        let total: Bytes = peak.into_iter().sum();
        assert_eq!(
            total.0,
            number(&row, "/measured/peak_bytes/total"),
            "peak of {} {}",
            row["model"],
            row["id"]
        );
        compared += 1;
    }
    assert!(compared > 25, "{compared}");
}

/// The rows come from transformers' own image processors, with the pixel limits that the files of
/// published models state.
#[test]
fn images_become_as_many_tokens_as_their_processors_say() {
    let mut compared = 0;
    for line in TOKENS.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line")) {
        let kind = line["model_type"].as_str().expect("a kind");
        let of = |key: &str| number(&line, &format!("/{key}"));
        let config = line.get("config").cloned().unwrap_or_else(|| {
            let vision = json!({"model_type": kind, "patch_size": of("patch_size")});
            json!({"model_type": kind, "vision_config": vision, "text_config": {"model_type": format!("{kind}_text")}})
        });
        let tower =
            config_json(&config.to_string()).expect("a known model").config.tower.expect("a tower");
        let Some(seen) = tower.seen(Images {
            per_sequence: 1,
            width: of("width"),
            height: of("height"),
            ..Images::NONE
        }) else {
            continue;
        };
        let resized = [number(&line, "/resized/0"), number(&line, "/resized/1")];
        assert_eq!((seen.tokens, seen.pixels), (of("tokens"), resized), "{line}");
        assert_eq!(seen.tiles, line["tiles"].as_u64().unwrap_or(1), "{line}");
        compared += 1;
    }
    assert!(compared >= 200, "{compared}");
}

/// Limits that differ from the published models' can be typed in as an input.
#[test]
fn an_image_has_as_many_tokens_as_its_limits_leave() {
    let tower = config_json(
        &json!({"model_type": "qwen2_5_vl", "vision_config": {}, "text_config": {"model_type": "qwen2_5_vl_text"}}).to_string(),
    )
    .expect("a known model")
    .config
    .tower;
    let of = |limits| {
        tower.expect("a tower").seen(Images { per_sequence: 1, width: 4000, height: 3000, limits })
    };
    assert_eq!(of([0, 0]).map(|seen| seen.tokens), Some(15_301));
    assert!(of([0, 28 * 28 * 1280]).is_some_and(|seen| seen.tokens <= 1280 && seen.tokens > 1200));
    assert_eq!(of([0, 28 * 28 * 1280]).map(|seen| seen.pixels), Some([1148, 840]));
}

/// The page's default settings, FSDP2 and fused kernels, support images.
#[test]
fn a_first_image_is_answered_at_once() {
    for link in ["v1&m=llava-1.5-7b&im=1", "v1&m=gemma3-4b-vision&im=1", "v1&m=qwen2.5-vl-7b&im=1"]
    {
        let job = decode(link).scenario.resolve().expect("a job");
        assert_eq!(headroom::estimator::blockers(&job), [], "{link}");
    }
}

/// Recomputed tower blocks whose outputs go into the text are not modelled under FSDP2, so they are
/// refused.
#[test]
fn recomputed_blocks_that_feed_the_text_are_refused_under_fsdp2() {
    let feeds =
        |row: &Value| row["config"]["vision_config"]["deepstack_visual_indexes"] == json!([0, 2]);
    let row = rows().find(feeds).expect("a row");
    let layout = support::layout(1, 1, 4, support::fsdp());
    let of = |recompute| {
        let job = of_row(&row).with_layout(layout).with_run(|run| {
            if let Run::Training(run) = run {
                (run.recompute, run.global_batch_size) = (recompute, 4);
            }
        });
        headroom::estimator::blockers(&job).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of(Recompute::None), [""; 0]);
    let said = of(Recompute::Full);
    assert!(
        said.iter().any(|text| text.starts_with(
            "Where tensors are shared out (FSDP2), recomputed blocks"
        )),
        "{said:?}"
    );
}

/// Without images a tower has no gradients, so a frozen tower and a trained one take the same
/// memory.
#[test]
fn texts_alone_are_as_they_were() {
    let row = rows().next().expect("a row");
    let of = |frozen_tower| {
        estimate(&job(&row["config"], |run| run.tuning = Tuning { frozen_tower, ..Tuning::FULL }))
            .total()
    };
    assert_eq!(of(false), of(true));
}

#[test]
fn more_images_take_more_and_a_frozen_tower_takes_less() {
    let row = rows().next().expect("a row");
    let of = |per_sequence, frozen_tower| {
        estimate(&job(&row["config"], |run| {
            (run.seq_length, run.images) = (512, Images { per_sequence, ..images(&row) });
            run.tuning = Tuning { frozen_tower, ..Tuning::FULL };
        }))
        .total()
    };
    assert!(
        of(1, false) > of(0, false) && of(4, false) > of(1, false) && of(4, true) < of(4, false)
    );
}

/// FLOPs of a tower are those of its matrices and of attention among its own patches.
#[test]
fn flops_of_a_tower_are_counted() {
    let row = rows().next().expect("a row");
    let of = |per_sequence| {
        let job = job(&row["config"], |run| run.images = Images { per_sequence, ..images(&row) });
        let list = ops::lower(&ops::lowering(&job));
        (list.forward().0, list.backward().0)
    };
    let ((forward, backward), (texts, texts_back)) = (of(1), of(0));
    // The tower has 3 blocks of width 64 with feed-forward layers of 128, over 16 patches of 588
    // numbers and a class token; its projector leads to a text of width 256.
    let block = 2.0 * 17.0 * (4.0 * 64.0 * 64.0 + 2.0 * 64.0 * 128.0) + 4.0 * 17.0 * 17.0 * 64.0;
    let (patches, projector) =
        (2.0 * 16.0 * 588.0 * 64.0, 2.0 * 16.0 * (64.0 * 256.0 + 256.0 * 256.0));
    assert!(
        (forward - texts - (patches + 3.0 * block + projector)).abs() < 0.5,
        "{}",
        forward - texts
    );
    // Pixels need no gradient, and the last block gets none, because nothing reads its output.
    assert!(
        (backward - texts_back - (patches + 2.0 * (2.0 * block + projector))).abs() < 0.5,
        "{}",
        backward - texts_back
    );
}

fn said(config: &Value, edit: impl FnOnce(&mut TrainingRun)) -> Vec<String> {
    estimate(&job(config, edit)).blockers.iter().map(ToString::to_string).collect()
}

#[test]
fn images_that_are_not_modelled_are_refused_by_name() {
    let row = rows().next().expect("a row");
    let some = Images { per_sequence: 2, width: 336, height: 336, ..Images::NONE };
    let long = said(&row["config"], |run| (run.seq_length, run.images) = (20, some));
    assert_eq!(
        long,
        ["2 images become 16 tokens each, 32 together, which do not fit into 20 tokens"]
    );
    let texts = json!({"model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 2, "vocab_size": 60});
    let none = said(&texts, |run| run.images = some);
    assert_eq!(
        none,
        ["no vision tower is counted in this model, so that it takes no images; set “Images per \
             sequence” to 0"]
    );
    let other = said(
        &json!({"model_type": "vipllava", "text_config": texts, "vision_config": {"model_type": "clip_vision_model"}}),
        |run| {
            run.images = some;
        },
    );
    assert!(
        other[0].starts_with(
            "what images take is not described for the vision tower “clip_vision_model” of \
             “vipllava”"
        ),
        "{other:?}"
    );
    let compiled =
        said(&row["config"], |run| (run.seq_length, run.images, run.compile) = (512, some, true));
    assert!(
        compiled.iter().any(|blocker| blocker.starts_with("Images are modelled with")),
        "{compiled:?}"
    );
}

/// The answer states how many tokens an image becomes.
#[test]
fn an_image_of_llava_is_576_tokens_and_one_of_gemma_3_is_256() {
    let tokens = |config: Value| {
        let model = config_json(&config.to_string()).expect("a known model").config;
        let seen = model.tower.expect("a tower").seen(Images {
            per_sequence: 1,
            width: 1000,
            height: 800,
            ..Images::NONE
        });
        seen.map(|seen| (seen.tokens, seen.pixels))
    };
    let llama = json!({"model_type": "llama"});
    let clip = json!({"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
        "num_attention_heads": 16, "image_size": 336, "patch_size": 14});
    assert_eq!(
        tokens(json!({"model_type": "llava", "text_config": llama, "vision_config": clip})),
        Some((576, [336, 336]))
    );
    let siglip = json!({"model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304,
        "num_hidden_layers": 27, "num_attention_heads": 16, "image_size": 896, "patch_size": 14, "vision_use_head": false});
    let gemma = json!({"model_type": "gemma3_text", "hidden_size": 2560});
    let gemma = json!({"model_type": "gemma3", "text_config": gemma, "vision_config": siglip, "mm_tokens_per_image": 256});
    assert_eq!(tokens(gemma), Some((256, [896, 896])));
}

/// One click leads from images that are refused to an answer: fewer where their tokens do not fit,
/// or none.
#[test]
fn refused_images_have_a_way_out() {
    let offered = |config: &Value, edit: &dyn Fn(&mut TrainingRun)| {
        let job = job(config, edit);
        let (current, count) = (estimate(&job), gpu_count(&job, headroom::units::MemoryUnit::Gib));
        assert!(!current.blockers.is_empty());
        fixes(&job, &current, &count)
            .into_iter()
            .map(|fix| (fix.change, fix.title))
            .collect::<Vec<_>>()
    };
    let row = rows().next().expect("a row");
    let some = |per_sequence| Images { per_sequence, width: 336, height: 336, ..Images::NONE };
    let many = offered(&row["config"], &|run| (run.seq_length, run.images) = (60, some(5)));
    assert_eq!(
        many.first(),
        Some(&(Change::Images(3), "3 images per sequence".to_owned())),
        "{many:?}"
    );
    let compiled = offered(&row["config"], &|run| {
        (run.seq_length, run.images, run.recompute) = (512, some(2), Recompute::Selective);
    });
    assert!(compiled.contains(&(Change::Images(0), "Texts alone".to_owned())), "{compiled:?}");
}

/// A tower for sound is called an audio tower, and the form asks for no images.
#[test]
fn a_tower_for_sound_is_an_audio_tower() {
    let texts = json!({"model_type": "llama"});
    let config = json!({"model_type": "voxtral", "text_config": texts, "audio_config": {"model_type": "voxtral_encoder"}});
    let model = config_json(&config.to_string()).expect("a known model").config;
    let list =
        ops::lower(&ops::lowering(&support::training_job(&model, ParallelLayout::SINGLE, |_| {})));
    let names: Vec<&str> = list.embedding.iter().map(|op| op.name).collect();
    assert!(names.contains(&"Audio tower") && !names.contains(&"Vision tower"), "{names:?}");
    let image = Images { per_sequence: 1, width: 336, height: 336, ..Images::NONE };
    assert_eq!(model.tower.and_then(|tower| tower.seen(image)), None);
}

/// A server's tower works over the images of one prompt. Where its working set is larger than that
/// of a text block, the tower's is counted.
#[test]
fn a_server_that_sees_images_needs_room_for_its_tower() {
    let row = rows().next().expect("a row");
    let model = config_json(&row["config"].to_string()).expect("a known model").config;
    let of = |per_sequence| {
        estimate(&support::serving_job(&model, ParallelLayout::SINGLE, |run| {
            (run.context_length, run.prefill_chunk_size) = (4096, 16);
            run.images = Images { per_sequence, ..images(&row) };
        }))
    };
    let (texts, seen) = (of(0), of(200));
    let line = |estimate: &headroom::estimator::Estimate| {
        estimate
            .ledger
            .lines
            .iter()
            .find(|line| line.label == "Images in the vision tower")
            .map(|line| line.bytes)
    };
    // 200 images in 16 bits, each with 3 × 56 × 56 pixels and 17 tokens (16 patches and a class
    // token), which take a block's input and output of width 64 and two inner tensors of width 128.
    assert_eq!(
        (line(&texts), line(&seen)),
        (None, Some(Bytes(200 * 2 * (3 * 56 * 56 + 17 * (2 * 64 + 2 * 128)))))
    );
    assert!(seen.total() > texts.total() && seen.blockers.is_empty(), "{:?}", seen.blockers);
}

#[test]
fn a_link_says_what_its_images_become() {
    let row = rows().next().expect("a row");
    let mut scenario = decode("v1&im=3&iw=1000&ih=800&s=4096").scenario;
    scenario.apply_imported(&config_json(&row["config"].to_string()).expect("a known model"));
    let remarks: Vec<_> = scenario.remarks(|| None).into_iter().map(|remark| remark.text).collect();
    let said = "Images: each of 1000 × 800 pixels is resized to 56 × 56 and becomes 16 tokens; the \
        3 images of a sequence take 48 of its 4096 tokens.";
    assert!(remarks.iter().any(|text| text == said), "{remarks:?}");
}
