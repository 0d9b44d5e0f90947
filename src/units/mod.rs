//! Quantities with their units: bytes, elements, floating-point operations, rates and seconds.
//!
//! Memory is an exact integer of bytes until it is displayed. Arithmetic saturates instead of
//! wrapping, so that no input, however absurd, can overflow. This room imports nothing.

mod bytes;
mod decimal;
mod dtype;
mod letters;
mod order;
mod quantization;
mod rates;
mod scale;

pub use bytes::{Bytes, Elements, MemoryUnit, rounded_parts};
pub use decimal::decimal;
pub use dtype::DType;
pub use letters::is_of_a_word;
pub use order::sort_short;
pub use quantization::{CacheFormat, WeightFormat};
pub use rates::{
    Flops, FlopsPerSecond, Seconds, ceil_u64, grouped, thousands, to_f64, two_to, whole,
};
pub use scale::{Scale, TimeScale};
