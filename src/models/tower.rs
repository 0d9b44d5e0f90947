//! Vision towers and the projectors behind them: the keys that files state, and the layers that
//! they make.
//!
//! A tower is one file of `towers`, a projector one of `projectors`; both are data of the type
//! [`TowerSpec`].

use super::choices::same;
use super::keys::Ties;
use super::projectors::MEMBERS as PROJECTORS;
use super::towers::MEMBERS as TOWERS;
use crate::config::{
    HiddenAct, TowerLayer, TowerModules, TowerPart, TowerSize, TowerSizes, TowerStep,
};

/// How the keys of a file's vision part begin, once they stand beside those of its text part.
pub(crate) const VISION: &str = "vision_config.";

/// How the keys of a further part begin, likewise: whatever name its group has in the file, so that
/// kinds share their inputs.
pub(crate) const FURTHER: &str = "further_config.";

/// The key under which the kind of a file with a vision part stands beside the keys of its text
/// part.
pub(crate) const VISION_OF: &str = "vision_of";

/// The key of the tower's own kind.
pub(crate) const VISION_KIND: &str = "vision_config.model_type";

/// A group of a file's keys that belongs to the tower or to the projector, beside the vision part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TowerGroup {
    /// Its name; of a group inside a group both names with a dot between, and nothing for the file
    /// itself.
    pub path: &'static str,
    /// How its keys begin beside those of the text part: [`VISION`] or [`FURTHER`].
    pub prefix: &'static str,
    /// The kinds that its `model_type` may say; all kinds where there are none.
    pub kinds: &'static [&'static str],
}

/// A size that a file states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TowerKey {
    pub size: TowerSize,
    /// Its key; keys of the vision part begin with [`VISION`], those of the file around do not.
    pub key: &'static str,
    pub default: TowerDefault,
}

/// The value that the library takes where a file does not state a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TowerDefault {
    /// A number.
    Is(u64),
    /// A number that may be 0.
    May(u64),
    /// Yes or no, counted as 1 or 0.
    Flag(bool),
    /// A list, of which the number of members counts; one number counts as a list of one.
    Count(u64),
    /// A list of places, of which those below the number under another key count; with the places
    /// and the number that the library takes.
    Below { layers: (&'static str, u64), places: &'static [u64] },
    /// How often a list has that word.
    Times(&'static str, u64),
    /// Groups in a group, so many of them: the sum of a number that each has.
    Sum { of: &'static str, members: u64, default: u64 },
    /// The first member of a list of which each is twice the one before.
    Doubling(u64),
    /// The second member of a list of two.
    Second(u64),
    /// A share such as 0.5, of which one over it counts.
    OneOver(u64),
    /// 1 where the file says that word or nothing, else 0.
    Word(&'static str),
    /// 1 where the file says that word, else 0.
    OnlyWord(&'static str),
    /// A list of places below 64, each of which is a bit.
    Places(u64),
    /// An activation function, of which the number counts.
    Function(HiddenAct),
    /// 1 where the file has that group of keys, else 0.
    There,
}

/// A key of which the modules are known for one value alone; a file that states none is fine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TowerOnly {
    pub key: &'static str,
    pub is: Known,
}

/// The value that modules are known for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known {
    /// No.
    Off,
    /// A list of numbers, or one number.
    Numbers(&'static [u64]),
    /// A word, or a number that is not whole.
    Word(&'static str),
}

/// A kind of tower, or of projector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TowerSpec {
    /// The `model_type`s: of a tower those of a file's vision part, of a projector those of whole
    /// files.
    pub names: &'static [&'static str],
    /// The whole files whose tower this is, where it ends in the width of the text; towers alone.
    pub whole: &'static [&'static str],
    /// The kind of tower of files that do not say it; projectors alone.
    pub tower: &'static str,
    /// The class that runs the text part alone, although its files are those of the whole; empty:
    /// there is none.
    pub text_class: &'static str,
    /// A file of the kind without a vision part has no tower, rather than one of the library's
    /// sizes.
    pub may_be_blind: bool,
    /// Groups of keys beside the vision part.
    pub groups: &'static [TowerGroup],
    /// Keys of the vision part as code on the hub writes them, each with the library's own.
    pub renamed: &'static [(&'static str, &'static str)],
    /// Keys of which the modules are known for one value alone.
    pub only: &'static [TowerOnly],
    /// Sizes, in the order in which they are read.
    pub keys: &'static [TowerKey],
    /// The sizes that a head has which is not tied, where the file states them outside its text
    /// part: width and rows.
    pub head: Option<[TowerSize; 2]>,
    /// Keys that sound as if they were about a shape, and that make no difference.
    pub not_looked_at: &'static [&'static str],
    /// Who says whether the head reuses the embedding, for each kind of whole files whose class has
    /// a way of its own.
    pub ties: &'static [(&'static str, Ties)],
    /// Sets the sizes that follow from others.
    pub follow: fn(&mut TowerSizes),
    pub modules: &'static TowerModules,
}

