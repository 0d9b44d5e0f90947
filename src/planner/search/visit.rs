//! The way of a search through the groups of layouts that a walk hands it.

use std::num::NonZeroU64;

use super::walk::{Group, Visitor, length};
use super::{Bounds, Miss, Search, with_micro_batch};
use crate::config::{Choice, ParallelLayout};
use crate::estimator::Rules;

impl Visitor for Search {
    fn enter(&mut self, choice: &Choice, layouts: u64) -> bool {
        self.layouts.choose(choice);
        let broken = self.layouts.first_rule(Rules::Degrees);
        let goes_on = broken.is_none();
        if let Some(rule) = broken {
            self.reject(rule, layouts, choice);
        }
        goes_on
    }

    fn group(&mut self, group: &Group) {
        let Some(first) = group.choices.first() else { return };
        let alike = |choice: &Choice| {
            let layout = ParallelLayout { sharding: first.layout.sharding, ..choice.layout };
            Choice { layout, ..*choice } == *first
        };
        if group.choices.iter().all(alike) {
            return self.sharings(group);
        }
        for choice in &group.choices {
            self.sharings(&Group { choices: vec![*choice], micro_batches: group.micro_batches });
        }
    }
}

impl Search {
    /// Goes on to layouts that differ only in micro-batch and sharding.
    fn sharings(&mut self, group: &Group) {
        let mut legal = Vec::with_capacity(group.choices.len());
        for choice in &group.choices {
            self.layouts.choose(choice);
            match self.layouts.first_rule(Rules::Sharing) {
                Some(rule) => self.reject(rule, length(group.micro_batches), choice),
                None => legal.push(*choice),
            }
        }
        let Some(first) = legal.first().copied() else { return };
        let mut micro_batches = Vec::with_capacity(group.micro_batches.len());
        self.layouts.choose(&first);
        for micro_batch in group.micro_batches {
            self.choose_micro_batch(*micro_batch);
            match self.layouts.first_rule(Rules::Schedule) {
                Some(rule) => {
                    self.reject(rule, length(&legal), &with_micro_batch(&first, *micro_batch));
                }
                None => micro_batches.push(*micro_batch),
            }
        }
        let Some(first) = micro_batches.first() else { return };
        // Where model states alone are too much, no micro-batch helps.
        self.choose_micro_batch(*first);
        legal.retain(|choice| {
            self.layouts.choose_sharding(choice.layout.sharding);
            match self.layouts.too_many_states() {
                Some((kind, short)) if self.is_no_nearer(kind, short) => {
                    let choice = with_micro_batch(choice, *first);
                    self.overflow(Miss { choice, short, kind }, kind, length(&micro_batches));
                    false
                }
                _ => true,
            }
        });
        let mut legal: Vec<_> = legal.into_iter().map(|choice| (choice, None)).collect();
        let mut bounds = Bounds::default();
        for (place, micro_batch) in micro_batches.iter().enumerate() {
            if legal.is_empty() {
                break;
            }
            let further = length(micro_batches.get(place + 1..).unwrap_or_default());
            bounds.own = None;
            self.choose_micro_batch(*micro_batch);
            legal.retain_mut(|(choice, counted_as)| {
                self.layouts.choose_sharding(choice.layout.sharding);
                let miss = self.weigh(choice, *micro_batch, *counted_as, &mut bounds);
                !miss.is_some_and(|miss| self.is_too_much_from_here(counted_as, miss, further))
            });
        }
    }

    fn choose_micro_batch(&mut self, size: u64) {
        self.layouts.choose_micro_batch(NonZeroU64::new(size).unwrap_or(NonZeroU64::MIN));
    }
}
