//! When DeepSpeed's stage 3 gathers which weights, module by module
//! (`deepspeed/runtime/zero/partitioned_param_coordinator.py`, 0.19).
//!
//! A module's weights are gathered before it runs, and let go behind it. The first micro-batch of
//! all records the order of modules; from the second on, each module also gathers what follows, up
//! to `stage3_prefetch_bucket_size` at once and `stage3_max_live_parameters` in all, and keeps what
//! is used again within `stage3_max_reuse_distance`. One weight is gathered into a tensor of its
//! own. Several are gathered side by side, and copied out when the first of them is needed; the
//! copies stay beside what they came from until all are needed.

use std::collections::BTreeMap;
use std::ops::Range;

use super::TensorEvent;
use super::groups::GATHERING;
use super::plan::Plan;
use crate::config::LibraryOptions;
use crate::estimator::states::GATHERED_WEIGHTS;
use crate::ops::tape::{Entry, Kind, Param, Parameter, State};
use crate::units::DType;

/// A module that needs weights: from where to where in the log, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Module {
    from: usize,
    until: usize,
    weights: Vec<Param>,
}

/// How a weight is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// The message of that number is gathering the weight.
    Coming(usize),
    /// The weight is in that tensor; `message` brought it, and is `None` once it was waited for.
    There { tensor: u32, message: Option<usize> },
}

/// Weights that were gathered together.
#[derive(Clone, Debug)]
struct Message {
    /// Where they lie side by side; of one weight its own tensor.
    tensor: u32,
    weights: Vec<Param>,
    /// True once the weights were copied out of the message's tensor.
    is_out: bool,
    /// Weights that nobody has waited for yet.
    waiting: usize,
}

/// Everything that the coordinator knows of a training.
#[derive(Debug)]
pub(super) struct Coordinator {
    options: LibraryOptions,
    ranks: u64,
    stream: u8,
    /// Elements and format of each parameter that is shared out.
    sizes: Vec<Option<(u64, DType)>>,
    /// The number of the next tensor.
    next: u32,
}

/// A micro-batch that is being played.
struct Playing<'c> {
    coordinator: &'c mut Coordinator,
    modules: &'c [Module],
    /// Weights in the order in which they will be needed, with their modules; empty while that is
    /// recorded.
    queue: Vec<(Param, usize)>,
    place: usize,
    /// For each weight the last module that it was gathered for.
    fetched_for: BTreeMap<Param, usize>,
    present: BTreeMap<Param, Presence>,
    messages: Vec<Message>,
    /// Elements that are there or coming.
    live: u64,
    events: Vec<(usize, TensorEvent)>,
}

impl Coordinator {
    /// The coordinator of a plan whose tape's tensors are these.
    pub fn of(state: &State, plan: &Plan<'_>) -> Self {
        let threshold = plan.library.persistence_threshold;
        let size = |parameter: &Parameter| {
            let elements = state.elements(parameter.form);
            (elements > threshold && !parameter.beside).then_some((elements, parameter.dtype))
        };
        Self {
            options: plan.library,
            ranks: plan.ranks.max(1),
            stream: if plan.library.overlap_comm.holds(plan.sharding.zero_stage) {
                GATHERING
            } else {
                0
            },
            sizes: state.parameters.iter().map(size).collect(),
            next: u32::try_from(state.storages.len()).unwrap_or(u32::MAX),
        }
    }

    /// The events of gathered weights in that part of the log, each with its place; `knows` the
    /// order of modules, or records it.
    pub fn play(
        &mut self,
        state: &State,
        part: &Range<usize>,
        knows: bool,
    ) -> Vec<(usize, TensorEvent)> {
        let modules = self.modules(state, part);
        let queue = if knows { queue(&modules) } else { Vec::new() };
        self.played(&modules, (queue, modules.len()), part.end)
    }

    /// The events of gathered weights in an evaluation, that part of its own log. Its forward finds
    /// the order that a micro-batch of the training recorded (`reset_step` begins with it anew,
    /// `trace_prologue` goes along), and ends before backward: weights that backward would use soon
    /// again stay. Where its modules are not those of the micro-batch, the order is recorded anew.
    pub fn evaluate(
        &mut self,
        (state, part): (&State, &Range<usize>),
        (training, micro_batch): (&State, &Range<usize>),
    ) -> Vec<(usize, TensorEvent)> {
        let mut modules = self.modules(state, part);
        let own = modules.len();
        let recorded = self.modules(training, micro_batch);
        let begins =
            recorded.iter().zip(&modules).all(|(there, here)| there.weights == here.weights);
        if !begins || recorded.len() < own {
            return self.played(&modules, (Vec::new(), own), part.end);
        }
        modules.extend(recorded.into_iter().skip(own));
        self.played(&modules, (queue(&modules), own), part.end)
    }

