//! The integration tests as one program, which links once: a module for each subject, grouped as
//! the rooms of `src`.
//!
//! `cargo test --test it architecture` runs only the house rules; any other module's or test's name
//! works the same way.

mod support;

mod architecture;
mod command_line;
mod diagnosis;
mod documents;
mod explain;
mod lessons;
mod methods;
mod methods_page;
mod snapshot;

/// Reading a model: the catalog, pasted files, and layers of several kinds.
mod models {
    mod caches;
    mod catalog;
    mod catalog_queries;
    mod checkpoint;
    mod corpus;
    mod counted;
    mod counted_rows;
    mod encoder;
    mod every_row;
    mod hub;
    mod hybrid;
    mod import;
    mod oom;
    mod refused;
    mod source;
    mod source_rows;
    mod tasks;
    mod towers;
    mod trained_states;
}

/// The GPU's memory: PyTorch's allocator.
mod hardware {
    mod pytorch;
    mod traces;
}

/// Memory and time of one job.
mod estimator {
    mod acceptance;
    mod adapters;
    mod cuda;
    mod drafts;
    mod evaluation;
    mod float8;
    mod frameworks;
    mod host_memory;
    mod images;
    mod layouts;
    mod loading;
    mod losses;
    mod megatron;
    mod optimizers;
    mod properties;
    mod real;
    mod record;
    mod schedules;
    mod serving;
    mod serving_time;
    mod slots;
    mod three_d;
    mod time;
    mod trainer;
    mod truth;
    mod tuning;
}

/// Searches for a better job.
mod planner {
    mod fixes;
    mod planner_search;
    mod replayed;
    mod search;
}

/// Commands and files that people start runs with.
mod launch {
    #![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]
    #![allow(clippy::disallowed_methods, reason = "no test runs in the browser")]
    #![allow(
        clippy::case_sensitive_file_extension_comparisons,
        reason = "fixtures are named in small letters"
    )]

    mod figures;
    mod fixtures;
    mod flags;
    mod hostile;
    mod logs;
    mod notation;
    mod round_trip;
    mod servers;
    mod trainer;
}

/// Inputs, links and saved scenarios.
mod scenario {
    mod recorded_answers;
    mod records;
    mod scenario_codec;
    mod scenario_fields;
}

/// The page's and the worker's answers that need no browser.
mod page {
    mod actions;
    mod more;
    mod names;
    mod net;
    mod printed;
    mod style;
}
