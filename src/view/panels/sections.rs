//! The line over the page that says what it is, and the bar of its sections.

use super::teach;
use crate::scenario::{Mode, Word};
use crate::view::action::Action;
use crate::view::markup::{Html, html};
use crate::view::ui::View;

/// A section of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The answer.
    Memory,
    /// Time and cost.
    Time,
    /// The search over layouts.
    Layouts,
    /// The list of models that fit the hardware.
    Fits,
    /// Saved scenarios, and the comparison.
    Compare,
    /// Assumptions and documents.
    Sources,
    /// Stories and exercises: a view of their own.
    Teach,
}

impl Section {
    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::Memory,
        Self::Time,
        Self::Layouts,
        Self::Fits,
        Self::Compare,
        Self::Sources,
        Self::Teach,
    ];

    /// The id of the place where the focus goes.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Memory => "answer",
            Self::Time => "go-time",
            Self::Layouts => "go-layouts",
            Self::Fits => "go-fits",
            Self::Compare => "go-compare",
            Self::Sources => "go-sources",
            Self::Teach => teach::PLACE,
        }
    }

    /// Its name in the bar.
    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "Memory",
            Self::Time => "Time",
            Self::Layouts => "Layouts",
            Self::Fits => "What fits",
            Self::Compare => "Compare",
            Self::Sources => "Sources",
            Self::Teach => "Teach",
        }
    }

    /// The section with that id.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.id() == id)
    }
}

/// The bar of sections. Which one is read is marked where it is shown (`browser::sight`), because
/// it changes with scrolling alone.
pub fn sections(view: View, mode: Mode) -> Html {
    html! {
        nav class="sections" data-own="sections" data-testid="sections" aria-label="Sections"
            data-view=(view.word()) data-mode=(mode.word()) {
            @for section in Section::ALL {
                button type="button" class="sections__item" data-do=(Action::GoTo(section)) {
                    (section.name())
                }
            }
        }
    }
}

/// A first visitor's examples: a name, and the link that it opens.
pub const EXAMPLES: [(&str, &str); 6] = [
    (
        "QLoRA on an RTX 4090",
        "v2&do=tune&m=llama3.1-8b&gpu=rtx4090&n=1&ft=qlora&s=4096&gb=16&b=1&price=0.39",
    ),
    (
        "Fine-tune Qwen3 8B",
        "v2&do=tune&m=qwen3-8b&gpu=a100-80&n=4&ft=full&s=4096&gb=64&b=1&price=1.71",
    ),
    (
        "Pretrain Llama 3 70B",
        "v2&m=llama3-70b&n=1024&tp=8&pp=4&z=1&ker=megatron&gb=1024&b=1&price=2.71",
    ),
    (
        "Serve 200 users",
        "v2&do=serve&m=llama3.3-70b&gpu=h200&w=fp8-column&n=6&tp=2&usr=200&price=4.45",
    ),
    ("gpt-oss 120B", "v2&do=serve&m=gpt-oss-120b&n=1&w=mxfp4&price=2.71"),
    ("Run on an RTX 3060", "v2&do=serve&m=llama3.1-8b&gpu=rtx3060&n=1&w=awq&seqs=1&price=0.14"),
];

/// The page in one line, with examples, for a visit without a link.
pub fn welcome() -> Html {
    html! {
        section class="welcome" data-key="welcome" aria-label="About this page" {
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
                li { "Change a field and read the answer: everything follows at once. Undo is \
                    Ctrl+Z." }
                li { "“?” beside a figure opens its formula, its numbers and its source." }
                li { "On a chart, arrow keys read, Enter takes the value over, t lets you hear \
                    it." }
                li { "Paste a config.json, a launch command, a script or an error message: the \
                    field at the top of the form." }
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
    use super::{EXAMPLES, Mode, Section, sections, welcome};
    use crate::scenario::FieldId;
    use crate::scenario::codec::decode;
    use crate::view::panels::frame::{below, first_screen};
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::ui::View;

    #[test]
    fn every_section_of_the_bar_is_somewhere() {
        let page = [first_screen(), below()].into_iter().collect();
        for section in Section::ALL {
            let (id, name) = (section.id(), section.name());
            assert_eq!(count(&page, &format!(" id=\"{id}\"")), 1, "{name}");
            assert_eq!(
                count(&page, &format!(" id=\"{id}\" tabindex=\"-1\"")),
                1,
                "{name} takes the focus"
            );
        }
        assert_eq!(
            text(&sections(View::Results, Mode::Train)),
            "MemoryTimeLayoutsWhat fitsCompareSourcesTeach"
        );
    }

    #[test]
    fn the_view_and_the_mode_are_told_by_the_bar() {
        let bar = sections(View::Results, Mode::Train);
        assert!(bar.as_str().contains("data-view=\"results\" data-mode=\"train\""));
        let bar = sections(View::Teach, Mode::Serve);
        assert!(bar.as_str().contains("data-view=\"teach\" data-mode=\"serve\""));
    }

    /// Examples are frozen links: each is read without a notice and does what its name says.
    #[test]
    fn every_example_is_read_and_has_an_answer() {
        for (name, link) in EXAMPLES {
            let decoded = decode(link);
            assert!(decoded.notices.is_empty() && !decoded.failed, "{name}: {:?}", decoded.notices);
            let answers = answers(link);
            assert!(answers.problems.is_empty(), "{name}: {:?}", answers.problems);
            let listed = decoded.scenario.list_price();
            assert_eq!(listed, Some(decoded.scenario.get(FieldId::PricePerHour)), "{name}");
            assert!(answers.estimate.runs(), "{name}: {:?}", answers.headline());
        }
        assert_eq!(count(&welcome(), "class=\"chip\""), EXAMPLES.len());
    }
}
