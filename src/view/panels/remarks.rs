//! Parts of a pasted file that the answer leaves out, as lines on its card.

use crate::scenario::{Remark, Scenario};
use crate::view::markup::{Html, html};
use crate::view::words;

/// A line for each part of the pasted file that is not in the answer; nothing for a row of the
/// catalog.
pub fn remarks(scenario: &Scenario) -> Html {
    words::remarks(scenario).iter().map(line).collect()
}

/// One line. The same in the dialog that reads the file, before the model is used.
pub fn line(remark: &Remark) -> Html {
    html! {
        p class="remark" role="note" data-testid="remark" data-remark=(remark.kind.word()) {
            (coded(&remark.text))
        }
    }
}

/// A sentence whose words in backticks are code.
pub fn coded(sentence: &str) -> Html {
    html! {
        @for (at, piece) in sentence.split('`').enumerate() {
            @if at % 2 == 0 { (piece) } @else { code { (piece) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{coded, remarks};
    use crate::scenario::codec::decode;
    use crate::view::panels::tests::{count, text};

    #[test]
    fn keys_are_code_and_nothing_is_markup() {
        assert_eq!(coded("Not `a_b`, <i>.").as_str(), "Not <code>a_b</code>, &lt;i&gt;.");
        assert_eq!(coded("plain").as_str(), "plain");
    }

    #[test]
    fn a_line_for_each_thing_that_is_not_in_the_answer() {
        let of = |link: &str| remarks(&decode(link).scenario);
        assert!(of("v1&m=llama3-8b&l=40").is_empty());
        let both = of("v1&m=llama3-8b&mt=gemma3&nc=swa-head-dim&lo=vision-tower-420000000");
        assert_eq!(
            (count(&both, "role=\"note\""), count(&both, "<code>swa_head_dim</code>")),
            (2, 1)
        );
        assert!(
            text(&both).contains("the vision tower (0.42 B, 5.0 % of the parameters)"),
            "{}",
            text(&both)
        );
    }
}
