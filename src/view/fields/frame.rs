//! An input with everything around it: label, help, error.

use super::input::input;
use crate::scenario::{
    FOLLOWING, Field, FieldId, FieldKind, FieldOption, Mode, Scenario, Value, range_text, show,
};
use crate::stacks::Stack;
use crate::view::action::Action;
use crate::view::answers::Answers;
use crate::view::later;
use crate::view::markup::{Html, html};
use crate::view::ui::{Drafts, Opened};

/// A problem of one field: what is wrong, and a value that would be right.
#[derive(Clone, Debug, PartialEq)]
struct Problem {
    /// One sentence.
    message: String,
    /// Button text and value.
    way_out: Option<(String, Value)>,
}

/// The problem of that field: text that cannot be read, or a value that does not go with the
/// others. That something is being fetched is nothing to correct.
fn problem_of(
    id: FieldId,
    scenario: &Scenario,
    answers: &Answers,
    drafts: &Drafts,
) -> Option<Problem> {
    if let Some(unread) = drafts.unread_of(id) {
        let value = scenario.get(id);
        return Some(Problem {
            message: unread.message.clone(),
            way_out: Some((format!("Back to {}", show(id, &value)), value)),
        });
    }
    let problem =
        answers.problems.iter().find(|problem| problem.field == id && !answers.waits())?;
    Some(Problem { message: problem.message.clone(), way_out: problem.way_out.clone() })
}

/// The error of a field whose input stands elsewhere; `None` where nothing is wrong with it.
pub fn told(
    field: &Field,
    scenario: &Scenario,
    answers: &Answers,
    drafts: &Drafts,
) -> Option<Html> {
    problem_of(field.id, scenario, answers, drafts).map(|problem| error(field, &problem))
}

/// Ids of the help and error texts that describe an input.
fn described_by(field: &Field, problem: bool) -> String {
    if problem { format!("e-{0} h-{0}", field.key) } else { format!("h-{}", field.key) }
}

/// Label, help button, the input, help and error. The first field of a group, whose heading stands
/// for its label, is wide.
pub fn frame(
    field: &Field,
    wide: bool,
    scenario: &Scenario,
    answers: &Answers,
    drafts: &Drafts,
    opened: &Opened,
) -> Html {
    let problem = problem_of(field.id, scenario, answers, drafts);
    let open = opened.is_open(&help_name(field));
    let label = match field.kind {
        _ if wide => Html::new(),
        FieldKind::Flag => html! { span class="field__label" {} },
        _ => html! { label class="field__label" for={ "f-" (field.key) } { (field.label) } },
    };
    let class = match field.id {
        _ if wide => "field field--wide",
        FieldId::Stack => "field field--says",
        _ => "field",
    };
    let described = described_by(field, problem.is_some());
    html! {
        div class={ (class) (if problem.is_some() { " field--invalid" } else { "" }) }
            data-key=(field.key) {
            @if wide { label class="sr" for={ "f-" (field.key) } { (field.label) } }
            div class="field__top" hidden[wide] {
                (label)
                @if field.default.is_of_model() {
                    code class="field__key" aria-hidden="true" { (field.name) }
                }
                button type="button" class="field__info" aria-label={ "About " (field.label) }
                    aria-expanded=(open) aria-controls={ "h-" (field.key) }
                    data-do=(Action::Toggle(help_name(field))) {
                    "?"
                }
            }
            (input(field, scenario, drafts, &described, problem.is_some()))
            @if let Some(says) = says(field, scenario) { (says) }
            (help(field, open, scenario))
            @if let Some(changed) = changed(field, scenario) { (changed) }
            @if let Some(listed) = listed_price(field, scenario) { (listed) }
            @if let Some(following) = following(field, open, scenario) { (following) }
            @if let Some(problem) = problem { (error(field, &problem)) }
        }
    }
}

/// The name under which a field's help is open.
fn help_name(field: &Field) -> String {
    format!("help-{}", field.key)
}

/// The option that is chosen.
fn chosen(field: &Field, scenario: &Scenario) -> Option<&'static FieldOption> {
    match (field.kind, scenario.get(field.id)) {
        (FieldKind::Choice(options), Value::Choice(word)) => {
            options.iter().find(|option| option.value == word)
        }
        _ => None,
    }
}

/// The help of the chosen software stack, always in sight: it decides more than any other choice. A
/// model without modules of its own is marked.
fn says(field: &Field, scenario: &Scenario) -> Option<Html> {
    let stack = chosen(field, scenario)
        .filter(|_| field.id == FieldId::Stack)
        .and_then(|stack| Stack::named(stack.value))?;
    let generic =
        scenario.get(FieldId::Family) == Value::Choice("generic") && stack.runs_modules_of_family;
    Some(html! {
        p class="field__says" data-testid="stack-says" {
            (stack.help)
            @if generic {
                " "
                span class="tag tag--assumed" { "assumed" }
                " This model type has no modules of its own here: they are built from its fields."
            }
        }
    })
}

