//! Many users at once on replicas of one layout: whether they find room, how fast serving is and
//! what it costs.
//!
//! All users are taken to be active at once and spread evenly, so the fullest of `R` replicas runs
//! `⌈U / R⌉` requests.

use super::serving::{Fleet, Instances, holds, of_context, with_serving};
use crate::config::{Job, LengthMix, ParallelLayout, Run, ServingRun};
use crate::estimator::blockers;
use crate::estimator::time::{first_token_and_step, gpu_hours_per_million};
use crate::units::{Seconds, to_f64};

/// Users spread over replicas of one layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserLoad {
    /// Users at once.
    pub users: u64,
    /// Accelerators of all replicas.
    pub gpus: u64,
    /// The layout of one replica.
    pub layout: ParallelLayout,
    /// Replicas.
    pub replicas: u64,
    /// Requests at once on the fullest replica: `⌈users / replicas⌉`.
    pub each: u64,
    /// Requests that find room on one replica; 0 if not even one does or a rule forbids the layout.
    pub room: u64,
    /// Times and price at that load; `None` where peak rate or memory bandwidth is unknown.
    pub pace: Option<LoadPace>,
}

/// Times and price while all users are active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPace {
    /// The time to the first token of a prompt that does not wait.
    pub first_token: Seconds,
    /// Tokens of that prompt.
    pub prompt: u64,
    /// Tokens of keys and values that a request has in a step of decoding.
    pub cached: u64,
    /// Time until every request on the fullest replica has one further token.
    pub decode: Seconds,
    /// Tokens per second for one user.
    pub per_user: f64,
    /// Tokens per second for all users together.
    pub in_all: f64,
    /// Price of a million tokens in US dollars, all accelerators paid for.
    pub price_per_million: f64,
}

/// The stated users of a job, on its own accelerators and on the fewest that hold them all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsersAnswer {
    /// The load on the job's own accelerators.
    pub own: UserLoad,
    /// The load on the fewest accelerators that hold all users; `None` if no replica holds one
    /// request.
    pub fewest: Option<UserLoad>,
    /// The division: all memory over the memory that one accelerator has beside its context. `None`
    /// if the context alone is too much.
    pub arithmetic: Option<u64>,
}

impl UserLoad {
    /// Returns true if all users find room at once: requests on the fullest replica are no more
    /// than it has room for.
    pub const fn carries(&self) -> bool {
        self.each <= self.room
    }

    /// Returns how many users all replicas together hold: `room · replicas`.
    pub const fn holds(&self) -> u64 {
        self.room.saturating_mul(self.replicas)
    }

    /// The load of `users` on `gpus` accelerators, in replicas of that layout.
    fn of(job: &Job, run: &ServingRun, users: u64, (layout, gpus): (ParallelLayout, u64)) -> Self {
        let job = job.with_layout(layout);
        let replicas = (gpus / layout.world_size().max(1)).max(1);
        let each = users.div_ceil(replicas);
        let room = if blockers(&job).is_empty() { holds(&job, run).unwrap_or(0) } else { 0 };
        let pace = pace(&job, run, (users, each, gpus));
        Self { users, gpus, layout, replicas, each, room, pace }
    }
}

impl UsersAnswer {
    /// Returns the load that figures are shown for: that on the job's own accelerators if they hold
    /// all users, else that on the fewest that do.
    pub const fn shown(&self) -> &UserLoad {
        match &self.fewest {
            Some(fewest) if !self.own.carries() => fewest,
            _ => &self.own,
        }
    }
}

/// One replica of a layout.
const fn replica(layout: &ParallelLayout) -> ParallelLayout {
    ParallelLayout { data_parallel_size: std::num::NonZeroU64::MIN, ..*layout }
}

/// The job with requests of `tokens` tokens.
fn with_context(job: &Job, tokens: u64) -> Job {
    with_serving(job, |run| {
        run.context_length = tokens;
        run.shared_prefix = run.shared_prefix.min(tokens);
    })
}

/// Times at that load; a request's keys and values are those of the mean length where one is
/// stated, else of the whole context.
fn pace(job: &Job, run: &ServingRun, (users, each, gpus): (u64, u64, u64)) -> Option<LoadPace> {
    let cached = run
        .lengths
        .map_or(run.context_length, |LengthMix { mean, .. }| mean.min(run.context_length))
        .max(1);
    let prompt = run.prompt_length.unwrap_or(run.context_length).min(run.context_length);
    let of_mean = (cached != run.context_length).then(|| with_context(job, cached));
    let [first_token, decode] =
        first_token_and_step(job, prompt, of_mean.as_ref().unwrap_or(job), each)?;
    let in_all = to_f64(users) / decode.0;
    Some(LoadPace {
        first_token,
        prompt,
        cached,
        decode,
        per_user: 1.0 / decode.0,
        in_all,
        price_per_million: gpu_hours_per_million(to_f64(gpus), in_all)
            * job.cluster().accelerator.price_per_hour,
    })
}

/// The load of a serving job while every replica runs its stated requests at once, each with the
/// whole context; `None` when training.
fn own_load(job: &Job) -> Option<UserLoad> {
    let Run::Serving(run) = job.run() else { return None };
    let gpus = job.layout().world_size();
    let layout = replica(job.layout());
    let users = run.concurrent_sequences.saturating_mul(job.layout().d());
    let whole = ServingRun { lengths: None, ..run.clone() };
    Some(UserLoad::of(job, &whole, users, (layout, gpus)))
}

/// Returns the load that figures of a serving job are shown for: that of its users where some are
/// stated, else its own; `None` when training.
pub fn shown_load(job: &Job, users: Option<&UsersAnswer>) -> Option<UserLoad> {
    users.map(|users| *users.shown()).or_else(|| own_load(job))
}

/// Returns the stated users on the job's own accelerators and on those of `fleet`: requests at
/// once, room, seconds and price; `None` when training and where no users are stated.
///
/// `fleet` is [`fleet_of`](super::fleet_of) of the same job.
pub fn users_answer(job: &Job, fleet: Option<&Fleet>) -> Option<UsersAnswer> {
    let Run::Serving(run) = job.run() else { return None };
    let fleet = fleet?;
    let gpus = job.layout().world_size();
    let own = UserLoad::of(job, run, fleet.users, (replica(job.layout()), gpus));
    let of = |found: Instances| UserLoad::of(job, run, fleet.users, (found.layout, found.gpus));
    Some(UsersAnswer { own, fewest: fleet.runnable.map(of), arithmetic: fleet.arithmetic })
}

/// Returns how many requests of the whole context the stated users send to the fullest replica, as
/// far as they find room there, at least one; `None` when training and where no users are stated.
///
/// Formula: `min(⌈users / replicas⌉, room)`.
pub fn requests_of_users(job: &Job) -> Option<u64> {
    let Run::Serving(run) = job.run() else { return None };
    let each = run.users?.div_ceil(job.layout().d());
    let room = of_context(&job.with_layout(replica(job.layout()))).unwrap_or(0);
    Some(each.min(room).max(1))
}
