//! The figures at the end of a run of transformers' Trainer (`trainer_utils.py`). With
//! `--skip_memory_metrics 0` it says by how much each stage grew and by how much more it peaked
//! (`TrainerMemoryTracker`): together these are the peak. `metrics_format` prints units of 2²⁰
//! bytes, the files hold bytes.

use crate::launch::logs::{LineSpec, LogFigure, LogSpec};

pub(super) const LOG: LogSpec = LogSpec {
    program: "trainer",
    label: "transformers’ Trainer",
    trains: true,
    place: 8,
    lines: &[
        LineSpec::mib("MB", "before_init_mem_gpu = ", LogFigure::Allocated).part(),
        LineSpec::mib("MB", "init_mem_gpu_alloc_delta = ", LogFigure::Allocated).part(),
        LineSpec::mib("MB", "train_mem_gpu_alloc_delta = ", LogFigure::Allocated).part(),
        LineSpec::mib("MB", "train_mem_gpu_peaked_delta = ", LogFigure::Allocated).part(),
        LineSpec::bytes("", "before_init_mem_gpu\": ", LogFigure::Allocated).part(),
        LineSpec::bytes("", "init_mem_gpu_alloc_delta\": ", LogFigure::Allocated).part(),
        LineSpec::bytes("", "train_mem_gpu_alloc_delta\": ", LogFigure::Allocated).part(),
        LineSpec::bytes("", "train_mem_gpu_peaked_delta\": ", LogFigure::Allocated).part(),
        LineSpec::count("", "train_samples_per_second = ", LogFigure::SequencesPerSecond),
        LineSpec::count("", "'train_samples_per_second': ", LogFigure::SequencesPerSecond),
        LineSpec::count("", "\"train_samples_per_second\": ", LogFigure::SequencesPerSecond),
    ],
};
