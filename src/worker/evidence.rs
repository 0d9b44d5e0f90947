//! The evidence of an answer: catalog rows, assumed amounts, sources, and the documents' slips.

use crate::config::Job;
use crate::estimator::estimate;
use crate::estimator::time::timing;
use crate::methods::wrong::{self, DocumentError};
use crate::scenario::Scenario;
use crate::sources::Source;
use crate::units::MemoryUnit;
use crate::view::basis::{Ground, assumed_figures, assumed_lines, catalog_rows, cited, evidence};
use crate::view::markup::{Html, html};
use crate::view::side::title;

/// The panel: three lists and the documents' slips. Amounts are written in `unit`.
pub fn panel(scenario: &Scenario, job: &Job, unit: MemoryUnit) -> Html {
    let estimate = estimate(job);
    let timing = timing(job, &estimate);
    let mut assumed = assumed_lines(&estimate, unit);
    assumed.extend(assumed_figures(scenario, job, &timing));
    let grounds = |grounds: Vec<Ground>| grounds.iter().map(ground).collect::<Html>();
    let sources: Html = cited(&estimate, &timing).into_iter().map(source).collect();
    html! {
        div class="evidence" data-testid="sources" {
            (part("Where the scenario starts from", &grounds(catalog_rows(scenario, unit))))
            (part("Assumed amounts, yours to change", &grounds(assumed)))
            (part("Sources of this answer", &sources))
        }
        div class="folds" { (slips()) }
    }
}

fn part(heading: &str, items: &Html) -> Html {
    html! {
        div class="evidence__part" {
            h3 { (heading) }
            ul { (items) }
        }
    }
}

fn ground(ground: &Ground) -> Html {
    let class = match ground.tag {
        "checked" => "tag",
        "your values" => "tag tag--modelled",
        _ => "tag tag--assumed",
    };
    html! {
        li class="evidence__item" {
            p class="evidence__name" {
                b { (ground.name) }
                " "
                span class=(class) { (ground.tag) }
            }
            @for sentence in &ground.sentences { p { (sentence) } }
        }
    }
}

fn source(source: Source) -> Html {
    html! {
        li class="evidence__item" {
            p class="evidence__name" {
                b { (source.who) }
                " "
                span class="tag" { (evidence(source.kind)) }
            }
            p { (source.title()) ", " (source.locator) "." }
        }
    }
}

/// Where the five documents' printed numbers do not follow from their own formulas.
fn slips() -> Html {
    html! {
        details class="fold" data-testid="document-errors" {
            summary class="fold__summary" {
                span class="fold__name" { "Arithmetic mistakes in these documents" }
                span class="fold__state" { (wrong::TABLE.len()) }
            }
            div class="methods__scroll methods__sheet" tabindex="0" role="region"
                aria-label="Arithmetic mistakes in these documents" {
                table class="table" {
                    thead {
                        tr {
                            th scope="col" { "Document" }
                            th scope="col" { "Place" }
                            th scope="col" { "Printed" }
                            th scope="col" { "Worked out" }
                            th scope="col" { "Why" }
                        }
                    }
                    tbody {
                        @for item in wrong::TABLE { (slip(item)) }
                    }
                }
            }
        }
    }
}

fn slip(error: &DocumentError) -> Html {
    html! {
        tr {
            th scope="row" { (title(error.document)) }
            td { (error.place) }
            td { (error.printed) }
            td { (error.recomputed) }
            td class="methods__why" { (error.sentence) }
        }
    }
}
