//! Finished HTML: what the page only shows, and no longer needs to know piece by piece.
//!
//! Results are written as text by plain functions, which run and are tested without a browser, and
//! are put in place by one function of the browser that changes only what differs. Inputs stay
//! components. The markup is checked when the program is compiled: every element is closed, every
//! value stands in double quotes, and whatever fills a gap is escaped, so that nothing in a link, a
//! name or a file can become markup.

use maud::{Markup, Render};

/// Finished HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(String);

/// Markup in the notation of `maud`, as [`Html`].
macro_rules! html {
    ($($markup:tt)*) => {
        $crate::view::markup::Html::from(::maud::html! { $($markup)* })
    };
}
pub(crate) use html;

impl Html {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// Markup that another part of the program made, such as a chart's SVG. Never text from
    /// outside.
    pub const fn made(markup: String) -> Self {
        Self(markup)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The HTML as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Markup> for Html {
    fn from(markup: Markup) -> Self {
        Self(markup.into_string())
    }
}

impl Render for Html {
    fn render_to(&self, html: &mut String) {
        html.push_str(&self.0);
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
    use super::Html;

    #[test]
    fn text_is_escaped_and_markup_is_not() {
        let inner = html! { i title=("\"") { ("<script>'&\"") } };
        assert_eq!(inner.as_str(), "<i title=\"&quot;\">&lt;script&gt;'&amp;&quot;</i>");
        assert_eq!(
            html! { p { (inner) (Html::new()) } }.as_str(),
            format!("<p>{}</p>", inner.as_str())
        );
    }

    #[test]
    fn lists_are_joined() {
        let list: Html = ["a", "<b>"].iter().map(|item| html! { li { (item) } }).collect();
        assert_eq!(list.as_str(), "<li>a</li><li>&lt;b&gt;</li>");
    }
}
