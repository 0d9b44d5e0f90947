//! A pasted text or chosen files, understood: a link, a command or file of another tool, a Hugging
//! Face `config.json`, a model's other files, a message of a run that ran out of memory, or a
//! memory snapshot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::checkpoint::{self, FileStart, understood};
use crate::import::{How, ImportError, Imported, ReportRow, config_json, config_json_as_generic};
use crate::launch::Pasted;
use crate::scenario::Scenario;
use crate::scenario::codec::encode;
use crate::view::action::Action;
use crate::view::anything::{PastedKind, kind_of};
use crate::view::markup::{Html, html};
use crate::view::panels::dialogs::paste::NAME;
use crate::view::panels::remarks;
use crate::view::ui::Dialog;
use crate::view::words::{self, whole};
use crate::worker::question::PastedInput;
use crate::worker::{launched, log, oom, snapshot};

/// The report and the link of the scenario with that model; or why the text cannot be used, and no
/// link. A kind that is not known is counted as a generic decoder only where the page asks for
/// that.
///
/// A text with an out-of-memory message is set beside the scenario's estimate, and gives no link:
/// no `config.json` holds such words.
pub fn read(pasted: &PastedInput, scenario: Scenario) -> (Html, Option<String>) {
    let imported = match pasted {
        PastedInput::Snapshot(bytes) => return (snapshot::panel(&scenario, bytes), None),
        PastedInput::Files(files) => return files_of_a_model(files, scenario),
        PastedInput::AsGeneric(text) => config_json_as_generic(text),
        PastedInput::Text(text) => match kind_of(text) {
            Some(PastedKind::Link | PastedKind::Launch) => {
                return launched::panel(&[Pasted { name: "", text }], &scenario);
            }
            Some(PastedKind::Messages(messages)) => {
                return (oom::panel(&scenario, &messages), None);
            }
            Some(PastedKind::Log(found)) => {
                return log::panel(&scenario, &found, scenario.memory_unit());
            }
            Some(PastedKind::Config) | None => config_json(text),
        },
    };
    match imported {
        Ok(imported) => taken(&imported, &[], scenario),
        Err(problem) => (refused(&problem), None),
    }
}

/// The report and the link of a scenario with that model; `stored` says what its files hold.
fn taken(imported: &Imported, stored: &[String], mut scenario: Scenario) -> (Html, Option<String>) {
    scenario.apply_imported(imported);
    let link = encode(&scenario);
    (report(imported, stored, &scenario, &link), Some(link))
}

/// The model that chosen files are of: names, and beginnings in base64.
fn files_of_a_model(files: &[(String, String)], scenario: Scenario) -> (Html, Option<String>) {
    let starts: Option<Vec<(&str, Vec<u8>)>> = files
        .iter()
        .map(|(name, start)| Some((name.as_str(), STANDARD.decode(start).ok()?)))
        .collect();
    let Some(starts) = starts else {
        return (refused_for("The files did not arrive whole. Choose them again."), None);
    };
    // A command with the files that it reads, among them perhaps the model's.
    let texts: Vec<(&str, &str)> = starts
        .iter()
        .filter_map(|(name, start)| Some((*name, std::str::from_utf8(start).ok()?)))
        .collect();
    if texts.iter().any(|(_, text)| kind_of(text) == Some(PastedKind::Launch)) {
        let pasted: Vec<Pasted<'_>> =
            texts.iter().map(|(name, text)| Pasted { name, text }).collect();
        return launched::panel(&pasted, &scenario);
    }
    let parts: Vec<FileStart<'_>> =
        starts.iter().map(|(name, start)| FileStart { name, start }).collect();
    match checkpoint::read(&parts) {
        Ok(found) => taken(&found.imported, &found.compared(), scenario),
        Err(problem) => (refused_for(&problem.to_string()), None),
    }
}

fn refused_for(sentence: &str) -> Html {
    html! { div class="refused" role="alert" { p data-testid="paste-error" { (sentence) } } }
}

/// The button that opens the dialog for a run that ran out of memory.
pub fn for_messages() -> Html {
    html! {
        p class="methods__line" {
            button type="button" class="link" data-testid="paste-oom" data-do=(Action::OpenDialog(Dialog::Paste)) {
                "A run ran out of memory? Paste its message"
            }
        }
    }
}

