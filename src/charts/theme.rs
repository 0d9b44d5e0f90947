//! The look of a mark: a class name for the stylesheet and, for areas, a pattern besides the
//! colour.

use std::fmt::Write as _;

use super::KINDS;
use super::svg::K;

/// The part of a class or pattern name that stands for each kind of memory, in stacking order.
pub const KIND_SLUGS: [&str; KINDS] = [
    "parameter",
    "gradient",
    "optimizer-state",
    "activation",
    "kv-cache",
    "temporary",
    "framework",
];

/// The lines or dots of each kind's pattern in a 10 × 10 tile; weights are plain.
const MARKS: [&str; KINDS] = [
    "",
    "M-1 6L6-1M4 11L11 4",                    // rising lines
    "M0 5H10",                                // level lines
    "M2.5 2.5h.01M7.5 7.5h.01",               // dots (zero-length strokes with round caps)
    "M-1 4L6 11M4-1L11 6",                    // falling lines
    "M-1 6L6-1M4 11L11 4M-1 4L6 11M4-1L11 6", // crossed lines
    "M5 0V10",                                // upright lines
];

/// Every paint that plotters is asked to draw with. Plotters knows only colours, so each paint
/// travels as a colour of its own and is turned into a class by [`super::svg::translate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// The area of one kind of memory.
    Kind(usize),
    /// Horizontal grid lines.
    Grid,
    /// The line at zero.
    Axis,
    /// The faint background above capacity.
    OverTint,
    /// The hatch above capacity, over the areas.
    OverHatch,
    /// The capacity line.
    Capacity,
    /// Points that a rule forbids.
    Blocked,
    /// The total of a scenario that is compared with: the first, second or third.
    Compare(u8),
    /// The capacity of such a scenario's GPU.
    CompareCapacity,
    /// The plain division.
    Naive,
    /// The least that any layout takes.
    Best,
    /// A vertical line at a remarkable x.
    Marker,
    /// The vertical line at the current x.
    Now,
    /// The dot at the current total.
    NowDot,
    /// The ground on both sides of a line that carries meaning, so that the line stands out on any
    /// area.
    Casing,
}

impl Paint {
    /// All paints that are not a kind; their codes follow the kinds.
    const OTHERS: [Self; 16] = [
        Self::Grid,
        Self::Axis,
        Self::OverTint,
        Self::OverHatch,
        Self::Capacity,
        Self::Blocked,
        Self::Compare(0),
        Self::Compare(1),
        Self::Compare(2),
        Self::CompareCapacity,
        Self::Naive,
        Self::Best,
        Self::Marker,
        Self::Now,
        Self::NowDot,
        Self::Casing,
    ];

    /// The number that stands for this paint in a colour.
    pub(super) fn code(self) -> u8 {
        let index = match self {
            Self::Kind(kind) => kind,
            other => Self::OTHERS.iter().position(|paint| *paint == other).unwrap_or(0) + KINDS,
        };
        u8::try_from(index).unwrap_or(0)
    }

    /// The paint of a code.
    pub(super) fn from_code(code: u8) -> Option<Self> {
        let index = usize::from(code);
        if index < KINDS {
            Some(Self::Kind(index))
        } else {
            Self::OTHERS.get(index - KINDS).copied()
        }
    }

    /// The attributes that replace the colour, for a chart with that id.
    pub(super) fn attributes(self, id: &str) -> String {
        let class = match self {
            Self::Kind(kind) => {
                return format!("class=\"chart-area\" fill=\"url(#{id}-{})\"", slug(kind));
            }
            Self::OverHatch => return format!("class=\"chart-over\" fill=\"url(#{id}-over)\""),
            Self::Blocked => return format!("class=\"chart-blocked\" fill=\"url(#{id}-blocked)\""),
            Self::Grid => "grid",
            Self::Axis => "axis",
            Self::OverTint => "over-tint",
            Self::Capacity => "capacity",
            Self::Compare(0) => "compare",
            Self::Compare(1) => "compare-c",
            Self::Compare(_) => "compare-d",
            Self::CompareCapacity => "compare-capacity",
            Self::Naive => "naive",
            Self::Best => "best",
            Self::Marker => "marker",
            Self::Now => "now",
            Self::NowDot => "now-dot",
            Self::Casing => "casing",
        };
        format!("class=\"chart-{class}\"")
    }
}

