//! Drawings are well formed, complete and finite, whatever the numbers; colours keep their
//! distance.

use std::fmt::Write as _;

use super::theme::Paint;
use super::{
    BarRow, BarSegment, BarView, CurveView, Frame, Marker, Overlay, Point, Series, TickStyle,
    XScale, bar, curve, svg, swatch,
};
use proptest::prelude::*;

const NAMES: [&str; 7] = [
    "Weights",
    "Gradients",
    "Optimizer states",
    "Activations",
    "KV cache",
    "Temporary",
    "Framework and reserve",
];

/// A training run over sequence length, roughly like an 8B model on an 80 GiB card.
fn sequence_view(points: u32, scale: XScale) -> CurveView {
    let points: Vec<Point> = (1..=points)
        .map(|i| {
            let x = match scale {
                XScale::Linear => f64::from(i) * 32768.0 / f64::from(points),
                XScale::Log2 => (7.0 + f64::from(i) * 10.0 / f64::from(points)).exp2().round(),
            };
            let stack = [15.0, 7.5, 11.2, 0.2 + x * 0.0024, 0.0, 1.0 + x * 0.0004, 1.5];
            Point {
                x,
                x_text: format!("{x}"),
                tick: String::new(),
                total: stack.iter().sum(),
                stack,
                blocked: x > 30_000.0 && scale == XScale::Linear,
            }
        })
        .collect();
    CurveView {
        id: "seq",
        title: "Memory over sequence length".into(),
        x_label: "sequence length (tokens)".into(),
        y_label: "GiB per GPU".into(),
        unit: "GiB",
        series: NAMES
            .iter()
            .enumerate()
            .map(|(kind_index, name)| Series { kind_index, name: (*name).into() })
            .collect(),
        points,
        capacity: 80.0,
        capacity_text: "80 GiB capacity".into(),
        current_x: 8192.0,
        current_text: "59.2 GiB at 8k".into(),
        compare: Vec::new(),
        naive: None,
        best: None,
        scale,
        ticks: TickStyle::Tokens,
        bars: false,
        markers: vec![Marker { x: 15_500.0, text: "longest that fits: 15k".into() }],
    }
}

/// A training run over GPU counts, in steps, with forbidden counts and the plain division.
fn count_view() -> CurveView {
    let counts: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 12.0, 15.0, 16.0, 24.0, 32.0, 64.0];
    let points = counts
        .into_iter()
        .zip(0_u32..)
        .map(|(x, place)| {
            let stack = [15.0, 15.0 / x, 90.0 / x, 22.0, 0.0, 4.0, 1.5];
            let words = format!("{x} GPUs");
            let (total, blocked) = (stack.iter().sum(), x.log2().fract() > 0.0);
            Point {
                x: f64::from(place),
                x_text: words,
                tick: format!("{x}"),
                total,
                stack,
                blocked,
            }
        })
        .collect();
    let line = |extra: f64| {
        counts
            .iter()
            .zip(0_u32..)
            .map(|(x, place)| (f64::from(place), 20.0 + extra + 120.0 / x))
            .collect()
    };
    CurveView {
        id: "gpus",
        x_label: "GPUs".into(),
        points,
        current_x: 6.0,
        current_text: "49.1 GiB on 16".into(),
        compare: ["B", "C", "D"]
            .into_iter()
            .zip([0.0, 8.0, 30.0])
            .map(|(name, extra)| Overlay {
                name: name.into(),
                line: line(extra),
                capacity: Some(64.0 + extra),
            })
            .collect(),
        naive: Some(Overlay { name: "plain division".into(), line: line(15.0), capacity: None }),
        best: Some(Overlay { name: "best layout".into(), line: line(-10.0), capacity: None }),
        scale: XScale::Linear,
        ticks: TickStyle::Plain,
        bars: true,
        markers: Vec::new(),
        ..sequence_view(1, XScale::Linear)
    }
}

fn bar_view(capacity: f64) -> BarView {
    let values = [15.0, 7.5, 11.2, 19.9, 0.0, 4.3, 1.5];
    let segments = |factor: f64| {
        let name = |i: usize| NAMES[i].to_string();
        (0..7)
            .map(|i| BarSegment {
                kind_index: i,
                name: name(i),
                value_text: format!("{:.1} GiB", values[i] * factor),
                value: values[i] * factor,
                action: if factor > 1.5 { format!("open:{i}\"<") } else { String::new() },
                tip: format!("{i} & more"),
            })
            .collect()
    };
    let row = |name: &str, factor: f64, margin: &str| BarRow {
        name: name.into(),
        segments: segments(factor),
        capacity,
        capacity_text: format!("{capacity} GiB"),
        margin_text: margin.into(),
    };
    BarView {
        id: "verdict",
        rows: vec![row("A", 1.0, "20.6 GiB free"), row("B", 1.9, "32.9 GiB too much")],
    }
}

