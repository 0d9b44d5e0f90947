//! Estimates of real training scripts whose authors noted the memory that they saw.

use std::fs;
use std::path::Path;

use headroom::estimator::{blockers, device_memory};
use headroom::launch::{Pasted, read};
use headroom::scenario::Scenario;
use headroom::units::Bytes;

/// Scripts and files, with the GiB per GPU that their comments or READMEs state.
const PUBLISHED: [(&str, f64); 8] = [
    ("megatron_swift/lora-moe.sh", 62.0),
    ("megatron_swift/long_text.sh", 50.0),
    ("megatron_swift/dpo-packing.sh", 33.0),
    ("megatron_swift/qwen3_moe.sh", 60.0),
    ("axolotl/afm-4.5b-qlora.yaml", 7.8),
    ("axolotl/olmo3-7b-qlora.yaml", 11.3),
    ("axolotl/gpt-oss-20b-sft-lora-singlegpu.yaml", 44.0),
    ("axolotl/llama-3-fft-8b.yaml", 48.0),
];

#[test]
#[ignore = "prints figures"]
fn print_memory_of_published_scripts() {
    for (file, measured) in PUBLISHED {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/launch").join(file);
        let text = fs::read_to_string(path).expect("a text");
        let launched =
            read(&[Pasted { name: "", text: &text }], &Scenario::default()).expect("read");
        let not_counted: Vec<&str> = launched.not_counted().map(|row| row.flag.as_str()).collect();
        let ours = match launched.scenario.resolve() {
            Ok(job) => {
                let found = device_memory(&job).map(|memory| gib(memory.reserved));
                found.unwrap_or_else(|why| {
                    blockers(&job).first().map_or_else(|| format!("{why:?}"), ToString::to_string)
                })
            }
            Err(errors) => {
                errors.into_iter().map(|error| error.message).collect::<Vec<_>>().join(" ")
            }
        };
        println!(
            "{file}: published {measured}, ours {ours}; not counted: {}",
            not_counted.join(", ")
        );
    }
}

fn gib(bytes: Bytes) -> String {
    format!("{:.2} GiB", bytes.as_f64() / f64::from(1 << 30))
}
