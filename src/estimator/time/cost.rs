//! Costs of a whole training: days, accelerator-hours, money, energy and emissions.

use super::Step;
use crate::config::Job;
use crate::units::{Seconds, to_f64};

/// The whole training at the step's pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Optimizer steps, not rounded.
    pub steps: f64,
    /// Wall-clock time without interruptions.
    pub seconds: Seconds,
    /// Accelerator-hours.
    pub gpu_hours: f64,
    /// Price in US dollars.
    pub price: f64,
    /// Energy of the accelerators, kWh; `None` where their power is unknown.
    pub energy_kwh: Option<f64>,
    /// Emissions, kilograms of CO₂.
    pub co2_kg: Option<f64>,
}

/// Share of its board power that a waiting accelerator draws: an assumption, as `nvidia-smi` shows
/// idle A100 and H100.
pub const IDLE_SHARE: f64 = 0.14;

/// Returns the cost of a job's whole training at so many seconds a step, without energy; `None`
/// when serving.
///
/// Formula: `steps = training tokens / useful tokens per step`, `GPU-hours = steps · seconds per
/// step / 3600 · GPUs`, `price = GPU-hours · price per hour`. Assumes that nothing interrupts the
/// training.
pub fn at_pace(job: &Job, step: Seconds) -> Option<Cost> {
    let run = job.training()?;
    let steps = run.training_tokens / run.useful_tokens_per_step();
    let seconds = Seconds(steps * step.0);
    let gpu_hours = seconds.hours() * to_f64(job.layout().world_size());
    let price = gpu_hours * job.cluster().accelerator.price_per_hour;
    Some(Cost { steps, seconds, gpu_hours, price, energy_kwh: None, co2_kg: None })
}

/// Returns the cost of a job's whole training: steps, seconds, GPU-hours, price, kWh and kilograms
/// of CO₂; `None` when serving.
///
/// Energy: `GPU-hours · board power · (i + (1 − i) u)`, where `i` is [`IDLE_SHARE`] and `u` the
/// share of the step in which the accelerator computes. Emissions: energy times the grid's grams of
/// CO₂ per kWh. Cooling, hosts and network are not counted.
pub fn cost(job: &Job, step: &Step) -> Option<Cost> {
    let whole = at_pace(job, step.seconds)?;
    let cluster = job.cluster();
    let busy: f64 =
        step.lines.iter().filter(|line| line.term.computes()).map(|line| line.seconds.0).sum();
    let utilisation = busy / step.seconds.0;
    let draw = IDLE_SHARE + (1.0 - IDLE_SHARE) * utilisation;
    let energy_kwh = cluster.speed.tdp_watts.map(|watts| whole.gpu_hours * watts * draw / 1000.0);
    Some(Cost {
        energy_kwh,
        co2_kg: energy_kwh.map(|energy| energy * cluster.grid_grams_per_kwh / 1000.0),
        ..whole
    })
}
