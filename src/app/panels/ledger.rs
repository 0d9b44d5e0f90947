//! Where the memory goes: kind, item, tensor, each with its source. Parts add up to the total as printed.

use leptos::prelude::*;

use crate::app::state::{State, state};
use crate::app::ui::{Views, memo};
use crate::app::words::{Scale, percent, whole};
use crate::charts;
use crate::estimator::{Certainty, Estimate, LineItem, MemoryKind, TensorLine};
use crate::units::{Bytes, MemoryUnit};

/// Ids of the kinds' swatches in this table.
const SWATCHES: [&str; 7] = ["row-p", "row-g", "row-o", "row-a", "row-k", "row-t", "row-f"];

/// How deep a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Level {
    Kind,
    Item,
    Tensor,
}

/// One row of the table, finished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Row {
    level: Level,
    /// What opens it: also part of its identity.
    path: String,
    slug: &'static str,
    kind: usize,
    label: String,
    note: &'static str,
    bytes: String,
    share: String,
    certainty: Option<(&'static str, &'static str)>,
    source: String,
    opens: bool,
}

/// The table.
#[component]
pub fn LedgerTable() -> impl IntoView {
    let state = state();
    // The largest kind starts open: it shows what is behind a line.
    let open = RwSignal::new(state.estimate.with_untracked(largest).into_iter().collect::<Vec<String>>());
    let rows = memo(move || open.with(|open| rows(state, open)));
    let total = memo(move || state.estimate.with(|estimate| totals(estimate, state.unit.get())));
    let toggle = move |path: &str| {
        open.update(|open| match open.iter().position(|known| known == path) {
            Some(at) => _ = open.swap_remove(at),
            None => open.push(path.to_owned()),
        });
    };
    let is_open = move |path: &str| open.with(|open| open.iter().any(|known| known == path));
    view! {
        <table class="table ledger" data-testid="ledger">
            <thead>
                <tr>
                    <th scope="col">"Part"</th>
                    <th scope="col" class="num">"Memory"</th>
                    <th scope="col" class="num">"Share"</th>
                    <th scope="col">"How sure, and from where"</th>
                </tr>
            </thead>
            <tbody>
                {move || {
                    rows.get()
                        .into_iter()
                        .map(|row| {
                            let path = StoredValue::new(row.path.clone());
                            row_view(row, move || path.with_value(|path| is_open(path)), move || path.with_value(|path| toggle(path)))
                        })
                        .views()
                }}
            </tbody>
            <tfoot>
                <tr class="table__total">
                    <th scope="row">"Total"</th>
                    <td class="num" data-testid="total">{move || total.with(|total| total.0.clone())}</td>
                    <td class="num ledger__share">{move || total.with(|total| total.1.clone())}</td>
                    <td class="ledger__source">{move || total.with(|total| total.2.clone())}</td>
                </tr>
            </tfoot>
        </table>
    }
    .into_any()
}

/// The path of the kind that takes most.
fn largest(estimate: &Estimate) -> Option<String> {
    MemoryKind::ALL.into_iter().max_by_key(|kind| estimate.ledger.of(*kind)).map(|kind| kind.name().to_owned())
}

/// One row: a button where something is behind it.
fn row_view(row: Row, is_open: impl Fn() -> bool + Copy + Send + 'static, toggle: impl Fn() + 'static) -> AnyView {
    let (class, top) = match row.level {
        Level::Kind => ("ledger__kind", true),
        Level::Item => ("ledger__item", false),
        Level::Tensor => ("ledger__tensor", false),
    };
    let swatch = top.then(|| view! { <span class="swatch" inner_html=charts::swatch(row.slug, row.kind)></span> }.into_any());
    let note = (!row.note.is_empty()).then(|| view! { <span class="ledger__note">{row.note}</span> }.into_any());
    let name = if row.opens {
        view! {
            <button type="button" class="ledger__toggle" aria-expanded=move || is_open().to_string() on:click=move |_| toggle()>
                {swatch}
                {row.label}
            </button>
        }
        .into_any()
    } else {
        view! { <span class="ledger__name">{swatch} {row.label}</span> }.into_any()
    };
    let tag = row.certainty.map(|(class, name)| view! { <span class=format!("tag tag--{class}")>{name}</span> }.into_any());
    view! {
        <tr class=class>
            <th scope="row">{name} {note}</th>
            <td class="num">{row.bytes}</td>
            <td class="num ledger__share">{row.share}</td>
            <td class="ledger__source">{tag} " " {row.source}</td>
        </tr>
    }
    .into_any()
}

