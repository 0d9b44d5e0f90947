//! Save under a name.

use crate::scenario::Scenario;
use crate::view::action::Action;
use crate::view::markup::{Html, html};
use crate::view::words::about;

/// The id of the input for the name.
pub const NAME: &str = "save-name";

/// Name and button; nothing while the dialog is closed.
pub fn save(scenario: Option<&Scenario>) -> Html {
    html! { div data-own="in-save" { @if let Some(scenario) = scenario { (form(scenario)) } } }
}

fn form(scenario: &Scenario) -> Html {
    let name = scenario.name();
    let suggested = if name.is_empty() { about(scenario).chars().take(60).collect() } else { name };
    html! {
        form data-submit="save" {
            div class="dialog__body" {
                div class="field" {
                    label class="field__label" for=(NAME) { "Name, at most 60 characters" }
                    input id=(NAME) class="field__input" type="text" maxlength="60"
                        autocomplete="off" value=(suggested);
                }
                p class="quiet" {
                    "It stays in this browser, on this device. Some browsers clear such data after \
                     a week without a visit; a link or the downloaded file lasts."
                }
            }
            div class="dialog__foot" {
                button type="button" class="button" data-do=(Action::CloseDialog) { "Cancel" }
                button type="submit" class="button button--main" data-testid="save-confirm" {
                    "Save"
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::save;
    use crate::scenario::Scenario;
    use crate::view::panels::tests::count;

    #[test]
    fn the_own_name_is_suggested() {
        let mut scenario = Scenario::default();
        assert_eq!(count(&save(Some(&scenario)), "value=\"Training Llama 3 8B"), 1);
        scenario.set_name("Mine \"now\"");
        assert_eq!(count(&save(Some(&scenario)), "value=\"Mine &quot;now&quot;\""), 1);
        assert_eq!(count(&save(None), "<form"), 0);
    }
}
