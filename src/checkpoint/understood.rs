//! One sentence that tells how much of a file was understood.

use std::fmt::Write as _;

use crate::config::ModelConfig;
use crate::import::Imported;
use crate::ops::parameters_of;
use crate::scenario::{Scenario, short_count};
use crate::units::{grouped, to_f64};

/// Returns one sentence: the model's name, the size of its parts, the parts that are left out, and
/// whether all keys are understood.
///
/// An example is "Gemma 3 27B: text 27.0 B, vision 0.4 B, all keys understood."
pub fn understood(imported: &Imported) -> String {
    let mut scenario = Scenario::default();
    scenario.apply_imported(imported);
    let mut said = format!("{}: {}", scenario.model_name(|| None), sizes(imported));
    let left_out: Vec<&str> = imported
        .left_out
        .iter()
        .filter(|left| !left.of_checkpoint)
        .map(|left| left.part.as_str())
        .collect();
    if !left_out.is_empty() {
        // Writing into a String cannot fail.
        let _ = write!(said, ", without its {}", left_out.join(" and its "));
    }
    if !imported.known {
        said.push_str(", counted as a generic decoder");
    }
    let bounds = match imported.upper_bounds.len() {
        0 => "",
        _ => ", with parts counted as more than they are",
    };
    said.push_str(bounds);
    said.push_str(&keys(&imported.not_counted));
    said.push('.');
    said
}

const BILLION: u64 = 1_000_000_000;

/// The parameters, of text and tower apart where there is a tower.
fn sizes(imported: &Imported) -> String {
    let all = parameters_of(&imported.config);
    if imported.config.tower.is_none() {
        return format!("{} parameters", short_count(all));
    }
    let of_text = parameters_of(&ModelConfig { tower: None, ..imported.config.clone() });
    let of_tower = all.saturating_sub(of_text);
    // Beside billions a tower is told in billions, too.
    let tower = if of_text < BILLION {
        short_count(of_tower)
    } else {
        format!("{} B", grouped(to_f64(of_tower) / to_f64(BILLION), 1))
    };
    format!("text {}, vision {tower}", short_count(of_text))
}

/// The most keys that a sentence names.
const MOST_NAMED: usize = 4;

fn keys(not_counted: &[String]) -> String {
    match not_counted {
        [] => ", all keys understood".to_owned(),
        few if few.len() <= MOST_NAMED => format!(", not understood: {}", few.join(", ")),
        many => {
            let named =
                many.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            format!(", not understood: {named} and {} more keys", many.len() - MOST_NAMED)
        }
    }
}
