//! The families whose modules are known, in the order in which forms list them.

use super::families::MEMBERS;
use crate::config::{Family, GENERIC};

/// How many families have modules of their own.
const COUNT: usize = {
    let (mut at, mut count) = (0, 0);
    while at < MEMBERS.len() {
        if MEMBERS[at].has_own_modules() {
            count += 1;
        }
        at += 1;
    }
    count
};

/// The families with modules of their own, by rank.
const KNOWN: [Family; COUNT] = {
    let mut known = [GENERIC; COUNT];
    let (mut at, mut count) = (0, 0);
    while at < MEMBERS.len() {
        if MEMBERS[at].has_own_modules() {
            let family = MEMBERS[at].family();
            let mut place = count;
            while place > 0 && rank(known[place - 1]) > rank(family) {
                known[place] = known[place - 1];
                place -= 1;
            }
            known[place] = family;
            count += 1;
        }
        at += 1;
    }
    known
};

/// The known families, and [`GENERIC`] as the last one.
pub(crate) const FAMILIES: [Family; COUNT + 1] = {
    let mut all = [GENERIC; COUNT + 1];
    let mut at = 0;
    while at < COUNT {
        all[at] = KNOWN[at];
        at += 1;
    }
    all
};

/// The names that people use for the kinds of each family, by `model_type`. The page looks names up
/// here, so that its program holds no keys of files.
static LABELS: [&[(&str, &str)]; MEMBERS.len()] = {
    let mut labels: [&[(&str, &str)]; MEMBERS.len()] = [&[]; MEMBERS.len()];
    let mut at = 0;
    while at < labels.len() {
        labels[at] = MEMBERS[at].labels;
        at += 1;
    }
    labels
};

/// The name that people use for a kind, by its `model_type`; `None` where no family says so.
pub(crate) fn label(model_type: &str) -> Option<&'static str> {
    LABELS
        .iter()
        .flat_map(|labels| *labels)
        .find(|(kind, _)| *kind == model_type)
        .map(|(_, label)| *label)
}

const fn rank(family: Family) -> u16 {
    family.modules().choice.rank
}

/// Returns every family that has modules of its own, in the order in which forms list them.
pub fn families() -> impl Iterator<Item = Family> {
    KNOWN.into_iter()
}

/// Returns the family of that `model_type`, which has modules of its own; [`GENERIC`] for all other
/// texts.
///
/// ```
/// assert_eq!(headroom::models::named("gemma3_text").model_type(), "gemma3_text");
/// assert!(headroom::models::named("zebra").is_generic());
/// ```
pub const fn named(model_type: &str) -> Family {
    let mut at = 0;
    while at < COUNT {
        if same(KNOWN[at].model_type(), model_type) {
            return KNOWN[at];
        }
        at += 1;
    }
    GENERIC
}

/// True if two texts are equal. Unlike `==`, it runs in constants too.
pub(super) const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
