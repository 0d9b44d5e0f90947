//! Teaching: the list of stories, a story to present, its handout, the editor, and exercises. Text in, text out.
//!
//! The worker remembers nothing: what stands in the panel's inputs and the lecturer's own stories come with every question, and the
//! answer is finished HTML with orders to the page before it (`Orders`), such as a story to store.

mod ask;
mod edit;
mod exercise;
mod handout;
mod list;
mod present;
mod sheet;

pub use ask::Asked;

use self::ask::Orders;
use super::wire::Request;
use crate::app::markup::{Html, html};
use crate::lessons::figure::Figure;
use crate::lessons::story::{Story, story};

/// The answer to a question about teaching: orders, [`MARK`](super::wire::MARK), HTML.
pub fn answer(request: &Request) -> String {
    let asked = Asked::read(&request.text, &request.fragment);
    let mut orders = Orders::default();
    // Leaving the editor loses nothing; its own buttons take over what was written themselves.
    let leaves = asked.verb.starts_with("view:");
    let saved = leaves.then(|| edit::saved(&asked, &mut orders)).flatten();
    let html = panel(saved.as_ref().unwrap_or(&asked), &mut orders);
    orders.write(&html)
}

/// A story to present: a line for each step, [`MARK`](super::wire::MARK), HTML; or problems.
pub fn story_of(request: &Request) -> String {
    let asked = Asked::read(&request.text, &request.fragment);
    let mut orders = Orders::default();
    if asked.verb == "answer" {
        return exercise::of_step(&asked);
    }
    let saved = edit::saved(&asked, &mut orders);
    let html = present::steps(saved.as_ref().unwrap_or(&asked), &mut orders);
    orders.write(&html)
}

/// A figure of the present scenario, whose name is the text: no orders, [`MARK`](super::wire::MARK), the figure as it is written.
pub fn figure_of(request: &Request) -> String {
    exercise::figure_now(&request.text, &request.fragment)
}

/// What the panel shows after a verb.
fn panel(asked: &Asked, orders: &mut Orders) -> Html {
    let (word, about) = asked.verb.split_once(':').unwrap_or((&asked.verb, ""));
    let view = match word {
        "view" => about.to_owned(),
        "show" => asked.form.text("view").to_owned(),
        "predict" | "reveal" => return exercise::predict(asked, word),
        "sheet" | "task" => return sheet::sheet(asked, about, orders),
        "code" => return sheet::code(asked),
        "delete" | "delete-yes" | "import" => return list::act(asked, word, about, orders),
        _ => return edit::act(asked, word, about, orders),
    };
    let (view, about) = view.split_once(':').unwrap_or((&view, ""));
    match view {
        "edit" => edit::open(asked, about, orders),
        "handout" => handout::handout(asked, about, false),
        "answers" => handout::handout(asked, about, true),
        "sheet" => sheet::sheet(asked, "", orders),
        _ => list::list(asked, "", orders),
    }
}

/// A story that ships, or one of the lecturer's own.
fn known(asked: &Asked, id: &str) -> Option<Story> {
    story(id).or_else(|| asked.own().into_iter().find(|story| story.id == id))
}

/// Sentences as a list; nothing for none.
fn problems(sentences: &[String]) -> Html {
    html! {
        @if !sentences.is_empty() {
            ul class="teach__problems" role="status" {
                @for sentence in sentences { li { (sentence) } }
            }
        }
    }
}

/// The button that copies a link, and where it says so; `of`: what the link opens; `class`: as the buttons beside it.
fn copy_link(link: &str, of: &str, class: &str) -> Html {
    copy("Copy link", link, of, class)
}

/// A button that copies a text, and where it says so.
fn copy(name: &str, text: &str, of: &str, class: &str) -> Html {
    html! {
        span {
            button type="button" class=(class) data-copy=(text) aria-label={ (name) ": " (of) } {
                (name)
            }
            " "
            span class="quiet" role="status" {}
        }
    }
}

/// Where the panel is, kept in the panel itself.
fn place(view: &str) -> Html {
    html! { input type="hidden" name="view" value=(view); }
}

/// The way back to the list.
fn back() -> Html {
    html! {
        p {
            button type="button" class="link" data-do="teach:view:list" {
                "All stories and exercises"
            }
        }
    }
}

/// The figures that the present scenario has, as options; `chosen` is always among them.
fn figures(asked: &Asked, chosen: &str) -> Html {
    let also = Figure::find(chosen).filter(|chosen| asked.figures().iter().all(|figure| figure.id != chosen.id));
    let option = |figure: &&'static Figure| option(figure.id, figure.label, figure.id == chosen);
    asked.figures().iter().chain(also.iter()).map(option).collect()
}

/// One option of a list.
fn option(value: &str, label: &str, chosen: bool) -> Html {
    html! {
        option value=(value) selected[chosen] { (label) }
    }
}
