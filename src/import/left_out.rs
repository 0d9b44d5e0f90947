//! Parts of a model that are not in its text part: towers for images and sound, layers that predict
//! further tokens.

use super::value::{Object, Value, class_of};
use crate::models::FamilySpec;

/// A part of the model that is not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Plain words for it, such as "vision tower".
    pub part: String,
    /// The key of the file that shows it, such as `vision_config`.
    pub key: String,
    /// The checkpoint alone holds it: the library's class has no such part, and loads none.
    pub of_checkpoint: bool,
}

/// Keys that show a part beside the text, and the words for it.
const PARTS: [(&str, &str); 24] = [
    ("vision_config", "vision tower"),
    ("visual", "vision tower"),
    ("visual_depth", "vision tower"),
    ("vision_tower", "vision tower"),
    ("mm_vision_tower", "vision tower"),
    ("vit_config", "vision tower"),
    ("vision_encoder", "vision tower"),
    ("vision_tower_cfg", "vision tower"),
    ("embd_layer", "vision tower"),
    ("cross_attn_every_n_layers", "layers that attend to images"),
    ("audio_config", "audio tower"),
    ("audio", "audio tower"),
    ("audio_encoder_config", "audio tower"),
    ("audio_processor", "audio tower"),
    ("vision_lora", "adapters for images and sound"),
    ("speech_config", "speech tower"),
    ("talker_config", "speech output"),
    ("depth_decoder_config", "decoder of sound"),
    ("codec_config", "coder of sound"),
    ("num_nextn_predict_layers", MTP),
    ("num_mtp_layers", MTP),
    ("num_mtp_modules", MTP),
    ("mtp_num_hidden_layers", MTP),
    ("mtp_num_layers", MTP),
];

/// Multi-token prediction, in words.
const MTP: &str = "layers that predict further tokens";

/// Multi-token prediction where the library's class has none.
pub(crate) const MTP_OF_CHECKPOINT: &str = "layers of the checkpoint that predict further tokens";

/// Groups of keys that are no part of the model.
const NO_PARTS: [&str; 10] = [
    "text_config",
    "decoder_config",
    "llm_config",
    "language_config",
    "quantization_config",
    "compression_config",
    "generation_config",
    "init_config",
    "transformers.js_config",
    "image_processor_config",
];

/// True if the key is about a part that is named as left out.
pub(super) fn is_a_part(key: &str) -> bool {
    PARTS.iter().any(|(part, _)| *part == key)
        || ["mtp_", "vision_", "visual_", "image_", "audio_", "video_", "mm_", "slice_", "speech_"]
            .iter()
            .any(|start| key.starts_with(start))
}

/// The parts that the file has beside `text`, and those that its kind always has; `around` is the
/// file, where `text` is only its part for text. The groups `counted`, which describe a tower or
/// its projector, are not left out.
pub(super) fn left_out(
    kind: &FamilySpec,
    (text, around): (&Object, Option<&Object>),
    counted: &[&str],
) -> Vec<LeftOut> {
    let stated = |object: &Object, key: &str| {
        !matches!(object.get(key), None | Some(Value::Null | Value::Bool(false) | Value::Whole(0)))
    };
    // Where one class of a kind has a part and another has none, the one for text has none.
    let for_text =
        class_of(text.get("architectures")).is_some_and(|class| class.ends_with("ForCausalLM"));
    let passed = |key: &str| for_text && kind.not_looked_at.contains(&key);
    let has = |key: &str| {
        !passed(key) && (stated(text, key) || around.is_some_and(|around| stated(around, key)))
    };
    let mut found: Vec<LeftOut> = Vec::new();
    for (key, part) in PARTS.iter().filter(|(key, _)| {
        !counted.contains(key) && (kind.always_left_out.contains(key) || has(key))
    }) {
        let of_checkpoint = *part == MTP && !kind.names.is_empty() && !kind.predicts_further;
        let part = if of_checkpoint { MTP_OF_CHECKPOINT } else { *part };
        if found.iter().all(|left| left.part != part) {
            found.push(LeftOut { part: part.to_owned(), key: (*key).to_owned(), of_checkpoint });
        }
    }
    found.extend(kind.crossed.filter(|_| counted.is_empty()).map(|key| LeftOut {
        part: "layers that attend to images".to_owned(),
        key: key.to_owned(),
        of_checkpoint: false,
    }));
    found.extend(
        of_file_itself(around.unwrap_or(text)).filter(|_| found.is_empty() && counted.is_empty()),
    );
    if let Some(around) = around {
        found.extend(unknown_parts(around).filter(|part| !counted.contains(&part.key.as_str())));
        found.extend(unknown_kind(around).filter(|_| found.is_empty() && counted.is_empty()));
    }
    found
}

/// A tower whose keys stand among those of the file, and that is not read.
fn of_file_itself(file: &Object) -> Option<LeftOut> {
    let Some(Value::Text(kind)) = file.get("model_type") else { return None };
    let (tower, projector) = crate::models::of_file(kind, None)?;
    let specs = [Some(tower), projector];
    let is_of_text = |class: &str| specs.iter().flatten().any(|spec| spec.text_class == class);
    let is_there =
        specs.iter().flatten().any(|spec| spec.groups.iter().any(|of| of.path.is_empty()))
            && !class_of(file.get("architectures")).is_some_and(is_of_text);
    is_there.then(|| LeftOut {
        part: "tower for images or sound".to_owned(),
        key: "model_type".to_owned(),
        of_checkpoint: false,
    })
}

/// Parts of a file beside its text whose names are not known.
fn unknown_parts(around: &Object) -> impl Iterator<Item = LeftOut> {
    let is_unknown = |key: &str| {
        key.ends_with("_config")
            && !NO_PARTS.contains(&key)
            && PARTS.iter().all(|(known, _)| *known != key)
    };
    let parts = around
        .iter()
        .filter(move |(key, value)| matches!(value, Value::Object(_)) && is_unknown(key));
    parts.map(|(key, _)| {
        let key = super::value::shortened(key);
        LeftOut { part: format!("the part that {key} describes"), key, of_checkpoint: false }
    })
}

/// A part that a model of an unknown kind may have beside the text part that its file names.
fn unknown_kind(around: &Object) -> Option<LeftOut> {
    let Some(Value::Text(whole)) = around.get("model_type") else { return None };
    let whole = super::value::shortened(whole);
    crate::models::of(&whole).is_none().then(|| LeftOut {
        part: format!("whatever a model of the kind {whole} has beside its text part"),
        key: "model_type".to_owned(),
        of_checkpoint: false,
    })
}
