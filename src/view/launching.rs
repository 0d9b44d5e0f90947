//! A pasted command or file in words: its tool, what was read, and what to change in it. No browser
//! in here.

use super::panels::fixes::apply;
use crate::estimator::estimate;
use crate::launch::{Format, Launched, Row, SettingChange, Way, difference};
use crate::planner::{Fix, fixes, gpu_count};
use crate::scenario::Scenario;

/// A change that makes it fit, as settings of the tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRemedy {
    /// The change in the page's words.
    pub title: String,
    /// That change as settings.
    pub changes: Vec<SettingChange>,
    /// The scenario with the change.
    pub scenario: Scenario,
}

impl ToolRemedy {
    /// The settings in one line: `change --max-model-len 40960 → 32768 and add --enforce-eager`.
    pub fn in_words(&self) -> String {
        joined(&self.changes.iter().map(ToString::to_string).collect::<Vec<_>>())
    }
}

/// Changes that make a scenario fit which does not, each verified by the engine, as far as the tool
/// has words for them.
pub fn remedies(scenario: &Scenario, format: Format) -> Vec<ToolRemedy> {
    let Ok(job) = scenario.resolve() else { return Vec::new() };
    let current = estimate(&job);
    let found = fixes(&job, &current, &gpu_count(&job, scenario.memory_unit()));
    let remedy = |fix: Fix| {
        let mut changed = scenario.clone();
        apply(&mut changed, &fix);
        let changes = difference(scenario, &changed, format)?;
        Some(ToolRemedy { title: fix.title, changes, scenario: changed })
    };
    found.into_iter().filter(|fix| fix.fits).filter_map(remedy).collect()
}

/// One sentence about a reading: `A command of vLLM 0.11.0: 5 settings read, 2 by default, 1 not
/// modelled.`
pub fn summary(launched: &Launched) -> String {
    let count = |way: Way| launched.report.iter().filter(|row| row.way == way).count();
    let part = |way: Way| {
        let count = count(way);
        (count > 0).then(|| format!("{count} {}", way.word()))
    };
    let ways =
        [Way::Read, Way::Derived, Way::Default, Way::NoEffect, Way::NotModelled, Way::Unknown];
    let parts: Vec<String> = ways.into_iter().filter_map(part).collect();
    format!("{} ({}): {}.", launched.format.label, launched.format.version, parts.join(", "))
}

/// Rows in the order in which a reader wants them: what does not count first, then the text's own,
/// then defaults, then what has no effect.
pub fn in_order(launched: &Launched) -> Vec<&Row> {
    let place = |row: &&Row| match row.way {
        Way::NotModelled | Way::Unknown => 0,
        Way::Read | Way::Derived => 1,
        Way::Default => 2,
        Way::NoEffect => 3,
    };
    let mut rows: Vec<&Row> = launched.report.iter().collect();
    rows.sort_by_key(place);
    rows
}

/// `a`, `a and b`, `a, b and c`.
fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