/// Why there is no answer, with a way out.
fn refused(problem: &ImportError) -> Html {
    let ImportError::UnknownKind { model_type } = problem else {
        let nor = match problem {
            ImportError::NotJson { .. } => {
                " Nor is it a command or file of a tool that is known here, or an out-of-memory \
                 message: those begin with words such as `vllm serve` or “CUDA out of memory”."
            }
            _ => "",
        };
        return html! {
            div class="refused" role="alert" {
                p data-testid="paste-error" { (problem) (nor) }
            }
        };
    };
    html! {
        div class="refused" role="alert" data-testid="paste-unknown" {
            p class="refused__head" {
                "Not counted: this kind ("
                code { (model_type) }
                ") is not known"
            }
            p {
                "Its layers may differ from those of every kind that Headroom knows, so an answer \
                 would be a guess. Type its sizes by hand under Architecture, or take the guess: \
                 the answer is then marked as assumed."
            }
            button type="button" class="button" data-testid="paste-generic"
                data-do=(Action::CountAsGeneric) {
                "Count it as a generic decoder all the same"
            }
        }
    }
}

/// The sentence of what was understood, name and size, then what is not in the answer, what the
/// files hold, and every key. The name is a new input for every text.
fn report(imported: &Imported, stored: &[String], scenario: &Scenario, link: &str) -> Html {
    html! {
        div class="paste__found" data-key={ "found-" (link) } {
            p data-testid="paste-understood" { (understood(imported)) }
            div class="field" {
                label class="field__label" for=(NAME) { "Name of the model, yours to change" }
                input id=(NAME) class="field__input" type="text" maxlength="60"
                    autocomplete="off" spellcheck="false" data-testid="paste-name"
                    value=(words::model_name(scenario));
            }
            (size(imported, scenario))
            (remarks::remarks(scenario))
            @if let Some(upper_bounds) = upper_bounds(&imported.upper_bounds) { (upper_bounds) }
            @for sentence in stored { p data-testid="paste-stored" { (sentence) } }
            div class="dialog__scroll" tabindex="0" role="region" aria-label="Keys of the file" {
                table class="table" data-testid="paste-report" {
                    thead {
                        tr {
                            th scope="col" { "Key" }
                            th scope="col" { "Value" }
                            th scope="col" { "How" }
                            th scope="col" { "Note" }
                        }
                    }
                    tbody {
                        @for item in &imported.report { (row(item)) }
                    }
                }
            }
        }
    }
}

/// How many parameters it has, and whether it is a row of the list.
fn size(imported: &Imported, scenario: &Scenario) -> Html {
    let count =
        words::parameters(scenario).map_or_else(|| "an unknown number of".to_owned(), whole);
    let row = scenario
        .model()
        .filter(|_| !scenario.may_be_named())
        .map(|row| format!(" This is {} from the list.", row.name));
    html! {
        p data-testid="paste-size" {
            b { (count) " parameters" }
            ", of the kind "
            code { (imported.model_type) }
            "."
            (row.unwrap_or_default())
        }
    }
}

/// The parts of the model that are counted as an upper bound, because they are not modelled as they
/// are; `None` where there are none.
fn upper_bounds(notes: &[String]) -> Option<Html> {
    (!notes.is_empty()).then(|| {
        html! {
            div {
                p data-testid="paste-upper-bounds" {
                    "Parts of this model are not modelled as they are. They are counted as an \
                     upper bound, so the memory shown is rather too high than too low:"
                }
                ul {
                    @for note in notes { li { (note) } }
                }
            }
        }
    })
}

