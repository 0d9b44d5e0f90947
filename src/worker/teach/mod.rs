//! Teaching: the list of stories, a story to present, its handout, the editor, and exercises. Text
//! in, text out.
//!
//! The worker remembers nothing: what stands in the panel's inputs and the lecturer's own stories
//! come with every question, and the answer is finished HTML with orders to the page before it
//! (`Orders`), such as a story to store.

mod ask;
mod edit;
mod exercise;
mod handout;
mod list;
mod present;
mod sheet;

pub use ask::TeachingRequest;

use self::ask::Orders;
use self::edit::Edit;
use super::question::{StoryQuestion, TeachingPage};
use crate::lessons::figure::Figure;
use crate::lessons::story::{Story, story};
use crate::view::action::{Action, TeachVerb, TeachView};
use crate::view::markup::{Html, html};

/// The answer to a question about teaching: orders, [`MARK`](super::wire::MARK), HTML.
pub fn answer(verb: TeachVerb, page: &TeachingPage, fragment: &str) -> String {
    let asked = TeachingRequest::of(page, fragment);
    let mut orders = Orders::default();
    // Leaving the editor loses nothing; its own buttons take over what was written themselves.
    let leaves = matches!(verb, TeachVerb::View(_));
    let saved = leaves.then(|| edit::saved(&asked, &mut orders)).flatten();
    let html = panel(saved.as_ref().unwrap_or(&asked), verb, &mut orders);
    orders.write(&html)
}

/// A story to present: a line for each step, [`MARK`](super::wire::MARK), HTML; or problems. Beside
/// an answer in the inputs, what is said of it.
pub fn story_of(story: &StoryQuestion, page: &TeachingPage, fragment: &str) -> String {
    let asked = TeachingRequest::of(page, fragment);
    let mut orders = Orders::default();
    if *story == StoryQuestion::Answer {
        return exercise::of_step(&asked);
    }
    let saved = edit::saved(&asked, &mut orders);
    let html = present::steps(story, saved.as_ref().unwrap_or(&asked), &mut orders);
    orders.write(&html)
}

/// A figure of a scenario by its name: no orders, [`MARK`](super::wire::MARK), the figure as it is
/// written.
pub fn figure_of(name: &str, fragment: &str) -> String {
    exercise::figure_now(name, fragment)
}

/// The panel's HTML after a verb.
fn panel(asked: &TeachingRequest, verb: TeachVerb, orders: &mut Orders) -> Html {
    let edit = match verb {
        TeachVerb::Show => return view(asked, TeachView::read(asked.form.text("view")), orders),
        TeachVerb::View(shown) => return view(asked, Some(shown), orders),
        TeachVerb::Predict => return exercise::predict(asked, false),
        TeachVerb::Reveal => return exercise::predict(asked, true),
        TeachVerb::Sheet => return sheet::sheet(asked, None, orders),
        TeachVerb::Task(number) => return sheet::sheet(asked, Some(number), orders),
        TeachVerb::Code => return sheet::code(asked),
        TeachVerb::Delete(id) => return list::list(asked, &id, orders),
        TeachVerb::DeleteForGood(id) => return list::delete(asked, &id, orders),
        TeachVerb::Import => return list::import(asked, orders),
        TeachVerb::New => Edit::New,
        TeachVerb::Copy(id) => Edit::Copy(id),
        TeachVerb::Record(id) => Edit::Record(id),
        TeachVerb::Step(change, id, at) => Edit::Step(change, id, at),
        TeachVerb::File(id) => Edit::File(id),
        TeachVerb::Save(id) => Edit::Save(id),
    };
    edit::act(asked, &edit, orders)
}

/// One of the panel's views; the list, where the panel shows none yet.
fn view(asked: &TeachingRequest, shown: Option<TeachView>, orders: &mut Orders) -> Html {
    match shown {
        Some(TeachView::Edit(id)) => edit::open(asked, &id, orders),
        Some(TeachView::Handout(id)) => handout::handout(asked, &id, false),
        Some(TeachView::Answers(id)) => handout::handout(asked, &id, true),
        Some(TeachView::Sheet) => sheet::sheet(asked, None, orders),
        Some(TeachView::List | TeachView::Keep(_)) | None => list::list(asked, "", orders),
    }
}

/// A story that ships, or one of the lecturer's own.
fn known(asked: &TeachingRequest, id: &str) -> Option<Story> {
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

/// The button that copies a link, and where it says so; `of`: what the link opens; `class`: as the
/// buttons beside it.
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

/// The view that the panel shows, kept in the panel itself.
fn place(view: &TeachView) -> Html {
    html! { input type="hidden" name="view" value=(view.write()); }
}

/// The way back to the list.
fn back() -> Html {
    html! {
        p {
            button type="button" class="link" data-do=(Action::Teach(TeachVerb::View(TeachView::List))) {
                "All stories and exercises"
            }
        }
    }
}

/// The figures that the present scenario has, as options; `chosen` is always among them.
fn figures(asked: &TeachingRequest, chosen: &str) -> Html {
    let also = Figure::find(chosen)
        .filter(|chosen| asked.figures().iter().all(|figure| figure.id != chosen.id));
    let option = |figure: &&'static Figure| option(figure.id, figure.label, figure.id == chosen);
    asked.figures().iter().chain(also.iter()).map(option).collect()
}

/// One option of a list.
fn option(value: &str, label: &str, chosen: bool) -> Html {
    html! {
        option value=(value) selected[chosen] { (label) }
    }
}
