//! The editor of an own story: record steps, write, reorder, ask, take along.

use super::ask::{Orders, TeachingRequest};
use super::list::list;
use super::{back, copy_link, figures, known, option, place, problems};
use crate::lessons::figure::{FIGURES, Figure};
use crate::lessons::story::{
    LONGEST_LINK, LONGEST_TEXT, LONGEST_TITLE, LessonStep, Look, MOST_STEPS, Question, Start,
    Story, Told, packed,
};
use crate::scenario::codec::{decode, encode};
use crate::scenario::{FieldId, field, field_of_key};
use crate::view::action::{Action, Sent, StepChange, TeachVerb, TeachView};
use crate::view::markup::{Html, html};
use crate::view::words::about;

/// Inputs that may stay in sight while a step is shown: those that style/present.css knows.
const LIVE: [FieldId; 12] = [
    FieldId::SeqLength,
    FieldId::GlobalBatchSize,
    FieldId::MicroBatchSize,
    FieldId::Gpus,
    FieldId::Sharding,
    FieldId::Recompute,
    FieldId::Attention,
    FieldId::TensorParallel,
    FieldId::PipelineParallel,
    FieldId::ContextLength,
    FieldId::ConcurrentSequences,
    FieldId::Optimizer,
];

/// Opens an own story.
pub(super) fn open(asked: &TeachingRequest, id: &str, orders: &mut Orders) -> Html {
    match asked.own().into_iter().find(|story| story.id == id) {
        Some(story) => editor(asked, &story),
        None => list(asked, "", orders),
    }
}

/// A change of a story.
pub(super) enum Edit {
    /// A new story begins.
    New,
    /// A copy of that story is made.
    Copy(String),
    /// The present scenario becomes a step of that story.
    Record(String),
    /// A step of that story is changed.
    Step(StepChange, String, usize),
    /// That story is downloaded.
    File(String),
    /// That story is saved.
    Save(String),
}

/// Does something to a story, with the editor's inputs taken over first.
pub(super) fn act(asked: &TeachingRequest, edit: &Edit, orders: &mut Orders) -> Html {
    let fresh = || Story {
        id: asked.free_id(),
        title: "My story".to_owned(),
        audience: String::new(),
        steps: vec![recorded(asked)],
    };
    let story = match edit {
        Edit::New => Some(fresh()),
        Edit::Copy(id) => known(asked, id).map(|story| copy(&story, asked.free_id())),
        Edit::Record(id) | Edit::Step(_, id, _) | Edit::File(id) | Edit::Save(id) => {
            asked.own().into_iter().find(|story| story.id == *id)
        }
    };
    let Some(story) = story else { return list(asked, "", orders) };
    let mut story = written(asked, story);
    match edit {
        Edit::Record(_) if story.steps.len() < MOST_STEPS => story.steps.push(recorded(asked)),
        Edit::Step(change, _, at) => change_step(asked, &mut story.steps, *change, *at),
        Edit::New | Edit::Copy(_) | Edit::Record(_) | Edit::File(_) | Edit::Save(_) => {}
    }
    orders.store(&story);
    let after = with(asked, &story);
    match edit {
        Edit::File(_) => {
            orders.file(&story);
            if asked.form.text("editing") != story.id {
                return list(&after, "", orders);
            }
        }
        Edit::Save(_) => orders.say("The story was saved in this browser"),
        Edit::New | Edit::Copy(_) | Edit::Record(_) | Edit::Step(..) => {}
    }
    editor(&after, &story)
}

/// Changes a step where that is possible: the first moves no further up, and the last one left is
/// not removed.
fn change_step(
    asked: &TeachingRequest,
    steps: &mut Vec<LessonStep>,
    change: StepChange,
    at: usize,
) {
    match change {
        StepChange::Update => {
            if let Some(step) = steps.get_mut(at) {
                step.start = Start::Link(asked.scenario());
            }
        }
        StepChange::Drop if steps.len() > 1 && at < steps.len() => _ = steps.remove(at),
        StepChange::Up if at > 0 && at < steps.len() => steps.swap(at - 1, at),
        StepChange::Down if at + 1 < steps.len() => steps.swap(at, at + 1),
        StepChange::Drop | StepChange::Up | StepChange::Down => {}
    }
}

/// Takes over what was written into the editor, before something else is shown.
pub(super) fn saved(asked: &TeachingRequest, orders: &mut Orders) -> Option<TeachingRequest> {
    let story = asked.own().into_iter().find(|story| story.id == asked.form.text("editing"))?;
    let after = written(asked, story.clone());
    (after != story).then(|| {
        orders.store(&after);
        with(asked, &after)
    })
}

