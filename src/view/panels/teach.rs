//! Stories and exercises: a fold, the place of what the second program writes once it is opened,
//! and the presenter's stage.

use super::dialogs::share::{self, LinkCode};
use crate::view::markup::{Html, html};
use crate::view::slot;

/// Id of the place, and name of the fold.
pub const PLACE: &str = "teach";
/// Id of the presenter's stage.
pub const STAGE: &str = "present";

/// The fold; closed, it asks for nothing.
pub fn teach() -> Html {
    html! {
        section class="section section--screen section--teach" {
            details class="plan teach" data-toggle=(PLACE) data-testid="teaching" {
                summary class="plan__summary" {
                    h2 { "Teach with it" }
                    p class="section__note" {
                        "Stories to present step by step, handouts, exercises, worksheets."
                    }
                }
                div class="plan__place" id=(PLACE) tabindex="-1" data-testid="teach" {
                    (slot::fetching())
                }
            }
        }
    }
}

/// Where a story is shown, while one is.
pub fn stage() -> Html {
    html! {
        section class="present" id=(STAGE) tabindex="-1" aria-label="Story" data-testid="stage"
            hidden {}
    }
}

/// The link behind the QR code of a step, after the `#`: it opens the step; of an own story, which
/// no other browser knows by name, the whole story. Nothing where that is too long for a link.
pub fn link_of_step(step: &str, own: Option<&str>, number: usize) -> Option<String> {
    match own {
        None => Some(step.to_owned()),
        Some("") => None,
        Some(story) => Some(format!("v1&present=own.{number}&story={story}")),
    }
}

/// The code of a link beside the picture, or why there is none and what else there is.
pub fn code(link: Option<&str>) -> Html {
    let Some(link) = link else {
        return html! {
            p {
                "This story is too long for a link. Its file can be handed out: Download, in the \
                 story's editor."
            }
        };
    };
    let without = match share::large_code(link) {
        LinkCode::Drawn(code) => return code,
        LinkCode::TooLong => "The link of this story is too long for a QR code.",
        LinkCode::NotYet => share::NOT_YET,
    };
    html! {
        p { (without) }
        p {
            button type="button" class="button" data-copy=(link) { "Copy link" }
            " "
            span class="quiet" role="status" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{code, link_of_step};
    use crate::lessons::story::{LessonStep, Story, packed, unpacked};
    use crate::view::panels::tests::{count, text};

    fn own(texts: usize) -> Story {
        let step = |number: usize| LessonStep {
            text: format!("Step {number}: {{per-gpu}}."),
            ..LessonStep::of("v1&m=llama3-8b&n=16")
        };
        Story {
            id: "own-1".to_owned(),
            title: "Mine".to_owned(),
            audience: String::new(),
            steps: (0..texts).map(step).collect(),
        }
    }

    #[test]
    fn the_code_of_an_own_story_opens_the_whole_story_anywhere() {
        let story = own(3);
        let packed = packed(&story).expect("short enough");
        let link =
            link_of_step("v1&m=llama3-8b&n=16&present=own-1.3", Some(&packed), 3).expect("a link");
        assert!(!link.contains("own-1"), "{link}");
        let opened =
            link.split('&').find_map(|part| part.strip_prefix("story=")).expect("the story");
        assert_eq!(unpacked(opened), Ok(story));
        assert!(link.contains("present=own.3"), "{link}");
        let drawn = code(Some(&format!("https://example.org/headroom/#{link}")));
        assert_eq!(count(&drawn, "share__qr"), 1);
    }

    #[test]
    fn the_code_of_a_story_that_ships_opens_the_step() {
        let step = "v1&m=llama2-7b&n=8&present=zero.2";
        assert_eq!(link_of_step(step, None, 2).as_deref(), Some(step));
    }

    #[test]
    fn a_story_that_is_too_long_says_so() {
        // A story that cannot be packed comes as an empty text.
        assert_eq!(link_of_step("v1&present=own-1.1", Some(""), 1), None);
        assert!(text(&code(None)).contains("too long for a link"));
        let address = format!("https://example.org/#v1&story={}", "a".repeat(1990));
        let said = code(Some(&address));
        assert!(
            text(&said).contains("too long for a QR code")
                && said.as_str().contains(&address.replace('&', "&amp;")),
            "{}",
            said.as_str()
        );
        assert_eq!(count(&said, "data-copy"), 1);
    }
}
