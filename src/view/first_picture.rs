//! The page before its program runs: the default scenario as the page shows it, with inputs that do
//! nothing yet.
//!
//! The build writes it into the page's HTML (`headroom-first-picture`), so that the answer can be
//! read before the program has come. The program takes it over part by part, and nothing moves.

use super::answers::{Answers, Plots};
use super::diff::{attributes, name, tag_length};
use super::history::UndoStep;
use super::markup::Html;
use super::parts::{ANSWER, CURVES, FIRST, FORM, MODE, PagePart, STACK, TABS};
use super::seen::{Around, Now, SeenPage};
use super::ui::{ChartsLook, Ui};
use crate::scenario::Scenario;

/// Where it stands in `index.html`.
pub const PLACE: &str = "<!--first picture-->";

/// Width and height of a curve, and width of the bar, in a window of 1280 × 720, CSS pixels. In
/// another window they are scaled until the program draws them anew.
const CURVE: (u16, u16) = (412, 236);
const BAR: u16 = 848;

/// The first picture: the page's first screen for the default scenario.
///
/// ```
/// let picture = headroom::view::first_picture::first_picture();
/// assert!(picture.as_str().contains("<h1"));
/// ```
pub fn first_picture() -> Html {
    let said = UndoStep { scenario: Scenario::default(), compare: Vec::new() };
    let answers = Answers::of(&said, None).0;
    let look = ChartsLook { plot_size: CURVE, bar_width: BAR, ..ChartsLook::default() };
    let ui = Ui { look, ..Ui::default() };
    let plots = Plots::of(&answers, ui.look.of_curves(), &ui.found, None).0;
    let written = |part: &PagePart| {
        let seen = SeenPage {
            now: Now::of(&said, &answers, &ui),
            reads: &|_| (),
            around: &Around::NOTHING,
        };
        part.html(&seen, || &plots)
    };
    let curves = CURVES.iter().flat_map(|curve| [&curve.panel, &curve.picture]);
    let parts = ANSWER.iter().chain(&STACK).chain([&MODE, &TABS]).chain(&FORM).chain(curves);
    let page = parts.fold(written(&FIRST).as_str().to_owned(), |page, part| {
        with_part(&page, part.name, written(part).as_str())
    });
    Html::made(inert(&page))
}

/// The page with a part in its place, where that is empty.
fn with_part(page: &str, part: &str, html: &str) -> String {
    let place = || {
        let named = page.find(&format!(" data-own=\"{part}\""))?;
        let start = page.get(..named)?.rfind('<')?;
        let (tag, inside) = page.get(start..)?.split_at(tag_length(page.get(start..)?));
        let behind = inside.strip_prefix(&format!("</{}>", name(tag)))?;
        Some((page.get(..start)?, behind))
    };
    place().map_or_else(|| page.to_owned(), |(before, behind)| [before, html, behind].concat())
}

