//! The families of models: each says how its `config.json` files are read, and which modules run it.

mod choices;
mod clip;
mod counted;
mod families;
mod gguf;
mod keys;
mod prelude;
mod projectors;
mod sam;
mod sound;
mod spec;
mod tower;
mod tower_prelude;
mod towers;

pub(crate) use choices::{FAMILIES, label};
pub use choices::{families, named};
use families::MEMBERS;
pub(crate) use gguf::of_gguf;
pub(crate) use keys::{Absent, Attends, Heads, InnerWidth, KeyValueHeads, OwnSizes, SourceKeys, States, Ties};
pub(crate) use spec::{Experts, FamilySpec, Flag, Latent, Norms, Otherwise, Positions, Window};
#[cfg(test)]
pub(crate) use tower::tower_keys;
pub(crate) use tower::{
    FURTHER, Known, TowerDefault, TowerGroup, TowerKey, TowerOnly, TowerSpec, VISION, VISION_KIND, VISION_OF, of_file,
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

/// The family of that class, such as `LlamaForCausalLM`; none of a class that predicts no text.
pub(crate) fn of_class(class: &str) -> Option<&'static FamilySpec> {
    let endings = [
        "MTModel",
        "ForTextToText",
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
    // Classes are written as model types are, without their underscores.
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let stem = plain(stem);
    let known = MEMBERS.into_iter().find(|family| plain(family.class) == stem);
    known.or_else(|| MEMBERS.into_iter().find(|family| family.names.iter().any(|name| plain(name) == stem)))
}