/// The texts of a drawing; panics unless every tag closes and attributes are quoted.
fn check(svg: &str) -> Vec<String> {
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{svg}");
        } else if !tag.ends_with('/') {
            open.push(name);
            if name == "text" || name == "title" {
                texts.push(text.to_string());
                continue;
            }
        }
        assert_eq!(text, "", "only texts hold text");
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
    for bad in ["NaN", "\"inf", ",inf", "\"-inf", "fill=\"#", "stroke=\"#", "style="] {
        assert!(!svg.contains(bad), "{bad} in {svg}");
    }
    texts
}

/// Every number in a `points` attribute, as pairs.
fn places(svg: &str) -> Vec<(f64, f64)> {
    svg.split("points=\"")
        .skip(1)
        .flat_map(|rest| rest.split('"').next().unwrap_or_default().split(' '))
        .filter_map(|pair| pair.split_once(','))
        .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
        .collect()
}

#[test]
fn a_sequence_curve_names_its_layers_capacity_and_current_point() {
    let drawn = curve(&sequence_view(120, XScale::Linear), Frame::WIDE);
    let texts = check(&drawn.svg);
    for wanted in [
        "80 GiB capacity",
        "59.2 GiB at 8k",
        "Activations",
        "Weights",
        "sequence length (tokens)",
        "GiB per GPU",
        "8k",
        "32k",
    ] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted} missing in {texts:?}");
    }
    assert_eq!(drawn.svg.matches("class=\"chart-area\"").count(), 6, "one area per kind in use");
    assert!(!drawn.svg.contains("seq-kv-cache"), "no pattern for an unused kind");
}

#[test]
fn a_count_curve_has_equal_bars_overlays_and_hatched_counts() {
    let drawn = curve(&count_view(), Frame::WIDE);
    let texts = check(&drawn.svg);
    for wanted in ["B", "C", "D", "plain division", "16", "64"] {
        assert!(texts.iter().any(|text| text == wanted), "{wanted} missing in {texts:?}");
    }
    assert_eq!(
        drawn.svg.matches("class=\"chart-blocked\"").count(),
        3,
        "12, 15 and 24 are hatched"
    );
    assert!(!texts.iter().any(|text| text == "cannot run" || text == "Weights"), "{texts:?}");
    let widths: std::collections::BTreeSet<u64> = rectangles(&drawn.svg).into_iter().collect();
    assert!(
        widths.len() <= 2
            && widths.iter().max() <= widths.iter().min().map(|least| least + 1).as_ref(),
        "{widths:?}"
    );
    assert_eq!(
        drawn.svg.matches("class=\"chart-area\"").count(),
        60,
        "six kinds in each of ten bars"
    );
    assert!((drawn.px_to_x(drawn.x_to_px(6.0)) - 6.0).abs() < 1e-6);
}

/// The width of each area that is a rectangle.
fn rectangles(svg: &str) -> Vec<u64> {
    let width = |tag: &str| tag.split(" width=\"").nth(1)?.split('"').next()?.parse().ok();
    svg.split("<rect ")
        .filter(|tag| tag.starts_with("class=\"chart-area\""))
        .filter_map(width)
        .collect()
}

