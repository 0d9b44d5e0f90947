//! Inputs, built from the field table alone: label, unit, help, range, error with a way out.

mod frame;
mod number_field;
mod picker_field;
mod select_field;
mod step;
mod toggle_field;

use leptos::prelude::*;

use self::number_field::NumberField;
use self::picker_field::PickerField;
use self::select_field::SelectField;
use self::toggle_field::ToggleField;
use crate::scenario::{FieldId, FieldKind, field};

/// The input of one field, whatever its kind.
#[component]
pub fn FieldView(
    /// Which field.
    id: FieldId,
    /// Whether it takes the whole width of the form.
    #[prop(optional)]
    wide: bool,
    /// Whether the heading above stands for its label, which only screen readers then read.
    #[prop(optional)]
    bare: bool,
) -> impl IntoView {
    let field = field(id);
    match field.kind {
        FieldKind::Choice(options) => view! { <SelectField field options wide /> }.into_any(),
        FieldKind::Flag => view! { <ToggleField field /> }.into_any(),
        FieldKind::Model | FieldKind::Accelerator => view! { <PickerField field wide bare /> }.into_any(),
        FieldKind::Integer { .. } | FieldKind::Decimal { .. } | FieldKind::Text { .. } | FieldKind::Layers => {
            view! { <NumberField field wide /> }.into_any()
        }
    }
}
