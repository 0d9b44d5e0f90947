//! Explanations of figures: as panels that unfold beside them, and as plain text for the command
//! line.

use super::wire::MARK;
use crate::config::Job;
use crate::estimator::estimate;
use crate::explain::{
    Explainer, Explanation, Form, LargestTensors, Said, WrittenFormula, document_words,
    growth_sentence, is_itself, latex, legend, mathml, result_of, source_words, text,
};
use crate::units::MemoryUnit;
use crate::view::markup::{Html, html};
use crate::view::side::Side;

/// From so many parts on they stand in a fold.
const MANY: usize = 9;

/// Gets ready for a job's explanations, with what the five documents say about it.
fn with<T>(job: &Job, unit: MemoryUnit, each: impl FnOnce(&Explainer) -> T) -> T {
    let side = Side::of(job, &estimate(job), unit);
    each(&Explainer::new(job, &side.answers, unit))
}

/// The explanations of the figures with those paths as plain text.
///
/// # Errors
/// The first path that this job has no figure for.
pub fn explained(job: &Job, paths: &[String], unit: MemoryUnit) -> Result<Vec<String>, String> {
    with(job, unit, |explainer| {
        paths
            .iter()
            .map(|path| Ok(text(&explainer.explain(path).ok_or_else(|| path.clone())?, unit)))
            .collect()
    })
}

/// The explanations of the figures with those paths, one a line, as panels in the same order.
pub fn panels(job: &Job, paths: &str, unit: MemoryUnit) -> Html {
    with(job, unit, |explainer| {
        html! {
            @for (at, path) in paths.lines().enumerate() {
                @if at > 0 { (MARK) }
                (explainer.explain(path).map_or_else(gone, |found| panel(&found, unit)))
            }
        }
    })
}

/// A figure that the scenario has no longer.
fn gone() -> Html {
    html! { p class="quiet" { "This scenario has no such figure." } }
}

fn panel(found: &Explanation, unit: MemoryUnit) -> Html {
    let own = found.written(unit);
    let (first, parts) =
        own.split_first().map_or((None, &own[..]), |(first, rest)| (Some(first), rest));
    let head: Html = first.map(|line| formula(line, &found.title)).into_iter().collect();
    html! {
        div class="explain" role="group" aria-label={ "Explanation of " (found.title) } {
            p class="explain__what" { (found.sentence) }
            div class="explain__box" tabindex="0" role="group"
                aria-label={ "Formula of " (found.title) } {
                (head)
                @if let Some(largest) = found.largest.as_ref() { (stands_out(largest, unit)) }
                (folded(parts))
            }
            @if let Some(letters) = letters(found) { (letters) }
            (notes(found))
            (closing(found, unit))
            (copies(found, unit))
        }
    }
}

/// A formula in letters, with numbers, and its result.
fn formula(line: &WrittenFormula, title: &str) -> Html {
    let head = if line.label.is_empty() { title } else { line.label };
    if is_itself(line.expr) {
        return html! {
            p class="explain__line" {
                b { (head) }
                " = "
                (line.result)
            }
        };
    }
    let made = |form| Html::made(mathml(line.expr, form));
    html! {
        p class="explain__line" {
            b { (head) }
            " = "
            (made(Form::Symbols))
        }
        p class="explain__line explain__line--next" { "= " (made(Form::Numbers)) }
        p class="explain__line explain__line--next" {
            "= "
            strong { (line.result) }
        }
    }
}

/// The formulas of the parts; many of them in a fold.
fn folded(parts: &[WrittenFormula]) -> Html {
    let all: Html = parts.iter().map(|part| formula(part, "")).collect();
    if parts.len() < MANY {
        return all;
    }
    let count = parts.len().to_string();
    html! {
        details class="explain__parts" {
            summary { "The " (count) " parts, each with its formula" }
            (all)
        }
    }
}

/// The largest tensor of a kind as a formula, and how often it is there: `2 · b · a · s² · 2`, 32
/// times.
fn stands_out(largest: &LargestTensors, unit: MemoryUnit) -> Html {
    let label = format!("Most of it, {}", largest.names);
    let times =
        if largest.count == 1 { String::new() } else { format!(", {} times", largest.count) };
    let result = result_of(&largest.one, unit) + &times;
    formula(&WrittenFormula { label: &label, expr: &largest.one, result }, "")
}

/// The meanings of the formulas' letters, with their values.
fn letters(found: &Explanation) -> Option<Html> {
    let rows: Html = legend(found)
        .iter()
        .map(|(letter, meaning, value)| {
            let is = if value.is_empty() { String::new() } else { format!(" = {value}") };
            html! {
                div {
                    dt { (letter) (is) }
                    dd { (meaning) }
                }
            }
        })
        .collect();
    (!rows.is_empty()).then(|| html! { dl class="explain__letters" { (rows) } })
}

fn notes(found: &Explanation) -> Html {
    found.notes.iter().map(|note| html! { p class="explain__note" { (note) } }).collect()
}

/// Growth, sources, and documents that say something else.
fn closing(found: &Explanation, unit: MemoryUnit) -> Html {
    let growth = growth_sentence(&found.growth);
    let sources: Html = found
        .sources
        .iter()
        .map(|source| {
            html! {
                p class="explain__note" { (source_words(source)) }
            }
        })
        .collect();
    let said = |said: &Said| html! { li { (document_words(said, unit)) } };
    let documents: Html = found.documents.iter().map(said).collect();
    html! {
        @if !growth.is_empty() { p class="explain__grows" { (growth) } }
        (sources)
        @if !documents.is_empty() {
            p class="explain__note" { "Documents that say something else:" }
            ul class="explain__said" { (documents) }
        }
    }
}

fn copies(found: &Explanation, unit: MemoryUnit) -> Html {
    html! {
        p class="explain__copies" {
            button type="button" class="button" data-copy=(text(found, unit)) { "Copy as text" }
            button type="button" class="button" data-copy=(latex(found, unit)) { "Copy as LaTeX" }
            span class="explain__copied" role="status" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MARK, explained, panels};
    use crate::scenario::codec::decode;
    use crate::units::MemoryUnit;

    #[test]
    fn every_path_asked_for_has_its_place_in_the_reply() {
        let job = decode("v1&m=llama3-8b&n=8").scenario.resolve().expect("a job");
        let html = panels(&job, "total\nledger/Nothing\nledger/Weights", MemoryUnit::Gb);
        let pieces: Vec<&str> = html.as_str().split(MARK).collect();
        assert_eq!(pieces.len(), 3);
        assert!(pieces[0].contains("data-kind") && pieces[2].contains("<math"), "{}", pieces[2]);
        assert!(pieces[1].contains("no such figure"));
        assert_eq!(
            explained(&job, &["ledger/Nothing".to_owned()], MemoryUnit::Gb),
            Err("ledger/Nothing".to_owned())
        );
    }
}
