//! Paste a Hugging Face `config.json` or an out-of-memory message, or choose a model's files; the
//! second program reads them.

use crate::view::action::{Action, Settled};
use crate::view::markup::{Html, html};

/// The text area's id.
pub const AREA: &str = "paste-area";

/// The id of the field at the top of the form, whose text goes into the dialog.
pub const FIELD: &str = "paste-field";

/// The id of the input for the model's name.
pub const NAME: &str = "paste-name";

/// The outcome of the text so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasteState {
    /// The report, or why there is none.
    pub outcome: Html,
    /// The scenario with the model in the text.
    pub found: Option<PastedModel>,
    /// True if a kind that is not known is to be counted as a generic decoder.
    pub as_generic: bool,
}

/// A scenario with a model that was read from a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastedModel {
    /// The link of the scenario before.
    pub before: String,
    /// The link of the scenario with the model.
    pub link: String,
}

/// A text area, what was understood of it, and the button that takes it over; nothing while the
/// dialog is closed.
pub fn paste(pasted: Option<&PasteState>) -> Html {
    html! { div data-own="in-paste" { @if let Some(pasted) = pasted { (form(pasted)) } } }
}

fn form(pasted: &PasteState) -> Html {
    html! {
        div class="dialog__body" {
            p class="quiet" id="paste-about" {
                "Paste what you have: a command that starts a run or a server ("
                code { "vllm serve …" }
                ", "
                code { "torchrun …" }
                ", a script), its YAML, TOML or JSON file, a model's "
                code { "config.json" }
                ", a link of this page, or what a run printed when its memory ran out. Or choose \
                 files, a command with those that it reads, or drop them: scripts and settings, a \
                 model's folder, .gguf and .safetensors (of weights only the header is read), a \
                 memory snapshot (.pickle). All is read here in the browser and sent nowhere."
            }
            textarea class="dialog__area" id=(AREA)
                aria-label="Command, file, link or message" aria-describedby="paste-about"
                spellcheck="false" data-testid="paste-text" {}
            label class="button" {
                "Choose files"
                input class="sr" type="file" multiple
                    accept=".json,.sh,.bash,.yaml,.yml,.toml,.py,.txt,.log,.pickle,.pkl,.gguf,.safetensors"
                    data-change=(Settled::PasteFile);
            }
            div { (pasted.outcome) }
        }
        div class="dialog__foot" {
            button type="button" class="button" data-do=(Action::CloseDialog) { "Cancel" }
            button type="button" class="button button--main" data-testid="paste-use"
                data-do=(Action::UsePasted) disabled[pasted.found.is_none()] {
                "Use it"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PasteState, PastedModel, paste};
    use crate::view::panels::tests::count;

    #[test]
    fn a_model_can_be_used_once_one_is_found() {
        assert_eq!(count(&paste(Some(&PasteState::default())), " disabled"), 1);
        let found = Some(PastedModel::default());
        assert_eq!(
            count(&paste(Some(&PasteState { found, ..PasteState::default() })), " disabled"),
            0
        );
        assert_eq!(count(&paste(None), "textarea"), 0);
    }
}
