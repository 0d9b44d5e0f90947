//! The catalog's data files.
use headroom::catalog::{accelerators, models};

#[test]
fn every_row_can_be_read() {
    assert_eq!(models().len(), 49);
    assert_eq!(accelerators().len(), 51);
}