    /// The events of the first modules of that order, so many; all that is left there is let go at
    /// the end.
    fn played(
        &mut self,
        modules: &[Module],
        (queue, own): (Vec<(Param, usize)>, usize),
        end: usize,
    ) -> Vec<(usize, TensorEvent)> {
        let knows = !queue.is_empty();
        let mut playing = Playing {
            coordinator: self,
            modules,
            queue,
            place: 0,
            fetched_for: BTreeMap::new(),
            present: BTreeMap::new(),
            messages: Vec::new(),
            live: 0,
            events: Vec::new(),
        };
        playing.play(own, knows);
        let left: Vec<Param> = playing.present.keys().copied().collect();
        for weight in left {
            playing.let_go(weight, end);
        }
        playing.events
    }

    /// The modules of a part of the log; weights that one of them needs at the same place are one
    /// module's.
    fn modules(&self, state: &State, part: &Range<usize>) -> Vec<Module> {
        let uses = state.uses.iter().flatten().filter(|used| part.contains(&used.from));
        let mut modules: Vec<Module> = Vec::new();
        let mut layer = None;
        for used in uses {
            if layer.replace(used.layer) != Some(used.layer) {
                // The modules around those with weights gather ahead, too.
                modules.push(Module { from: used.from, until: used.from, weights: Vec::new() });
            }
            if self.size(used.param).is_none() {
                continue;
            }
            let until = used.until.unwrap_or_else(|| end_of_output(state, used.from, part.end));
            match modules
                .last_mut()
                .filter(|last| last.from == used.from && !last.weights.is_empty())
            {
                Some(last) if last.weights.contains(&used.param) => {}
                Some(last) => last.weights.push(used.param),
                None => modules.push(Module { from: used.from, until, weights: vec![used.param] }),
            }
        }
        modules
    }

    fn size(&self, weight: Param) -> Option<(u64, DType)> {
        usize::try_from(weight).ok().and_then(|at| self.sizes.get(at).copied().flatten())
    }

    /// Bytes of a weight, padded to equal parts.
    fn padded(&self, weight: Param) -> u64 {
        self.size(weight).map_or(0, |(elements, dtype)| {
            elements.div_ceil(self.ranks).saturating_mul(self.ranks).saturating_mul(dtype.bits())
                / 8
        })
    }

    fn bytes(&self, weight: Param) -> u64 {
        self.size(weight).map_or(0, |(elements, dtype)| elements.saturating_mul(dtype.bits()) / 8)
    }

    fn elements(&self, weight: Param) -> u64 {
        self.size(weight).map_or(0, |(elements, _)| elements)
    }
}

/// Weights in the order in which those modules need them.
fn queue(modules: &[Module]) -> Vec<(Param, usize)> {
    let mut queue = Vec::new();
    for (step, module) in modules.iter().enumerate() {
        let mut weights = module.weights.clone();
        weights.sort_unstable();
        queue.extend(weights.into_iter().map(|weight| (weight, step)));
    }
    queue
}

/// Where in the log a module that began there has its output, and has let go of what its kernels
/// needed.
fn end_of_output(state: &State, from: usize, end: usize) -> usize {
    let is_scratch = |entry: &Entry| {
        let (Entry::Taken(id) | Entry::Freed(id) | Entry::Turned(id)) = entry;
        usize::try_from(*id)
            .ok()
            .and_then(|at| state.storages.get(at))
            .is_some_and(|found| found.born == Kind::Scratch)
    };
    let log = state.log.get(from..end).unwrap_or_default();
    let output =
        log.iter().position(|entry| matches!(entry, Entry::Taken(_)) && !is_scratch(entry));
    let behind = output.map_or(0, |output| output + 1);
    let scratch =
        log.get(behind..).unwrap_or_default().iter().take_while(|entry| is_scratch(entry)).count();
    from + behind + scratch
}

