//! The search over layouts: a fold, and the place of what the second program writes once it is opened.

use crate::app::markup::{Html, html};
use crate::app::more::slot;

/// Id of the place, and name of the fold.
pub const PLACE: &str = "plan";

/// The fold; closed, it asks for nothing. The search lays out training only: while a model is served, the style sheet hides the fold.
pub fn planner() -> Html {
    html(
        r#"<section class="section section--screen planner"><details class="plan" data-toggle="{}" data-testid="planner"><summary class="plan__summary"><h2>Search every layout</h2><p class="section__note">The fewest GPUs that run it, the fastest and the cheapest layout, and why not others.</p></summary><div class="plan__place" id="{}" tabindex="-1" data-testid="plan">{}</div></details></section>"#,
        &[&PLACE, &PLACE, &slot::fetching()],
    )
}
