//! Inputs of serving that follow the model, the requests and the users for as long as nobody sets
//! them.
//!
//! Whoever changes the mode to serving asks how many GPUs it takes; one is where that begins. What
//! follows is kept apart from what was set, so that an input stays the user's own once it was, in
//! every mode and through every step of undo. Links know nothing of it: they state values, and what
//! a link or a saved scenario states counts as set.

use std::collections::BTreeMap;

use super::{FieldId, FieldKind, Mode, Scenario, Value, field};

/// The inputs that can follow.
pub const FOLLOWING: [FieldId; 4] = [
    FieldId::Gpus,
    FieldId::TensorParallel,
    FieldId::PipelineParallel,
    FieldId::ConcurrentSequences,
];

/// Values that follow, by input.
pub(super) type Followed = BTreeMap<FieldId, Value>;

impl Scenario {
    /// True if that input has no value of its own and follows the others.
    ///
    /// ```
    /// use headroom::scenario::{FieldId, Mode, Scenario, Value};
    /// let mut scenario = Scenario::default();
    /// scenario.set(FieldId::Mode, Value::choice(Mode::Serve));
    /// assert!(scenario.follows(FieldId::Gpus));
    /// assert_eq!(scenario.get(FieldId::Gpus), Value::Integer(1));
    /// scenario.set(FieldId::Gpus, Value::Integer(1));
    /// assert!(!scenario.follows(FieldId::Gpus));
    /// ```
    pub fn follows(&self, id: FieldId) -> bool {
        self.followed_value(id).is_some()
    }

    /// Gives an input that follows its value; one that was set keeps its own.
    pub fn let_follow(&mut self, id: FieldId, value: Value) {
        if self.follows(id)
            && let Some(followed) = &mut self.followed
        {
            followed.insert(id, value);
        }
    }

    /// As many GPUs as the degrees need, where the number of GPUs follows: one replica, whatever
    /// its layout.
    pub fn follow_degrees(&mut self) {
        let group = [FieldId::TensorParallel, FieldId::PipelineParallel].map(|id| self.integer(id));
        let gpus = group.into_iter().fold(1, u64::saturating_mul);
        let FieldKind::Integer { min, max, .. } = field(FieldId::Gpus).kind else { return };
        if (min..=max).contains(&gpus) {
            self.let_follow(FieldId::Gpus, Value::Integer(gpus));
        }
    }

    /// Value of that input where following begins.
    pub fn start_of_following(&self, id: FieldId) -> Value {
        if id == FieldId::Gpus { Value::Integer(1) } else { self.start(id) }
    }

    /// The scenario as its link states it: nothing follows, and inputs that followed are set.
    #[must_use]
    pub fn settled(&self) -> Self {
        let mut settled = Self { followed: Some(Followed::new()), ..self.clone() };
        for (id, value) in self.following() {
            settled.put(*id, value.clone());
        }
        settled
    }

    /// A scenario that was opened states nothing about serving unless it serves: whoever then
    /// chooses serving begins anew.
    pub(super) fn as_opened(&mut self) {
        if self.mode() != Mode::Serve {
            self.followed = None;
        }
    }

    /// Lets inputs follow again that followed in `before` and have the same value still: what was
    /// taken over did not touch them.
    pub fn follow_as(&mut self, before: &Self) {
        for (id, value) in before.following() {
            if self.mode() == Mode::Serve && self.get(*id) == *value {
                self.clear(*id);
                self.let_follow(*id, value.clone());
            }
        }
    }

    /// All values that follow now.
    pub(super) fn following(&self) -> impl Iterator<Item = (&FieldId, &Value)> {
        self.followed.iter().flatten().filter(|_| self.mode() == Mode::Serve)
    }

    pub(super) fn followed_value(&self, id: FieldId) -> Option<&Value> {
        // The mode itself follows nothing: asking for it ends here.
        self.followed.as_ref()?.get(&id).filter(|_| self.mode() == Mode::Serve)
    }

    /// Begins to follow where serving is chosen for the first time; inputs set by then stay.
    pub(super) fn begin_following(&mut self) {
        if self.mode() == Mode::Serve && self.followed.is_none() {
            let free = FOLLOWING.into_iter().filter(|id| !self.set.contains_key(id));
            // One by one: collecting would sort first, with three kilobytes of the page's program.
            let mut followed = Followed::new();
            for id in free {
                followed.insert(id, self.start_of_following(id));
            }
            self.followed = Some(followed);
        }
    }

    /// That input was set: it no longer follows, even if its value is the same.
    pub(super) fn end_following(&mut self, id: FieldId) {
        if let Some(followed) = &mut self.followed {
            followed.remove(&id);
        }
    }

    /// That input follows again, if it can and the model is served.
    pub(super) fn follow_again(&mut self, id: FieldId) {
        if self.mode() == Mode::Serve && FOLLOWING.contains(&id) {
            let value = self.start_of_following(id);
            self.followed.get_or_insert_default().insert(id, value);
        }
    }
}
