//! Sound: plays samples once, and stops them. Nothing here is made before somebody asks for it.

use gloo_timers::callback::Timeout;
use wasm_bindgen::JsValue;
use web_sys::AudioContext;

use super::browser;

/// Ends what sounds; whether anything did.
pub fn hush() -> bool {
    let playing = browser::replace_tone(None);
    if let Some((context, _)) = &playing {
        let _ = context.close();
    }
    playing.is_some()
}

/// Plays samples, `rate` in a second, for `ms` milliseconds; whether this browser can.
pub fn play(samples: &[f32], rate: u16, ms: u32) -> bool {
    start(samples, rate).is_ok_and(|context| {
        let ended = Timeout::new(ms, || {
            hush();
        });
        browser::replace_tone(Some((context, ended)));
        true
    })
}

fn start(samples: &[f32], rate: u16) -> Result<AudioContext, JsValue> {
    let context = AudioContext::new()?;
    let buffer =
        context.create_buffer(1, u32::try_from(samples.len()).unwrap_or(0), f32::from(rate))?;
    buffer.copy_to_channel(samples, 0)?;
    let source = context.create_buffer_source()?;
    source.set_buffer(Some(&buffer));
    source.connect_with_audio_node(&context.destination())?;
    source.start()?;
    Ok(context)
}
