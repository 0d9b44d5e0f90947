//! Finished HTML as text: what the page only shows, and no longer needs to know piece by piece.
//!
//! Results are written as text by plain functions, which run and are tested without a browser, and are put in place by one function
//! of the browser that changes only what differs. Inputs stay components. Templates are part of the program; everything else is
//! escaped, so nothing in a link, a name or a file can become markup.

use std::borrow::Cow;

/// Finished HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

/// What fills a gap of a template.
pub trait Piece {
    /// Adds itself to the HTML, escaped unless it is HTML already.
    fn add_to(&self, html: &mut Html);
}

impl Html {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Markup that another part of the program made, such as a chart's SVG. Never text from outside.
    pub const fn made(markup: String) -> Self {
        Self(markup)
    }

    /// Adds a template whose gaps `{}` are filled in order; each gap takes one piece. A gap inside an attribute stands in double
    /// quotes. Gaps without a piece stay empty.
    pub fn add(&mut self, template: &'static str, pieces: &[&dyn Piece]) {
        debug_assert_eq!(template.matches("{}").count(), pieces.len(), "one piece for each gap of {template}");
        let mut pieces = pieces.iter();
        let mut rest = template;
        while let Some((part, after)) = at_gap(rest) {
            self.0.push_str(part);
            if let Some(piece) = pieces.next() {
                piece.add_to(self);
            }
            rest = after;
        }
        self.0.push_str(rest);
    }

    /// This, and more after it.
    #[must_use]
    pub fn and(mut self, more: &Self) -> Self {
        self.0.push_str(&more.0);
        self
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The HTML as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What stands before and after the first gap. By bytes: a search for a text prepares more than it finds here.
fn at_gap(template: &str) -> Option<(&str, &str)> {
    let gap = template.as_bytes().windows(2).position(|pair| pair == b"{}")?;
    Some((template.get(..gap)?, template.get(gap + 2..)?))
}

/// A template with its gaps filled.
///
/// ```
/// # use headroom::app::markup::html;
/// assert_eq!(html("<b title=\"{}\">{}</b>", &[&"\"", &"a < b"]).as_str(), "<b title=\"&quot;\">a &lt; b</b>");
/// ```
pub fn html(template: &'static str, pieces: &[&dyn Piece]) -> Html {
    // Room for short pieces, so that most need not move as they grow.
    let mut html = Html(String::with_capacity(template.len() * 2));
    html.add(template, pieces);
    html
}

/// ` attribute` with its leading space where it is on, nothing where it is off.
pub fn flag(attribute: &'static str, on: bool) -> Option<Html> {
    on.then(|| html(" {}", &[&attribute]))
}

/// `true` or `false`, as `aria-pressed` and its like want it.
pub const fn word_of(on: bool) -> &'static str {
    if on { "true" } else { "false" }
}

impl Piece for str {
    fn add_to(&self, html: &mut Html) {
        let mut rest = self;
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'')) {
            let (before, special) = rest.split_at(at);
            let (letter, after) = special.split_at(1);
            html.0.push_str(before);
            html.0.push_str(match letter {
                "&" => "&amp;",
                "<" => "&lt;",
                ">" => "&gt;",
                "\"" => "&quot;",
                _ => "&#39;",
            });
            rest = after;
        }
        html.0.push_str(rest);
    }
}

impl Piece for &str {
    fn add_to(&self, html: &mut Html) {
        (**self).add_to(html);
    }
}

impl Piece for String {
    fn add_to(&self, html: &mut Html) {
        self.as_str().add_to(html);
    }
}

impl Piece for Cow<'_, str> {
    fn add_to(&self, html: &mut Html) {
        self.as_ref().add_to(html);
    }
}

impl Piece for Html {
    fn add_to(&self, html: &mut Html) {
        html.0.push_str(&self.0);
    }
}

impl<T: Piece> Piece for Option<T> {
    fn add_to(&self, html: &mut Html) {
        if let Some(piece) = self {
            piece.add_to(html);
        }
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Self {
        let mut all = Self::new();
        for part in parts {
            all.0.push_str(&part.0);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Html, flag, html};

    #[test]
    fn text_is_escaped_and_markup_is_not() {
        let inner = html("<i>{}</i>", &[&"<script>'&\""]);
        assert_eq!(inner.as_str(), "<i>&lt;script&gt;&#39;&amp;&quot;</i>");
        assert_eq!(html("<p>{}{}</p>", &[&inner, &None::<Html>]).as_str(), format!("<p>{}</p>", inner.as_str()));
    }

    #[test]
    fn an_attribute_is_there_or_not() {
        let button = |off| html("<button{}></button>", &[&flag("disabled", off)]);
        assert_eq!(button(true).as_str(), "<button disabled></button>");
        assert_eq!(button(false).as_str(), "<button></button>");
    }

    #[test]
    fn lists_are_joined() {
        let list: Html = ["a", "<b>"].iter().map(|item| html("<li>{}</li>", &[item])).collect();
        assert_eq!(list.as_str(), "<li>a</li><li>&lt;b&gt;</li>");
    }
}
