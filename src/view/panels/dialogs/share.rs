//! Share: link, QR code, files, print.

use std::fmt::Write as _;

use qrcodegen::{QrCode, QrCodeEcc};

use crate::view::action::Action;
use crate::view::later;
use crate::view::markup::{Html, html};
use crate::view::slot;

/// Larger codes than version 10 are hard to read from a projector.
const LARGEST_QR: i32 = 57;
/// A whole story needs more: version 33, the first that holds [`LONGEST_QR`] characters. Phones
/// read it from the first rows.
const LARGEST_STORY: i32 = 149;
/// The longest link with a story that a code is drawn of, characters.
const LONGEST_QR: usize = 2000;
/// White margin around the code, in modules, as its standard asks.
const QUIET: i32 = 4;

/// The id of what the second program adds.
pub const PLACE: &str = "take";

/// Link and code, and what else can be taken along; nothing while the dialog is closed. `copied`
/// tells whether copying worked.
pub fn share(link: Option<&str>, copied: Option<bool>) -> Html {
    html! {
        div data-own="in-share" {
            @if let Some(link) = link { (content(link, copied)) }
        }
    }
}

fn content(link: &str, copied: Option<bool>) -> Html {
    let said = match copied {
        None => "",
        Some(true) => "Copied.",
        Some(false) => {
            "The browser does not allow copying from here. The text is selected: press Ctrl+C or \
             Cmd+C."
        }
    };
    let code = match code(link) {
        LinkCode::Drawn(code) => code,
        LinkCode::TooLong => html! {
            p class="quiet" { "This link is too long for a QR code that a projector shows well." }
        },
        LinkCode::NotYet => html! { p class="quiet" { (NOT_YET) } },
    };
    html! {
        div class="dialog__body share" {
            div {
                label class="field__label" for="share-link" {
                    "Link: all inputs, no results, nothing is uploaded"
                }
                textarea id="share-link" class="share__link" readonly data-testid="share-link" {
                    (link)
                }
                div class="share__tools" {
                    button type="button" class="button button--main" data-testid="copy-link"
                        data-do=(Action::Copy("share-link".to_owned())) {
                        "Copy link"
                    }
                    button type="button" class="button" data-do=(Action::Print) { "Print one page" }
                }
                p class="quiet" role="status" { (said) }
            }
            (code)
            div id=(PLACE) class="take" { (slot::fetching()) }
        }
    }
}

/// The sentence until a code has come.
pub const NOT_YET: &str = "The QR code is being fetched; the link does not need it.";

/// The picture of a link for phones.
pub enum LinkCode {
    /// It can be shown.
    Drawn(Html),
    /// The link holds more than a code that can be read.
    TooLong,
    /// The program that draws it has not come.
    NotYet,
}

impl LinkCode {
    /// The picture, if there is one.
    pub fn drawn(self) -> Html {
        if let Self::Drawn(code) = self { code } else { Html::new() }
    }
}

/// The QR code of a link.
pub fn code(link: &str) -> LinkCode {
    asked(&format!("{PLAIN} {link}"))
}

/// The QR code of a link that holds a whole story, drawn as large as the window allows.
pub fn large_code(link: &str) -> LinkCode {
    asked(&format!("{LARGE} {link}"))
}

/// The QR code of a link where the program that draws it is this one, as in the worker; nothing for a
/// link that is too long.
pub fn code_at_once(link: &str) -> Html {
    let told = answer(&format!("{PLAIN} {link}")).unwrap_or_default();
    told.split_once(' ').map_or_else(Html::new, |(size, path)| drawn(size, path))
}

/// How large the code of a link may become: for any reader, or as large as a window.
const PLAIN: &str = "plain";
const LARGE: &str = "large";

fn asked(asked: &str) -> LinkCode {
    let Some(told) = later::code_of(asked) else { return LinkCode::NotYet };
    told.split_once(' ')
        .map_or(LinkCode::TooLong, |(size, path)| LinkCode::Drawn(drawn(size, path)))
}

/// The code's size in modules with its margin and a path of its dark modules; nothing for a link
/// that is too long. Asked is how large it may become, and the link.
pub fn answer(asked: &str) -> Option<String> {
    let (largest, link) = asked.split_once(' ')?;
    let plain = || qr(link, QrCodeEcc::Medium, LARGEST_QR);
    let large = || qr(link, QrCodeEcc::Low, LARGEST_STORY).filter(|_| link.len() <= LONGEST_QR);
    let code = plain().or_else(|| if largest == LARGE { large() } else { None });
    Some(code.map_or_else(String::new, |(size, path)| format!("{size} {path}")))
}

fn drawn(size: &str, path: &str) -> Html {
    html! {
        svg class="share__qr" viewBox={ "0 0 " (size) " " (size) } role="img"
            aria-label="QR code of the link" {
            path d=(path) fill="#000" shape-rendering="crispEdges" {}
        }
    }
}

/// The code's size in modules with its margin, and a path of its dark modules.
fn qr(link: &str, correction: QrCodeEcc, largest: i32) -> Option<(i32, String)> {
    let code = QrCode::encode_binary(link.as_bytes(), correction).ok()?;
    let size = code.size();
    if size > largest {
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

#[cfg(test)]
mod tests {
    use super::share;
    use crate::view::panels::tests::{count, text};

    #[test]
    fn a_link_has_a_code_unless_it_is_too_long() {
        let short = share(Some("https://example.org/#v1&m=llama3-8b"), None);
        assert_eq!(
            (count(&short, "share__qr"), count(&short, "v1&amp;m=llama3-8b</textarea>")),
            (1, 1)
        );
        let long = share(Some(&"x".repeat(2000)), Some(true));
        assert_eq!(count(&long, "share__qr"), 0);
        assert!(text(&long).contains("Copied.") && text(&long).contains("too long for a QR code"));
        assert_eq!(count(&share(None, None), "textarea"), 0);
    }
}
