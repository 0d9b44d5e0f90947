//! Memory that passes while a model is loaded.

#![allow(clippy::panic)]

use std::collections::BTreeMap;

use headroom::estimator::{TensorEvent, sequence};
use headroom::scenario::codec::decode;

fn build(link: &str) -> Vec<TensorEvent> {
    let job = decode(link).scenario.resolve();
    let job = job.unwrap_or_else(|problems| panic!("{link}: {problems:?}"));
    sequence(&job).unwrap_or_else(|| panic!("{link}: no order")).build
}

/// Names of tensors that pass while the model is made, with how many of each there are.
fn passing(events: &[TensorEvent]) -> BTreeMap<&'static str, u64> {
    let (mut alive, mut passed) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        match *event {
            TensorEvent::Taken { tensor, name, .. } => {
                assert_eq!(alive.insert(tensor, name), None, "{name}: the number is taken");
            }
            TensorEvent::Freed { tensor } => {
                let name = alive.remove(&tensor);
                assert!(name.is_some(), "tensor {tensor:?} is freed, and nobody took it");
                *passed.entry(name.unwrap_or_default()).or_default() += 1;
            }
            TensorEvent::CacheEmptied => {}
        }
    }
    passed
}

#[test]
fn weights_of_four_bits_are_packed_one_after_another() {
    // Seven linear layers in each of 16 blocks.
    let found = passing(&build("v2&m=llama3.2-1b&do=tune&ft=qlora&n=1"));
    assert_eq!(found.get("weight before it is packed"), Some(&112));
    assert_eq!(found.get("scales before they are packed"), Some(&112));
    assert_eq!(found.get("scales less their mean"), Some(&112));
    let plain = passing(&build("v2&m=llama3.2-1b&do=tune&ft=lora&n=1"));
    assert!(!plain.contains_key("weight before it is packed"));
}