fn row(row: &ReportRow) -> Html {
    let (class, how) = match row.how {
        How::Read => ("tag", "read"),
        How::Derived => ("tag tag--modelled", "derived"),
        How::Assumed => ("tag tag--assumed", "assumed"),
        How::Ignored => ("tag", "ignored"),
    };
    html! {
        tr {
            th scope="row" { code { (row.key) } }
            td { (row.value) }
            td { span class=(class) { (how) } }
            td class="table__reason" { (row.note) }
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;

    use super::{STANDARD, read};
    use crate::scenario::Scenario;
    use crate::scenario::codec::decode;
    use crate::view::panels::tests::{count, text};
    use crate::view::panels::verdict::{spoken, verdict};
    use crate::view::ui::{FromWorkers, Opened};
    use crate::view::words::model_name;
    use crate::worker::question::PastedInput;

    fn pasted(text: &str) -> PastedInput {
        PastedInput::Text(text.to_owned())
    }

    fn files(files: &[(&str, &str)]) -> PastedInput {
        let owned = |(name, start): &(&str, &str)| ((*name).to_owned(), (*start).to_owned());
        PastedInput::Files(files.iter().map(owned).collect())
    }

    /// The first sentence says what was understood, and in which parts the parameters lie.
    #[test]
    fn a_tower_is_named_beside_the_text() {
        let gemma = include_str!("../../tests/data/configs/gemma-3-27b.json");
        let said = text(&read(&pasted(gemma), Scenario::default()).0);
        assert!(
            said.starts_with(
                "Gemma 3 27B with images: text 27.0 B, vision 0.4 B, all keys understood."
            ),
            "{said}"
        );
    }

    /// Chosen files are compared with the model; without one that says what the model is they are
    /// refused.
    #[test]
    fn chosen_files_say_what_they_hold() {
        let small = STANDARD.encode(include_bytes!("../../tests/data/checkpoints/qwen3.gguf"));
        let (card, link) = read(&files(&[("qwen3.gguf", &small)]), Scenario::default());
        let said = text(&card);
        assert!(said.starts_with("small qwen3: 1.8 M parameters, all keys understood."), "{said}");
        assert!(
            said.contains("All are parameters that Headroom counts: 1\u{202f}820\u{202f}800."),
            "{said}"
        );
        assert!(link.is_some_and(|link| link.contains("w=gguf-16")), "{said}");
        let (card, link) =
            read(&files(&[("a.txt", "YQ=="), ("b.txt", "YQ==")]), Scenario::default());
        assert_eq!((count(&card, "paste-error"), link), (1, None));
    }

    const ZEBRA: &str = r#""model_type": "zebra", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
        "vocab_size": 1000, "intermediate_size": 2816, "stripes_per_head": 3"#;

    fn generic(json: &str) -> PastedInput {
        PastedInput::AsGeneric(json.to_owned())
    }

    #[test]
    fn a_kind_that_is_not_known_has_no_answer_before_somebody_asks_for_one() {
        let file = format!("{{{ZEBRA}}}");
        let (card, link) = read(&pasted(&file), Scenario::default());
        assert_eq!(link, None);
        assert!(
            text(&card).starts_with("Not counted: this kind (zebra) is not known"),
            "{}",
            text(&card)
        );
        assert_eq!(count(&card, "data-do=\"paste-generic\""), 1);
        let (report, link) = read(&generic(&file), Scenario::default());
        let scenario = decode(&link.expect("a link")).scenario;
        assert_eq!(model_name(&scenario), "Zebra · 53.4 M");
        let sentence = "Assumed: counted as a generic decoder, because the kind zebra is not \
            known. Not understood: stripes_per_head.";
        assert!(text(&report).contains(sentence), "{}", text(&report));
        let answers =
            crate::view::panels::tests::answers(&crate::scenario::codec::encode(&scenario));
        assert!(
            text(&verdict(&answers, answers.standing, &FromWorkers::default(), &Opened::default()))
                .contains(sentence)
        );
        assert!(spoken(&answers, answers.standing, &FromWorkers::default()).contains(sentence));
    }

    #[test]
    fn what_is_counted_as_an_upper_bound_is_said() {
        let (plain, link) = read(&generic(&format!("{{{ZEBRA}}}")), Scenario::default());
        assert!(link.is_some() && count(&plain, "paste-upper-bounds") == 0);
        let (bounded, link) = read(
            &generic(&format!(r#"{{{ZEBRA}, "layer_types": ["chunked_attention"]}}"#)),
            Scenario::default(),
        );
        let words = text(&bounded);
        assert!(link.is_some() && words.contains("rather too high than too low"), "{words}");
        assert!(
            words.contains("Attention in chunks is counted as attention to the whole text."),
            "{words}"
        );
    }
}