#[test]
fn the_y_axis_keeps_its_height_while_the_stack_changes_little() {
    let height = |total: f64| {
        let mut view = count_view();
        view.compare.clear();
        for point in &mut view.points {
            point.stack = [total, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        }
        curve(&view, Frame::WIDE).y_to_px(80.0)
    };
    for (from, to) in [(10.0, 90.0), (100.0, 120.0), (140.0, 1000.0)] {
        assert!((height(from) - height(to)).abs() < 1e-9, "{from} to {to}");
    }
    assert!(height(90.0) < height(100.0) && height(120.0) < height(140.0));
}

#[test]
fn pointer_positions_and_values_agree_on_both_scales() {
    for scale in [XScale::Linear, XScale::Log2] {
        let drawn = curve(&sequence_view(120, scale), Frame::NARROW);
        for x in [1024.0, 8192.0, 30_000.0] {
            assert!((drawn.px_to_x(drawn.x_to_px(x)) - x).abs() < 1e-6 * x);
        }
        assert!((drawn.px_to_x(-5.0) - drawn.px_to_x(drawn.plot.left)).abs() < 1e-9, "kept inside");
        assert!((drawn.y_to_px(0.0) - drawn.plot.bottom).abs() < 1e-9);
        assert!(drawn.y_to_px(80.0) > drawn.plot.top, "the capacity line is visible");
    }
}

#[test]
fn plotters_and_our_texts_use_the_same_places() {
    let view = sequence_view(2, XScale::Linear);
    let drawn = curve(&view, Frame::WIDE);
    let xs: Vec<f64> = places(&drawn.svg).into_iter().map(|(x, _)| x).collect();
    let (least, most) = xs.iter().fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
    assert!(
        (least - drawn.plot.left).abs() <= 1.0 && (most - drawn.plot.right).abs() <= 1.0,
        "{least} {most} {:?}",
        drawn.plot
    );
    let ys: Vec<f64> = places(&drawn.svg).into_iter().map(|(_, y)| y).collect();
    assert!(ys.iter().all(|y| (drawn.plot.top - 1.0..=drawn.plot.bottom + 1.0).contains(y)));
    assert!(
        ys.iter().any(|y| (y - drawn.y_to_px(80.0)).abs() <= 1.0),
        "the capacity line is where its words are"
    );
}

#[test]
fn the_capacity_line_stays_visible_and_a_cut_stack_says_so() {
    let mut view = sequence_view(120, XScale::Linear);
    view.capacity = 0.5;
    let drawn = curve(&view, Frame::WIDE);
    let share = (drawn.plot.bottom - drawn.y_to_px(0.5)) / (drawn.plot.bottom - drawn.plot.top);
    assert!(share > 0.4, "{share}");
    assert!(check(&drawn.svg).iter().any(|text| text.starts_with("↑ continues to ")));
    view.capacity = 0.0;
    assert!(!curve(&view, Frame::WIDE).svg.contains("chart-capacity\""));
}

#[test]
fn odd_views_still_draw() {
    let full = sequence_view(3, XScale::Log2);
    let empty =
        CurveView { points: Vec::new(), series: Vec::new(), markers: Vec::new(), ..full.clone() };
    let single = CurveView { points: full.points[..1].to_vec(), bars: true, ..full.clone() };
    let mut huge = full.clone();
    for point in &mut huge.points {
        point.stack = [1e18, f64::INFINITY, f64::NAN, -4.0, f64::MAX, 1e18, 0.0];
        point.x *= 1e18;
    }
    let flat = CurveView {
        points: vec![Point::default(); 4],
        scale: XScale::Log2,
        capacity: f64::NAN,
        ..full.clone()
    };
    let compared = CurveView {
        compare: vec![Overlay {
            name: "<B>".into(),
            line: vec![(f64::NAN, 1.0)],
            capacity: Some(f64::INFINITY),
        }],
        ..full
    };
    for view in [&empty, &single, &huge, &flat, &compared] {
        for frame in [Frame::WIDE, Frame::NARROW, Frame::new(0, 0), Frame::new(u16::MAX, u16::MAX)]
        {
            for bars in [false, true] {
                let drawn = curve(&CurveView { bars, ..view.clone() }, frame);
                check(&drawn.svg);
                assert!(drawn.px_to_x(drawn.plot.left).is_finite());
            }
        }
    }
}

#[test]
fn texts_are_escaped() {
    let mut view = sequence_view(40, XScale::Linear);
    view.capacity_text = "<b onload=\"x\">&'\u{7}".into();
    assert!(
        check(&curve(&view, Frame::WIDE).svg)
            .iter()
            .any(|text| text == "&lt;b onload=&quot;x&quot;&gt;&amp;&#39;")
    );
}

#[test]
fn drawing_twice_gives_the_same_bytes() {
    assert_eq!(curve(&count_view(), Frame::WIDE), curve(&count_view(), Frame::WIDE));
}

#[test]
fn bars_are_proportional_labelled_and_mark_what_does_not_fit() {
    let drawn = bar(&bar_view(80.0), 800);
    let texts = check(&drawn);
    for wanted in
        ["80 GiB", "Weights", "15.0 GiB", "Activations", "20.6 GiB free", "32.9 GiB too much"]
    {
        assert!(texts.iter().any(|text| text == wanted), "{wanted} missing in {texts:?}");
    }
    assert_eq!(drawn.matches("class=\"chart-over\"").count(), 1);
    assert_eq!(drawn.matches("class=\"chart-free\"").count(), 1);
    assert_eq!(
        drawn.matches(" data-do=\"open:").count(),
        6,
        "the parts of one of the bars do something"
    );
    assert!(texts.iter().any(|text| text == "0 &amp; more"), "{texts:?}");
    for capacity in [0.0, 1e-12, 1e18, f64::NAN] {
        check(&bar(&bar_view(capacity), 0));
    }
    check(&bar(&BarView { id: "none", rows: Vec::new() }, 320));
}

#[test]
fn every_paint_survives_the_journey_through_plotters() {
    for code in 0..=u8::MAX {
        if let Some(paint) = Paint::from_code(code) {
            assert_eq!(paint.code(), code);
        }
    }
    let paint = svg::colour(Paint::Capacity);
    let raw = format!(
        "<svg width=\"9\">\n<line opacity=\"1\" stroke=\"#{:02X}{:02X}{:02X}\" \
         x1=\"0\"/>\n</svg>\n",
        paint.0, paint.1, paint.2
    );
    assert_eq!(svg::translate(&raw, "a"), "<line class=\"chart-capacity\" x1=\"0\"/>");
}

#[test]
fn every_class_drawn_has_a_rule() {
    let css = include_str!("../../style/charts.css");
    let mut all = curve(&sequence_view(120, XScale::Linear), Frame::WIDE).svg
        + &curve(&count_view(), Frame::WIDE).svg;
    let _ = write!(all, "{}{}", bar(&bar_view(80.0), 640), swatch("legend-activation", 3));
    check(&swatch("legend-activation", 3));
    for class in all
        .split("class=\"")
        .skip(1)
        .flat_map(|rest| rest.split('"').next().unwrap_or_default().split(' '))
    {
        assert!(
            css.contains(&format!(".{class}")) || class == "chart-curve",
            "no rule for {class}"
        );
    }
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 0.0..200.0_f64, 1 => any::<f64>(), 1 => Just(0.0), 1 => Just(1e18)]
}

