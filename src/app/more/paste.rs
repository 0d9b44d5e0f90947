//! What was understood of a pasted Hugging Face `config.json`.

use crate::app::markup::{Html, html};
use crate::import::{How, Imported, ReportRow, config_json};
use crate::scenario::Scenario;
use crate::scenario::codec::encode;

/// The report and the link of the scenario with that model; or why the text cannot be used, and no link.
pub fn read(text: &str, mut scenario: Scenario) -> (Html, Option<String>) {
    match config_json(text) {
        Ok(imported) => {
            scenario.apply_imported(&imported);
            (report(&imported), Some(encode(&scenario)))
        }
        Err(problem) => {
            let sentence = problem.to_string();
            (html("<p class=\"field__error\" role=\"alert\" data-testid=\"paste-error\">{}</p>", &[&sentence]), None)
        }
    }
}

fn report(imported: &Imported) -> Html {
    let name = imported.name.as_ref().unwrap_or(&imported.model_type);
    let rows: Html = imported.report.iter().map(row).collect();
    html(
        "<h3>{} ({})</h3>{}<div class=\"dialog__scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What was understood\">\
         <table class=\"table\" data-testid=\"paste-report\"><thead><tr><th scope=\"col\">Key</th><th scope=\"col\">Value</th>\
         <th scope=\"col\">How</th><th scope=\"col\">Note</th></tr></thead><tbody>{}</tbody></table></div>",
        &[name, &imported.model_type, &upper_bounds(&imported.upper_bounds), &rows],
    )
}

/// What is not modelled as the model has it, and counted so that the answer is rather too high; nothing where there is nothing.
fn upper_bounds(notes: &[String]) -> Option<Html> {
    let items: Html = notes.iter().map(|note| html("<li>{}</li>", &[note])).collect();
    (!notes.is_empty()).then(|| {
        html(
            "<p data-testid=\"paste-upper-bounds\">Parts of this model are not modelled as they are. They are counted as an upper bound, so the \
             memory shown is rather too high than too low:</p><ul>{}</ul>",
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
    use crate::app::panels::tests::{count, text};
    use crate::scenario::Scenario;

    #[test]
    fn what_is_counted_as_an_upper_bound_is_said() {
        let shape = r#""model_type": "zebra", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16, "vocab_size": 1000,
            "intermediate_size": 2816"#;
        let (plain, link) = read(&format!("{{{shape}}}"), Scenario::default());
        assert!(link.is_some() && count(&plain, "paste-upper-bounds") == 0);
        let (bounded, link) = read(&format!(r#"{{{shape}, "layer_types": ["chunked_attention"]}}"#), Scenario::default());
        let words = text(&bounded);
        assert!(link.is_some() && words.contains("rather too high than too low"), "{words}");
        assert!(words.contains("Attention in chunks is counted as attention to the whole text."), "{words}");
    }
}