/// The name part of a kind, or of the last kind when there is no such kind.
pub(super) fn slug(kind: usize) -> &'static str {
    KIND_SLUGS.get(kind).copied().unwrap_or("framework")
}

/// The pattern of one kind, `tile` viewBox units wide.
fn kind_pattern(out: &mut String, id: &str, kind: usize, tile: f64) {
    let (slug, marks) = (slug(kind), MARKS.get(kind).copied().unwrap_or_default());
    let scale = tile / 10.0;
    let _ = write!(
        out,
        "<pattern id=\"{id}-{slug}\" width=\"10\" height=\"10\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"scale({scale})\"><rect class=\"kind-{slug}\" width=\"10\" \
         height=\"10\"/>"
    );
    if !marks.is_empty() {
        let _ = write!(out, "<path class=\"chart-marks kind-{slug}\" d=\"{marks}\"/>");
    }
    out.push_str("</pattern>");
}

/// The definitions of one chart: a pattern for each kind in use, and the two hatches. Ids begin
/// with the chart's id.
pub(super) fn definitions(id: &str, kinds: [bool; KINDS]) -> String {
    let mut out = String::from("<defs>");
    for kind in (0..KINDS).filter(|kind| kinds.get(*kind).copied().unwrap_or(false)) {
        kind_pattern(&mut out, id, kind, 8.0 * K);
    }
    for (name, marks) in [("over", "M-1 6L6-1M4 11L11 4"), ("blocked", "M-1 4L6 11M4-1L11 6")] {
        let _ = write!(
            out,
            "<pattern id=\"{id}-{name}\" width=\"10\" height=\"10\" \
             patternUnits=\"userSpaceOnUse\" patternTransform=\"scale({K})\"><rect \
             class=\"chart-{name}-ground\" width=\"10\" height=\"10\"/><path \
             class=\"chart-{name}-marks\" d=\"{marks}\"/></pattern>"
        );
    }
    out.push_str("</defs>");
    out
}

/// Returns the small square of one kind for a legend or a table row as SVG text, in the colour and
/// pattern of the charts.
///
/// `id` must be unique on the page and a plain word; an unknown kind gives the last one.
pub fn swatch(id: &str, kind_index: usize) -> String {
    let id = super::svg::safe_id(id);
    let mut defs = String::new();
    kind_pattern(&mut defs, &id, kind_index.min(KINDS - 1), 6.0);
    format!(
        "<svg class=\"chart chart-swatch\" viewBox=\"0 0 14 14\" width=\"14\" height=\"14\" \
         aria-hidden=\"true\" focusable=\"false\"><defs>{defs}</defs><rect \
         class=\"chart-swatch-area\" x=\".5\" y=\".5\" width=\"13\" height=\"13\" rx=\"2\" \
         fill=\"url(#{id}-{})\"/></svg>",
        slug(kind_index)
    )
}

/// The small square of what a rule forbids, hatched as its bar is. `id` must be unique on the page
/// and a plain word.
pub fn hatch(id: &str) -> String {
    let id = super::svg::safe_id(id);
    format!(
        "<svg class=\"chart chart-swatch\" viewBox=\"0 0 14 14\" width=\"14\" height=\"14\" \
         aria-hidden=\"true\" focusable=\"false\"><defs><pattern id=\"{id}-blocked\" width=\"6\" \
         height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"chart-blocked-marks \
         chart-blocked-key\" d=\"M-1 2L4 7M2-1L7 4\"/></pattern></defs><rect \
         class=\"chart-blocked-swatch\" x=\".5\" y=\".5\" width=\"13\" height=\"13\" rx=\"2\" \
         fill=\"url(#{id}-blocked)\"/></svg>"
    )
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic)] // a test fails by panicking
mod tests {
    use super::KIND_SLUGS;

    /// The opening of each block of the stylesheets that sets colours: light, dark by the system,
    /// dark by the reader.
    const THEMES: [&str; 3] =
        ["\n:root {", ":root:not([data-theme=\"light\"]) {", ":root[data-theme=\"dark\"] {"];

