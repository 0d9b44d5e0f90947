//! The families of models: each says how its `config.json` files are read, and which modules run
//! it.

mod choices;
mod clip;
mod counted;
mod families;
mod gguf;
mod keys;
mod prelude;
mod projectors;
mod rules;
mod sam;
mod sound;
mod spec;
mod tower;
mod tower_prelude;
mod towers;

use crate::config::{BeforeClasses, TaskKind};
pub(crate) use choices::{FAMILIES, label};
pub use choices::{families, named};
use families::MEMBERS;
pub(crate) use gguf::of_gguf;
pub(crate) use keys::{
    Absent, Attends, COUNTED_SIZES, Heads, InnerWidth, KeyValueHeads, OwnSizes, Rest, SourceKeys,
    States, Ties,
};
pub(crate) use rules::{Experts, Flag, Latent, Norms, Otherwise, Positions, Window};
pub(crate) use spec::FamilySpec;
#[cfg(test)]
pub(crate) use tower::tower_keys;
pub(crate) use tower::{
    FURTHER, Known, TowerDefault, TowerGroup, TowerKey, TowerOnly, TowerSpec, VISION, VISION_KIND,
    VISION_OF, of_file,
};
pub use tower::{projector, tower};

/// The family of that `model_type`, if it is listed.
pub(crate) fn of(model_type: &str) -> Option<&'static FamilySpec> {
    MEMBERS.into_iter().find(|family| family.names.contains(&model_type))
}

/// The `model_type`s of all families.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    MEMBERS.into_iter().flat_map(|family| family.names.iter().copied())
}

/// The task of a class of another task than text, of that family; none where the library's layers
/// for it are not described.
pub(crate) fn task_of_class(class: &str, family: &FamilySpec) -> Option<TaskKind> {
    let endings = [
        ("ForSequenceClassification", TaskKind::Sequence),
        ("ForTokenClassification", TaskKind::Token),
        ("ForQuestionAnswering", TaskKind::Span),
        ("Model", TaskKind::States),
    ];
    if of_class(class).is_some() || family.may_be_saved_as(class) {
        return None;
    }
    let (stem, task) =
        endings.iter().find_map(|(ending, task)| Some((class.strip_suffix(ending)?, *task)))?;
    let is_its_own = plain(family.class) == plain(stem)
        || family.names.iter().any(|name| plain(name) == plain(stem));
    let modules = family.modules.encoder;
    let described = match family.encoder {
        Some(encoder) => {
            modules.trains
                && !encoder.is_decoder
                && modules.tasks.before(task) != BeforeClasses::Unknown
        }
        None => family.source.is_none() && family.classifies,
    };
    (is_its_own && described).then_some(task)
}

/// Classes are written as model types are, without their underscores.
fn plain(name: &str) -> String {
    name.replace(['_', '-'], "").to_ascii_lowercase()
}

/// The family of that class, such as `LlamaForCausalLM`; none of a class that predicts no text.
pub(crate) fn of_class(class: &str) -> Option<&'static FamilySpec> {
    let endings = [
        "MTModel",
        "ForTextToText",
        "ToText",
        "ForCausalLM",
        "WithLMHeadModel",
        "LMHeadModel",
        "ForConditionalGeneration",
        "ForMaskedLM",
        "ForPreTraining",
        "ForVisionText2Text",
        "ForProteinText2Text",
        "Decoder",
    ];
    let stem = endings.iter().find_map(|ending| class.strip_suffix(ending))?;
    let stem = plain(stem);
    let known = MEMBERS.into_iter().find(|family| plain(family.class) == stem);
    known.or_else(|| {
        MEMBERS.into_iter().find(|family| family.names.iter().any(|name| plain(name) == stem))
    })
}
