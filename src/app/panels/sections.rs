//! The line over the page that says what it is, and the bar of its sections.

use super::teach;
use crate::app::markup::{Html, html};
use crate::app::ui::Ui;

/// The sections of the results, in their order: the id of the place where the focus goes, and its name.
pub const SECTIONS: [(&str, &str); 6] = [
    ("answer", "Memory"),
    ("go-time", "Time"),
    (LAYOUTS, "Layouts"),
    ("go-compare", "Compare"),
    ("go-sources", "Sources"),
    (teach::PLACE, "Teach"),
];

/// Id of the section with the search over layouts.
pub const LAYOUTS: &str = "go-layouts";

/// Name of the view of stories and exercises among all that is open: while it is, the other sections are put away.
pub const TEACHING: &str = "view-teach";

/// The bar of sections. Which one is read is marked where it is shown (`browser::sight`), because it changes with scrolling alone.
pub fn sections(ui: &Ui) -> Html {
    let teaches = ui.is_open(TEACHING);
    html! {
        nav class="sections" data-own="sections" data-testid="sections" aria-label="Sections"
            data-view=(if teaches { "teach" } else { "results" }) {
            @for (id, name) in SECTIONS {
                button type="button" class="sections__item" data-do={ "go:" (id) } {
                    (name)
                }
            }
        }
    }
}

/// A first visitor's examples: a name, and the link that it opens.
pub const EXAMPLES: [(&str, &str); 6] = [
    ("QLoRA on an RTX 4090", "v2&do=tune&m=llama3.1-8b&gpu=rtx4090&n=1&ft=qlora&s=4096&gb=16&b=1"),
    ("Fine-tune Qwen3 8B", "v2&do=tune&m=qwen3-8b&gpu=a100-80&n=4&ft=full&s=4096&gb=64&b=1"),
    ("Pretrain Llama 3 70B", "v2&m=llama3-70b&n=1024&tp=8&pp=4&z=1&ker=megatron&gb=1024&b=1"),
    ("Serve 200 users", "v2&do=serve&m=llama3.3-70b&gpu=h200&w=fp8-column&n=6&tp=2&usr=200"),
    ("gpt-oss 120B", "v2&do=serve&m=gpt-oss-120b&n=1&w=mxfp4"),
    ("Run on an RTX 3060", "v2&do=serve&m=llama3.1-8b&gpu=rtx3060&n=1&w=awq&seqs=1"),
];

/// The page in one line, with examples, for a visit without a link.
pub fn welcome() -> Html {
    html! {
        section class="welcome" aria-label="About this page" {
            p class="welcome__line" {
                b { "Will it fit?" }
                " Memory, GPUs, time and cost of transformers, with sources."
            }
            p class="welcome__examples" {
                span { "Try:" }
                @for (name, link) in EXAMPLES {
                    a class="chip" href={ "#" (link) } { (name) }
                }
            }
        }
    }
}

/// Help and what the page is, at its end.
pub fn about() -> Html {
    html! {
        details class="about" data-testid="about" {
            summary { "Help and about" }
            ul {
                li { "Change a field and read the answer: everything follows at once. Undo is Ctrl+Z." }
                li { "“?” beside a figure opens its formula, its numbers and its source." }
                li { "On a chart, arrow keys read, Enter takes the value over, t lets you hear it." }
                li { "Paste a config.json, a launch command, a script or an error message: the button at the top of the form." }
                li { "Numbers are read as you write them: 8k, 2T, 4,096." }
                li {
                    "How well it is checked, its limits and its source code: "
                    a href="./README.md" { "README" }
                    ", "
                    a href="./docs/limits.md" { "limits" }
                    ", "
                    a href="./docs/house.md" { "how it is built" }
                    "."
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EXAMPLES, SECTIONS, TEACHING, sections, welcome};
    use crate::app::panels::frame::{below, first_screen};
    use crate::app::panels::tests::{answers, count, text};
    use crate::app::ui::Ui;
    use crate::scenario::codec::decode;

    #[test]
    fn every_section_of_the_bar_is_somewhere() {
        let page = [first_screen(), below()].into_iter().collect();
        for (id, name) in SECTIONS {
            assert_eq!(count(&page, &format!(" id=\"{id}\"")), 1, "{name}");
            assert_eq!(count(&page, &format!(" id=\"{id}\" tabindex=\"-1\"")), 1, "{name} takes the focus");
        }
        assert_eq!(text(&sections(&Ui::default())), "MemoryTimeLayoutsCompareSourcesTeach");
    }

    #[test]
    fn the_view_of_stories_is_told_by_the_bar() {
        let mut ui = Ui::default();
        assert!(sections(&ui).as_str().contains("data-view=\"results\""));
        ui.toggle(TEACHING);
        assert!(sections(&ui).as_str().contains("data-view=\"teach\""));
    }

    /// Examples are frozen links: each is read without a notice and does what its name says.
    #[test]
    fn every_example_is_read_and_has_an_answer() {
        for (name, link) in EXAMPLES {
            let decoded = decode(link);
            assert!(decoded.notices.is_empty() && !decoded.failed, "{name}: {:?}", decoded.notices);
            let answers = answers(link);
            assert!(answers.problems.is_empty(), "{name}: {:?}", answers.problems);
            assert!(answers.estimate.runs(), "{name}: {:?}", answers.headline());
        }
        assert_eq!(count(&welcome(), "class=\"chip\""), EXAMPLES.len());
    }
}