    /// A custom property of one theme as linear red, green and blue; of the first block where the
    /// theme's own does not set it.
    fn property(css: &str, opening: &str, name: &str) -> [f64; 3] {
        let set = |opening: &str| {
            let block = css.split(opening).nth(1)?.split('}').next()?;
            block.split(&format!("{name}: #")).nth(1)?.split(';').next()
        };
        let hex = set(opening).or_else(|| set(THEMES[0])).unwrap_or_else(|| panic!("{name}"));
        let hex = if hex.len() == 3 {
            hex.chars().flat_map(|c| [c, c]).collect()
        } else {
            hex.to_string()
        };
        [0, 2, 4].map(|at| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Colours of one theme: page, kinds, and words on kinds.
    fn palette(css: &str, opening: &str) -> ([f64; 3], Vec<[f64; 3]>, Vec<[f64; 3]>) {
        let each = |prefix: &str| {
            KIND_SLUGS
                .iter()
                .map(|slug| property(css, opening, &format!("--{prefix}-{slug}")))
                .collect()
        };
        (property(css, opening, "--chart-page"), each("kind"), each("ink"))
    }

    fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
        let light = |c: [f64; 3]| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] + 0.05;
        (light(a) / light(b)).max(light(b) / light(a))
    }

    /// Distance in Oklab (Ottosson 2020) as seen with one kind of sight (Machado, Oliveira and
    /// Fernandes 2009, severity 1).
    fn distance(a: [f64; 3], b: [f64; 3], sight: [[f64; 3]; 3]) -> f64 {
        let row = |m: [f64; 3], c: [f64; 3]| m[0] * c[0] + m[1] * c[1] + m[2] * c[2];
        let lab = |c: [f64; 3]| {
            let seen = sight.map(|m| row(m, c).clamp(0.0, 1.0));
            let cone = [
                [0.412_221_47, 0.536_332_54, 0.051_445_99],
                [0.211_903_5, 0.680_699_55, 0.107_396_96],
                [0.088_302_46, 0.281_718_84, 0.629_978_7],
            ]
            .map(|m| row(m, seen).cbrt());
            [
                [0.210_454_26, 0.793_617_79, -0.004_072_05],
                [1.977_998_5, -2.428_592_2, 0.450_593_71],
                [0.025_904_04, 0.782_771_77, -0.808_675_77],
            ]
            .map(|m| row(m, cone))
        };
        let (a, b) = (lab(a), lab(b));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn colours_are_readable_and_apart_in_both_themes() {
        let css = include_str!("../../style/charts.css");
        let sights = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ];
        for opening in THEMES {
            let (page, kinds, inks) = palette(css, opening);
            for (i, kind) in kinds.iter().enumerate() {
                assert!(
                    contrast(*kind, page) >= 3.0,
                    "{opening} {}: {:.2} against the page",
                    KIND_SLUGS[i],
                    contrast(*kind, page)
                );
                assert!(
                    contrast(*kind, inks[i]) >= 4.5,
                    "{opening} {}: {:.2} for words",
                    KIND_SLUGS[i],
                    contrast(*kind, inks[i])
                );
                for (j, other) in kinds.iter().enumerate().skip(i + 1) {
                    for sight in sights {
                        let apart = distance(*kind, *other, sight);
                        assert!(
                            apart > 0.085,
                            "{opening} {} and {}: {apart:.3}",
                            KIND_SLUGS[i],
                            KIND_SLUGS[j]
                        );
                    }
                }
            }
        }
        assert_eq!(
            palette(css, THEMES[1]).1,
            palette(css, THEMES[2]).1,
            "both ways into the dark theme agree"
        );
    }

    /// Lines that carry meaning stand on a casing in the page's colour (`Paint::Casing`), whatever
    /// area they cross.
    #[test]
    fn lines_stand_out_in_both_themes() {
        let charts = include_str!("../../style/charts.css");
        let tokens = include_str!("../../style/tokens.css");
        for opening in THEMES {
            let page = property(charts, opening, "--chart-page");
            let lines = ["--chart-danger", "--chart-ink", "--chart-muted", "--chart-axis"]
                .map(|name| (charts, name));
            for (css, name) in lines.into_iter().chain([(tokens, "--accent")]) {
                let contrast = contrast(property(css, opening, name), page);
                assert!(contrast >= 3.0, "{opening} {name}: {contrast:.2} against the page");
            }
        }
    }

    /// Where colour does not tell kinds apart, as in forced colours, their patterns do.
    #[test]
    fn every_kind_has_a_pattern_of_its_own() {
        let different: std::collections::BTreeSet<_> = super::MARKS.iter().collect();
        assert_eq!(different.len(), KIND_SLUGS.len());
    }
}
