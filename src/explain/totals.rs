//! Explanations of the totals: all bytes, the peak, the margin, and one kind of memory.

use super::expr::Expr;
use super::{Explainer, Explanation, LargestTensors, Measure, documents, exactly, plain};
use crate::estimator::{Certainty, Headroom, LineItem, MemoryKind, Printed};
use crate::sources;
use crate::sources::Source;

/// The sources of some lines, each once; a single source covers all of them, so no line is named
/// beside it.
pub(super) fn sources_of<'l>(
    lines: impl Iterator<Item = &'l LineItem>,
) -> Vec<(Source, Certainty, &'static str)> {
    let mut found: Vec<(Source, Certainty, &'static str)> = Vec::new();
    for line in lines {
        if found.iter().all(|(source, certainty, _)| {
            (source.key, *certainty) != (line.source.key, line.certainty)
        }) {
            found.push((line.source, line.certainty, line.label));
        }
    }
    if let [(_, _, of)] = found.as_mut_slice() {
        *of = "";
    }
    found
}

pub(super) fn kind_sentence(kind: MemoryKind, lines: usize) -> String {
    let what = match kind {
        MemoryKind::Parameter => "What the model has learnt, as this GPU holds it.",
        MemoryKind::Gradient => {
            "One number for each parameter that learns, as far as they exist at the peak."
        }
        MemoryKind::OptimizerState => {
            "What the optimizer remembers of each parameter from step to step."
        }
        MemoryKind::Activation => "What forward keeps because backward needs it.",
        MemoryKind::KvCache => "What attention looks back on, for every token of every sequence.",
        MemoryKind::Temporary => "What is alive only while some operation runs, at the peak.",
        MemoryKind::Framework => {
            "What stands outside the model: programs, buffers, and what is kept free."
        }
    };
    match lines {
        1 => what.to_owned(),
        lines => format!("{what} The sum of {lines} lines."),
    }
}

impl Explainer<'_> {
    pub(super) fn total(&self) -> Explanation {
        let estimate = &self.scene.estimate;
        let kinds = MemoryKind::ALL
            .into_iter()
            .zip(estimate.ledger.by_kind())
            .filter(|(_, bytes)| bytes.0 > 0);
        let expr = Expr::sum(
            kinds.map(|(kind, bytes)| Expr::memory(kind.name(), Some(kind), bytes.0, None)),
        );
        let sentence = format!(
            "Everything that the fullest GPU holds {}, kind by kind.",
            estimate.peak_moment
        );
        let mut found =
            plain("Total", sentence, exactly(expr, "Total", estimate.total()), Measure::Bytes);
        found.sources = sources_of(estimate.ledger.lines.iter());
        found.documents = documents::of_total(self.answers, estimate.total());
        found
    }

    pub(super) fn peak(&self) -> Explanation {
        let estimate = &self.scene.estimate;
        let moments = estimate.moments.iter();
        let expr = Expr::Max(
            moments.map(|moment| Expr::memory(moment.name, None, moment.total.0, None)).collect(),
        );
        let several = self.scene.job.layout().p() > 1;
        let stage = if several {
            format!(", on pipeline stage {}", estimate.peak_stage + 1)
        } else {
            String::new()
        };
        let sentence =
            format!("Of the moments compared, memory is highest {}{stage}.", estimate.peak_moment);
        let mut found =
            plain("Peak", sentence, exactly(expr, "Peak", estimate.total()), Measure::Bytes);
        let printed = Printed::of(estimate, self.unit);
        let lines = estimate.ledger.lines.iter().zip(&printed.lines);
        let alive = lines.map(|(line, amount)| {
            format!("{} ({} {})", line.label, printed.scale.number(*amount), self.unit)
        });
        found.notes = vec![format!("Alive then: {}.", alive.collect::<Vec<_>>().join(", "))];
        found.sources = vec![(sources::PYTORCH_AUTOGRAD, Certainty::Modelled, "")];
        found
    }

    pub(super) fn margin(&self) -> Explanation {
        let estimate = &self.scene.estimate;
        let total =
            Expr::memory("all that the GPU holds at the peak", None, estimate.total().0, None);
        let memory = Expr::memory("memory of the GPU", None, estimate.capacity.0, None);
        let less = |a: Expr, b: Expr| Expr::Less(Box::new(a), Box::new(b));
        let (title, sentence, expr, bytes) = match estimate.headroom() {
            Headroom::Free(free) => (
                "Free on each GPU",
                "What the fullest GPU has left at the fullest moment.",
                less(memory, total),
                free,
            ),
            Headroom::Short(short) => (
                "Short on each GPU",
                "What the fullest GPU lacks at the fullest moment.",
                less(total, memory),
                short,
            ),
        };
        let mut found =
            plain(title, sentence.to_owned(), exactly(expr, title, bytes), Measure::Bytes);
        found.sources = vec![(sources::ARITHMETIC, Certainty::Exact, "")];
        found
    }

    pub(super) fn on_host(&self) -> Option<Explanation> {
        let host = &self.scene.estimate.host;
        if host.lines.is_empty() {
            return None;
        }
        let parts = host
            .lines
            .iter()
            .map(|line| Expr::memory(line.label, Some(line.kind), line.bytes.0, None));
        let sentence = "What lies in the host's memory; the GPU's total leaves it out.";
        let expr = exactly(Expr::sum(parts), "In host memory", host.total());
        let mut found = plain("In host memory", sentence.to_owned(), expr, Measure::Bytes);
        found.notes =
            host.lines.iter().map(|line| format!("{}: {}", line.label, line.note)).collect();
        found.sources = sources_of(host.lines.iter());
        Some(found)
    }

    pub(super) fn kind(&self, kind: MemoryKind) -> Option<Explanation> {
        let estimate = &self.scene.estimate;
        let lines: Vec<&LineItem> =
            estimate.ledger.lines.iter().filter(|line| line.kind == kind).collect();
        if lines.is_empty() {
            return None;
        }
        let with = self.lines();
        let bytes = estimate.ledger.of(kind);
        let part = |line: &&LineItem| {
            let how = self.formula(&with, line);
            // A long formula is explained on its own line.
            let how = Some(how).filter(|how| how.parts().is_empty());
            Expr::memory(line.label, Some(kind), line.bytes.0, how)
        };
        let expr = match lines.as_slice() {
            [only] => self.formula(&with, only),
            several => exactly(Expr::sum(several.iter().map(part)), kind.name(), bytes),
        };
        let mut found = plain(kind.name(), kind_sentence(kind, lines.len()), expr, Measure::Bytes);
        found.largest =
            with.largest(&lines).map(|(names, count, one)| LargestTensors { names, count, one });
        found.sources = sources_of(lines.into_iter());
        found.documents = documents::of_kind(self.answers, kind, bytes);
        Some(found)
    }
}
