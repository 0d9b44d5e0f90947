//! The list: stories that ship, the lecturer's own, and exercises.

use super::ask::{Orders, TeachingRequest};
use super::{copy_link, exercise, place, sheet};
use crate::lessons::story::{LONGEST_FILE, Story, StoryError, shipped};
use crate::view::action::{Action, Settled, TeachVerb, TeachView};
use crate::view::markup::{Html, html};

/// The contents of the panel, in its first line.
const INSIDE: &str = "Stories to show step by step, each also as a handout; an editor for your \
    own; any figure of the present scenario to guess before it is shown; worksheets with other \
    numbers for each student.";

/// Everything there is to teach with; `confirm` names the own story that is about to be deleted.
pub(super) fn list(asked: &TeachingRequest, confirm: &str, orders: &mut Orders) -> Html {
    let mut newer = 0_usize;
    for (id, file) in &asked.stored {
        match Story::read(file) {
            Ok(_) => {}
            // It is not broken: it stays where that version finds it.
            Err(StoryError::UnknownVersion(_)) => newer += 1,
            Err(StoryError::Malformed(_)) => {
                orders.aside(id);
                orders.problem(
                    "A stored story could not be read. It was set aside in this browser's storage; \
                     nothing was deleted.",
                );
            }
        }
    }
    let own: Html = asked.own().iter().map(|story| card(asked, story, true, confirm)).collect();
    let hidden = (newer > 0).then(|| {
        let count =
            if newer == 1 { "A story was".to_owned() } else { format!("{newer} stories were") };
        html! {
            p class="quiet" {
                (count)
                " made by a newer version of the page and not shown here: reload the page."
            }
        }
    });
    html! {
        (place(&TeachView::List))
        p { (INSIDE) }
        h3 class="teach__head" { "Stories to present" }
        ul class="teach__list" {
            @for story in &shipped() { (card(asked, story, false, "")) }
        }
        h3 class="teach__head" { "Your own stories" }
        @if own.is_empty() {
            p class="quiet" {
                "None yet. Record scenarios of this page as steps, write a sentence to each, and \
                 present them."
            }
        }
        @if let Some(hidden) = &hidden { (hidden) }
        @if !own.is_empty() { ul class="teach__list" { (own) } }
        div class="teach__tools" {
            button type="button" class="button" data-do=(Action::Teach(TeachVerb::New)) data-testid="teach-new" {
                "New story"
            }
            label class="button" tabindex="-1" {
                "Add from a file"
                input class="sr" type="file" accept="application/json,.json"
                    data-change=(Settled::TeachFile);
            }
        }
        p class="quiet" {
            "They stay in this browser, on this device; a file or a link takes them along."
        }
        div class="pair pair--even" {
            div { (exercise::chooser(asked)) }
            div { (sheet::opener(asked)) }
        }
    }
}

fn card(asked: &TeachingRequest, story: &Story, own: bool, confirm: &str) -> Html {
    let id = &story.id;
    let count = match story.steps.len() {
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    };
    let about =
        if story.audience.is_empty() { count } else { format!("{} · {count}", story.audience) };
    let button = |verb: fn(String) -> TeachVerb, name: &str| {
        html! {
            button type="button" class="button button--plain" data-do=(Action::Teach(verb(id.clone())))
                aria-label={ (name) ": " (story.title) } {
                (name)
            }
        }
    };
    let tools: Html = if own && confirm == id {
        [
            button(TeachVerb::DeleteForGood, "Delete for good"),
            button(|id| TeachVerb::View(TeachView::Keep(id)), "Keep it"),
        ]
        .into_iter()
        .collect()
    } else if own {
        [
            button(|id| TeachVerb::View(TeachView::Edit(id)), "Edit"),
            button(|id| TeachVerb::View(TeachView::Handout(id)), "Handout"),
            button(TeachVerb::File, "Download"),
            button(TeachVerb::Delete, "Delete"),
        ]
        .into_iter()
        .collect()
    } else {
        let link = copy_link(
            &asked.link(&format!("present={id}.1")),
            &story.title,
            "button button--plain",
        );
        [
            button(|id| TeachVerb::View(TeachView::Handout(id)), "Handout"),
            button(TeachVerb::Copy, "Change a copy"),
            link,
        ]
        .into_iter()
        .collect()
    };
    html! {
        li class="teach__story" data-key={ "story-" (id) } {
            button type="button" class="link teach__name" data-do=(Action::Present(id.clone(), 1))
                data-testid={ "present-" (id) } {
                (story.title)
            }
            span class="teach__about" { (about) }
            span class="teach__tools" { (tools) }
        }
    }
}

/// Deletes an own story, and shows the list.
pub(super) fn delete(asked: &TeachingRequest, id: &str, orders: &mut Orders) -> Html {
    orders.forget(id);
    let stored = asked.stored.iter().filter(|(known, _)| known != id).cloned().collect();
    list(&asked.with(stored), "", orders)
}

/// Adds a story from a file, and shows the list.
pub(super) fn import(asked: &TeachingRequest, orders: &mut Orders) -> Html {
    let file = asked.form.text("file");
    let read = if file.len() > LONGEST_FILE {
        Story::read(&" ".repeat(LONGEST_FILE + 1))
    } else {
        Story::read(file)
    };
    match read {
        Ok(mut story) => {
            story.id = asked.free_id();
            orders.store(&story);
            orders.say("The story was added");
            let mut stored = asked.stored.clone();
            stored.push((story.id.clone(), story.write()));
            list(&asked.with(stored), "", orders)
        }
        Err(error) => {
            orders.problem(&error.to_string());
            list(asked, "", orders)
        }
    }
}
