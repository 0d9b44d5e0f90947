//! The last step to markup: plotters' colours become classes, and texts are written.

use std::fmt::Write as _;

use plotters::style::RGBColor;

use super::theme::Paint;

/// Units of the `viewBox` per shown pixel: plotters rounds to whole units, and a quarter pixel is
/// fine enough to look smooth.
pub(super) const K: f64 = 4.0;
/// Height of a letter in viewBox units (12.5 px where a chart is shown at its own size).
pub(super) const FONT: f64 = 12.5 * K;
/// Average width of a character relative to its height; wide enough for the common system fonts.
const CHARACTER: f64 = 0.57;

/// The colour under which a paint travels through plotters: the code in blue over a fixed red and
/// green.
pub(super) fn colour(paint: Paint) -> RGBColor {
    RGBColor(1, 2, paint.code())
}

/// Turns plotters' drawing into the inside of an SVG element: every colour becomes the paint's
/// class.
pub(super) fn translate(raw: &str, id: &str) -> String {
    let inside =
        raw.split_once(">\n").map_or(raw, |(_, rest)| rest).trim_end().trim_end_matches("</svg>");
    let mut out = String::with_capacity(inside.len());
    let mut pieces = inside.split("=\"#");
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        // `out` ends with the attribute's name (fill or stroke), `piece` begins with `RRGGBB"`.
        let name_at = out.rfind(' ').map_or(out.len(), |at| at + 1);
        out.truncate(name_at);
        let (code, rest) = piece.split_once('"').unwrap_or((piece, ""));
        if let Some(paint) = code
            .get(4..)
            .and_then(|blue| u8::from_str_radix(blue, 16).ok())
            .and_then(Paint::from_code)
        {
            out.push_str(&paint.attributes(id));
        }
        out.push_str(rest);
    }
    out.replace(" opacity=\"1\"", "").replace(" \"/>", "\"/>").replace('\n', "")
}

/// Keeps letters, digits and hyphens of an id, so that it can stand in markup and in a `url(#…)`.
pub(super) fn safe_id(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

/// The point of a text that its position gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// The width of a text in viewBox units. It is estimated rather than measured, so that all
/// platforms agree.
pub(super) fn text_width(text: &str) -> f64 {
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    f64::from(characters) * FONT * CHARACTER
}

/// Writes one text with its baseline at `y`. The text is escaped and stripped of control
/// characters.
pub(super) fn text(out: &mut String, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let _ = write!(
        out,
        "<text class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\"{anchor}>{}</text>",
        escape(text)
    );
}

/// The text with the five special characters replaced and control characters dropped.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Opens a chart's SVG element.
pub(super) fn open(class: &str, width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {class}\" viewBox=\"0 0 \
         {width:.0} {height:.0}\" preserveAspectRatio=\"xMidYMid meet\" font-size=\"{FONT}\" \
         aria-hidden=\"true\" focusable=\"false\">"
    )
}

/// Opens the SVG element of a chart with points that can be reached: a group with a name.
pub(super) fn open_group(class: &str, width: f64, height: f64, name: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {class}\" viewBox=\"0 0 \
         {width:.0} {height:.0}\" preserveAspectRatio=\"xMidYMid meet\" font-size=\"{FONT}\" \
         role=\"group\" aria-label=\"{}\">",
        escape(name)
    )
}
