//! Headroom: does this transformer fit, what takes the memory, how many GPUs, how long, and how do I know?

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(not(target_arch = "wasm32"))]
#[path = "app/native.rs"]
pub mod app;
pub mod catalog;
pub mod charts;
pub mod config;
pub mod estimator;
pub mod import;
pub mod methods;
pub mod ops;
pub mod planner;
pub mod scenario;
pub mod sources;
pub mod units;
