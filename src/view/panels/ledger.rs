//! Where the memory goes: kind, item, tensor, each with its source. Parts add up to the total as
//! printed.

use super::bar::swatch;
use crate::estimator::{Certainty, Estimate, LineItem, MemoryKind, Printed, TensorLine};
use crate::units::Bytes;
use crate::view::action::Action;
use crate::view::answers::Answers;
use crate::view::explaining;
use crate::view::markup::{Html, html};
use crate::view::ui::Opened;
use crate::view::words::{Scale, percent, whole};

/// Ids of the kinds' swatches in this table.
const SWATCHES: [&str; 7] = ["row-p", "row-g", "row-o", "row-a", "row-k", "row-t", "row-f"];

/// One row: its class, what opens it, and its cells.
struct Row<'a> {
    class: &'static str,
    path: &'a str,
    /// True if something is behind it, and whether that is shown.
    open: Option<bool>,
    swatch: Html,
    label: &'a str,
    note: &'static str,
    bytes: String,
    share: String,
    certainty: Option<Certainty>,
    source: String,
}

impl Row<'_> {
    /// The row, and the one below it with its explanation. `of`: the kind it belongs to, where it
    /// is none itself.
    fn html(&self, of: Option<MemoryKind>, opened: &Opened) -> Html {
        let name = match self.open {
            Some(open) => html! {
                button type="button" class="ledger__toggle" aria-expanded=(open)
                    data-do=(Action::Toggle(self.path.to_owned())) {
                    (self.swatch)
                    (self.label)
                }
            },
            None => html! { span class="ledger__name" { (self.swatch) " " (self.label) } },
        };
        let what = of.map_or_else(
            || self.label.to_owned(),
            |kind| format!("{}: {}", kind.name(), self.label),
        );
        html! {
            tr class=(self.class) data-key=(self.path) {
                th scope="row" {
                    (name)
                    " "
                    (explaining::button(opened, self.path, &what))
                    " "
                    @if !self.note.is_empty() { span class="ledger__note" { (self.note) } }
                }
                td class="num" { (self.bytes) }
                td class="num ledger__share" { (self.share) }
                td class="ledger__source" {
                    @if let Some(sure) = self.certainty {
                        span class={ "tag tag--" (sure.word()) } { (sure.word()) }
                    }
                    " "
                    (self.source)
                }
            }
            (explaining::row(opened, self.path))
        }
    }
}

/// The row that starts open: the largest kind, to show that something is behind a line.
pub fn opened_at_start(estimate: &Estimate) -> Option<String> {
    MemoryKind::ALL.into_iter().max_by_key(|kind| estimate.ledger.of(*kind)).map(kind_path)
}

fn kind_path(kind: MemoryKind) -> String {
    format!("ledger/{}", kind.name())
}

/// The table: kinds, what is open under them, and the total.
pub fn ledger(answers: &Answers, opened: &Opened) -> Html {
    let (estimate, scale) = (&answers.estimate, answers.scale);
    let total = estimate.total();
    let of = format!(
        "{} of {} {}",
        percent(total, estimate.capacity),
        scale.show(estimate.capacity),
        scale.unit
    );
    html! {
        table class="table ledger" data-own="ledger" data-testid="ledger" {
            thead {
                tr {
                    th scope="col" { "Part" }
                    th scope="col" class="num" { "Memory" }
                    th scope="col" class="num" { "Share" }
                    th scope="col" { "Confidence and source" }
                }
            }
            tbody { (rows(estimate, scale, opened)) }
            tfoot {
                tr class="table__total" {
                    th scope="row" { "Total " (explaining::button(opened, "total", "Total")) }
                    td class="num" data-testid="total" {
                        (scale.show(total))
                        " "
                        (scale.unit.name())
                    }
                    td class="num ledger__share" { (of) }
                    td class="ledger__source" {
                        "at the peak: "
                        (estimate.peak_moment)
                        " "
                        (explaining::button(opened, "peak", "the peak"))
                    }
                }
                (explaining::row(opened, "total"))
                (explaining::row(opened, "peak"))
                (on_host(estimate, scale, opened))
                (explaining::row(opened, "host"))
            }
        }
    }
}

