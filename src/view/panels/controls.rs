//! The form: what people change often in sight, the rest folded away with a line that says how it
//! stands.

use crate::scenario::{
    Field, FieldId, FieldKind, Group, Mode, Scenario, Value, field, fields, show,
};
use crate::view::action::{Action, SkipTarget};
use crate::view::answers::Answers;
use crate::view::fields::frame::{frame, told};
use crate::view::markup::{Html, html};
use crate::view::panels::dialogs::paste::FIELD;
use crate::view::ui::{Dialog, Drafts, Opened};
use crate::view::words::lower_first;

/// The headings of the form, with the groups of fields under each.
const SECTIONS: [(&str, &[Group]); 3] = [
    ("Model", &[Group::Model]),
    ("Run", &[Group::Run, Group::Precision]),
    ("Hardware and layout", &[Group::Hardware, Group::Layout]),
];

/// The words in the field for everything pasted.
const ASKS: &str = "Paste a config, a command, a log, a link";

/// The folds in the order of the form, with the groups of fields in each.
const FOLDS: [(&str, &[Group]); 8] = [
    ("Architecture", &[Group::Architecture]),
    ("Experts and special layers", &[Group::Structure]),
    ("Run details", &[Group::Run, Group::Precision]),
    ("GPU and layout details", &[Group::Hardware, Group::Layout]),
    (Group::StackOptions.name(), &[Group::StackOptions]),
    ("Reserve", &[Group::Reserve]),
    ("Time and cost", &[Group::Cost]),
    ("Host memory", &[Group::HostMemory]),
];

/// Inputs that the top bar and the dialogs hold instead, and what a file said, which the answer's
/// card tells.
const ELSEWHERE: [FieldId; 9] = [
    FieldId::Mode,
    FieldId::Name,
    FieldId::MemoryUnit,
    FieldId::ModelType,
    FieldId::TextModelType,
    FieldId::AsGeneric,
    FieldId::NotCounted,
    FieldId::LeftOut,
    FieldId::FlagsNotCounted,
];

/// A place of the form, which has a part of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormPlace {
    /// The switch between training, fine-tuning and serving.
    Mode,
    /// A section in sight, by its number.
    Section(usize),
    /// A fold, by its number.
    Fold(usize),
}

impl FormPlace {
    /// Every place, as many as there are parts of the form.
    pub const ALL: [Self; 12] = [
        Self::Mode,
        Self::Section(0),
        Self::Section(1),
        Self::Section(2),
        Self::Fold(0),
        Self::Fold(1),
        Self::Fold(2),
        Self::Fold(3),
        Self::Fold(4),
        Self::Fold(5),
        Self::Fold(6),
        Self::Fold(7),
    ];

    /// The place of a field; none where its input stands outside the form.
    pub fn of(id: FieldId) -> Option<Self> {
        let asked = field(id);
        let at = |places: &[(&str, &[Group])]| {
            places.iter().position(|(_, groups)| groups.contains(&asked.group))
        };
        match id {
            FieldId::Mode => Some(Self::Mode),
            _ if ELSEWHERE.contains(&id) => None,
            _ if is_folded(asked) => at(&FOLDS).map(Self::Fold),
            _ => at(&SECTIONS).map(Self::Section),
        }
    }

    /// The drafts at this place.
    pub fn drafts(self, all: &Drafts) -> Drafts {
        all.of(|id| Self::of(id) == Some(self))
    }
}

/// The fields of some groups that count, in sight or folded. Of the architecture these are the keys
/// that the model's family reads.
fn listed(
    groups: &'static [Group],
    folded: bool,
    scenario: &Scenario,
) -> impl Iterator<Item = &'static Field> {
    // The place is asked first: few of all inputs are in it, and most questions cost more.
    fields().iter().filter(move |field| {
        groups.contains(&field.group)
            && is_folded(field) == folded
            && !ELSEWHERE.contains(&field.id)
            && scenario.counts(field)
    })
}

/// True if a field is folded away: the table says so, or few people change it often.
fn is_folded(field: &Field) -> bool {
    field.folded
        || field.group == Group::Cost
        || matches!(field.id, FieldId::Attention | FieldId::PipelineParallel)
}

/// The fold that a field stands in; none where it is in sight.
pub fn fold_of(id: FieldId) -> Option<String> {
    let asked = field(id);
    let at =
        FOLDS.iter().position(|(_, groups)| groups.contains(&asked.group) && is_folded(asked))?;
    Some(format!("fold-{at}"))
}

