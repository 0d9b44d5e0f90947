//! The list of scenarios kept in this browser.

use crate::scenario::records::SavedScenario;
use crate::view::action::{Action, SavedVerb, Settled};
use crate::view::markup::{Html, html};
use crate::view::ui::{Dialog, SavedList};

/// The panel; `date` writes a moment as the reader's own date and time.
pub fn saved(list: &SavedList, date: impl Fn(u64) -> String) -> Html {
    let none = list.saved.scenarios.is_empty();
    html! {
        div data-own="saved" data-testid="saved" {
            div class="section__head" {
                h2 { "Saved scenarios" }
                div class="section__tools" {
                    button type="button" class="button" data-do=(Action::OpenDialog(Dialog::Save)) { "Save \
                        this one" }
                    button type="button" class="button" data-do=(Action::ExportSaved) disabled[none] {
                        "Download all"
                    }
                    label class="button" tabindex="-1" {
                        "Add from a file"
                        input class="sr" type="file" accept="application/json,.json"
                            data-change=(Settled::ImportSaved);
                    }
                }
            }
            p class="saved__empty" hidden[!none] {
                "Nothing saved on this device yet. Saved scenarios stay in this browser; a link or \
                 a downloaded file keeps them for longer."
            }
            ul {
                @for record in &list.saved.scenarios {
                    @let renaming = list.renaming.as_ref() == Some(&record.id);
                    (row(record, &date(record.saved_at_ms), renaming))
                }
            }
        }
    }
}

/// One saved scenario.
fn row(record: &SavedScenario, date: &str, renaming: bool) -> Html {
    let id = &record.id;
    let act = |verb| Action::Saved(verb, id.clone());
    let name = if renaming {
        html! {
            input id={ "name-" (id) } class="field__input" type="text" maxlength="60"
                aria-label="New name" value=(record.name) data-change=(Settled::Rename(id.clone()));
        }
    } else {
        html! {
            button type="button" class="link" data-do=(act(SavedVerb::Open)) { (record.name) }
        }
    };
    html! {
        li class="saved__row" data-key=(id) {
            span class="saved__name" {
                (name)
                " "
                span class="saved__date" { (date) }
            }
            span class="saved__tools" {
                button type="button" class="button button--plain"
                    data-do=(act(SavedVerb::Compare)) {
                    "Compare"
                }
                button type="button" class="button button--plain" id={ "rename-" (id) }
                    data-do=(act(SavedVerb::Rename)) {
                    "Rename"
                }
                button type="button" class="button button--plain"
                    data-do=(act(SavedVerb::Duplicate)) {
                    "Duplicate"
                }
                button type="button" class="button button--plain" data-do=(act(SavedVerb::Delete)) {
                    "Delete"
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::saved;
    use crate::scenario::records::SavedScenario;
    use crate::view::panels::tests::{count, text};
    use crate::view::ui::{Saved, SavedList};

    fn record(id: &str, name: &str) -> SavedScenario {
        SavedScenario {
            id: id.to_owned(),
            name: name.to_owned(),
            saved_at_ms: 7,
            revision: 1,
            link: "v1".to_owned(),
        }
    }

    #[test]
    fn every_record_has_a_row_and_one_can_be_renamed() {
        let date = |ms: u64| format!("at {ms}");
        let scenarios = vec![record("a1", "<First>"), record("b2", "Second")];
        let mut kept =
            SavedList { saved: Saved { scenarios, ..Saved::default() }, ..SavedList::default() };
        let list = saved(&kept, date);
        assert_eq!((count(&list, "saved__row"), count(&list, "saved-open:")), (2, 2));
        assert!(text(&list).contains("&lt;First&gt; at 7"));
        kept.renaming = Some("b2".to_owned());
        let list = saved(&kept, date);
        assert_eq!((count(&list, "id=\"name-b2\""), count(&list, "saved-open:")), (1, 1));
    }

    #[test]
    fn an_empty_shelf_says_so() {
        let list = saved(&SavedList::default(), |_| String::new());
        assert_eq!((count(&list, " disabled"), count(&list, " hidden")), (1, 0));
    }
}
