//! The text of `PYTORCH_CUDA_ALLOC_CONF`.

use super::super::{ConfError, SizeClasses};
use super::{MIB, Settings};

fn refusal(conf: &str) -> String {
    Settings::from_conf(conf).unwrap_err().to_string()
}

#[test]
fn an_empty_text_is_the_default() {
    assert_eq!(Settings::from_conf(""), Ok(Settings::default()));
    assert_eq!(Settings::from_conf(" , "), Ok(Settings::default()));
}

#[test]
fn every_setting_is_read() {
    let conf = "expandable_segments:True, max_split_size_mb:128,max_non_split_rounding_mb:30,large_segment_size_mb:24,\
        roundup_power2_divisions:8,garbage_collection_threshold:0.8,per_process_memory_fraction:0.9,throw_on_cudamalloc_oom:True";
    let expected = Settings {
        expandable_segments: true,
        max_split_size: Some(128 * MIB),
        max_non_split_rounding: Some(30 * MIB),
        large_segment: 24 * MIB,
        roundup_power2_divisions: SizeClasses::all(8),
        garbage_collection_threshold: Some(0.8),
        per_process_memory_fraction: Some(0.9),
        reject_early: true,
    };
    assert_eq!(conf.parse(), Ok(expected));
}

#[test]
fn keys_for_other_memory_are_accepted() {
    let conf = "backend:native,pinned_use_background_threads:True,release_lock_on_cudamalloc:True,pinned_num_register_threads:8";
    assert_eq!(Settings::from_conf(conf), Ok(Settings::default()));
}

#[test]
fn an_unknown_key_is_named() {
    assert_eq!(
        refusal("expandable_segment:True"),
        "PyTorch's allocator has no setting expandable_segment"
    );
    assert_eq!(refusal("max_split_size_mb:64,foo"), "PyTorch's allocator has no setting foo");
}

#[test]
fn a_value_that_pytorch_refuses_is_named() {
    assert_eq!(
        refusal("expandable_segments:true"),
        "expandable_segments is True or False, not \"true\""
    );
    assert_eq!(
        refusal("max_split_size_mb:19"),
        "max_split_size_mb is a whole number of at least 20, not \"19\""
    );
    assert_eq!(
        refusal("large_segment_size_mb:10"),
        "large_segment_size_mb is a whole number of at least 11, not \"10\""
    );
    assert_eq!(
        refusal("max_split_size_mb"),
        "max_split_size_mb is a whole number of at least 20, not \"\""
    );
    for conf in [
        "garbage_collection_threshold:0",
        "garbage_collection_threshold:1",
        "garbage_collection_threshold:nan",
    ] {
        assert!(
            refusal(conf).starts_with("garbage_collection_threshold is a number between 0 and 1"),
            "{conf}"
        );
    }
    assert!(
        refusal("per_process_memory_fraction:1.1")
            .starts_with("per_process_memory_fraction is a number from 0 to 1")
    );
    for divisions in ["3", "[", "[1:3]", "[3:2]", "[256]", "[256:2", ""] {
        assert!(
            refusal(&format!("roundup_power2_divisions:{divisions}"))
                .starts_with("roundup_power2_divisions is a power of two")
        );
    }
}

#[test]
fn the_segment_size_bounds_the_split_size_wherever_it_stands() {
    assert!(Settings::from_conf("max_split_size_mb:30,large_segment_size_mb:40").is_err());
    assert!(Settings::from_conf("max_split_size_mb:12,large_segment_size_mb:12").is_ok());
    assert_eq!(
        Settings::from_conf("large_segment_size_mb:40").unwrap().slack_of_unsplit(),
        40 * MIB
    );
}

#[test]
fn another_allocator_is_not_modelled() {
    let expected = ConfError::NotModelled { setting: "backend:cudaMallocAsync".to_owned() };
    assert_eq!(Settings::from_conf("backend:cudaMallocAsync"), Err(expected));
    assert_eq!(
        refusal("expandable_segments_reserve:0.5"),
        "expandable_segments_reserve:0.5 is not modelled"
    );
}

#[test]
fn a_list_of_divisions_is_one_value() {
    let settings = Settings::from_conf(
        "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],max_split_size_mb:64",
    )
    .unwrap();
    let classes = settings.roundup_power2_divisions;
    let divisions = [1, 256, 512, 1024, 2048, 1 << 20].map(|mib| classes.of(mib * MIB));
    assert_eq!(divisions, [1, 1, 2, 4, 8, 8]);
    assert_eq!(settings.max_split_size, Some(64 * MIB));
}
