//! Small shapes that keep the program small: every further type of memo, list or fragment costs kilobytes of WebAssembly.

use leptos::prelude::*;

/// A memo whose computation is boxed, so that the machinery around it exists once per type of value.
pub fn memo<T: PartialEq + Send + Sync + 'static>(compute: impl Fn() -> T + Send + Sync + 'static) -> Memo<T> {
    boxed(Box::new(compute))
}

fn boxed<T: PartialEq + Send + Sync + 'static>(compute: Box<dyn Fn() -> T + Send + Sync>) -> Memo<T> {
    Memo::new(move |_| compute())
}

/// Views of any kinds as a list of one type.
pub trait Views {
    /// The list.
    fn views(self) -> Vec<AnyView>;
}

impl<V: IntoAny, I: IntoIterator<Item = V>> Views for I {
    fn views(self) -> Vec<AnyView> {
        self.into_iter().map(IntoAny::into_any).collect()
    }
}