/// The help of a field, its range and its name in configuration files; hidden, it still describes
/// the input to screen readers.
fn help(field: &Field, open: bool, scenario: &Scenario) -> Html {
    let choice = chosen(field, scenario).map_or("", |option| option.value);
    html! {
        p id={ "h-" (field.key) } class="field__help" hidden[!open] {
            @if let Some(text) = later::help_of(field.key, choice) { (text) }
            " "
            (range_text(field.id))
            " "
            code class="field__name" { (field.name) }
        }
    }
}

/// Beside the open help of an input that can follow the others: whether it does, and the way back.
fn following(field: &Field, open: bool, scenario: &Scenario) -> Option<Html> {
    if !open || scenario.mode() != Mode::Serve || !FOLLOWING.contains(&field.id) {
        return None;
    }
    let back = (!scenario.follows(field.id)).then(|| {
        html! {
            " "
            button type="button" class="link" data-do=(Action::Clear(field.id)) { "Let it follow" }
        }
    });
    let how = if back.is_some() {
        "Set by hand: it does not follow the model and the users."
    } else {
        FOLLOWS
    };
    Some(html! {
        p class="field__changed" {
            (how)
            @if let Some(back) = &back { (back) }
        }
    })
}

const FOLLOWS: &str = "Until you set it, it follows: the smallest replica that runs, and the \
    requests that the users make of it.";

/// A value that is no longer the list's, and the way back.
fn changed(field: &Field, scenario: &Scenario) -> Option<Html> {
    // A pasted model has no row to go back to: the one it is written from means nothing.
    let of_a_file = field.default.is_of_model() && scenario.is_pasted();
    let changed = field.default.is_preset() && scenario.is_set(field.id) && !of_a_file;
    changed.then(|| {
        html! {
            p class="field__changed" {
                "Edited. "
                button type="button" class="link" data-do=(Action::Clear(field.id)) {
                    "Reset to the listed value"
                }
            }
        }
    })
}

/// The published price of the accelerator, beside the price that counts, and the way to it.
fn listed_price(field: &Field, scenario: &Scenario) -> Option<Html> {
    if field.id != FieldId::PricePerHour {
        return None;
    }
    let listed = scenario.accelerator()?.list_price()?;
    let price = Value::Decimal(listed.us_dollars);
    Some(html! {
        p class="field__changed" {
            (listed.seller) " lists this GPU at $" (show(field.id, &price)) " (" (listed.read) "). "
            @if scenario.get(field.id) != price {
                button type="button" class="link"
                    data-do=(Action::Set(field.id, listed.us_dollars.to_string())) {
                    "Use it"
                }
            }
        }
    })
}

