//! Time and money in the answer's card.

use crate::view::answers::Answers;
use crate::view::explaining::{behind, place};
use crate::view::markup::{Html, html};
use crate::view::serving;
use crate::view::timing::{self, CardFigure};
use crate::view::ui::Opened;

/// Time and money beside the memory, or why the card has none.
pub fn card(answers: &Answers, opened: &Opened) -> Option<Html> {
    figures(answers, opened).or_else(|| no_figures(answers))
}

/// The figures: of a training its step, its run and its cost; of serving how fast and how dear it
/// is at the load that the answer is about. Each opens its explanation.
fn figures(answers: &Answers, opened: &Opened) -> Option<Html> {
    let (figures, note) = if let Some(load) = answers.load() {
        let assumed = serving::load_assumed(&answers.scenario, &answers.job, load, answers.users());
        (serving::load_figures(&answers.job, load)?.to_vec(), assumed)
    } else {
        let figures = timing::card(&answers.job, &answers.estimate, answers.timing())?.to_vec();
        (figures, timing::caveat(answers.estimate.verdict()).unwrap_or_default().to_owned())
    };
    let tile = |figure: &CardFigure| {
        html! {
            div class="load__figure" {
                dt { (behind(figure.label, opened, figure.path, &figure.named())) }
                dd {
                    b class="number" { (figure.value) }
                    @if !figure.note.is_empty() {
                        " "
                        span class="load__note" { (figure.note) }
                    }
                }
            }
        }
    };
    Some(html! {
        div class="verdict__load" data-testid="load" {
            dl class={ "load load--" (figures.len()) } {
                @for item in &figures { (tile(item)) }
            }
            @if !note.is_empty() { p class="load__assumed" { (note) } }
            @for figure in &figures { (place(opened, figure.path)) }
        }
    })
}

/// Why the card has no time and no money; nothing where it has them.
fn no_figures(answers: &Answers) -> Option<Html> {
    let unknown = timing::unknown(&answers.scenario, answers.timing())?;
    Some(html! { p class="verdict__load" data-testid="load" { (unknown) } })
}