/// The id of what takes the focus when somebody goes to a field: its input, or what is said about
/// it where its input stands elsewhere.
pub fn place_of(id: FieldId) -> String {
    format!("{}-{}", if ELSEWHERE.contains(&id) { "e" } else { "f" }, field(id).key)
}

/// The form on the left, with the places of its parts. Every part is a form of its own: after each
/// change of an input, browsers look through all inputs of its form for something to fill in later,
/// which took milliseconds of each change when all parts were one form.
pub fn form() -> Html {
    html! {
        section class="controls" id=(SkipTarget::Form.id()) tabindex="-1" aria-label="Scenario" {
            textarea class="field__input field__input--paste" rows="1" id=(FIELD) data-testid="paste"
                data-do=(Action::OpenDialog(Dialog::Paste)) aria-label=(ASKS) placeholder=(ASKS) spellcheck="false" autocomplete="off" {}
            div data-own="mode" {}
            @for index in 0..SECTIONS.len() { form class="group" data-own={ "group-" (index) } {} }
            div class="folds" {
                @for index in 0..FOLDS.len() {
                    details class="fold" data-own={ "fold-" (index) } {}
                }
            }
        }
    }
}

/// Train, fine-tune or serve; what this model cannot be asked, with the way out.
pub fn mode_switch(scenario: &Scenario, answers: &Answers, drafts: &Drafts) -> Html {
    let mode = scenario.mode();
    let option = |of: Mode, word: &str, label: &str| {
        html! {
            button type="button" class="switch__option" data-testid={ "mode-" (word) }
                aria-pressed=(mode == of) data-do=(Action::Set(FieldId::Mode, word.to_owned())) {
                (label)
            }
        }
    };
    html! {
        div data-own="mode" {
            div class="switch switch--wide" role="group" aria-label="What to do with the model" {
                (option(Mode::Train, "train", "Train"))
                (option(Mode::Tune, "tune", "Fine-tune"))
                (option(Mode::Serve, "serve", "Serve"))
            }
            @if let Some(told) = told(field(FieldId::Mode), scenario, answers, drafts) { (told) }
        }
    }
}

/// One heading and the fields in sight under it.
pub fn section(
    index: usize,
    scenario: &Scenario,
    answers: &Answers,
    drafts: &Drafts,
    opened: &Opened,
) -> Html {
    let (name, groups) = SECTIONS.get(index).copied().unwrap_or_default();
    let asked = |field: &&Field| field.id != FieldId::ModelName || scenario.may_be_named();
    html! {
        form class="group" data-own={ "group-" (index) } {
            h2 class="group__name" {
                (name)
            }
            div class="group__fields" {
                @for field in listed(groups, false, scenario).filter(asked) {
                    (frame(field, field.kind == FieldKind::Model, scenario, answers, drafts, opened))
                }
            }
        }
    }
}

/// Fields behind one line. The inputs are made when first opened: most people never open most
/// folds.
pub fn fold(
    index: usize,
    scenario: &Scenario,
    answers: &Answers,
    drafts: &Drafts,
    opened: &Opened,
) -> Html {
    let (name, groups) = FOLDS.get(index).copied().unwrap_or_default();
    let folded = |id: FieldId| listed(groups, true, scenario).any(|field| field.id == id);
    let bad = answers.problems.iter().any(|problem| folded(problem.field))
        || drafts.unread.iter().any(|text| folded(text.field));
    let part = format!("fold-{index}");
    let unfolds = bad && !opened.is_shut(&part);
    html! {
        details class="fold" data-own=(part) data-toggle=(part)
            hidden[listed(groups, true, scenario).next().is_none()] open[unfolds] {
            summary class="fold__summary" {
                span class="fold__name" { (name) }
                span class={ "fold__state" (if bad { " fold__state--bad" } else { "" }) } {
                    (if bad { "needs a look".to_owned() } else { summary(scenario, groups) })
                }
            }
            form class="fold__body group__fields" {
                @if unfolds || opened.is_open(&part) {
                    @for field in listed(groups, true, scenario) {
                        (frame(field, false, scenario, answers, drafts, opened))
                    }
                }
            }
        }
    }
}

