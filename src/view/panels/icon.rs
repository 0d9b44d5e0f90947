//! The few line icons of the page.

use crate::view::markup::{Html, html};

/// The icons by what they show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// A step back.
    Undo,
    /// A step forward.
    Redo,
    /// Light and dark.
    Theme,
    /// Close.
    Close,
    /// A bookmark.
    Save,
    /// A link.
    Share,
    /// A board on its stand.
    Teach,
    /// Sheets on a pile.
    Saved,
    /// Two bars side by side.
    Compare,
}

impl Icon {
    const fn path(self) -> &'static str {
        match self {
            Self::Undo => "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
            Self::Redo => "m15 14 5-5-5-5M20 9H10a6 6 0 0 0 0 12h3",
            Self::Theme => "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16M12 8h4.5M12 12h6M12 16h4.5",
            Self::Close => "M6 6l12 12M18 6 6 18",
            Self::Save => "M6 4h12v16l-6-4-6 4z",
            Self::Share => "M12 15V4M8 8l4-4 4 4M5 13v7h14v-7",
            Self::Teach => "M4 4h16v11H4zM12 15v5M8 20h8",
            Self::Saved => "M4 7h12v13H4zM8 7V4h12v13h-4",
            Self::Compare => "M5 20V8h5v12zM14 20V4h5v16zM3 20h18",
        }
    }

    /// The icon's drawing; it says nothing to screen readers.
    pub fn html(self) -> Html {
        html! {
            svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false" {
                path d=(self.path()) {}
            }
        }
    }
}
