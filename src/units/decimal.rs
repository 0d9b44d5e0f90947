//! Decimal numbers from text.

/// Returns the number that a text of digits with a dot or an exponent stands for; `None` for any
/// other text.
///
/// ```
/// assert_eq!(headroom::units::decimal("12e-1"), Some(1.2));
/// assert_eq!(headroom::units::decimal("twelve"), None);
/// ```
pub fn decimal(text: &str) -> Option<f64> {
    let is_number =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+');
    if !text.bytes().all(is_number) {
        return None;
    }
    // The browser's reader is used, because the library's would bring 12 kB of tables into the
    // page.
    #[cfg(target_arch = "wasm32")]
    let number = js_sys::Number::parse_float(text);
    #[cfg(not(target_arch = "wasm32"))]
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(number)
}
