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
    use headroom::app::{App, parts_written};
    use headroom::scenario::codec::Decoded;
    use leptos::prelude::*;
    use wasm_bindgen::JsCast as _;
    use wasm_bindgen_test::wasm_bindgen_test;
    use web_sys::{Event, HtmlElement, HtmlInputElement};

    fn find<T: wasm_bindgen::JsCast>(selector: &str) -> T {
        let found = document().query_selector(selector).ok().flatten();
        found
            .and_then(|element| element.dyn_into().ok())
            .unwrap_or_else(|| panic!("{selector} is on the page"))
    }

    fn text(selector: &str) -> String {
        find::<HtmlElement>(selector).text_content().unwrap_or_default()
    }

    async fn timer() {
        wait(0).await;
    }

    async fn wait(ms: i32) {
        let later = js_sys::Promise::new(&mut |done, _| {
            window()
                .set_timeout_with_callback_and_timeout_and_arguments_0(&done, ms)
                .expect("a timer");
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
        assert_eq!(
            find::<HtmlInputElement>("#f-s").get_attribute("aria-invalid").as_deref(),
            Some("true")
        );
        assert!(
            text("[data-testid=verdict]").contains("Last valid answer"),
            "{}",
            text("[data-testid=verdict]")
        );
        type_into("#f-s", "8192").await;
        assert_eq!(text("[data-testid=verdict]"), before);
        a_pointer_on_a_curve_writes_one_part().await;
        one_more_letter_of_nonsense_writes_one_part().await;
    }

    /// Counts the parts that are written while something happens, once the page has come to rest.
    async fn written_by(happens: &str) -> u32 {
        wait(500).await;
        let before = parts_written();
        js_sys::eval(happens).expect("it happens");
        wait(500).await;
        parts_written() - before
    }

    async fn a_pointer_on_a_curve_writes_one_part() {
        let at = |share: f64| {
            format!(
                "{{ const plot = document.getElementById('plot-seq'), area = plot.getBoundingClientRect();
                plot.dispatchEvent(new PointerEvent('pointermove', {{ bubbles: true, clientX: area.left + {share} * area.width }})); }}"
            )
        };
        assert_eq!(written_by(&at(0.3)).await, 1);
        assert_eq!(written_by(&at(0.7)).await, 1);
    }

    async fn one_more_letter_of_nonsense_writes_one_part() {
        let typed = |text: &str| {
            format!(
                "{{ const input = document.getElementById('f-s'); input.value = '{text}';
                input.dispatchEvent(new Event('input', {{ bubbles: true }})); }}"
            )
        };
        // The first letter makes the answer an earlier one, which most parts say.
        assert!(written_by(&typed("x")).await > 1);
        assert_eq!(written_by(&typed("xy")).await, 1);
    }
}