/// Rows of what lies in the host's memory, beside all that the GPU holds.
fn on_host(estimate: &Estimate, scale: Scale, opened: &Opened) -> Html {
    let printed = Printed::in_scale(&estimate.host, scale);
    let lines = estimate.host.lines.iter().zip(&printed.lines);
    html! {
        @for (line, rounded) in lines {
            tr class="ledger__host" {
                th scope="row" {
                    (line.label)
                    @if !line.note.is_empty() { span class="ledger__note" { (line.note) } }
                }
                td class="num" { (scale.number(*rounded)) }
                td class="num ledger__share" {}
                td class="ledger__source" { (cited(line)) }
            }
        }
        @if !estimate.host.lines.is_empty() {
            tr class="ledger__host" data-testid="on-host" {
                th scope="row" {
                    "In host memory, not on the GPU "
                    (explaining::button(opened, "host", "host memory"))
                }
                td class="num" { (scale.number(printed.total)) " " (scale.unit.name()) }
                td class="num ledger__share" {}
                td class="ledger__source" {}
            }
        }
    }
}

/// All rows in view.
fn rows(estimate: &Estimate, scale: Scale, opened: &Opened) -> Html {
    let printed = Printed::in_scale(&estimate.ledger, scale);
    let rounded: Vec<(&LineItem, u64)> =
        estimate.ledger.lines.iter().zip(printed.lines.iter().copied()).collect();
    let total = estimate.total();
    let rows_of = |kind: MemoryKind| {
        let of_kind: Vec<_> =
            rounded.iter().filter(|(line, _)| line.kind == kind).copied().collect();
        if of_kind.is_empty() {
            return Html::new();
        }
        let path = kind_path(kind);
        let amounts = (estimate.ledger.of(kind), printed.kind(kind), total);
        html! {
            (kind_row(kind, (&path, opened), &of_kind, amounts, scale))
            @if opened.is_open(&path) {
                @for (line, rounded) in &of_kind { (item_rows(line, *rounded, total, (scale, opened))) }
            }
        }
    };
    MemoryKind::ALL.into_iter().map(rows_of).collect()
}

fn kind_row(
    kind: MemoryKind,
    (path, opened): (&str, &Opened),
    lines: &[(&LineItem, u64)],
    (bytes, printed, total): (Bytes, u64, Bytes),
    scale: Scale,
) -> Html {
    let source = match lines {
        [(only, _)] => cited(only),
        several => format!("{} items", several.len()),
    };
    Row {
        class: "ledger__kind",
        path,
        open: Some(opened.is_open(path)),
        swatch: html! { span class="swatch" { (swatch(SWATCHES[kind.index()], kind)) } },
        label: kind.name(),
        note: "",
        bytes: format!("{} {}", scale.number(printed), scale.unit),
        share: percent(bytes, total),
        certainty: lines
            .iter()
            .map(|(line, _)| line.certainty)
            .max_by_key(|certainty| *certainty as u8),
        source,
    }
    .html(None, opened)
}

/// One line of a kind and, when open, its tensors.
fn item_rows(
    line: &LineItem,
    rounded: u64,
    total: Bytes,
    (scale, opened): (Scale, &Opened),
) -> Html {
    let path = format!("{}/{}", kind_path(line.kind), line.label);
    let open = opened.is_open(&path);
    let row = Row {
        class: "ledger__item",
        path: &path,
        open: (!line.tensors.is_empty()).then_some(open),
        swatch: Html::new(),
        label: line.label,
        note: line.note,
        bytes: format!("{} {}", scale.number(rounded), scale.unit),
        share: percent(line.bytes, total),
        certainty: Some(line.certainty),
        source: cited(line),
    };
    html! {
        (row.html(Some(line.kind), opened))
        @if open {
            @for (index, tensor) in line.tensors.iter().enumerate() {
                @let path = format!("{path}/{index}");
                (tensor_row(line, (&path, tensor), rounded, total, (scale, opened)))
            }
        }
    }
}