impl TowerSpec {
    /// Patches as convolutions take them, and no sizes yet.
    pub const PLAIN: Self = Self {
        names: &[],
        whole: &[],
        tower: "",
        text_class: "",
        may_be_blind: false,
        groups: &[],
        renamed: &[],
        only: &[],
        keys: &[],
        head: None,
        ties: &[],
        not_looked_at: &[],
        follow: nothing,
        modules: &TowerModules::NONE,
    };
}

/// The part without the steps that images take through it, for a tower that has its layers and not
/// its shapes.
pub(super) const fn without_steps(part: &TowerPart) -> TowerPart {
    let layers = match part.layers.split_last() {
        Some((TowerLayer::Runs(_), layers)) => layers,
        _ => part.layers,
    };
    TowerPart { times: part.times, layers }
}

/// A size of the vision part.
pub(super) const fn stated(size: TowerSize, key: &'static str, default: u64) -> TowerKey {
    TowerKey { size, key, default: TowerDefault::Is(default) }
}

/// A yes or no.
pub(super) const fn flag(size: TowerSize, key: &'static str, default: bool) -> TowerKey {
    TowerKey { size, key, default: TowerDefault::Flag(default) }
}

/// A number that may be 0.
pub(super) const fn maybe(size: TowerSize, key: &'static str, default: u64) -> TowerKey {
    TowerKey { size, key, default: TowerDefault::May(default) }
}

/// The number of members of a list.
pub(super) const fn count(size: TowerSize, key: &'static str, default: u64) -> TowerKey {
    TowerKey { size, key, default: TowerDefault::Count(default) }
}

/// Sets a size to the product of another one and a number.
pub(super) fn product(sizes: &mut TowerSizes, to: TowerSize, of: TowerSize, times: u64) {
    sizes.set(to, sizes.get(of).saturating_mul(times));
}

/// The activation function of that key.
pub(super) const fn function(size: TowerSize, key: &'static str, default: HiddenAct) -> TowerKey {
    TowerKey { size, key, default: TowerDefault::Function(default) }
}

/// A list of places, of which each is a bit.
pub(super) const fn places<const N: usize>(
    size: TowerSize,
    key: &'static str,
    places: [u64; N],
) -> TowerKey {
    let mut bits = 0;
    let mut at = 0;
    while at < N {
        bits |= 1 << places[at];
        at += 1;
    }
    TowerKey { size, key, default: TowerDefault::Places(bits) }
}

const fn nothing(_: &mut TowerSizes) {}

/// Numbers of a patch and patches of an image; the width of merged patches, and of queries, keys
/// and values side by side.
pub(super) fn patches(sizes: &mut TowerSizes) {
    let of = |size| sizes.get(size);
    let (side, hidden, merge) =
        (of(TowerSize::Side), of(TowerSize::Hidden), of(TowerSize::Merge).max(1));
    let patch = of(TowerSize::Channels)
        .saturating_mul(of(TowerSize::Frames).max(1))
        .saturating_mul(side.saturating_mul(side));
    let along = of(TowerSize::Image) / side.max(1);
    sizes.set(TowerSize::Patch, patch);
    sizes.set(TowerSize::Patches, along.saturating_mul(along));
    sizes.set(TowerSize::Merged, hidden.saturating_mul(merge).saturating_mul(merge));
    sizes.set(TowerSize::Joint, hidden.saturating_mul(3));
}