/// This question with that story stored.
fn with(asked: &TeachingRequest, story: &Story) -> TeachingRequest {
    let mut stored = asked.stored.clone();
    stored.retain(|(known, _)| *known != story.id);
    stored.push((story.id.clone(), story.write()));
    asked.with(stored)
}

/// A copy whose steps stand on their own, so that they can be moved.
fn copy(story: &Story, id: String) -> Story {
    let scenarios = story.scenarios().unwrap_or_default();
    let alone = |(step, scenario): (&LessonStep, &crate::scenario::Scenario)| LessonStep {
        start: Start::Link(encode(scenario)),
        claims: Vec::new(),
        ..step.clone()
    };
    let steps = story.steps.iter().zip(&scenarios).map(alone).collect();
    Story { id, title: format!("{} (copy)", story.title), audience: story.audience.clone(), steps }
}

/// The present scenario as a step.
fn recorded(asked: &TeachingRequest) -> LessonStep {
    LessonStep {
        title: about(&decode(&asked.fragment).scenario).chars().take(LONGEST_TITLE).collect(),
        ..LessonStep::of(&asked.scenario())
    }
}

/// The story with what stands in the editor's inputs, where it is this story's editor.
fn written(asked: &TeachingRequest, mut story: Story) -> Story {
    if asked.form.text("editing") != story.id {
        return story;
    }
    let title = asked.text("title", LONGEST_TITLE);
    if !title.is_empty() {
        story.title = title;
    }
    story.audience = asked.text("for", LONGEST_TITLE);
    for (index, step) in story.steps.iter_mut().enumerate() {
        let of = |name: &str, longest| asked.text(&format!("{name}-{index}"), longest);
        step.title = of("title", LONGEST_TITLE);
        step.text = of("text", LONGEST_TEXT);
        step.look = Look::of(&of("look", 20)).unwrap_or(step.look);
        if let Some(figure) = Figure::find(&of("figure", 40)) {
            figure.id.clone_into(&mut step.figure);
        }
        let prompt = of("prompt", LONGEST_TEXT);
        let figure = Figure::find(&of("ask", 40));
        let percent = of("tolerance", 10)
            .trim_end_matches('%')
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|it| (0.0..=100.0).contains(it));
        step.question = figure.filter(|_| !prompt.is_empty()).map(|figure| Question {
            figure: figure.id.to_owned(),
            prompt,
            tolerance: percent.map_or(0.05, |percent| percent / 100.0),
        });
        let live = field_of_key(&of("live", 10)).map(|field| field.id);
        // One is chosen here; further ones of a copied story stay.
        let others: Vec<FieldId> =
            step.live.iter().skip(1).copied().filter(|id| Some(*id) != live).collect();
        step.live = live.into_iter().chain(others).collect();
    }
    story
}

fn editor(asked: &TeachingRequest, story: &Story) -> Html {
    let id = &story.id;
    let told = Told::of(story);
    let wrong = problems(told.as_ref().err().map_or(&[][..], Vec::as_slice));
    html! {
        (back())
        (place(&TeachView::Edit(id.clone())))
        form class="teach__form" data-key={ "edit-" (id) } data-teach=(Sent::Teach(TeachVerb::Save(id.clone()))) {
            input type="hidden" name="editing" value=(id);
            (wrong)
            div class="teach__two" {
                div class="field" {
                    label class="field__label" for="story-title" { "Title" }
                    input id="story-title" class="field__input" name="title" maxlength="80"
                        value=(story.title);
                }
                div class="field" {
                    label class="field__label" for="story-for" { "For whom" }
                    input id="story-for" class="field__input" name="for" maxlength="80"
                        value=(story.audience);
                }
            }
            @for (index, step) in story.steps.iter().enumerate() { (fields(asked, story, index, step)) }
            (tools(id))
            (link_of(asked, story))
        }
        (names())
    }
}

/// The whole story as a link, or how else it can be handed out.
fn link_of(asked: &TeachingRequest, story: &Story) -> Html {
    let Some(packed) = packed(story) else {
        return html! {
            p class="quiet" data-testid="story-link-none" {
                "This story is too long for a link: its "
                (LONGEST_LINK)
                " characters hold about 3000 characters of text. Download the file instead."
            }
        };
    };
    let link = asked.link(&format!("story={packed}"));
    html! {
        label class="field__label" for="story-link" {
            "The whole story as a link; nothing is uploaded"
        }
        textarea id="story-link" class="share__link" readonly data-testid="story-link" { (link) }
        (copy_link(&link, &story.title, "button"))
    }
}

/// The buttons under a story's steps.
fn tools(id: &str) -> Html {
    html! {
        div class="teach__tools" {
            button type="button" class="button" data-do=(Action::Teach(TeachVerb::Record(id.to_owned())))
                data-testid="story-record" {
                "Record the present scenario as a step"
            }
            button type="submit" class="button button--main" data-testid="story-save" { "Save" }
            button type="button" class="button" data-do=(Action::Present(id.to_owned(), 1)) { "Present" }
            button type="button" class="button" data-do=(Action::Teach(TeachVerb::File(id.to_owned())))
                data-testid="story-file" {
                "Download"
            }
        }
    }
}

