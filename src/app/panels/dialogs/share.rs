//! Share: link, QR code, files, print.

use std::fmt::Write as _;

use crate::app::answers::{Answers, Other, Plots};
use crate::app::curve_view;
use crate::app::markup::{Html, html};
use crate::estimator::Lengths;
use crate::planner::{curve_gpus, curve_seq};

/// Larger codes than version 10 are hard to read from a projector.
const LARGEST_QR: i32 = 57;
/// White margin around the code, in modules, as its standard asks.
const QUIET: i32 = 4;

/// Link and code, and what else can be taken away; nothing while the dialog is closed. `copied` tells whether copying worked.
pub fn share(link: Option<&str>, copied: Option<bool>) -> Html {
    html(r#"<div data-own="in-share">{}</div>"#, &[&link.map(|link| content(link, copied))])
}

#[inline(never)] // a part of the program that comes later
fn content(link: &str, copied: Option<bool>) -> Html {
    let said = match copied {
        None => "",
        Some(true) => "Copied.",
        Some(false) => "The browser does not allow copying from here. The link is selected: press Ctrl+C or Cmd+C.",
    };
    let code = code(link)
        .unwrap_or_else(|| html(r#"<p class="quiet">This link is too long for a QR code that a projector shows well.</p>"#, &[]));
    html(
        r#"<div class="dialog__body share"><div><label class="field__label" for="share-link">Link: all inputs, no results, nothing is uploaded</label><textarea id="share-link" class="share__link" readonly data-testid="share-link">{}</textarea><div class="share__tools"><button type="button" class="button button--main" data-testid="copy-link" data-do="copy">Copy link</button><button type="button" class="button" data-do="csv">Curves as CSV</button><button type="button" class="button" data-do="print">Print one page</button></div><p class="quiet" role="status">{}</p></div>{}</div>"#,
        &[&link, &said, &code],
    )
}

/// The QR code of a link; nothing for a link that is too long.
#[inline(never)] // a part of the program that comes later
pub fn code(link: &str) -> Option<Html> {
    let (size, path) = qr(link)?;
    let size = size.to_string();
    Some(html(
        r##"<svg class="share__qr" viewBox="0 0 {} {}" role="img" aria-label="QR code of the link"><path d="{}" fill="#000" shape-rendering="crispEdges"></path></svg>"##,
        &[&size, &size, &path],
    ))
}

/// The code's size in modules with its margin, and a path of its dark modules.
fn qr(link: &str) -> Option<(i32, String)> {
    let code = qrcodegen::QrCode::encode_text(link, qrcodegen::QrCodeEcc::Medium).ok()?;
    let size = code.size();
    if size > LARGEST_QR {
        return None;
    }
    let mut path = String::new();
    for y in 0..size {
        for x in (0..size).filter(|x| code.get_module(*x, y)) {
            let _ = write!(path, "M{} {}h1v1h-1z", x + QUIET, y + QUIET);
        }
    }
    Some((size + 2 * QUIET, path))
}

/// The points of both curves, and of those compared with, for spreadsheets.
pub fn csv(plots: &Plots, answers: &Answers, log: bool) -> String {
    let other =
        answers.other.as_ref().and_then(Other::job).map(|job| (curve_seq(&Lengths::of(job), None, 96, log), curve_gpus(job)));
    let mut curves = vec![("A", &plots.seq.curve), ("A", &plots.gpus.curve)];
    if let Some((seq, gpus)) = &other {
        curves.extend([("B", seq), ("B", gpus)]);
    }
    curve_view::csv(&curves)
}

#[cfg(test)]
mod tests {
    use super::{csv, share};
    use crate::app::answers::{Look, Other, Plots};
    use crate::app::panels::tests::{answers, count, text};
    use crate::scenario::codec::decode;

    #[test]
    fn a_link_has_a_code_unless_it_is_too_long() {
        let short = share(Some("https://example.org/#v1&m=llama3-8b"), None);
        assert_eq!((count(&short, "share__qr"), count(&short, "v1&amp;m=llama3-8b</textarea>")), (1, 1));
        let long = share(Some(&"x".repeat(2000)), Some(true));
        assert_eq!(count(&long, "share__qr"), 0);
        assert!(text(&long).contains("Copied.") && text(&long).contains("too long for a QR code"));
        assert_eq!(count(&share(None, None), "textarea"), 0);
    }

    #[test]
    fn the_file_holds_every_point() {
        let look = Look { log: true, size: (412, 254) };
        let mut answers = answers("v1&m=llama3-8b&n=8");
        let plots = Plots::of(&answers, look, None, None).0;
        let alone = csv(&plots, &answers, true);
        assert_eq!(alone.lines().count(), 1 + plots.seq.curve.points.len() + plots.gpus.curve.points.len());
        answers.other = Some(Other::of(&decode("v1&m=llama3-8b&n=16").scenario));
        let both = csv(&plots, &answers, true);
        assert!(both.lines().any(|line| line.starts_with("B,gpus,16,")));
    }
}