/// How a fold stands, in a few words: what was set by hand first, then its first fields.
fn summary(scenario: &Scenario, groups: &'static [Group]) -> String {
    let (set, others): (Vec<&Field>, Vec<_>) =
        listed(groups, true, scenario).partition(|field| scenario.is_set(field.id));
    let others = others.into_iter().filter(|field| !is_unasked(scenario, field));
    let shown = set.into_iter().chain(others).take(3);
    let parts: Vec<String> = shown.map(|field| part(scenario, field)).collect();
    parts.join(", ")
}

/// True if it asks for something that need not be said, and nothing was.
fn is_unasked(scenario: &Scenario, field: &Field) -> bool {
    matches!(field.group, Group::Run | Group::Reserve) && scenario.get(field.id) == Value::Empty
}

/// One field in a few words: `layers 32`.
fn part(scenario: &Scenario, field: &Field) -> String {
    let value = scenario.get(field.id);
    let label = lower_first(field.label);
    match value {
        Value::Flag(true) => label,
        Value::Flag(false) => format!("{label}: no"),
        Value::Empty if field.group == Group::Structure => format!("{label}: none"),
        Value::Empty => format!("{label} unknown"),
        value => format!("{label} {}", show(field.id, &value)),
    }
}

#[cfg(test)]
mod tests {
    use super::{ELSEWHERE, FOLDS, SECTIONS, fold_of, form, place_of};
    use crate::scenario::codec::decode;
    use crate::scenario::{FieldId, Mode, Scenario, Value, parse};
    use crate::view::answers::Answers;
    use crate::view::markup::Html;
    use crate::view::panels::tests::{answers, count, text};
    use crate::view::ui::{Opened, Ui};
    use crate::view::words::lower_first;

    fn section(index: usize, scenario: &Scenario, answers: &Answers, ui: &Ui) -> Html {
        super::section(index, scenario, answers, &ui.drafts, &ui.opened)
    }

    fn fold(index: usize, scenario: &Scenario, answers: &Answers, ui: &Ui) -> Html {
        super::fold(index, scenario, answers, &ui.drafts, &ui.opened)
    }

    fn mode_switch(scenario: &Scenario, answers: &Answers, ui: &Ui) -> Html {
        super::mode_switch(scenario, answers, &ui.drafts)
    }

    #[test]
    fn every_field_of_a_mode_stands_in_the_form_once() {
        for link in ["v1&m=llama3-8b&n=8", "v1&do=serve&m=llama3-8b&l=40"] {
            let (scenario, answers) = (decode(link).scenario, answers(link));
            let open = (0..FOLDS.len()).map(|index| format!("fold-{index}")).collect();
            let ui = Ui { opened: Opened { open, ..Opened::default() }, ..Ui::default() };
            let sections =
                (0..SECTIONS.len()).map(|index| section(index, &scenario, &answers, &ui));
            let folds = (0..FOLDS.len()).map(|index| fold(index, &scenario, &answers, &ui));
            let all = sections.chain(folds).collect();
            for field in scenario.counting_fields() {
                // A row of the catalog as it stands needs no name of its own.
                let needless = field.id == FieldId::ModelName && !link.contains("l=40");
                let elsewhere = ELSEWHERE.contains(&field.id) || needless;
                let places = count(&all, &format!("id=\"f-{}\"", field.key));
                assert_eq!(places, usize::from(!elsewhere), "{} in {link}", field.key);
            }
        }
        assert_eq!(count(&form(), "data-own="), 1 + SECTIONS.len() + FOLDS.len());
    }

    #[test]
    fn a_fold_writes_its_inputs_when_it_is_open_or_needs_a_look() {
        let link = "v1&m=llama3-8b&n=8";
        let closed = fold(0, &decode(link).scenario, &answers(link), &Ui::default());
        assert_eq!((count(&closed, "class=\"field\""), count(&closed, " open")), (0, 0));
        assert!(text(&closed).starts_with("Architecturehidden size 4096"), "{}", text(&closed));
        let bad = "v1&m=llama3-8b&n=8&kv=7";
        let shown = fold(0, &decode(bad).scenario, &answers(bad), &Ui::default());
        assert!(text(&shown).starts_with("Architectureneeds a look"), "{}", text(&shown));
        assert!(count(&shown, "id=\"f-kv\"") == 1 && count(&shown, " open>") == 1);
    }