/// The page with values in its inputs, which nobody can change before the program has come. Help,
/// which nobody can open before, comes with the program.
fn inert(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut chosen = "";
    let mut rest = page;
    while let Some((text, from)) = rest.find('<').map(|at| rest.split_at(at)) {
        let (tag, behind) = from.split_at(tag_length(from));
        out.push_str(text);
        if attribute(tag, "class") == Some("field__help") {
            rest = behind.split_once("</p>").map_or("", |(_, behind)| behind);
            continue;
        }
        if name(tag) == "select" {
            chosen = attribute(tag, "data-now").unwrap_or_default();
        }
        let (said, bare) = (still(tag, chosen), without(tag, &OF_THE_PROGRAM));
        out.push_str(bare.strip_suffix('>').unwrap_or(&bare));
        out.push_str(&said);
        out.push('>');
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Attributes that do nothing before the program has come, which brings them: of texts that it
/// shows, of what it does, of inputs that nobody can type in yet.
const OF_THE_PROGRAM: [&str; 8] = [
    "data-do",
    "data-now",
    "aria-describedby",
    "aria-controls",
    "autocomplete",
    "inputmode",
    "spellcheck",
    "title",
];

/// A tag without these attributes. Links and the field for pasting, which the program leaves as
/// they stand, keep theirs.
fn without(tag: &str, names: &[&str]) -> String {
    if ["a", "textarea"].contains(&name(tag)) {
        return tag.to_owned();
    }
    attributes(tag)
        .into_iter()
        .filter(|(name, _)| names.contains(name))
        .fold(tag.to_owned(), |tag, (name, value)| {
            tag.replacen(&format!(" {name}=\"{value}\""), "", 1)
        })
}

fn attribute<'a>(tag: &'a str, wanted: &str) -> Option<&'a str> {
    attributes(tag).into_iter().find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// The attributes that an element of the form has before the program runs; `chosen` is the value of
/// the select around it.
fn still(tag: &str, chosen: &str) -> String {
    let now = attribute(tag, "data-now").unwrap_or_default();
    match name(tag) {
        "input" if attribute(tag, "type") == Some("checkbox") => {
            format!("{} disabled", if now == "true" { " checked" } else { "" })
        }
        "input" => format!(" value=\"{now}\" disabled"),
        "option" if attribute(tag, "value") == Some(chosen) => " selected".to_owned(),
        "button" | "select" if attribute(tag, "disabled").is_none() => " disabled".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ANSWER, FORM, PLACE, STACK, first_picture, inert, with_part};
    use crate::view::diff::{Tree, inside};
    use crate::view::panels::frame::first_screen;
    use crate::view::panels::tests::{count, text};

    /// It has every place of the first screen, so that the program, which makes none of them, fills
    /// them all, and nothing that is shown before it comes moves.
    #[test]
    fn it_is_taken_over_and_not_replaced() {
        let wanted = Tree::new(first_screen().as_str().to_owned());
        let first = Tree::new(first_picture().as_str().to_owned());
        assert_eq!(inside(&first, &wanted), []);
        let nothing = Tree::new(String::new());
        assert!(!inside(&nothing, &wanted).is_empty(), "places that lack are noticed");
    }

    #[test]
    fn it_shows_the_answer_with_inputs_that_nobody_can_change() {
        let picture = first_picture();
        for part in ANSWER.iter().chain(&STACK).chain(&FORM) {
            assert_eq!(count(&picture, &format!("data-own=\"{}\"", part.name)), 1, "{}", part.name);
        }
        assert_eq!(count(&picture, "class=\"chart chart-bar\""), 1);
        assert_eq!(count(&picture, "class=\"chart chart-curve\""), 2);
        assert!(text(&picture).contains("Fits"), "{}", text(&picture));
        let active = picture.as_str().split('<').filter(|tag| {
            ["input", "select", "button"].iter().any(|name| tag.starts_with(name))
                && !tag.contains(" disabled")
        });
        assert_eq!(active.collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn inputs_show_what_they_hold() {
        let page = "<input data-now=\"8\"><input type=\"checkbox\" data-now=\"true\"><select \
                    data-now=\"b\"><option value=\"a\">A</option><option value=\"b\">B</option>\
                    </select><p class=\"field__help\" hidden>Help <i>me</i></p><button disabled>x &lt; y</button>";
        assert_eq!(
            inert(page),
            "<input value=\"8\" disabled><input type=\"checkbox\" checked disabled><select disabled><option value=\"a\">A</option><option \
             value=\"b\" selected>B</option></select><button disabled>x &lt; y</button>"
        );
    }

    #[test]
    fn a_part_fills_its_empty_place_alone() {
        let page = "<p data-own=\"a\"></p><p data-own=\"b\">B</p>";
        assert_eq!(with_part(page, "a", "<i></i>"), "<i></i><p data-own=\"b\">B</p>");
        assert_eq!(with_part(page, "b", "<i></i>"), page);
        assert_eq!(with_part(page, "c", "<i></i>"), page);
    }

    #[test]
    fn the_page_has_its_place() {
        assert_eq!(include_str!("../../index.html").matches(PLACE).count(), 1);
    }
}