/// Frequencies of rotary positions along two sides: one for every `share` numbers of a head.
pub(super) fn turned(sizes: &mut TowerSizes, share: u64) {
    let head = sizes.get(TowerSize::Hidden) / sizes.get(TowerSize::Heads).max(1);
    sizes.set(TowerSize::Turned, head / share.max(1));
}

/// A block of a vision transformer: attention and a plain feed-forward layer, with layer norms and
/// biases everywhere.
pub(super) const BLOCKS: TowerPart = TowerPart {
    times: TowerSize::Layers,
    layers: &[
        TowerLayer::LayerNorm(TowerSize::Hidden),
        TowerLayer::Linear("key", TowerSize::Hidden, TowerSize::Hidden),
        TowerLayer::Linear("value", TowerSize::Hidden, TowerSize::Hidden),
        TowerLayer::Linear("query", TowerSize::Hidden, TowerSize::Hidden),
        TowerLayer::Linear("output", TowerSize::Hidden, TowerSize::Hidden),
        TowerLayer::LayerNorm(TowerSize::Hidden),
        TowerLayer::Linear("up", TowerSize::Hidden, TowerSize::Inner),
        TowerLayer::Linear("down", TowerSize::Inner, TowerSize::Hidden),
        TowerLayer::Runs(&[
            TowerStep::Attention { norm: 0, matrices: [3, 1, 2, 4], scaled: None },
            TowerStep::FeedForward { norm: 5, matrices: [6, 7], scale: None },
        ]),
    ],
};

/// Returns the modules of a tower by its name in scenarios and tables; none for other words.
pub const fn tower(model_type: &str) -> &'static TowerModules {
    find(&TOWER_MODULES, model_type)
}

/// Returns the modules of a projector by its name in scenarios and tables; none for other words.
pub const fn projector(model_type: &str) -> &'static TowerModules {
    find(&PROJECTOR_MODULES, model_type)
}

/// The modules alone, so that a program that reads no files does not carry how files say them.
const fn modules<const N: usize>(list: &[&'static TowerSpec; N]) -> [&'static TowerModules; N] {
    let mut modules = [&TowerModules::NONE; N];
    let mut at = 0;
    while at < N {
        modules[at] = list[at].modules;
        at += 1;
    }
    modules
}

static TOWER_MODULES: [&TowerModules; TOWERS.len()] = modules(&TOWERS);
static PROJECTOR_MODULES: [&TowerModules; PROJECTORS.len()] = modules(&PROJECTORS);

const fn find(list: &[&'static TowerModules], model_type: &str) -> &'static TowerModules {
    let mut at = 0;
    while at < list.len() {
        if same(list[at].model_type, model_type) {
            return list[at];
        }
        at += 1;
    }
    &TowerModules::NONE
}

/// The tower and the projector of a whole file of that kind, whose vision part is of the kind
/// `tower`; `None` where one is not known.
///
/// A tower that ends in the width of the text has no projector.
pub(crate) fn of_file(
    whole: &str,
    tower: Option<&str>,
) -> Option<(&'static TowerSpec, Option<&'static TowerSpec>)> {
    let projector = PROJECTORS.into_iter().find(|spec| spec.names.contains(&whole));
    let found = match projector {
        Some(spec) => {
            let name = tower.unwrap_or(spec.tower);
            TOWERS.into_iter().find(|tower| tower.names.contains(&name))
        }
        None => TOWERS.into_iter().find(|tower| tower.whole.contains(&whole)),
    };
    found.map(|tower| (tower, projector))
}

/// Every key that a tower or a projector reads.
#[cfg(test)]
pub(crate) fn tower_keys() -> impl Iterator<Item = &'static str> {
    TOWERS.into_iter().chain(PROJECTORS).flat_map(|spec| spec.keys).map(|key| key.key)
}
