//! A curve as sound: it runs from left to right in three seconds, with the pitch as high as the
//! line stands in the picture.

/// Samples in a second.
pub const SAMPLE_RATE: u16 = 22_050;

/// The length of the sound, seconds.
pub const SECONDS: u8 = 3;

/// Pitch at the lower and at the upper edge of the picture, Hz: two octaves, A3 to A5.
const PITCH: (f64, f64) = (220.0, 880.0);
/// Pitch of the click where the line crosses capacity, Hz, and its length, seconds.
const CLICK: (f64, f64) = (1760.0, 0.03);
/// The largest sample, well below full loudness.
const LOUD: f64 = 0.22;
/// Share of the largest sample where a rule forbids the point.
const FORBIDDEN: f64 = 0.3;
/// Time in which the sound swells at its start and fades at its end, seconds.
const SWELL: f64 = 0.02;

/// A point of a curve, as it stands in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Note {
    /// Place from left (0) to right (1).
    pub at: f64,
    /// Height of the total from the lower edge (0) to the upper (1).
    pub height: f64,
    /// True if a rule forbids the point.
    pub blocked: bool,
}

/// The pitch of a height in the picture, Hz; equal steps of height are equal steps of pitch.
pub fn pitch(height: f64) -> f64 {
    // `powf` is not used: for a constant base the compiler makes it `exp2`, whose table takes four
    // kilobytes.
    PITCH.0 * ((PITCH.1 / PITCH.0).ln() * height.clamp(0.0, 1.0)).exp()
}

/// Returns the sound of a curve: samples between -1 and 1, [`SAMPLE_RATE`] in a second, [`SECONDS`]
/// long; empty for a curve without points.
///
/// The tone is soft below the height of `capacity` and rough above it, with a click where the curve
/// crosses it; it is quiet where a rule forbids the point. `stairs` holds each point's height until
/// the next point is nearer, instead of gliding.
pub fn tone(notes: &[Note], capacity: f64, stairs: bool) -> Vec<f32> {
    let rate = f64::from(SAMPLE_RATE);
    let length = u32::from(SAMPLE_RATE) * u32::from(SECONDS);
    let (Some(first), Some(last)) = (notes.first(), notes.last()) else { return Vec::new() };
    let mut samples = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let (mut phase, mut click, mut was_over) = (0.0_f64, 0.0_f64, first.height > capacity);
    for number in 0..length {
        let share = f64::from(number) / f64::from(length);
        let note = heard(notes, first.at + (last.at - first.at) * share, stairs);
        let over = note.height > capacity;
        if over != was_over {
            (was_over, click) = (over, CLICK.1);
        }
        let (pitch, rough) = if click > 0.0 { (CLICK.0, true) } else { (pitch(note.height), over) };
        click -= 1.0 / rate;
        phase = (phase + pitch / rate).fract();
        let loud = if note.blocked { LOUD * FORBIDDEN } else { LOUD };
        let seconds = f64::from(number) / rate;
        let swell = (seconds.min(f64::from(SECONDS) - seconds) / SWELL).min(1.0);
        samples.push(narrow(wave(phase, rough) * loud * swell));
    }
    samples
}

/// One period: two arcs of a parabola, nearly a sine; the rough tone's arcs are cut off flat.
fn wave(phase: f64, rough: bool) -> f64 {
    let u = 2.0 * phase - 1.0;
    let soft = 4.0 * u * (1.0 - u.abs());
    if rough { (6.0 * soft).clamp(-0.8, 0.8) } else { soft }
}

/// The note at a place: in height between two points, or that of the nearest.
fn heard(notes: &[Note], at: f64, stairs: bool) -> Note {
    let nothing = Note { at, height: 0.0, blocked: false };
    let next = notes.partition_point(|note| note.at <= at);
    let right = notes.get(next).or(notes.last()).copied().unwrap_or(nothing);
    let left = next.checked_sub(1).and_then(|last| notes.get(last)).copied().unwrap_or(right);
    let gap = right.at - left.at;
    let share = if gap > 0.0 { (at - left.at) / gap } else { 0.0 };
    let nearest = if share < 0.5 { left } else { right };
    if stairs {
        nearest
    } else {
        Note { height: left.height + (right.height - left.height) * share, ..nearest }
    }
}