impl Playing<'_> {
    fn play(&mut self, own: usize, knows: bool) {
        for (step, module) in self.modules.iter().enumerate().take(own) {
            self.fetch(step, module, knows);
            self.release(step + 1, module, knows);
        }
    }

    /// A module comes (`fetch_sub_module`).
    fn fetch(&mut self, step: usize, module: &Module, knows: bool) {
        let missing = module
            .weights
            .iter()
            .copied()
            .filter(|weight| !self.present.contains_key(weight))
            .collect();
        self.gather(missing, module.from);
        for weight in &module.weights {
            self.wait(*weight, module.from);
        }
        if knows {
            self.pass(step, module);
            self.gather_ahead(module.from);
        }
    }

    /// Takes a module's weights from the queue, unless they were gathered ahead for it.
    fn pass(&mut self, step: usize, module: &Module) {
        let is_new = |weight: &Param| self.fetched_for.get(weight).is_none_or(|last| *last < step);
        let mut expected: Vec<Param> = module.weights.iter().copied().filter(is_new).collect();
        while !expected.is_empty()
            && let Some((weight, last)) = self.queue.get(self.place).copied()
        {
            self.place += 1;
            self.fetched_for.insert(weight, last);
            expected.retain(|other| *other != weight);
        }
    }

    /// Gathers the next weights, as far as there is room.
    fn gather_ahead(&mut self, at: usize) {
        let options = self.coordinator.options;
        let most =
            options.max_live_parameters.saturating_sub(self.live).min(options.prefetch_bucket_size);
        let mut ahead: Vec<Param> = Vec::new();
        let mut elements = 0;
        while elements < most
            && let Some((weight, last)) = self.queue.get(self.place).copied()
        {
            self.place += 1;
            let before = self.fetched_for.get(&weight).copied().unwrap_or(0);
            self.fetched_for.insert(weight, last.max(before));
            if !self.present.contains_key(&weight) && !ahead.contains(&weight) {
                elements += self.coordinator.elements(weight);
                ahead.push(weight);
            }
        }
        self.gather(ahead, at);
    }

    /// Sends one message for weights that are not there.
    fn gather(&mut self, mut weights: Vec<Param>, at: usize) {
        if weights.is_empty() {
            return;
        }
        weights.sort_unstable();
        let bytes = weights.iter().map(|weight| self.coordinator.padded(*weight)).sum();
        let is_one = weights.len() == 1;
        let tensor = self.take(
            if is_one { "whole weight" } else { "weights gathered side by side" },
            bytes,
            at,
        );
        for weight in &weights {
            self.live += self.coordinator.elements(*weight);
            self.present.insert(*weight, Presence::Coming(self.messages.len()));
        }
        self.messages.push(Message { tensor, waiting: weights.len(), weights, is_out: is_one });
    }

    /// A weight that is coming is needed.
    fn wait(&mut self, weight: Param, at: usize) {
        let number = match self.present.get(&weight) {
            Some(Presence::Coming(number) | Presence::There { message: Some(number), .. }) => {
                *number
            }
            Some(Presence::There { message: None, .. }) | None => return,
        };
        let Some(message) = self.messages.get(number).cloned() else { return };
        if message.weights.len() == 1 {
            self.present.insert(weight, Presence::There { tensor: message.tensor, message: None });
            return;
        }
        if !message.is_out {
            for other in &message.weights {
                let tensor = self.take("whole weight", self.coordinator.bytes(*other), at);
                self.present.insert(*other, Presence::There { tensor, message: Some(number) });
            }
        }
        if let Some(Presence::There { message: from, .. }) = self.present.get_mut(&weight) {
            *from = None;
        }
        let Some(found) = self.messages.get_mut(number) else { return };
        found.is_out = true;
        found.waiting = found.waiting.saturating_sub(1);
        if found.waiting == 0 {
            let tensor = found.tensor;
            self.events.push((at, TensorEvent::Freed { tensor }));
        }
    }

    /// A module has ended (`release_sub_module`); `step` modules have run so far.
    fn release(&mut self, step: usize, module: &Module, knows: bool) {
        let mut through = module.weights.clone();
        if knows {
            through.retain(|weight| self.fetched_for.get(weight).is_none_or(|last| *last <= step));
            let mut passed = 0;
            for later in self.modules.iter().skip(step) {
                if passed >= self.coordinator.options.max_reuse_distance || through.is_empty() {
                    break;
                }
                through.retain(|weight| !later.weights.contains(weight));
                passed += later
                    .weights
                    .iter()
                    .map(|weight| self.coordinator.elements(*weight))
                    .sum::<u64>();
            }
        }
        for weight in through {
            self.let_go(weight, module.until);
        }
    }

    fn let_go(&mut self, weight: Param, at: usize) {
        match self.present.remove(&weight) {
            Some(Presence::There { tensor, message }) => {
                self.live = self.live.saturating_sub(self.coordinator.elements(weight));
                self.events.push((at, TensorEvent::Freed { tensor }));
                self.end_of(message, at);
            }
            Some(Presence::Coming(number)) => self.end_of(Some(number), at),
            None => {}
        }
    }

    /// Nobody will wait for a weight of that message.
    fn end_of(&mut self, message: Option<usize>, at: usize) {
        let Some(found) = message.and_then(|number| self.messages.get_mut(number)) else { return };
        found.waiting = found.waiting.saturating_sub(1);
        if found.waiting == 0 {
            let tensor = found.tensor;
            self.events.push((at, TensorEvent::Freed { tensor }));
        }
    }

    fn take(&mut self, name: &'static str, bytes: u64, at: usize) -> u32 {
        let tensor = self.coordinator.next;
        self.coordinator.next = tensor.saturating_add(1);
        let stream = self.coordinator.stream;
        self.events
            .push((at, TensorEvent::Taken { tensor, bytes, stream, op: GATHERED_WEIGHTS, name }));
        tensor
    }
}
