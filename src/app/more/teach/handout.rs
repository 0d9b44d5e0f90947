//! A story as a sheet of paper, with and without answers.

use super::ask::Asked;
use super::{back, known, place, problems};
use crate::app::markup::{Html, html};
use crate::lessons::story::{Step, Told, ToldStep};
use crate::scenario::codec::encode;

/// The sheet.
pub(super) fn handout(asked: &Asked, id: &str, answers: bool) -> Html {
    let Some(story) = known(asked, id) else { return back() };
    let told = match Told::of(&story) {
        Ok(told) => told,
        Err(sentences) => return html("{}{}", &[&back(), &problems(&sentences)]),
    };
    let steps: Html = story
        .steps
        .iter()
        .zip(&told.steps)
        .enumerate()
        .map(|(index, (step, told))| row(asked, id, index, step, told, answers))
        .collect();
    // Only who writes on it needs the lines.
    let asks = told.steps.iter().any(|step| !step.prompt.is_empty());
    let whose = (asks && !answers).then(|| html("<p class=\"handout__name\"><span>Name:</span><span>Date:</span></p>", &[]));
    let (view, other, name) =
        if answers { ("answers", "handout", "Without answers") } else { ("handout", "answers", "With answers") };
    html(
        "{}{}<div class=\"teach__tools\"><button type=\"button\" class=\"button\" data-do=\"teach:view:{}:{}\">{}</button>\
         <button type=\"button\" class=\"button button--main\" data-do=\"teach-print\">Print this sheet</button></div>\
         <div class=\"handout\" data-testid=\"handout\"><h3 class=\"handout__title\">{}</h3><p class=\"quiet\">{}</p>{}<ol>{}</ol></div>",
        &[&back(), &place(&format!("{view}:{id}")), &other, &id, &name, &story.title, &story.audience, &whose, &steps],
    )
}

fn row(asked: &Asked, id: &str, index: usize, step: &Step, told: &ToldStep, answers: bool) -> Html {
    let part = format!("{}&present={id}.{}", encode(&told.scenario).trim_start_matches("v1&"), index + 1);
    let asks = (!told.prompt.is_empty()).then(|| {
        let line = if answers {
            html("<p><b>Answer: {}</b></p>", &[&told.answer])
        } else {
            html("<p class=\"handout__line\">Answer:</p>", &[])
        };
        html("<p>{}</p>{}", &[&told.prompt, &line])
    });
    // Without answers, a text that gives one away waits for the lecture.
    let text = (answers || asks.is_none()).then(|| {
        let (label, value) = &told.figure;
        html("<p>{}</p><p class=\"quiet\">{}: <span class=\"number\">{}</span></p>", &[&told.text, label, value])
    });
    html(
        "<li class=\"handout__step\"><h4>{}. {}</h4>{}{}<p class=\"handout__link\">{}</p></li>",
        &[&(index + 1).to_string(), &step.title, &asks, &text, &asked.link(&part)],
    )
}
