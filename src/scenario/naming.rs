//! Names of models and accelerators: one rule for headline, bar, tab, saved list, files,
//! comparison, lessons, command line.
//!
//! A row of the catalog lends its name only while nothing of it is changed. A changed or pasted one
//! has a name of its own, or its kind and its size stand for one, so that no answer carries the
//! name of something else.

use super::{FieldId, Scenario, Value, field, show};
use crate::config::{GradientDType, Stack};
use crate::import::kind_label;
use crate::units::{grouped, to_f64};

/// Fields of the card itself; nodes and networks are the machine's.
const OF_THE_CARD: [FieldId; 4] =
    [FieldId::AcceleratorMemory, FieldId::PeakRate, FieldId::MemoryBandwidth, FieldId::BoardPower];

/// Added to a name once the model was changed by hand.
const EDITED: &str = " (edited)";

impl Scenario {
    /// The model's name. `parameters` counts them, where its size has to stand for a name and its
    /// values go together.
    ///
    /// ```
    /// use headroom::scenario::{FieldId, Scenario, Value};
    /// let mut scenario = Scenario::default();
    /// assert_eq!(scenario.model_name(|| None), "Llama 3 8B");
    /// scenario.set(FieldId::NumHiddenLayers, Value::Integer(40));
    /// assert_eq!(scenario.model_name(|| Some(9_775_087_616)), "Llama · 9.8 B");
    /// ```
    pub fn model_name(&self, parameters: impl FnOnce() -> Option<u64>) -> String {
        let own = self.text(FieldId::ModelName);
        if !own.is_empty() {
            return own;
        }
        match self.model() {
            Some(row) if !self.is_pasted() && !self.is_custom_model() => row.name.to_owned(),
            // A link's word that the list does not have: there is no shape whose size could be
            // told.
            None if !self.is_pasted() => self.text(FieldId::Model),
            _ => match parameters() {
                Some(count) => format!("{} · {}", self.kind_of_model(), size(count)),
                None => self.kind_of_model(),
            },
        }
    }

    /// The model's kind in words: of a pasted one as its file says, else the family whose modules
    /// run it.
    fn kind_of_model(&self) -> String {
        let kind = self.text(FieldId::ModelType);
        if !kind.is_empty() {
            return kind_label(&kind);
        }
        match self.get(FieldId::Family) {
            Value::Choice("generic") => "Generic decoder".to_owned(),
            family => show(FieldId::Family, &family),
        }
    }

    /// True if the architecture was read from a file that is no row of the catalog. The row that it
    /// is written as differences from then means nothing to people.
    pub fn is_pasted(&self) -> bool {
        !self.text(FieldId::ModelType).is_empty()
    }

    /// True if the model may have a name of its own: an unchanged row of the catalog needs none.
    pub fn may_be_named(&self) -> bool {
        self.is_pasted() || self.is_custom_model() || self.is_set(FieldId::ModelName)
    }

    /// The accelerator's name, with the values that were changed.
    ///
    /// ```
    /// use headroom::scenario::{FieldId, Scenario, Value};
    /// let mut scenario = Scenario::default();
    /// scenario.set(FieldId::AcceleratorMemory, Value::Decimal(12.0));
    /// assert_eq!(scenario.accelerator_name(), "H100 SXM5 (edited: 12 GiB)");
    /// ```
    pub fn accelerator_name(&self) -> String {
        let Some(row) = self.accelerator() else { return self.text(FieldId::Accelerator) };
        let name = row.name;
        let changed: Vec<FieldId> = OF_THE_CARD.into_iter().filter(|id| self.is_set(*id)).collect();
        if changed.is_empty() {
            return name.to_owned();
        }
        let values = changed
            .into_iter()
            .map(|id| (id, self.get(id)))
            .filter(|(_, value)| *value != Value::Empty);
        let shown: Vec<String> =
            values.map(|(id, value)| format!("{} {}", show(id, &value), field(id).unit)).collect();
        if shown.is_empty() {
            format!("{name}{EDITED}")
        } else {
            format!("{name} (edited: {})", shown.join(", "))
        }
    }