/// The sentence that says what is wrong, and a button that puts it right.
fn error(field: &Field, problem: &Problem) -> Html {
    html! {
        p id={ "e-" (field.key) } class="field__error" role="alert" tabindex="-1"
            data-testid={ "error-" (field.key) } {
            (problem.message)
            " "
            @if let Some((text, _)) = problem.way_out.as_ref() {
                button type="button" class="link" data-do=(Action::Repair(field.id)) { (text) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{described_by, problem_of};
    use crate::scenario::codec::decode;
    use crate::scenario::{Field, FieldId, Mode, Scenario, Value, field, fields};
    use crate::view::answers::Answers;
    use crate::view::fields::picker::Picker;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::ui::{Drafts, Opened, Ui, Unread};

    const LINK: &str = "v1&m=llama3-8b&n=8";

    fn frame(field: &Field, wide: bool, scenario: &Scenario, answers: &Answers, ui: &Ui) -> Html {
        super::frame(field, wide, scenario, answers, &ui.drafts, &ui.opened)
    }

    #[test]
    fn what_follows_says_so_and_what_was_set_can_follow_again() {
        let mut scenario = Scenario::default();
        scenario.set(FieldId::Mode, Value::choice(Mode::Serve));
        let answers = answers("v1&do=serve&m=llama3-8b&n=1");
        let gpus = field(FieldId::Gpus);
        let ui = Ui {
            opened: Opened { open: vec![super::help_name(gpus)], ..Opened::default() },
            ..Ui::default()
        };
        let words =
            |scenario: &Scenario, ui: &Ui| text(&frame(gpus, false, scenario, &answers, ui));
        assert!(
            words(&scenario, &ui).contains("Until you set it, it follows")
                && !words(&scenario, &Ui::default()).contains("it follows")
        );
        scenario.set(FieldId::Gpus, Value::Integer(1));
        assert!(words(&scenario, &ui).contains("Let it follow"), "{}", words(&scenario, &ui));
        assert!(!words(&decode(LINK).scenario, &ui).contains("follow"));
    }

    #[test]
    fn every_field_has_a_label_a_help_and_an_input() {
        let (scenario, answers) = (decode(LINK).scenario, answers(LINK));
        for field in fields() {
            let frame = frame(field, false, &scenario, &answers, &Ui::default());
            assert_eq!(count(&frame, &format!("id=\"h-{}\"", field.key)), 1);
            assert_eq!(count(&frame, &format!("id=\"f-{}\"", field.key)), 1);
            assert_eq!(count(&frame, "class=\"field__help\" hidden>"), 1, "{}", field.key);
            assert!(text(&frame).contains(field.name), "{}", field.key);
        }
    }

    #[test]
    fn every_input_says_what_should_stand_in_it() {
        let mut scenario = decode(LINK).scenario;
        scenario.set(FieldId::SequenceParallel, Value::Flag(true));
        let now = |id: FieldId| {
            let frame = frame(field(id), false, &scenario, &answers(LINK), &Ui::default());
            frame
                .as_str()
                .split("data-now=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next())
                .map(str::to_owned)
        };
        let said = [
            FieldId::Gpus,
            FieldId::Optimizer,
            FieldId::SequenceParallel,
            FieldId::FinalNorm,
            FieldId::Model,
        ]
        .map(now);
        assert_eq!(
            said.map(|text| text.expect("a value")),
            ["8", "adamw", "true", "true", "Llama 3 8B"]
        );
    }

    #[test]
    fn a_list_is_open_for_one_field_at_a_time() {
        let picker = Some(Picker::open(field(FieldId::Accelerator), &decode(LINK).scenario));
        let ui = Ui { drafts: Drafts { picker, ..Drafts::default() }, ..Ui::default() };
        let open = |id: FieldId| {
            let frame = frame(field(id), false, &decode(LINK).scenario, &answers(LINK), &ui);
            count(&frame, "aria-expanded=\"true\"")
        };
        assert_eq!((open(FieldId::Model), open(FieldId::Accelerator)), (0, 1));
    }

    #[test]
    fn help_opens_and_a_changed_value_can_go_back() {
        let mut scenario = decode(LINK).scenario;
        let layers = field(FieldId::NumHiddenLayers);
        let mut ui = Ui::default();
        ui.opened.toggle("help-l");
        let open = frame(layers, false, &scenario, &answers(LINK), &ui);
        assert_eq!((count(&open, " hidden>"), count(&open, "clear:l")), (0, 0));
        scenario.set(FieldId::NumHiddenLayers, Value::Integer(40));
        assert_eq!(count(&frame(layers, false, &scenario, &answers(LINK), &ui), "clear:l"), 1);
    }

    #[test]
    fn the_stack_says_what_it_means_and_marks_a_generic_decoder() {
        let says = |link: &str, id: FieldId| {
            let frame =
                frame(field(id), false, &decode(link).scenario, &answers(link), &Ui::default());
            let said = frame
                .as_str()
                .split("data-testid=\"stack-says\">")
                .nth(1)
                .and_then(|rest| rest.split("</p>").next());
            said.unwrap_or_default().to_owned()
        };
        let (known, generic) =
            ("v1&m=llama3-8b&n=8&ker=eager&fam=llama", "v1&m=llama3-8b&n=8&ker=eager&fam=generic");
        assert!(
            says(known, FieldId::Stack).starts_with("transformers"),
            "{}",
            says(known, FieldId::Stack)
        );
        assert!(!says(known, FieldId::Stack).contains("tag--assumed"));
        assert!(
            says(generic, FieldId::Stack).contains("tag--assumed"),
            "{}",
            says(generic, FieldId::Stack)
        );
        assert!(
            !says("v1&m=llama3-8b&n=8&ker=fused&fam=generic", FieldId::Stack)
                .contains("tag--assumed")
        );
        assert_eq!(says(known, FieldId::Attention), "");
    }

    #[test]
    fn a_problem_comes_with_its_way_out() {
        let (scenario, good) = (decode(LINK).scenario, answers(LINK));
        let unread = Unread {
            field: FieldId::SeqLength,
            text: "x".to_owned(),
            message: "“x” is no number.".to_owned(),
        };
        let ui =
            Ui { drafts: Drafts { unread: vec![unread], ..Drafts::default() }, ..Ui::default() };
        let broken = frame(field(FieldId::SeqLength), false, &scenario, &good, &ui);
        assert!(text(&broken).contains("“x” is no number. Back to"), "{}", text(&broken));
        assert_eq!((count(&broken, "field--invalid"), count(&broken, "repair:s")), (1, 1));
        assert_eq!(described_by(field(FieldId::SeqLength), true), "e-s h-s");
        let link = "v1&m=llama3-8b&n=8&tp=3";
        let bad = answers(link);
        let named = bad.problems.first().expect("a problem").field;
        assert!(problem_of(named, &decode(link).scenario, &bad, &Drafts::default()).is_some());
    }
}
