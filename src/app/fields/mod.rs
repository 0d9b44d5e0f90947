//! Inputs, built from the field table alone: label, unit, help, range, error with a way out.

pub mod frame;
mod step;

#[cfg(target_arch = "wasm32")]
mod number_field;
#[cfg(target_arch = "wasm32")]
mod picker_field;
#[cfg(target_arch = "wasm32")]
mod select_field;
#[cfg(target_arch = "wasm32")]
mod toggle_field;

pub use step::stepped;

#[cfg(target_arch = "wasm32")]
pub use input::input;

#[cfg(target_arch = "wasm32")]
mod input {
    use leptos::prelude::*;

    use super::frame::{described_by, problem_of};
    use super::number_field::number_field;
    use super::picker_field::picker_field;
    use super::select_field::select_field;
    use super::toggle_field::toggle_field;
    use crate::app::state::State;
    use crate::scenario::{Field, FieldKind};

    /// The input of one field, whatever its kind.
    pub fn input(state: State, field: &'static Field) -> AnyView {
        // What describes it; also tells whether its value is in order.
        let described = Memo::new(move |_| {
            let problem = state.ui.with(|ui| {
                state
                    .answers
                    .with(|answers| state.scenario.with(|scenario| problem_of(field.id, scenario, answers, ui).is_some()))
            });
            described_by(field, problem)
        });
        match field.kind {
            FieldKind::Choice(options) => select_field(state, field, options, described),
            FieldKind::Flag => toggle_field(state, field, described),
            FieldKind::Model | FieldKind::Accelerator => picker_field(state, field, described),
            FieldKind::Integer { .. } | FieldKind::Decimal { .. } | FieldKind::Text { .. } | FieldKind::Layers => {
                number_field(state, field, described)
            }
        }
    }

    /// Whether an input that is described like that has a problem, as `aria-invalid` wants it.
    pub fn invalid(described: &str) -> &'static str {
        crate::app::markup::word_of(described.starts_with("e-"))
    }
}
