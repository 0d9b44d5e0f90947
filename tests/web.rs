//! Tests of the library compiled to WebAssembly, inside a real browser.

#![cfg(target_arch = "wasm32")]
#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

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

mod page {
    use headroom::app::App;
    use headroom::scenario::codec::Decoded;
    use leptos::prelude::*;
    use wasm_bindgen::JsCast as _;
    use wasm_bindgen_test::wasm_bindgen_test;
    use web_sys::{Event, HtmlElement, HtmlInputElement};

    fn find<T: wasm_bindgen::JsCast>(selector: &str) -> T {
        let found = document().query_selector(selector).ok().flatten();
        found.and_then(|element| element.dyn_into().ok()).unwrap_or_else(|| panic!("{selector} is on the page"))
    }

    fn text(selector: &str) -> String {
        find::<HtmlElement>(selector).text_content().unwrap_or_default()
    }

    async fn timer() {
        let later = js_sys::Promise::new(&mut |done, _| {
            window().set_timeout_with_callback(&done).expect("a timer");
        });
        wasm_bindgen_futures::JsFuture::from(later).await.expect("time passes");
    }

    async fn type_into(selector: &str, value: &str) {
        let input: HtmlInputElement = find(selector);
        input.set_value(value);
        let event = Event::new("input").expect("an event");
        input.dispatch_event(&event).expect("dispatched");
        leptos::task::tick().await;
    }

    /// Typing changes the answer. A text that cannot be read gets a message beside its field, and
    /// the last answer stays, marked as the last one.
    #[wasm_bindgen_test]
    async fn typing_changes_the_answer_and_nonsense_says_so() {
        leptos::mount::mount_to_body(|| view! { <App decoded=Decoded::default() /> });
        // The page is built part by part, each after a timer of its own.
        for _ in 0..8 {
            timer().await;
        }
        let before = text("[data-testid=verdict]");
        assert!(before.starts_with("Fits. Training Llama 3 8B on 8 × H100 SXM5"), "{before}");
        type_into("#f-s", "64k").await;
        let longer = text("[data-testid=verdict]");
        assert_ne!(before, longer);
        type_into("#f-s", "nonsense").await;
        assert_eq!(find::<HtmlInputElement>("#f-s").get_attribute("aria-invalid").as_deref(), Some("true"));
        assert!(text("[data-testid=verdict]").contains("Last valid answer"), "{}", text("[data-testid=verdict]"));
        type_into("#f-s", "8192").await;
        assert_eq!(text("[data-testid=verdict]"), before);
    }
}