    /// Sets a value as somebody does by hand: a model that has a name of its own is marked as
    /// edited once its shape is another, and gradients take the usual format of another software
    /// stack, if they had that of the one before.
    pub fn change(&mut self, id: FieldId, value: Value) {
        let (before, usual) = (self.get(id), self.usual_gradients());
        match value {
            Value::Flag(by_hand) if id == FieldId::Sizes => self.say_sizes(by_hand),
            value => self.set(id, value),
        }
        let name = self.text(FieldId::ModelName);
        if field(id).default.is_of_model()
            && self.get(id) != before
            && !name.is_empty()
            && !name.ends_with(EDITED)
        {
            let kept: String =
                name.chars().take(LONGEST_NAME.saturating_sub(EDITED.len())).collect();
            self.set(FieldId::ModelName, Value::Text(format!("{}{EDITED}", kept.trim_end())));
        }
        if id == FieldId::Stack && self.get(FieldId::Gradients) == usual {
            self.set(FieldId::Gradients, self.usual_gradients());
        }
    }

    /// The format of gradients that the software stack has unless it is told otherwise. Megatron-LM
    /// adds them up in fp32 beside bf16 weights (`megatron/training/arguments.py` sets
    /// `accumulate_allreduce_grads_in_fp32` with `bf16`). Links state it, so that old ones keep
    /// their meaning.
    fn usual_gradients(&self) -> Value {
        let in_fp32 = self.word::<Stack>(FieldId::Stack).has_main_gradients;
        Value::choice(if in_fp32 { GradientDType::Fp32 } else { GradientDType::AsWeights })
    }
}

/// The longest name of a model, characters.
pub(super) const LONGEST_NAME: usize = 60;

/// A number of parameters as names of models say it: `8.2 B`, `494 M`.
pub(crate) fn size(parameters: u64) -> String {
    let count = to_f64(parameters);
    let (value, suffix) = match count {
        c if c >= 999.5e9 => (c / 1e12, " T"),
        c if c >= 999.5e6 => (c / 1e9, " B"),
        c if c >= 999.5e3 => (c / 1e6, " M"),
        c => return grouped(c, 0),
    };
    grouped(value, usize::from(value < 99.95)) + suffix
}

#[cfg(test)]
mod tests {
    use super::{FieldId, Scenario, Value, size};

    #[test]
    fn sizes_are_as_short_as_in_names() {
        let shown = [
            124_439_808,
            494_032_768,
            1_235_814_400,
            27_009_346_304,
            671_026_419_200,
            1_026_408_232_448,
            512,
            999_900_000,
        ];
        assert_eq!(
            shown.map(size),
            ["124 M", "494 M", "1.2 B", "27.0 B", "671 B", "1.0 T", "512", "1.0 B"]
        );
    }

    #[test]
    fn a_name_of_its_own_comes_first_and_goes_with_another_model() {
        let mut scenario = Scenario::default();
        scenario.set(FieldId::ModelName, Value::Text("Mine".to_owned()));
        assert_eq!(scenario.model_name(|| None), "Mine");
        scenario.change(FieldId::NumHiddenLayers, Value::Integer(40));
        assert_eq!(scenario.model_name(|| None), "Mine (edited)");
        scenario.change(FieldId::NumHiddenLayers, Value::Integer(41));
        scenario.change(FieldId::Gpus, Value::Integer(16));
        assert_eq!(scenario.model_name(|| None), "Mine (edited)");
        scenario.set_model("llama3-70b");
        assert_eq!(scenario.model_name(|| None), "Llama 3 70B");
        assert!(!scenario.is_pasted() && !scenario.may_be_named());
    }

    #[test]
    fn a_long_name_keeps_room_for_the_mark() {
        let mut scenario = Scenario::default();
        scenario.set(FieldId::ModelName, Value::Text("n".repeat(60)));
        scenario.change(FieldId::NumHiddenLayers, Value::Integer(40));
        let name = scenario.model_name(|| None);
        assert!(name.ends_with("n (edited)") && name.chars().count() == 60, "{name}");
    }

    #[test]
    fn an_edited_accelerator_says_what_was_changed() {
        let named = |values: &[(FieldId, Value)]| {
            let mut scenario = Scenario::default();
            for (id, value) in values {
                scenario.set(*id, value.clone());
            }
            scenario.accelerator_name()
        };
        assert_eq!(named(&[]), "H100 SXM5");
        let both = [
            (FieldId::PeakRate, Value::Decimal(500.0)),
            (FieldId::AcceleratorMemory, Value::Decimal(12.0)),
        ];
        assert_eq!(named(&both), "H100 SXM5 (edited: 12 GiB, 500 TFLOP/s)");
        assert_eq!(named(&[(FieldId::MemoryBandwidth, Value::Empty)]), "H100 SXM5 (edited)");
        assert_eq!(named(&[(FieldId::AcceleratorsPerNode, Value::Integer(4))]), "H100 SXM5");
    }
}
