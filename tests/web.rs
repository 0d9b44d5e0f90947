//! What must hold inside a real browser: the library compiled to WebAssembly.

#![cfg(target_arch = "wasm32")]

use headroom::units::{Bytes, DType, Elements, MemoryUnit};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// `usize` has 32 bits here: sizes above 4 GiB must still be exact.
#[wasm_bindgen_test]
fn memory_is_exact_beyond_32_bits() {
    let weights = Elements::of([7_000_000_000]).stored_as(DType::Bf16);
    assert_eq!(weights, Bytes(14_000_000_000));
    assert_eq!(MemoryUnit::Gb.show(weights), "14.0 GB");
}
