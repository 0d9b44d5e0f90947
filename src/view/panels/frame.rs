//! The frame of the page, with the places of its parts.

use super::controls::form;
use super::dialogs::frames;
use super::places::{evidence, methods, planner};
use super::sections::{Section, about, sections, welcome};
use super::sources::assumptions;
use super::teach::{stage, teach};
use crate::scenario::Mode;
use crate::view::action::{Action, FitsList, FitsOrder, SkipTarget};
use crate::view::markup::{Html, html};
use crate::view::slot;
use crate::view::ui::View;

/// A link that readers with a keyboard meet first.
fn skip(target: SkipTarget, words: &str) -> Html {
    html! { a class="skip" href={ "#" (target.id()) } data-do=(Action::Skip(target)) { (words) } }
}

/// The first screen, and the place of everything below it.
pub fn first_screen() -> Html {
    html! {
        (skip(SkipTarget::Answer, "Skip to the answer"))
        (skip(SkipTarget::Form, "Skip to the inputs"))
        header class="bar" data-own="bar" {}
        div class="notices" data-own="notices" data-testid="notices" role="status" {}
        div class="strip" data-own="strip" aria-hidden="true" {}
        main class="page" {
            div class="printed" aria-hidden="true" {
                div class="printed__code" data-own="printed-code" {}
                div data-own="printed" {}
                p class="printed__link" data-own="printed-link" {}
            }
            (welcome())
            (sections(View::default(), Mode::default()))
            div class="desk" data-key="desk" {
                (form())
                section class="answer" id=(SkipTarget::Answer.id()) tabindex="-1" aria-label="Answer" {
                    div data-own="verdict" {}
                    div id="warning" tabindex="-1" {}
                    figure data-own="stack" {}
                    section class="help" data-own="fixes" {}
                    div data-own="tabs" {}
                    div class="curves" {
                        figure data-own="curve-seq" {}
                        figure data-own="curve-gpus" {}
                    }
                }
            }
            div class="below" data-own="below" {}
        }
        footer class="foot" data-own="foot" {}
        div data-own="dialogs" {}
        div role="status" data-own="toast" {}
        p id="announcer" class="sr" aria-live="polite" data-own="announcer" {}
    }
}

/// Everything below the first screen, with the places of its parts.
pub fn below() -> Html {
    html! {
        div class="below" data-own="below" {
            (planner())
            section class="section" {
                div class="pair" {
                    div {
                        div class="section__head" {
                            h2 { "Where the memory goes" }
                            p class="section__note" {
                                "Peak memory of the most loaded GPU. Open a line to see what is \
                                 behind it; “?” explains a figure."
                            }
                        }
                        table data-own="ledger" {}
                        div id="device" tabindex="-1" aria-busy="true" { (slot::fetching()) }
                    }
                    div data-own="cost" {}
                }
            }
            section class="section section--screen" id="go-time" tabindex="-1" data-own="time" {}
            div class="step" id="timeline" tabindex="-1" aria-busy="true" data-testid="timeline" {
                (slot::fetching())
            }
            (fits())
            section class="section section--screen" { (methods()) }
            section class="section section--screen" id="go-compare" tabindex="-1" {
                div class="pair pair--even" {
                    div data-own="saved" {}
                    div data-own="compare" {}
                }
            }
            section class="section section--screen" id="go-sources" tabindex="-1" {
                (assumptions())
                (evidence())
            }
            section class="section section--screen" {
                div class="section__head" {
                    h2 { "How well it is checked" }
                    p class="section__note" {
                        "The same engine against what was measured or published. Nothing is fitted \
                         to these rows."
                    }
                }
                div class="methods" id="accuracy" tabindex="-1" aria-busy="true"
                    data-testid="accuracy" {
                    (slot::fetching())
                }
            }
            (teach())
        }
    }
}

/// The list of what fits, which is made when somebody asks for it.
fn fits() -> Html {
    html! {
        section class="section section--screen" id=(Section::Fits.id()) tabindex="-1"
            data-testid="fits-panel" {
            div class="section__head" {
                h2 { "What fits these GPUs?" }
                p class="section__note" {
                    "Every model of the list on the GPUs above, in each format or way of \
                     fine-tuning. A name opens it."
                }
            }
            button type="button" class="button" data-testid="fits-ask" data-do=(Action::ListFits(FitsList { order: FitsOrder::Size, way: String::new() })) {
                "List what fits"
            }
            div id="fits" tabindex="-1" {}
        }
    }
}

/// Version and what the page does with data.
pub fn foot() -> Html {
    html! {
        footer class="foot" data-own="foot" {
            span { "Headroom " (env!("CARGO_PKG_VERSION")) }
            span { "Everything is computed in this browser. Nothing is sent anywhere." }
            span { "MIT or Apache-2.0" }
            (about())
            button type="button" class="link" data-do=(Action::OpenTeach) { "Teach with it" }
            button type="button" class="link" data-do=(Action::SwitchTheme) { "Switch between \
                light and dark" }
        }
    }
}

/// The dialogs, with the places of their contents.
pub fn dialogs() -> Html {
    html! { div data-own="dialogs" { (frames()) (stage()) } }
}

#[cfg(test)]
mod tests {
    use super::{below, dialogs, first_screen, foot};
    use crate::view::panels::tests::count;

    #[test]
    fn every_part_has_one_place() {
        let page = [first_screen(), below(), foot(), dialogs()].into_iter().collect();
        for part in [
            "bar",
            "sections",
            "notices",
            "strip",
            "printed",
            "printed-link",
            "printed-code",
            "mode",
            "group-0",
            "fold-4",
            "verdict",
            "stack",
            "fixes",
            "tabs",
        ]
        .into_iter()
        .chain([
            "curve-seq",
            "curve-gpus",
            "ledger",
            "cost",
            "time",
            "saved",
            "compare",
            "toast",
            "in-share",
            "in-paste",
            "in-save",
        ]) {
            assert_eq!(count(&page, &format!("data-own=\"{part}\"")), 1, "{part}");
        }
    }
}
