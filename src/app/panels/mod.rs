//! The parts of the page, one component a file.

pub mod bar;
pub mod compare;
pub mod controls;
pub mod cost;
pub mod curves;
pub mod dialogs;
pub mod evidence;
pub mod fixes;
pub mod icon;
pub mod ledger;
pub mod methods;
pub mod notices;
pub mod printed;
pub mod saved;
pub mod sources;
pub mod top_bar;
pub mod verdict;
