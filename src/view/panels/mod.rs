//! The panels of the page: each a function from what is known to finished HTML.

pub mod bar;
pub mod card;
pub mod compare;
pub mod controls;
pub mod cost;
pub mod curves;
pub mod dialogs;
pub mod fixes;
pub mod frame;
pub mod icon;
pub mod ledger;
pub mod notices;
pub mod places;
pub mod printed;
pub mod remarks;
pub mod saved;
pub mod sections;
pub mod sources;
pub mod teach;
pub mod time;
pub mod top_bar;
pub mod unanswered;
pub mod verdict;

/// Functions that the panels' tests share.
#[cfg(test)]
#[allow(clippy::expect_used, reason = "a failed expectation is a failed test")]
pub(crate) mod tests {
    use crate::scenario::codec::decode;
    use crate::view::answers::Answers;
    use crate::view::history::UndoStep;
    use crate::view::markup::Html;

    /// The answer to a link.
    pub fn answers(link: &str) -> Answers {
        let decoded = decode(link);
        Answers::of(&UndoStep { scenario: decoded.scenario, compare: decoded.compare }, None).0
    }

    /// How often something stands in the markup.
    pub fn count(html: &Html, what: &str) -> usize {
        html.as_str().matches(what).count()
    }

    /// The words without the tags.
    pub fn text(html: &Html) -> String {
        html.as_str()
            .split('<')
            .map(|piece| piece.split_once('>').map_or(piece, |(_, words)| words))
            .collect()
    }
}
