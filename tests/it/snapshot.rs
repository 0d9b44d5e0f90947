//! Memory snapshots of PyTorch 2.15, from a pretended H100, and of PyTorch 2.11 from a real one:
//! see `data/cuda/README.md`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a failed expectation is a failed test"
)]

use std::fs;
use std::path::Path;

use crate::support;

use headroom::config::{
    AttentionKernel, OptimizerImplementation, ParallelLayout, Recompute, TrainingPrecision,
};
use headroom::diagnosis::snapshot::{Snapshot, SnapshotError, beside, read};
use headroom::scenario::codec::decode;
use headroom::units::Bytes;
use miniz_oxide::inflate::decompress_to_vec_zlib;

/// `torch.cuda.max_memory_allocated()` and `max_memory_reserved()` of the run that wrote both
/// snapshots.
const ALLOCATED: u64 = 18_112_361_984;
const RESERVED: u64 = 21_726_494_720;

const RUN: &str =
    "v1&m=llama3-8b&l=4&n=1&gb=2&b=2&s=2048&prec=bf16-pure&ker=eager&att=flash&rc=full";

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/cuda/snapshots")
        .join(name)
        .with_extension("pickle.zz");
    decompress_to_vec_zlib(&fs::read(path).expect("a file")).expect("a packed file")
}

fn snapshot(name: &str) -> Snapshot {
    read(&bytes(name)).expect("a snapshot")
}

#[test]
fn peaks_are_those_that_pytorch_counted() {
    let whole = snapshot("llama-4-layers");
    assert_eq!(whole.reserved, Bytes(RESERVED));
    // The snapshot does not record the unused ends of large blocks.
    assert!(ALLOCATED - whole.allocated.0 < 4 << 20, "{:?}", whole.allocated);
    assert_eq!((whole.device, whole.entries, whole.begins_late), (0, 5012, false));
    let late = snapshot("llama-4-layers-stacks");
    assert_eq!(
        (late.allocated, late.reserved, late.begins_late),
        (whole.allocated, whole.reserved, true)
    );
}

#[test]
fn stacks_say_which_line_asked() {
    let places: Vec<String> = snapshot("llama-4-layers-stacks")
        .at_peak
        .into_iter()
        .filter_map(|live| live.place)
        .collect();
    assert!(
        places.iter().any(|place| place.starts_with("fixed_cross_entropy (loss_utils.py:")),
        "{places:?}"
    );
    assert!(snapshot("llama-4-layers").at_peak.iter().all(|live| live.place.is_none()));
}

#[test]
fn the_replay_of_the_same_run_holds_the_same_tensors() {
    let job = decode(RUN).scenario.resolve().expect("a job");
    for name in ["llama-4-layers", "llama-4-layers-stacks"] {
        let found = beside(snapshot(name), &job).expect("a replay");
        assert_eq!(
            (found.alike, found.differences.len(), found.rest),
            (found.measured.allocated, 0, [Bytes::ZERO; 2]),
            "{name}"
        );
        assert_eq!(found.predicted.memory.reserved, Bytes(RESERVED));
    }
}

/// A Llama of 4 recomputed layers on a real H100 under PyTorch 2.11, which keeps cuBLAS's
/// workspaces.
#[test]
fn a_real_card_wrote_what_the_replay_holds() {
    let config = r#"{"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4,
        "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000, "tie_word_embeddings": false}"#;
    let model = headroom::import::config_json(config).expect("a known model").config;
    let job = support::training_job(&model, ParallelLayout::SINGLE, |run| {
        (run.seq_length, run.global_batch_size, run.micro_batch_size) = (2048, 2, Some(2));
        (run.stack, run.precision) = (support::eager(), TrainingPrecision::Bf16Pure);
        (run.attention, run.recompute) = (AttentionKernel::Flash, Recompute::Full);
        run.optimizer_implementation = OptimizerImplementation::Fused;
        (run.library.made_on_gpu, run.library.cublas_workspace_cache) = (true, true);
    });
    let real = snapshot("llama-1024-h100");
    assert!(2_466_917_888 - real.allocated.0 < 4 << 20, "{:?}", real.allocated);
    assert_eq!(real.reserved, Bytes(2_843_738_112));
    let found = beside(real, &job).expect("a replay");
    assert_eq!(
        (found.alike, found.differences.len()),
        (found.measured.allocated, 0),
        "{:?}",
        found.differences
    );
}

#[test]
fn what_is_no_snapshot_is_a_sentence() {
    let whole = bytes("llama-4-layers");
    for cut in (0..whole.len()).step_by(whole.len() / 97) {
        assert!(matches!(read(&whole[..cut]), Err(SnapshotError::NoSnapshot(_))), "{cut}");
    }
    let reason = |file: &[u8]| read(file).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(reason(b"{\"segments\": []}").contains("something else than plain data"));
    assert!(reason(b"\x80\x02}.").contains("lists no segments"));
    assert!(
        reason(b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.")
            .contains("asks for code to be run")
    );
    assert!(reason(b"\x80\x02]q\x00h\x00a.").contains("holds itself"));
    let deep: Vec<u8> =
        std::iter::repeat_n(b']', 100).chain(std::iter::repeat_n(b'a', 99)).chain(*b".").collect();
    assert!(reason(&deep).contains("deep in each other"));
    assert!(reason(b"\x80\x02}X\x08\x00\x00\x00segments]s.").contains("no record"));
}

/// Files with randomly changed bytes are read or refused, without a panic.
#[test]
fn damaged_files_end_in_an_answer() {
    let whole = bytes("llama-4-layers-stacks");
    let mut state: u64 = 7;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or(0) % below
    };
    for _ in 0..40 {
        let mut damaged = whole.clone();
        for _ in 0..3 {
            let at = random(damaged.len());
            damaged[at] = u8::try_from(random(256)).unwrap_or(0);
        }
        let _ = read(&damaged);
    }
}
