//! Stories and exercises: a fold, the place of what the second program writes once it is opened, and the presenter's stage.

use crate::app::markup::{Html, html};
use crate::app::more::slot;

/// Id of the place, and name of the fold.
pub const PLACE: &str = "teach";
/// Id of the presenter's stage.
pub const STAGE: &str = "present";

/// The fold; closed, it asks for nothing.
pub fn teach() -> Html {
    html(
        r#"<section class="section section--screen section--teach"><details class="plan teach" data-toggle="{}" data-testid="teaching"><summary class="plan__summary"><h2>Teach with it</h2><p class="section__note">Stories to present step by step, handouts, exercises, worksheets.</p></summary><div class="plan__place" id="{}" tabindex="-1" data-testid="teach">{}</div></details></section>"#,
        &[&PLACE, &PLACE, &slot::fetching()],
    )
}

/// Where a story is shown, while one is.
pub fn stage() -> Html {
    html(r#"<section class="present" id="{}" tabindex="-1" aria-label="Story" data-testid="stage" hidden></section>"#, &[&STAGE])
}
