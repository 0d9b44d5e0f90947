//! The share dialog's offers besides the link: files, pictures, a page inside another page.

use crate::launch::{Format, Written, defaults, write};
use crate::scenario::Mode;
use crate::scenario::codec::{decode, encode_all};
use crate::view::action::Action;
use crate::view::export::{ExportFormat, Luggage, file};
use crate::view::markup::{Html, html};
use crate::worker::question::ExportQuestion;

/// The sentence where a picture could not be made.
const PICTURE_FAILED: &str =
    "The picture could not be made. Show that part of the page, then try again.";

/// Charts of the page: where each is, and what it is called.
const PICTURES: [(&str, &str); 4] = [
    ("#plot-seq .chart-curve", "Memory by sequence length"),
    ("#plot-gpus .chart-curve", "Memory by number of GPUs"),
    ("#stack .chart-bar", "The bar"),
    ("#timeline .chart-step", "Memory over one step"),
];

/// The file that was asked for, or the buttons of all.
pub fn answer(fragment: &str, asked: &ExportQuestion) -> Html {
    let decoded = decode(fragment);
    let luggage = Luggage {
        scenario: decoded.scenario,
        compare: decoded.compare,
        address: asked.address.clone(),
        when: asked.when.clone(),
        clock_ms: asked.clock_ms,
        log: asked.log,
    };
    match asked.file {
        Some(form) => Html::made(match file(form, &luggage) {
            Ok(text) => format!("headroom-{} {}\n{text}", form.word(), form.media_type()),
            Err(sentence) => format!("\n{sentence}"),
        }),
        None => menu(&luggage, asked.pinned),
    }
}

/// Buttons for every file and picture, and the lines that put the page inside another one.
fn menu(luggage: &Luggage, pinned: usize) -> Html {
    let file = |form: ExportFormat| {
        html! {
            button type="button" class="button" data-do=(Action::TakeAlong(form)) {
                (form.label())
            }
        }
    };
    let picture = |(place, name): &(&str, &str)| {
        html! {
            li class="take__picture" {
                span { (name) }
                button type="button" class="button" data-picture=(place) data-form="svg"
                    aria-label={ (name) " as SVG" } {
                    "SVG"
                }
                button type="button" class="button" data-picture=(place) data-form="png"
                    aria-label={ (name) " as PNG" } {
                    "PNG"
                }
            }
        }
    };
    // Serving plays no step.
    let shown = if luggage.scenario.mode() == Mode::Serve { 3 } else { 4 };
    html! {
        @if luggage.compare.len() < pinned {
            p class="notice" {
                "One link has room for fewer scenarios than are pinned: the last are left out. \
                 Save them, or let one go."
            }
        }
        h3 { "Files" }
        div class="share__tools" {
            @for item in ExportFormat::ALL { (file(item)) }
        }
        h3 { "Pictures, with the colours of this page" }
        ul class="take__pictures" {
            @for item in PICTURES.iter().take(shown) { (picture(item)) }
        }
        p id="take-said" class="quiet" role="status" data-failed=(PICTURE_FAILED) {}
        (commands(luggage))
        h3 { label for="embed-code" { "Inside another page" } }
        textarea id="embed-code" class="share__link" readonly spellcheck="false" {
            (snippet(luggage))
        }
        div class="share__tools" {
            button type="button" class="button" data-do=(Action::Copy("embed-code".to_owned())) { "Copy \
                these lines" }
        }
    }
}

/// The scenario as a command or file of every tool that has words for it, the best first.
fn commands(luggage: &Luggage) -> Html {
    let mut written: Vec<(Format, Written)> = Format::writable()
        .filter(|format| serves(*format) == (luggage.scenario.mode() == Mode::Serve))
        .map(|format| (format, write(&luggage.scenario, format)))
        .collect();
    written.sort_by_key(|(_, written)| written.missing.len());
    html! {
        h3 { "As a command or file" }
        @for (format, written) in &written {
            @let id = format!("command-{}", format.key);
            details class="take__command" {
                summary {
                    (format.label)
                    @if !written.missing.is_empty() {
                        span class="quiet" { " without " (whole_words(written.missing.len())) }
                    }
                }
                textarea id=(id) class="share__link" readonly spellcheck="false"
                    aria-label={ "For " (format.version) } {
                    (written.text)
                }
                div class="share__tools" {
                    button type="button" class="button" data-do=(Action::Copy(id.clone())) { "Copy" }
                }
            }
        }
    }
}

/// `1 input`, `3 inputs`.
fn whole_words(count: usize) -> String {
    if count == 1 { "1 input".to_owned() } else { format!("{count} inputs") }
}

/// True if a tool's own defaults serve a model.
fn serves(format: Format) -> bool {
    defaults(format).mode() == Mode::Serve
}

/// The lines for a page that shows this one inside.
fn snippet(luggage: &Luggage) -> String {
    let fragment = encode_all(&luggage.scenario, &luggage.compare);
    format!(
        "<iframe src=\"{}#{}&embed=1\" title=\"Headroom\" width=\"100%\" height=\"720\" \
         loading=\"lazy\"></iframe>",
        luggage.address, fragment
    )
}

#[cfg(test)]
mod tests {
    use super::answer;
    use crate::view::export::ExportFormat;
    use crate::view::panels::tests::{count, text};
    use crate::worker::question::ExportQuestion;

    fn asked(file: Option<ExportFormat>, pinned: usize) -> ExportQuestion {
        ExportQuestion {
            file,
            address: "https://example.org/".to_owned(),
            when: "now".to_owned(),
            clock_ms: 1_790_000_000_000,
            log: true,
            pinned,
        }
    }

    #[test]
    fn the_menu_names_every_file_and_picture() {
        let menu = answer("v1&m=llama3-8b", &asked(None, 0));
        assert_eq!((count(&menu, "data-do=\"take-along:"), count(&menu, "data-picture=")), (4, 8));
        assert!(
            text(&menu).contains("&lt;iframe src=&quot;https://example.org/#v2&amp;c="),
            "{}",
            text(&menu)
        );
        assert_eq!(count(&answer("v1&do=serve", &asked(None, 0)), "data-picture="), 6);
        assert_eq!(count(&answer("v1&b.n=16", &asked(None, 2)), "class=\"notice\""), 1);
    }

    #[test]
    fn a_file_comes_behind_its_name_or_not_at_all() {
        let made = answer("v1&m=llama3-8b", &asked(Some(ExportFormat::Ledger), 0));
        assert!(
            made.as_str().starts_with("headroom-ledger.csv text/csv\nscenario,kind,"),
            "{}",
            made.as_str()
        );
        let none = answer("v1&m=llama3-8b&tp=3", &asked(Some(ExportFormat::Answer), 0));
        assert!(none.as_str().starts_with("\nAn input needs a look"), "{}", none.as_str());
    }
}
