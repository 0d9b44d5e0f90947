//! Assumptions of every estimate.

use crate::view::markup::{Html, html};

/// The assumptions of every estimate: heading and sentence.
const ASSUMPTIONS: [(&str, &str); 6] = [
    (
        "The most loaded GPU counts",
        "Where GPUs hold different amounts, everything here is about the fullest one, at the \
         fullest moment of a step.",
    ),
    (
        "Units",
        "GiB is 1 073 741 824 bytes, GB is 1 000 000 000 bytes. A card's capacity is what its \
         driver reports, not the number it is sold under.",
    ),
    (
        "Exact, heuristic, assumed",
        "Exact lines follow from shapes and formats, or from the software's operations one by one \
         where PyTorch's memory tracker counts the same bytes. Heuristic lines follow the same or \
         a documented rule where nothing was measured: a family with kernels that it was not \
         measured with, a pipeline, DeepSpeed's stages. Assumed lines are figures that you can \
         change under Reserve, or modules put together from a model's sizes.",
    ),
    (
        "No hidden factor",
        "There is no safety margin besides the lines you see: framework context, fragmentation and \
         overhead stand in the table.",
    ),
    (
        "Not in here",
        "Prefix tuning with a projection, data loading, checkpoint writing, evaluation during \
         training, and what other programs hold on the same GPU.",
    ),
    (
        "Time and cost",
        "A step's time follows from the same list of operations, the rates that were measured on \
         the accelerator, and the links between GPUs. No training run was used to set a figure. \
         Data loading, interruptions and neighbours on the network are not in it.",
    ),
];

/// The list of assumptions; the evidence of the present estimate stands below it.
pub fn assumptions() -> Html {
    let items: Html = ASSUMPTIONS
        .iter()
        .map(|(name, text)| {
            html! {
                p class="prose__item" {
                    b { (name) }
                    " "
                    (text)
                }
            }
        })
        .collect();
    html! {
        div class="section__head" { h2 { "What this assumes, and where it comes from" } }
        div class="prose" { (items) }
    }
}