/// Total, share of the capacity, and when the peak is.
fn totals(estimate: &Estimate, unit: MemoryUnit) -> (String, String, String) {
    let scale = Scale::of(unit, estimate.total(), estimate.capacity);
    let of = format!("{} of {} {unit}", percent(estimate.total(), estimate.capacity), scale.show(estimate.capacity));
    (format!("{} {unit}", scale.show(estimate.total())), of, format!("at the peak: {}", estimate.peak_moment))
}

/// All rows in view: kinds, and what is open under them.
fn rows(state: State, open: &[String]) -> Vec<Row> {
    let unit = state.unit.get();
    state.estimate.with(|estimate| {
        let scale = Scale::of(unit, estimate.total(), estimate.capacity);
        let lines = &estimate.ledger.lines;
        let bytes: Vec<Bytes> = lines.iter().map(|line| line.bytes).collect();
        // Rounded once for all lines together: kinds are sums of what is printed under them.
        let rounded: Vec<(&LineItem, u64)> = lines.iter().zip(scale.parts(&bytes).0).collect();
        let total = estimate.total();
        let mut rows = Vec::new();
        for kind in MemoryKind::ALL {
            let of_kind: Vec<_> = rounded.iter().filter(|(line, _)| line.kind == kind).copied().collect();
            if of_kind.is_empty() {
                continue;
            }
            let row = kind_row(kind, &of_kind, estimate.ledger.of(kind), total, scale);
            let path = row.path.clone();
            rows.push(row);
            if open.contains(&path) {
                item_rows(&mut rows, &of_kind, open, total, scale);
            }
        }
        rows
    })
}

fn kind_row(kind: MemoryKind, lines: &[(&LineItem, u64)], bytes: Bytes, total: Bytes, scale: Scale) -> Row {
    let least = lines.iter().map(|(line, _)| line.certainty).max_by_key(|certainty| *certainty as u8);
    let count = lines.len();
    Row {
        level: Level::Kind,
        path: kind.name().to_owned(),
        slug: SWATCHES[kind.index()],
        kind: kind.index(),
        label: kind.name().to_owned(),
        note: "",
        bytes: format!("{} {}", scale.number(lines.iter().map(|(_, rounded)| rounded).sum()), scale.unit),
        share: percent(bytes, total),
        certainty: least.map(certainty_tag),
        source: if count == 1 {
            lines.first().map(|(line, _)| cited(line)).unwrap_or_default()
        } else {
            format!("{count} items")
        },
        opens: true,
    }
}

fn item_rows(rows: &mut Vec<Row>, lines: &[(&LineItem, u64)], open: &[String], total: Bytes, scale: Scale) {
    for (line, rounded) in lines {
        let path = format!("{}/{}", line.kind.name(), line.label);
        rows.push(Row {
            level: Level::Item,
            path: path.clone(),
            slug: "",
            kind: 0,
            label: line.label.to_owned(),
            note: line.note,
            bytes: format!("{} {}", scale.number(*rounded), scale.unit),
            share: percent(line.bytes, total),
            certainty: Some(certainty_tag(line.certainty)),
            source: cited(line),
            opens: !line.tensors.is_empty(),
        });
        if !open.contains(&path) {
            continue;
        }
        for (index, tensor) in line.tensors.iter().enumerate() {
            rows.push(Row {
                level: Level::Tensor,
                path: format!("{path}/{index}"),
                slug: "",
                kind: 0,
                label: format!("{}: {}", tensor.op, tensor.name),
                note: "",
                bytes: scale.unit.show(tensor.bytes),
                share: percent(tensor.bytes, total),
                certainty: None,
                source: shape_text(tensor),
                opens: false,
            });
        }
    }
}

/// How many tensors of which shape and format: `32 × bf16 [seq_length 8 192, hidden_size 4 096]`.
fn shape_text(tensor: &TensorLine) -> String {
    let dims: Vec<String> = tensor.shape.dims().map(|dim| format!("{} {}", dim.0, whole(dim.1))).collect();
    format!("{} × {} [{}]", whole(tensor.count), tensor.dtype.name(), dims.join(", "))
}

/// Where a line comes from, shortly.
fn cited(line: &LineItem) -> String {
    format!("{}, {}", line.source.who, line.source.locator)
}

/// Class and word of a certainty.
const fn certainty_tag(certainty: Certainty) -> (&'static str, &'static str) {
    match certainty {
        Certainty::Exact => ("exact", "exact"),
        Certainty::Modelled => ("modelled", "modelled"),
        Certainty::Assumed => ("assumed", "assumed"),
    }
}
