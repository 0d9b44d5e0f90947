//! Kernels that axolotl puts in: its own for adapters, and those of plugins.

use crate::launch::shared::{says, word};
use crate::launch::{Given, Place, Reading};
use crate::scenario::{FieldId, Value};

/// axolotl's own kernels for adapters, which it enables by itself where no key mentions them
/// (`check_auto_enable_lora_kernels`).
pub fn kernels_of(reading: &mut Reading<'_>) {
    const KERNELS: [&str; 4] =
        ["lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel", "lora_embedding_kernel"];
    let set: Vec<Given> =
        KERNELS.iter().filter_map(|key| reading.stated(&[key]).cloned()).collect();
    for given in set.iter().filter(|given| given.is_on() == Some(true)) {
        reading.not_modelled(given, "axolotl's own kernels for adapters keep fewer tensors.");
    }
    let refuse = says(reading, &["load_in_8bit"]) || says(reading, &["trust_remote_code"]);
    let has_rewards = reading.stated(&["rl"]).is_some_and(|given| !given.text().is_empty());
    let has_dora = word(&reading.scenario, FieldId::Method) == "dora";
    if set.is_empty() && !refuse && !has_rewards && !has_dora {
        let given = Given::new("lora_mlp_kernel", "auto", Place { line: 1, column: 1 });
        let why = "axolotl puts in its own kernels for adapters unless lora_*_kernel are false; \
            they keep fewer tensors.";
        reading.not_modelled(&given, why);
    }
}

/// Kernels that plugins install: Liger's, all together, and a loss.
pub fn plugins(reading: &mut Reading<'_>) {
    let Some(given) = reading.stated(&["plugins"]).cloned() else { return };
    let kernels: [&[&str]; 4] = [
        &["liger_rope"],
        &["liger_rms_norm"],
        &["liger_glu_activation", "liger_swiglu"],
        &["liger_fused_linear_cross_entropy"],
    ];
    let all_of_liger = kernels.iter().all(|names| says(reading, names));
    let cuts =
        reading.stated(&["cut_cross_entropy"]).is_none_or(|given| given.is_on() != Some(false));
    for name in given.list() {
        match name.rsplit('.').next() {
            Some("CutCrossEntropyPlugin") if cuts => {
                reading.read(&given, FieldId::Loss, Value::Choice("cut"));
            }
            Some("CutCrossEntropyPlugin" | "SwanLabPlugin" | "LMEvalPlugin" | "GrokfastPlugin") => {
            }
            Some("LigerPlugin") if all_of_liger => {
                reading.read(&given, FieldId::Stack, Value::Choice("liger"));
            }
            Some("LigerPlugin") => reading.not_modelled(
                &given,
                "Some of Liger's kernels without the others are not modelled.",
            ),
            _ => reading.not_modelled(&given, "This plugin is not modelled."),
        }
    }
}
