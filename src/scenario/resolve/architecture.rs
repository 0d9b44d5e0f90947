//! The architecture by itself, whatever else the scenario says.

use super::{FieldError, check_experts, check_heads, check_positions, hybrid};
use crate::config::ModelConfig;
use crate::scenario::{Scenario, architecture_fields, field};

impl Scenario {
    /// The architecture with all changes, unless a value of it is out of range or does not go with another.
    pub fn checked_model(&self) -> Option<ModelConfig> {
        let of_model = |error: &FieldError| field(error.field).default.is_of_model();
        let mut values = architecture_fields().filter_map(|field| self.check_value(field.id));
        let rules = [check_heads, check_positions, check_experts, hybrid::check_layers];
        let wrong = values.next().is_some() || rules.iter().filter_map(|rule| rule(self)).any(|error| of_model(&error));
        (!wrong && self.unread_keys().is_none()).then(|| self.model_config())
    }
}
