//! The blocks of a stage that are played, and those whose weights stay gathered.

use super::{Live, Played};
use crate::config::{
    AttentionKernel, DataSharding, Images, Job, ModelConfig, Recompute, TrainingRun, Tuning,
};
use crate::estimator::stage::Stage;
use crate::ops;

/// No known pattern of sliding blocks is longer.
const MOST_APART: u64 = 8;

/// The parameters that stay gathered where so many may; `None` where all of them do, and where
/// there is no room for a block.
pub(super) fn live(job: &Job, run: &TrainingRun, sharding: DataSharding) -> Option<Live> {
    let most = run.library.max_live_parameters;
    sharding.gathers.as_ref().filter(|gathers| gathers.is_limited)?;
    let (model, t) = (job.model(), job.layout().t().max(1));
    let list = ops::declared(model);
    let room = most.saturating_mul(t);
    let mut left = room.checked_sub(
        ops::parameters(&list.embedding).saturating_add(ops::parameters(&list.head)),
    )?;
    let sizes: Vec<_> =
        list.kinds.iter().map(|kind| (kind.of, ops::parameters(&kind.ops))).collect();
    let size = |layer: u64| {
        sizes.iter().find(|(of, _)| *of == model.kind_of(layer)).map_or(0, |(_, size)| *size)
    };
    let mut blocks = 0;
    while blocks < model.num_hidden_layers && size(blocks) <= left {
        left -= size(blocks);
        blocks += 1;
    }
    (blocks > 0 && blocks < model.num_hidden_layers).then_some(Live { blocks, rest: left / t })
}

/// True if weights are given back after use where so many parameters may stay gathered.
pub(super) fn gives_back(job: &Job, most_live: u64) -> bool {
    let parameters = ops::parameters_of(job.model());
    parameters / job.layout().t().max(1) > most_live
}

/// Blocks of a stage: of each run of blocks that are alike the first, one for all that follow, and
/// the last.
pub(super) fn played(job: &Job, stage: &Stage, live: Option<Live>, every: bool) -> Vec<Played> {
    let model = job.model();
    let tuning = job.training().map_or(Tuning::FULL, |run| run.tuning);
    // Recomputation of a block or of its attention core holds the mask it reads until backward has
    // left it. Rotary tables are held in this way as well, where each kind of block has a table of
    // its own.
    let tables = model.family.modules().tables_for_each_kind
        || job.training().is_some_and(|run| {
            run.recompute != Recompute::None && run.attention == AttentionKernel::Standard
        });
    // Every block's keys and values have a place of their own in the cache, and their gradients
    // wait until backward is through; so do gradients of what layers share, and of the inputs of
    // all of them.
    let caches = tuning.keys_before() > 0 || model.altup().is_some();
    let (first, end) = (stage.range().start, stage.range().end);
    // A part that feeds a block is like no block.
    let images = job.training().map_or(Images::NONE, |run| run.images);
    let fed = model.tower.map_or(0, |tower| tower.fed_blocks(images));
    let mut all = Vec::new();
    let mut from = first;
    while from < end {
        // Blocks that stay gathered are played apart from the others, and so is the one that does
        // in part.
        let borders =
            live.into_iter().flat_map(|live| [live.blocks, live.blocks.saturating_add(1)]);
        let until = borders
            .chain([fed])
            .filter(|border| *border > from)
            .min()
            .map_or(end, |border| border.min(end));
        let kind = |layer| ops::modules::kind(model, &tuning, layer);
        let all_alike = model.is_uniform() && tuning.frozen_layers == 0;
        let length = run_length(from, until, |layer| kind(layer) == kind(from), all_alike);
        let apart = if tables { tables_apart(model, from, length) } else { 1 };
        if every || caches || from < fed || length <= apart + 2 {
            all.extend((from..from.saturating_add(length)).map(|index| Played { index, times: 1 }));
        } else {
            all.extend((from..from.saturating_add(apart)).map(|index| Played { index, times: 1 }));
            all.push(Played { index: from.saturating_add(apart), times: length - apart - 1 });
            all.push(Played { index: from.saturating_add(length - 1), times: 1 });
        }
        from = from.saturating_add(length);
    }
    all
}

/// How many blocks must be played by themselves before one can stand for its like: the first, and
/// where sliding and other blocks have tables of their own, all up to the first of the other sort,
/// with which backward lets go of its tables.
fn tables_apart(model: &ModelConfig, from: u64, length: u64) -> u64 {
    let tables = model.tables_of(from);
    let other = (1..length.min(MOST_APART))
        .find(|skip| model.tables_of(from.saturating_add(*skip)) != tables);
    other.map_or(1, |skip| skip.saturating_add(1))
}

/// How many blocks from `from` on are alike; all of them where every block is.
fn run_length(from: u64, end: u64, alike: impl Fn(u64) -> bool, all_alike: bool) -> u64 {
    if all_alike {
        return end - from;
    }
    (from..end).take_while(|layer| alike(*layer)).count().try_into().unwrap_or(u64::MAX)
}