prop_compose! {
    fn any_view()(
        rows in prop::collection::vec((any_number(), prop::array::uniform7(any_number()), any::<bool>()), 0..30),
        sorted in any::<bool>(), capacity in any_number(), current_x in any_number(), marker in any_number(),
        log in any::<bool>(), plain in any::<bool>(), bars in any::<bool>(), line in prop::collection::vec((any_number(), any_number()), 0..10),
        other_capacity in any_number(),
    ) -> CurveView {
        let mut points: Vec<Point> = rows.into_iter()
            .map(|(x, stack, blocked)| Point { x, x_text: String::new(), tick: x.to_string(), stack, total: stack.iter().sum(), blocked }).collect();
        if sorted { points.sort_by(|a, b| a.x.total_cmp(&b.x)); }
        CurveView {
            points, capacity, current_x, bars,
            scale: if log { XScale::Log2 } else { XScale::Linear },
            ticks: if plain { TickStyle::Plain } else { TickStyle::Tokens },
            compare: vec![Overlay { name: "B".into(), line: line.clone(), capacity: Some(other_capacity) }; 3],
            naive: Some(Overlay { name: "naive".into(), line: line.clone(), capacity: None }),
            best: Some(Overlay { name: "best".into(), line, capacity: None }),
            markers: vec![Marker { x: marker, text: "here".into() }],
            ..sequence_view(1, XScale::Linear)
        }
    }
}

proptest! {
    #[test]
    fn any_view_draws_inside_its_frame(view in any_view(), width in 0..1700_u16, height in 0..1300_u16) {
        let drawn = curve(&view, Frame::new(width, height));
        check(&drawn.svg);
        for (x, y) in places(&drawn.svg) {
            prop_assert!(x >= drawn.plot.left - 1.0 && x <= drawn.plot.right + 1.0, "{} outside", x);
            prop_assert!(y >= drawn.plot.top - 1.0 && y <= drawn.plot.bottom + 1.0, "{} outside", y);
        }
        prop_assert!(drawn.svg.len() < 200_000);
        prop_assert!(drawn.px_to_x(f64::from(width)).is_finite());
    }
}