/// One tensor of a line.
fn tensor_row(
    line: &LineItem,
    (path, tensor): (&str, &TensorLine),
    rounded: u64,
    total: Bytes,
    (scale, opened): (Scale, &Opened),
) -> Html {
    Row {
        class: "ledger__tensor",
        path,
        open: None,
        swatch: Html::new(),
        label: &format!("{}: {}", tensor.op, tensor.name),
        note: "",
        // The only one of its line is the line.
        bytes: if line.tensors.len() == 1 {
            format!("{} {}", scale.number(rounded), scale.unit)
        } else {
            scale.unit.show(tensor.bytes)
        },
        share: percent(tensor.bytes, total),
        certainty: None,
        source: shape_text(tensor),
    }
    .html(Some(line.kind), opened)
}

/// How many tensors of which shape and format: `32 × bf16 [seq_length 8 192, hidden_size 4 096]`.
fn shape_text(tensor: &TensorLine) -> String {
    let dims: Vec<String> =
        tensor.shape.dims().map(|dim| format!("{} {}", dim.0, whole(dim.1))).collect();
    format!("{} × {} [{}]", whole(tensor.count), tensor.dtype.name(), dims.join(", "))
}

/// Where a line comes from, shortly.
fn cited(line: &LineItem) -> String {
    format!("{}, {}", line.source.who, line.source.locator)
}

#[cfg(test)]
mod tests {
    use super::{kind_path, ledger, opened_at_start};
    use crate::estimator::MemoryKind;
    use crate::view::panels::tests::{answers, count};
    use crate::view::ui::Opened;
    use crate::view::words::kinds;

    #[test]
    fn what_is_open_shows_its_lines_and_their_tensors() {
        let answers = answers("v1&m=llama3-8b&n=8");
        let used = kinds(&answers.estimate, answers.scale).len();
        let closed = ledger(&answers, &Opened::default());
        assert_eq!((count(&closed, "ledger__kind"), count(&closed, "ledger__item")), (used, 0));
        let mut opened = Opened::default();
        opened.toggle(&kind_path(MemoryKind::Parameter));
        let lines: Vec<_> = answers
            .estimate
            .ledger
            .lines
            .iter()
            .filter(|line| line.kind == MemoryKind::Parameter)
            .collect();
        let open = ledger(&answers, &opened);
        assert_eq!(
            (count(&open, "ledger__item"), count(&open, "ledger__tensor")),
            (lines.len(), 0)
        );
        assert_eq!(count(&open, "aria-expanded=\"true\""), 1);
        let line = lines.iter().find(|line| !line.tensors.is_empty()).expect("a line with tensors");
        opened.toggle(&format!("{}/{}", kind_path(MemoryKind::Parameter), line.label));
        assert_eq!(count(&ledger(&answers, &opened), "ledger__tensor"), line.tensors.len());
    }

    #[test]
    fn the_largest_kind_starts_open() {
        let answers = answers("v1&m=llama3-8b&n=8");
        let largest = opened_at_start(&answers.estimate).expect("a kind");
        for kind in MemoryKind::ALL {
            let most =
                MemoryKind::ALL.map(|other| answers.estimate.ledger.of(other)).into_iter().max();
            assert!(kind_path(kind) != largest || Some(answers.estimate.ledger.of(kind)) == most);
        }
    }

    #[test]
    fn printed_kinds_add_up_to_the_printed_total() {
        for link in ["v1&m=llama3-8b&n=8", "v1&m=llama3-70b&n=64&u=gb", "v1&do=serve&m=llama3-8b"] {
            let answers = answers(link);
            let sum: u64 =
                kinds(&answers.estimate, answers.scale).iter().map(|(_, rounded)| rounded).sum();
            assert_eq!(sum, answers.scale.round(answers.estimate.total()), "{link}");
            let total = format!(
                "data-testid=\"total\">{} {}<",
                answers.scale.number(sum),
                answers.unit.name()
            );
            assert_eq!(count(&ledger(&answers, &Opened::default()), &total), 1, "{link}");
        }
    }
}
