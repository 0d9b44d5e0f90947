//! Two scenarios side by side.

use crate::app::answers::{Answers, Other};
use crate::app::history::Snapshot;
use crate::app::markup::{Html, flag, html};
use crate::app::timing::{Fact, facts};
use crate::app::words::{Scale, kinds};
use crate::config::Job;
use crate::estimator::time::timing;
use crate::estimator::{Estimate, MemoryKind};
use crate::planner::gpu_count;
use crate::scenario::{Scenario, field, show};
use crate::units::Bytes;

/// One line of the difference table: name, A, B, and whether they differ.
type Line = (String, String, String, bool);

/// Pin, swap, and the table of differences.
pub fn compare(said: &Snapshot, answers: &Answers) -> Html {
    let (scenario, other) = (&said.scenario, answers.other.as_ref());
    let pinned = other.is_some();
    html(
        r#"<div data-own="compare" data-testid="compare"><div class="section__head"><h2>Compare</h2><div class="section__tools"><button type="button" class="button" data-do="swap"{}>Swap A and B</button><button type="button" class="button" data-do="unpin"{}>Stop comparing</button><button type="button" class="button" data-testid="pin" data-do="pin"{}>Pin this one as B</button></div></div><p class="saved__empty"{}>Pin the scenario as B, then change A: both stand here, on the bar and on the curves, and one link carries both.</p>{}</div>"#,
        &[
            &flag("hidden", !pinned),
            &flag("hidden", !pinned),
            &flag("hidden", pinned),
            &flag("hidden", pinned),
            &other.map(|other| differences(scenario, answers, other)),
        ],
    )
}

/// What differs between A and B, inputs first, then results.
#[inline(never)] // a part of the program that comes later
fn differences(scenario: &Scenario, answers: &Answers, other: &Other) -> Html {
    let mut lines = input_lines(scenario, &other.scenario);
    if lines.is_empty() {
        lines.push(("No input differs yet".to_owned(), String::new(), String::new(), false));
    }
    lines.extend(result_lines(answers, other));
    let row = |(name, a, b, differs): &Line| {
        html(
            r#"<tr class="{}"><th scope="row">{}</th><td class="num">{}</td><td class="num">{}</td></tr>"#,
            &[&if *differs { "compare__differs" } else { "" }, name, a, b],
        )
    };
    let rows: Html = lines.iter().map(row).collect();
    html(
        r#"<table class="table compare"><thead><tr><th scope="col">What differs</th><th scope="col" class="num">A, shown</th><th scope="col" class="num">B, pinned</th></tr></thead><tbody>{}</tbody></table>"#,
        &[&rows],
    )
}

fn input_lines(a: &Scenario, b: &Scenario) -> Vec<Line> {
    let line = |id| (field(id).label.to_owned(), show(id, &a.get(id)), show(id, &b.get(id)), true);
    a.differences(b).into_iter().map(line).collect()
}

fn result_lines(answers: &Answers, other: &Other) -> Vec<Line> {
    let unit = answers.unit;
    let Some((job, theirs)) = &other.answer else {
        return vec![("B has an input that needs a look".to_owned(), String::new(), String::new(), false)];
    };
    let mine = &answers.estimate;
    let scale = Scale { unit, decimals: 1 };
    let amount = |bytes: Bytes| format!("{} {unit}", scale.show(bytes));
    let memory = |name: &str, a: Bytes, b: Bytes| (name.to_owned(), amount(a), amount(b), a != b);
    // Rounded as in the ledger, so that the page prints one number for one thing.
    let (a, b) = (kinds(mine, scale), kinds(theirs, scale));
    let of = |list: &[(MemoryKind, u64)], kind: MemoryKind| {
        list.iter()
            .find(|(known, _)| *known == kind)
            .map_or_else(|| "–".to_owned(), |(_, sum)| format!("{} {unit}", scale.number(*sum)))
    };
    let mut lines: Vec<Line> = MemoryKind::ALL
        .into_iter()
        .map(|kind| (kind.name().to_owned(), of(&a, kind), of(&b, kind), true))
        .filter(|(_, a, b, _)| a != b)
        .collect();
    lines.push(memory("Memory per GPU", mine.total(), theirs.total()));
    lines.push(memory("Capacity of a GPU", mine.capacity, theirs.capacity));
    let runnable =
        |count: &crate::planner::GpuCount| count.runnable.as_ref().map_or_else(|| "none".to_owned(), |run| run.gpus.to_string());
    let (a, b) = (runnable(&answers.count), runnable(&gpu_count(job, unit)));
    let differs = a != b;
    lines.push(("Smallest number of GPUs that runs".to_owned(), a, b, differs));
    lines.extend(time_lines(answers, job, theirs));
    lines
}

/// What follows from the times, figure by figure; nothing where one side has none.
fn time_lines(answers: &Answers, other: &Job, theirs: &Estimate) -> Vec<Line> {
    let (a, b) = (facts(&answers.job, &answers.timing), facts(other, &timing(other, theirs)));
    let line = |(name, a, _): Fact| {
        let (_, b, _) = b.iter().find(|(known, ..)| *known == name)?;
        Some((name.to_owned(), a.clone(), b.clone(), a != *b))
    };
    a.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::app::answers::Answers;
    use crate::app::history::Snapshot;
    use crate::app::markup::Html;
    use crate::app::panels::tests::{count, text};
    use crate::scenario::codec::decode;

    fn table(a: &str, b: Option<&str>) -> Html {
        let said = Snapshot { scenario: decode(a).scenario, compare: b.map(|b| decode(b).scenario) };
        compare(&said, &Answers::of(&said, None).0)
    }

    #[test]
    fn differences_come_with_both_values() {
        let (a, b) = ("v1&m=llama3-8b&n=8", "v1&m=llama3-8b&n=16");
        let alone = table(a, None);
        assert_eq!((count(&alone, "<table"), count(&alone, " hidden")), (0, 2));
        let both = table(a, Some(b));
        assert!(text(&both).contains("GPUs816"), "{}", text(&both));
        assert_eq!((count(&both, "<table"), count(&both, " hidden")), (1, 2));
        assert!(text(&table(a, Some(a))).contains("No input differs yet"));
    }

    #[test]
    fn an_other_that_cannot_be_resolved_says_so() {
        let words = text(&table("v1&m=llama3-8b&n=8", Some("v1&m=llama3-8b&n=8&tp=3")));
        assert!(words.contains("B has an input that needs a look"), "{words}");
    }
}
