//! The bar at the top: name, undo, unit, save, share, theme.

use super::icon::Icon;
use super::sections::Section;
use crate::scenario::records::SavedScenario;
use crate::scenario::{FieldId, Scenario};
use crate::units::MemoryUnit;
use crate::view::action::{Action, SavedVerb};
use crate::view::markup::{Html, html};
use crate::view::ui::Dialog;
use crate::view::words::about;

/// The bar that stays at the top, beside so many scenarios that are compared with; `undo` and
/// `redo`: there is something to take back, or to do again.
pub fn top_bar(
    scenario: &Scenario,
    compared: usize,
    (undo, redo): (bool, bool),
    saved: &[SavedScenario],
) -> Html {
    let unit = scenario.memory_unit();
    html! {
        header class="bar" data-own="bar" {
            a class="bar__name" href="#v1" aria-label="Headroom: the default scenario" {
                svg class="bar__mark" viewBox="0 0 22 22" aria-hidden="true" focusable="false" {
                    rect class="bar__mark-level" x="5" y="10" width="12" height="8" rx="1" {}
                    rect class="bar__mark-box" x="3" y="3" width="16" height="16" rx="3" {}
                }
                span class="bar__brand" { "Headroom" }
            }
            span class="bar__about" { (title(scenario)) }
            div class="bar__tools" {
                button type="button" class="button button--plain button--icon" aria-label="Undo"
                    title="Undo (Ctrl+Z)" data-testid="undo" data-do=(Action::Undo) disabled[!undo] {
                    (Icon::Undo.html())
                }
                button type="button" class="button button--plain button--icon" aria-label="Redo"
                    title="Redo (Ctrl+Shift+Z)" data-testid="redo" data-do=(Action::Redo) disabled[!redo] {
                    (Icon::Redo.html())
                }
                span class="bar__gap" {}
                div class="switch" role="group" aria-label="Unit of memory" {
                    (unit_option(MemoryUnit::Gib, "gib", "Binary: 1 GiB is 1 073 741 824 bytes", unit))
                    (unit_option(MemoryUnit::Gb, "gb", "Decimal: 1 GB is 1 000 000 000 bytes", unit))
                }
                span class="bar__gap" {}
                button type="button" class="button bar__save" aria-label="Save" title="Save" data-testid="save"
                    data-do=(Action::OpenDialog(Dialog::Save)) {
                    (Icon::Save.html())
                    span class="bar__word" { "Save" }
                }
                (saved_menu(saved))
                (compare(compared))
                button type="button" class="button button--main" aria-label="Share" title="Share"
                    data-testid="share" data-do=(Action::OpenDialog(Dialog::Share)) {
                    (Icon::Share.html())
                    span class="bar__word" { "Share" }
                }
                button type="button" class="button bar__teach" aria-label="Teach" title="Teach"
                    data-testid="teach-open" data-do=(Action::OpenTeach) {
                    (Icon::Teach.html())
                    span class="bar__word" { "Teach" }
                }
                button type="button" class="button button--plain button--icon bar__theme"
                    aria-label="Switch between light and dark" title="Light or dark"
                    data-do=(Action::SwitchTheme) {
                    (Icon::Theme.html())
                }
            }
        }
    }
}

/// The saved scenarios behind a button: two clicks open one.
fn saved_menu(records: &[SavedScenario]) -> Html {
    let count = records.len().to_string();
    html! {
        button type="button" class="button" aria-label={ "Saved scenarios: " (count) }
            title="Saved scenarios" data-testid="saved-menu-open" popovertarget=(MENU) {
            (Icon::Saved.html())
            span class="bar__word" { "Saved" @if !records.is_empty() { " (" (count) ")" } }
        }
        div id=(MENU) class="menu" popover="auto" role="group" aria-label="Saved scenarios"
            data-testid="saved-menu" {
            @if records.is_empty() { p class="menu__empty" { "Nothing saved on this device yet." } }
            @for record in records {
                button type="button" class="menu__item" data-key=(record.id)
                    data-do=(Action::Saved(SavedVerb::Open, record.id.clone())) popovertarget=(MENU)
                    popovertargetaction="hide" {
                    (record.name)
                }
            }
            div class="menu__tools" {
                button type="button" class="button" data-do=(Action::OpenDialog(Dialog::Save)) popovertarget=(MENU)
                    popovertargetaction="hide" {
                    "Save this one"
                }
                button type="button" class="button" data-do=(Action::GoTo(Section::Compare)) popovertarget=(MENU)
                    popovertargetaction="hide" {
                    "Rename, compare, download"
                }
            }
        }
    }
}

