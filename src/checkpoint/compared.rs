//! The stored tensors beside the counted model.

use super::stored::{Stored, StoredTensor};
use crate::estimator::{MemoryKind, estimate};
use crate::import::Imported;
use crate::ops::parameters_of;
use crate::scenario::{FieldId, Mode, Scenario, Value};
use crate::units::{Bytes, MemoryUnit, grouped, to_f64, whole};

/// Sentences that compare the stored tensors with the counted model.
pub(super) fn compared(stored: &Stored, imported: &Imported) -> Vec<String> {
    let mut said = vec![stored.said()];
    if stored.missing == 0 && !stored.tensors.is_empty() {
        said.extend(numbers(stored, imported));
        said.extend(bytes(stored, imported));
    }
    said
}

/// The numbers of the file beside the model's parameters.
fn numbers(stored: &Stored, imported: &Imported) -> Vec<String> {
    if stored.is_packed() {
        return vec![
            "Its words hold several numbers each, so the numbers cannot be compared one by one."
                .to_owned(),
        ];
    }
    let counted = parameters_of(&imported.config);
    let mut said = Vec::new();
    let mut of_model = stored.elements();
    for (what, count) in beside(stored, imported) {
        of_model = of_model.saturating_sub(count);
        said.push(format!("{} of them are {what}.", whole(count)));
    }
    let others = if said.is_empty() { "" } else { " others" };
    said.push(match of_model.cmp(&counted) {
        std::cmp::Ordering::Equal => {
            format!("All{others} are parameters that Headroom counts: {}.", whole(counted))
        }
        std::cmp::Ordering::Greater => {
            format!(
                "Headroom counts {} parameters, {} fewer than the files hold.",
                whole(counted),
                whole(of_model - counted)
            )
        }
        std::cmp::Ordering::Less => {
            format!(
                "Headroom counts {} parameters, {} more than the files hold.",
                whole(counted),
                whole(counted - of_model)
            )
        }
    });
    said
}

/// Stored numbers that are no parameters of the counted model: their kind in words, and how many
/// there are of it.
fn beside(stored: &Stored, imported: &Imported) -> Vec<(&'static str, u64)> {
    let config = &imported.config;
    let sum = |is: &dyn Fn(&StoredTensor) -> bool| {
        stored.tensors.iter().filter(|tensor| is(tensor)).map(|tensor| tensor.elements).sum()
    };
    let head = |name: &str| name.ends_with("lm_head.weight") || name == "output.weight";
    let has_no_tower = config.tower.is_none();
    let kinds: [(&'static str, u64); 4] = [
        (
            "a copy of the head, which is the table of tokens",
            sum(&|tensor| config.tie_word_embeddings && head(&tensor.name)),
        ),
        (
            "no parameters but tables that the model makes itself",
            sum(&|tensor| is_buffer(&tensor.name)),
        ),
        (
            "of layers that predict further tokens, which are left out",
            sum(&|tensor| {
                !is_buffer(&tensor.name) && is_further(&tensor.name, config.num_hidden_layers)
            }),
        ),
        (
            "of parts for images or sound, which are left out",
            sum(&|tensor| has_no_tower && is_tower(&tensor.name)),
        ),
    ];
    kinds.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Tables that files of older versions hold.
fn is_buffer(name: &str) -> bool {
    [
        "inv_freq",
        "rope_freqs",
        "e_score_correction_bias",
        "position_ids",
        "masked_bias",
        "exp_probs_b",
    ]
    .iter()
    .any(|part| name.contains(part))
}

fn is_further(name: &str, layers: u64) -> bool {
    let numbered =
        name.split_once("layers.").or_else(|| name.strip_prefix("blk.").map(|rest| ("", rest)));
    let layer = numbered
        .and_then(|(_, rest)| rest.split('.').next())
        .and_then(|number| number.parse::<u64>().ok());
    name.starts_with("mtp.")
        || name.contains(".mtp.")
        || (!is_tower(name) && layer.is_some_and(|layer| layer >= layers))
}

fn is_tower(name: &str) -> bool {
    [
        "visual.",
        "vision_",
        "vision.",
        "multi_modal_projector",
        "audio_",
        "mm_projector",
        "embed_vision",
        "embed_audio",
    ]
    .iter()
    .any(|part| name.contains(part))
}

/// The bytes of a file whose format is known, beside those of the weights as they are counted when
/// served.
fn bytes(stored: &Stored, imported: &Imported) -> Option<String> {
    let format = imported.quantization?.format;
    let mut scenario = Scenario::default();
    scenario.apply_imported(imported);
    for (id, value) in
        [(FieldId::Mode, Value::choice(Mode::Serve)), (FieldId::Gpus, Value::Integer(1))]
    {
        scenario.set(id, value);
    }
    for id in [FieldId::TensorParallel, FieldId::PipelineParallel, FieldId::ExpertParallel] {
        scenario.set(id, Value::Integer(1));
    }
    let counted = estimate(&scenario.resolve().ok()?).ledger.of(MemoryKind::Parameter);
    let show = |bytes| MemoryUnit::Gb.show(Bytes(bytes));
    let (held, told) = (stored.bytes(), show(stored.bytes()));
    let word = crate::scenario::show(FieldId::WeightDType, &Value::choice(format));
    let off = to_f64(counted.0.abs_diff(held)) / to_f64(held.max(1));
    Some(if off < 0.0005 {
        format!("As {word}, Headroom counts as many bytes: {told}.")
    } else {
        format!(
            "As {word}, Headroom counts {}, where the files hold {told}: {} % apart.",
            show(counted.0),
            grouped(off * 100.0, 1)
        )
    })
}
