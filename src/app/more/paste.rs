//! A pasted text, understood: a Hugging Face `config.json`, a message of a run that ran out of memory, or a memory snapshot.

use crate::app::markup::{Html, html};
use crate::app::more::wire::{AS_GENERIC, MARK, SNAPSHOT};
use crate::app::more::{oom, snapshot};
use crate::app::panels::dialogs::paste::NAME;
use crate::app::panels::remarks;
use crate::app::words::{self, whole};
use crate::config::ModelConfig;
use crate::import::{How, ImportError, Imported, ReportRow, config_json, config_json_as_generic};
use crate::ops::parameters_of;
use crate::scenario::Scenario;
use crate::scenario::codec::encode;
use crate::units::{grouped, to_f64};

/// The report and the link of the scenario with that model; or why the text cannot be used, and no link. A kind that is not known is
/// counted as a generic decoder only where the page asks for that, with a word before the text.
///
/// A text with an out-of-memory message is set beside the scenario's estimate, and gives no link: no `config.json` holds such words.
pub fn read(asked: &str, mut scenario: Scenario) -> (Html, Option<String>) {
    if let Some((SNAPSHOT, bytes)) = asked.split_once(MARK) {
        return (snapshot::panel(&scenario, bytes), None);
    }
    if may_hold_a_message(asked)
        && let Ok(messages) = crate::import::oom::read(asked)
    {
        return (oom::panel(&scenario, &messages), None);
    }
    let imported = match asked.split_once(MARK) {
        Some((AS_GENERIC, text)) => config_json_as_generic(text),
        _ => config_json(asked),
    };
    match imported {
        Ok(imported) => {
            scenario.apply_imported(&imported);
            let link = encode(&scenario);
            (report(&imported, &scenario, &link), Some(link))
        }
        Err(problem) => (refused(&problem), None),
    }
}

/// Whether a text is worth searching for messages: a file of keys without such a word is none, however long it is.
fn may_hold_a_message(text: &str) -> bool {
    !text.trim_start().starts_with('{') || ["emory", "MEMORY"].iter().any(|word| text.contains(word))
}

/// The button that opens the dialog for a run that ran out of memory.
pub fn for_messages() -> Html {
    let button = "<p class=\"methods__line\"><button type=\"button\" class=\"link\" data-testid=\"paste-oom\" \
                  data-do=\"dialog:paste\">A run ran out of memory? Paste its message</button></p>";
    html(button, &[])
}

/// Why there is no answer, with a way out.
fn refused(problem: &ImportError) -> Html {
    let ImportError::UnknownKind { model_type } = problem else {
        let nor = match problem {
            ImportError::NotJson { .. } => {
                " Nor does it hold an out-of-memory message: those begin with words such as “CUDA out of memory”."
            }
            _ => "",
        };
        let template = r#"<div class="refused" role="alert"><p data-testid="paste-error">{}{}</p></div>"#;
        return html(template, &[&problem.to_string(), &nor]);
    };
    html(
        r#"<div class="refused" role="alert" data-testid="paste-unknown"><p class="refused__head">Not counted: this kind (<code>{}</code>) is not known</p><p>Its layers may differ from those of every kind that Headroom knows, so an answer would be a guess. Type its sizes by hand under Architecture, or take the guess: the answer is then marked as assumed.</p><button type="button" class="button" data-testid="paste-generic" data-do="paste-generic">Count it as a generic decoder all the same</button></div>"#,
        &[model_type],
    )
}

/// Name and size first, then what is not in the answer, then every key. The name is a new input for every text.
fn report(imported: &Imported, scenario: &Scenario, link: &str) -> Html {
    let rows: Html = imported.report.iter().map(row).collect();
    html(
        r#"<div class="paste__found" data-key="found-{}"><div class="field"><label class="field__label" for="{}">Name of the model, yours to change</label><input id="{}" class="field__input" type="text" maxlength="60" autocomplete="off" spellcheck="false" data-testid="paste-name" value="{}"></div>{}{}{}<div class="dialog__scroll" tabindex="0" role="region" aria-label="Keys of the file"><table class="table" data-testid="paste-report"><thead><tr><th scope="col">Key</th><th scope="col">Value</th><th scope="col">How</th><th scope="col">Note</th></tr></thead><tbody>{}</tbody></table></div></div>"#,
        &[
            &link,
            &NAME,
            &NAME,
            &words::model_name(scenario),
            &size(imported, scenario),
            &remarks::remarks(scenario),
            &upper_bounds(&imported.upper_bounds),
            &rows,
        ],
    )
}

/// How many parameters it has and in which parts, whether all keys are understood, and whether it is a row of the list.
fn size(imported: &Imported, scenario: &Scenario) -> Html {
    let count = words::parameters(scenario).map_or_else(|| "an unknown number of".to_owned(), whole);
    let row = scenario.model().filter(|_| !scenario.may_be_named()).map(|row| format!(" This is {} from the list.", row.name));
    html(
        r#"<p data-testid="paste-size"><b>{} parameters</b>, of the kind <code>{}</code>{}.{}{}</p>"#,
        &[&count, &imported.model_type, &parts(imported), &understood(imported), &row.unwrap_or_default()],
    )
}

