//! Lessons: figures that can be asked for, stories made of steps, answers of students, worksheets. No browser in here.
//!
//! | part | holds |
//! |---|---|
//! | [`figure`] | the figures of a scenario, each computed by the engine |
//! | [`story`] | stories made of steps: eight that ship, and a lecturer's own |

pub mod figure;
pub mod story;