/// Id of the saved scenarios behind their button.
const MENU: &str = "saved-menu";

/// One click keeps the scenario to compare with; once some are kept, it leads to their table.
fn compare(compared: usize) -> Html {
    let (action, label) = match compared {
        0 => (Action::Pin, "Compare: keep this scenario as B".to_owned()),
        some => (Action::GoTo(Section::Compare), format!("Compare: {some} kept")),
    };
    html! {
        button type="button" class="button bar__compare" aria-label=(label) title=(label)
            data-testid="compare-open" data-do=(action) {
            (Icon::Compare.html())
            span class="bar__word" {
                "Compare"
                @if compared > 0 { " (" (compared) ")" }
            }
        }
    }
}

/// The scenario in the bar and in the browser's tab: its own name, and the model and hardware it is
/// about.
pub fn title(scenario: &Scenario) -> String {
    let name = scenario.name();
    if name.is_empty() { about(scenario) } else { format!("{name} · {}", about(scenario)) }
}

fn unit_option(unit: MemoryUnit, word: &str, about: &str, now: MemoryUnit) -> Html {
    html! {
        button type="button" class="switch__option" title=(about)
            data-testid={ "unit-" (unit.name()) } aria-pressed=(unit == now)
            data-do=(Action::Set(FieldId::MemoryUnit, word.to_owned())) {
            (unit.name())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::top_bar;
    use crate::scenario::codec::decode;
    use crate::scenario::records::SavedScenario;
    use crate::scenario::{FieldId, Scenario, Value, parse};
    use crate::units::MemoryUnit;
    use crate::view::panels::tests::{count, text};

    #[test]
    fn a_name_is_text_and_never_markup() {
        let mut scenario = Scenario::default();
        scenario.set_name("<b>mine</b>");
        let bar = top_bar(&scenario, 0, (false, false), &[]);
        assert_eq!(count(&bar, "<b>"), 0);
        assert!(text(&bar).contains("&lt;b&gt;mine&lt;/b&gt; · Training"));
    }

    #[test]
    fn steps_without_history_are_disabled() {
        let scenario = decode("v1").scenario;
        assert_eq!(count(&top_bar(&scenario, 0, (false, false), &[]), " disabled"), 2);
        assert_eq!(count(&top_bar(&scenario, 0, (true, true), &[]), " disabled"), 0);
    }

    #[test]
    fn saved_scenarios_and_the_comparison_are_in_reach() {
        let record = |id: &str| SavedScenario {
            id: id.to_owned(),
            name: format!("<{id}>"),
            saved_at_ms: 7,
            revision: 1,
            link: "v1".to_owned(),
        };
        let scenario = decode("v1").scenario;
        let none = top_bar(&scenario, 0, (false, false), &[]);
        assert!(
            text(&none).contains("Nothing saved on this device yet.")
                && count(&none, "data-do=\"pin\"") == 1
        );
        let some = top_bar(&scenario, 2, (false, false), &[record("a"), record("b")]);
        assert!(
            text(&some).contains("Saved (2)") && text(&some).contains("&lt;a&gt;"),
            "{}",
            text(&some)
        );
        assert_eq!((count(&some, "saved-open:"), count(&some, "data-do=\"pin\"")), (2, 0));
        assert!(text(&some).contains("Compare (2)") && count(&some, "go:go-compare") == 2);
    }

    #[test]
    fn both_units_can_be_set_by_the_word_on_their_button() {
        for (word, unit) in [("gib", MemoryUnit::Gib), ("gb", MemoryUnit::Gb)] {
            assert_eq!(parse(FieldId::MemoryUnit, word), Ok(Value::choice(unit)));
        }
    }
}