/// The parameters of text and tower, where there is a tower.
fn parts(imported: &Imported) -> String {
    if imported.config.tower.is_none() {
        return String::new();
    }
    let of_text = parameters_of(&ModelConfig { tower: None, ..imported.config.clone() });
    let of_tower = parameters_of(&imported.config).saturating_sub(of_text);
    let billions = |count: u64| format!("{} B", grouped(to_f64(count) / 1e9, 2));
    format!(": text {}, vision tower and projector {}", billions(of_text), billions(of_tower))
}

/// Says it where every key of the file is understood.
const fn understood(imported: &Imported) -> &'static str {
    let all =
        imported.known && imported.not_counted.is_empty() && imported.left_out.is_empty() && imported.upper_bounds.is_empty();
    if all { " All keys are understood." } else { "" }
}

/// What is not modelled as the model has it, and counted so that the answer is rather too high; nothing where there is nothing.
fn upper_bounds(notes: &[String]) -> Option<Html> {
    let items: Html = notes.iter().map(|note| html("<li>{}</li>", &[note])).collect();
    (!notes.is_empty()).then(|| {
        html(
            "<div><p data-testid=\"paste-upper-bounds\">Parts of this model are not modelled as they are. They are counted as an upper bound, so the \
             memory shown is rather too high than too low:</p><ul>{}</ul></div>",
            &[&items],
        )
    })
}

fn row(row: &ReportRow) -> Html {
    let (class, how) = match row.how {
        How::Read => ("tag", "read"),
        How::Derived => ("tag tag--modelled", "derived"),
        How::Assumed => ("tag tag--assumed", "assumed"),
        How::Ignored => ("tag", "ignored"),
    };
    html(
        "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td><span class=\"{}\">{}</span></td><td class=\"table__reason\">{}</td></tr>",
        &[&row.key, &row.value, &class, &how, &row.note],
    )
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::app::more::wire::{AS_GENERIC, MARK};
    use crate::app::panels::tests::{count, text};
    use crate::app::panels::verdict::{spoken, verdict};
    use crate::app::ui::Ui;
    use crate::app::words::model_name;
    use crate::scenario::Scenario;
    use crate::scenario::codec::decode;

    /// The first sentence says what was understood, and in which parts the parameters lie.
    #[test]
    fn a_tower_is_named_beside_the_text() {
        let gemma = include_str!("../../../tests/data/configs/gemma-3-27b.json");
        let said = text(&read(gemma, Scenario::default()).0);
        assert!(said.contains("text 27.01 B, vision tower and projector 0.42 B. All keys are understood."), "{said}");
    }

    const ZEBRA: &str = r#""model_type": "zebra", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
        "vocab_size": 1000, "intermediate_size": 2816, "stripes_per_head": 3"#;

    fn generic(json: &str) -> String {
        format!("{AS_GENERIC}{MARK}{json}")
    }

    #[test]
    fn a_kind_that_is_not_known_has_no_answer_before_somebody_asks_for_one() {
        let file = format!("{{{ZEBRA}}}");
        let (card, link) = read(&file, Scenario::default());
        assert_eq!(link, None);
        assert!(text(&card).starts_with("Not counted: this kind (zebra) is not known"), "{}", text(&card));
        assert_eq!(count(&card, "data-do=\"paste-generic\""), 1);
        let (report, link) = read(&generic(&file), Scenario::default());
        let scenario = decode(&link.expect("a link")).scenario;
        assert_eq!(model_name(&scenario), "Zebra · 53.4 M");
        let sentence =
            "Assumed: counted as a generic decoder, because the kind zebra is not known. Not understood: stripes_per_head.";
        assert!(text(&report).contains(sentence), "{}", text(&report));
        let answers = crate::app::panels::tests::answers(&crate::scenario::codec::encode(&scenario));
        assert!(text(&verdict(&answers, &Ui::default())).contains(sentence));
        assert!(spoken(&answers, &Ui::default()).contains(sentence));
    }

    #[test]
    fn what_is_counted_as_an_upper_bound_is_said() {
        let (plain, link) = read(&generic(&format!("{{{ZEBRA}}}")), Scenario::default());
        assert!(link.is_some() && count(&plain, "paste-upper-bounds") == 0);
        let (bounded, link) =
            read(&generic(&format!(r#"{{{ZEBRA}, "layer_types": ["chunked_attention"]}}"#)), Scenario::default());
        let words = text(&bounded);
        assert!(link.is_some() && words.contains("rather too high than too low"), "{words}");
        assert!(words.contains("Attention in chunks is counted as attention to the whole text."), "{words}");
    }
}