/// The figures that a text can name.
fn names() -> Html {
    let rows: Html = FIGURES
        .iter()
        .map(|figure| {
            html! {
                div {
                    dt { (figure.id) }
                    dd { (figure.label) }
                }
            }
        })
        .collect();
    html! {
        details class="fold" {
            summary class="fold__summary" {
                span class="fold__name" { "Figures that a text can name" }
            }
            p class="quiet" {
                "In braces, {per-gpu}; with a step's number, that step's: {per-gpu@2}."
            }
            dl class="teach__figures" { (rows) }
        }
    }
}

fn select(index: usize, name: &str, label: &str, options: &Html) -> Html {
    let id = format!("{name}-{index}");
    html! {
        div class="field" {
            label class="field__label" for={ "story-" (id) } { (label) }
            div class="field__box field__box--select" {
                select id={ "story-" (id) } class="field__input" name=(id) { (options) }
            }
        }
    }
}

fn area(index: usize, name: &str, label: &str, text: &str) -> Html {
    let id = format!("{name}-{index}");
    html! {
        div class="field" {
            label class="field__label" for={ "story-" (id) } { (label) }
            textarea id={ "story-" (id) } class="teach__area" name=(id) rows="2" maxlength="600" {
                (text)
            }
        }
    }
}

/// The buttons of one step.
fn step_tools(story: &Story, index: usize) -> Html {
    let count = story.steps.len();
    let tools = [
        (StepChange::Up, "Up", index == 0),
        (StepChange::Down, "Down", index + 1 == count),
        (StepChange::Update, "Take the present scenario", false),
        (StepChange::Drop, "Remove", count == 1),
    ];
    html! {
        div class="teach__tools" {
            @for (change, name, off) in tools {
                button type="button" class="button button--plain"
                    data-do=(Action::Teach(TeachVerb::Step(change, story.id.clone(), index)))
                    aria-label={ (name) ": step " (index + 1) } disabled[off] {
                    (name)
                }
            }
        }
    }
}

/// The label of a step's text.
const TEXT: &str = "Text. {per-gpu} is replaced by that figure; more names are listed below.";

/// The inputs of one step.
fn fields(asked: &TeachingRequest, story: &Story, index: usize, step: &LessonStep) -> Html {
    let (id, at) = (&story.id, index);
    let looks: Html =
        Look::ALL.iter().map(|(look, word, name)| option(word, name, *look == step.look)).collect();
    let asked_for = step.question.as_ref().map_or("", |question| &question.figure);
    let asks: Html = [option("", "No question", asked_for.is_empty())]
        .into_iter()
        .chain([figures(asked, asked_for)])
        .collect();
    let live_now = step.live.first().copied();
    let lives: Html = [option("", "None", live_now.is_none())]
        .into_iter()
        .chain(LIVE.iter().chain(live_now.iter().filter(|id| !LIVE.contains(id))).map(|id| {
            let field = field(*id);
            option(field.key, field.label, Some(*id) == live_now)
        }))
        .collect();
    let tolerance = step.question.as_ref().map_or(5.0, |question| question.tolerance * 100.0);
    // A step that moved or was written anew is another element: inputs keep what was typed into
    // them.
    let key = format!("{id}-{index}-{}-{}", story.steps.len(), step.title);
    let question = step.question.as_ref().map_or("", |question| &question.prompt);
    html! {
        fieldset class="teach__step" data-key=(key) {
            legend { "Step " (index + 1) }
            (step_tools(story, index))
            div class="field" {
                label class="field__label" for={ "story-title-" (at) } { "Heading" }
                input id={ "story-title-" (at) } class="field__input" name={ "title-" (at) }
                    maxlength="80" value=(step.title);
            }
            (area(index, "text", TEXT, &step.text))
            div class="teach__two" {
                (select(index, "look", "What to look at", &looks))
                (select(index, "figure", "The figure shown large", &figures(asked, &step.figure)))
                (select(index, "live", "An input to show beside the step", &lives))
                (select(index, "ask", "Ask for", &asks))
            }
            div class="teach__question" {
                (area(index, "prompt", "The question", question))
                div class="field" {
                    label class="field__label" for={ "story-tolerance-" (at) } {
                        "An answer may be off by, per cent"
                    }
                    input id={ "story-tolerance-" (at) } class="field__input"
                        name={ "tolerance-" (at) } inputmode="decimal"
                        value=(format!("{tolerance}"));
                }
            }
        }
    }
}
