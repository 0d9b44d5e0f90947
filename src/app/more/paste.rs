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
        "<h3>{} ({})</h3><div class=\"dialog__scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What was understood\">\
         <table class=\"table\" data-testid=\"paste-report\"><thead><tr><th scope=\"col\">Key</th><th scope=\"col\">Value</th>\
         <th scope=\"col\">How</th><th scope=\"col\">Note</th></tr></thead><tbody>{}</tbody></table></div>",
        &[name, &imported.model_type, &rows],
    )
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