    /// The texts of the lists of models and accelerators name these two folds.
    #[test]
    fn who_finds_no_row_is_led_to_the_fold_with_its_sizes() {
        let named = |id: FieldId| {
            let fold = fold_of(id).expect("it is folded away");
            let index: usize =
                fold.strip_prefix("fold-").and_then(|index| index.parse().ok()).expect("a number");
            FOLDS.get(index).map(|(name, _)| *name)
        };
        assert_eq!(named(FieldId::HiddenSize), Some("Architecture"));
        assert_eq!(named(FieldId::AcceleratorMemory), Some("GPU and layout details"));
        assert_eq!(fold_of(FieldId::Model), None);
    }

    /// A problem opens a fold; the reader closes it; another field changes, the problem goes and
    /// comes back.
    #[test]
    fn a_fold_that_the_reader_closed_stays_closed() {
        let (bad, good) = ("v1&m=llama3-8b&n=8&kv=7", "v1&m=llama3-8b&n=8&kv=7&a=28");
        let shown = |link: &str, ui: &Ui| fold(0, &decode(link).scenario, &answers(link), ui);
        let opens = |link: &str, ui: &Ui| count(&shown(link, ui), " open>") == 1;
        let mut ui = Ui::default();
        assert!(opens(bad, &ui) && !opens(good, &ui));
        // The browser tells that it opened, then that the reader closed it.
        ui.opened.unfolded("fold-0", true);
        ui.opened.unfolded("fold-0", false);
        assert!(!opens(bad, &ui) && !opens(good, &ui) && !opens(&format!("{bad}&s=4096"), &ui));
        assert!(text(&shown(bad, &ui)).starts_with("Architectureneeds a look"));
        assert_eq!(count(&shown(bad, &ui), "class=\"field\""), 0);
        ui.opened.unfolded("fold-0", true);
        assert!(opens(bad, &ui) && count(&shown(bad, &ui), "id=\"f-kv\"") == 1);
    }

    #[test]
    fn every_mode_can_be_set_by_the_word_on_their_button() {
        for (word, mode) in [("train", Mode::Train), ("tune", Mode::Tune), ("serve", Mode::Serve)] {
            assert_eq!(parse(FieldId::Mode, word), Ok(Value::choice(mode)));
            let link = format!("v1&m=llama3-8b&n=8&do={word}");
            let shown = mode_switch(&decode(&link).scenario, &answers(&link), &Ui::default());
            assert_eq!(
                count(&shown, &format!("aria-pressed=\"true\" data-do=\"set:do:{word}\"")),
                1
            );
            assert_eq!(count(&shown, "error-do"), 0);
        }
    }

    #[test]
    fn a_mode_that_a_model_does_not_have_is_named_with_a_way_out() {
        let link = "v1&m=llama3-8b&fam=generic&n=8&mx=mamba";
        let shown = mode_switch(&decode(link).scenario, &answers(link), &Ui::default());
        assert!(
            text(&shown).contains("not modelled here; serving is. Serve it"),
            "{}",
            text(&shown)
        );
        assert_eq!(count(&shown, "data-do=\"repair:do\""), 1);
    }

    /// The way from the answer's card to a red field ends at something that is there.
    #[test]
    fn a_red_field_has_its_place_in_the_form() {
        for (link, key, folded) in [
            ("v1&m=llama3-8b&n=8&tp=3", "f-n", None),
            ("v1&m=llama3-8b&n=8&kv=7", "f-kv", Some("fold-0")),
            ("v1&m=llama3-8b&fam=generic&n=8&mx=mamba", "e-do", None),
            ("v1&m=llama3-7", "f-m", None),
        ] {
            let (scenario, answers) = (decode(link).scenario, answers(link));
            let id = answers.problems.first().expect("a problem").field;
            assert_eq!((place_of(id).as_str(), fold_of(id).as_deref()), (key, folded), "{link}");
            let ui = Ui::default();
            let sections =
                (0..SECTIONS.len()).map(|index| section(index, &scenario, &answers, &ui));
            let folds = (0..FOLDS.len()).map(|index| fold(index, &scenario, &answers, &ui));
            let form: Html =
                sections.chain(folds).chain([mode_switch(&scenario, &answers, &ui)]).collect();
            assert_eq!(count(&form, &format!("id=\"{key}\"")), 1, "{link}");
        }
    }

    #[test]
    fn labels_inside_a_sentence_begin_small() {
        assert_eq!(lower_first("Layers"), "layers");
        assert_eq!(lower_first("GPUs per node"), "GPUs per node");
        assert_eq!(lower_first("Transformer Engine"), "Transformer Engine");
        assert_eq!(lower_first("TensorRT-LLM's share"), "TensorRT-LLM's share");
    }
}
