//! Lessons: figures that can be asked for, stories made of steps, answers of students, worksheets.
//! Nothing here knows a browser.
//!
//! | part | holds |
//! |---|---|
//! | [`figure`] | the figures of a scenario, each computed by the engine |
//! | [`story`] | stories made of steps: those that ship, one file each, and a lecturer's own |
//! | [`answer`] | what a student typed: read with its unit, compared, and which factor is off |
//! | [`worksheet`] | tasks drawn from a seed, and the code that a student hands in |

pub mod answer;
pub mod figure;
pub mod story;
pub mod worksheet;