/// The nearest single-precision number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "samples are single precision, and between -1 and 1"
)]
const fn narrow(sample: f64) -> f32 {
    sample as f32
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // of small whole numbers
mod tests {
    use super::{LOUD, Note, SAMPLE_RATE, SECONDS, pitch, tone};
    use proptest::prelude::*;

    fn note(at: f64, height: f64) -> Note {
        Note { at, height, blocked: false }
    }

    /// Pitch of a stretch of sound, given in seconds, by counting how often it rises through zero.
    fn measured(samples: &[f32], from: f64, to: f64) -> f64 {
        let rate = f64::from(SAMPLE_RATE);
        let inside = |index: usize| (from..to).contains(&(index as f64 / rate));
        let rises: Vec<f64> = samples
            .windows(2)
            .enumerate()
            .filter(|(index, pair)| inside(*index) && pair[0] < 0.0 && pair[1] >= 0.0)
            .map(|(index, _)| index as f64)
            .collect();
        (rises.len() as f64 - 1.0) * rate / (rises[rises.len() - 1] - rises[0])
    }

    fn loudest(samples: &[f32], from: f64, to: f64) -> f32 {
        let at = |seconds: f64| (seconds * f64::from(SAMPLE_RATE)) as usize;
        samples[at(from)..at(to)].iter().fold(0.0, |most, sample| most.max(sample.abs()))
    }

    #[test]
    fn the_pitch_goes_up_two_octaves_with_the_height() {
        assert_eq!((pitch(0.0), pitch(0.5), pitch(1.0)), (220.0, 440.0, 880.0));
        assert_eq!((pitch(-1.0), pitch(9.0)), (220.0, 880.0));
        assert!(pitch(0.31) < pitch(0.32));
    }

    #[test]
    fn a_level_curve_sounds_at_its_height_for_three_seconds() {
        let samples = tone(&[note(0.0, 0.5), note(1.0, 0.5)], 0.9, false);
        assert_eq!(samples.len(), usize::from(SAMPLE_RATE) * usize::from(SECONDS));
        assert!((measured(&samples, 0.1, 2.9) - 440.0).abs() < 1.0);
    }

    #[test]
    fn a_rising_curve_rises_and_turns_rough_with_a_click_where_it_crosses_capacity() {
        let samples = tone(&[note(0.0, 0.0), note(1.0, 1.0)], 0.5, false);
        let heard = [0.2, 0.7, 1.2, 1.7, 2.2, 2.7].map(|at| measured(&samples, at, at + 0.1));
        assert!(heard.windows(2).all(|pair| pair[0] < pair[1]), "{heard:?}");
        for (at, heard) in [0.25, 0.75, 1.25, 1.75, 2.25, 2.75].into_iter().zip(heard) {
            let expected = pitch(at / 3.0);
            assert!(
                (heard / expected - 1.0).abs() < 0.03,
                "{heard} at {at} s instead of {expected}"
            );
        }
        assert!((measured(&samples, 1.501, 1.529) - 1760.0).abs() < 20.0, "the click");
        // A soft arc is rarely near its top; a rough one nearly always.
        let full = |from: f64, to: f64| {
            let most = loudest(&samples, from, to);
            let at = |seconds: f64| (seconds * f64::from(SAMPLE_RATE)) as usize;
            let stretch = &samples[at(from)..at(to)];
            stretch.iter().filter(|sample| sample.abs() > 0.95 * most).count() as f64
                / stretch.len() as f64
        };
        assert!(
            full(0.5, 1.4) < 0.3 && full(1.6, 2.5) > 0.7,
            "{} {}",
            full(0.5, 1.4),
            full(1.6, 2.5)
        );
    }

    #[test]
    fn stairs_hold_their_height_and_forbidden_points_are_quiet() {
        let notes = [note(0.0, 1.0), Note { blocked: true, ..note(0.5, 0.5) }, note(1.0, 0.0)];
        let samples = tone(&notes, 1.0, true);
        for (from, to, expected) in [(0.1, 0.7, 880.0), (0.8, 2.2, 440.0), (2.3, 2.9, 220.0)] {
            assert!((measured(&samples, from, to) - expected).abs() < 2.0, "{expected}");
        }
        assert!(loudest(&samples, 0.8, 2.2) < 0.5 * loudest(&samples, 0.1, 0.7));
    }

    #[test]
    fn no_points_are_silence_and_one_point_is_a_tone() {
        assert!(tone(&[], 0.5, false).is_empty());
        assert!((measured(&tone(&[note(0.4, 1.0)], 1.0, false), 0.1, 2.9) - 880.0).abs() < 1.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn whatever_the_curve_no_sample_is_loud_or_none(
            heights in prop::collection::vec((-0.5_f64..1.5, any::<bool>()), 1..30),
            capacity in 0.0_f64..1.0,
            stairs in any::<bool>(),
        ) {
            let notes: Vec<Note> = heights
                .iter()
                .enumerate()
                .map(|(index, (height, blocked))| Note { at: index as f64 / 30.0, height: *height, blocked: *blocked })
                .collect();
            let samples = tone(&notes, capacity, stairs);
            prop_assert!(samples.iter().all(|sample| sample.is_finite() && f64::from(sample.abs()) <= LOUD + 1e-6));
            prop_assert_eq!(samples.first().copied().map(f32::abs), Some(0.0));
        }
    }
}
