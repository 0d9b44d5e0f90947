//! Buffers that the modules of both ends register.

use super::Ends;
use crate::ops::modules::{FP32, tower};
use crate::ops::tape::{Tape, Var};
use crate::units::DType;

impl Ends {
    /// Buffers that the modules register: rotary frequencies, twice, and the embedding's scale.
    pub fn buffers<'t>(&self, tape: &'t Tape) -> Vec<Var<'t>> {
        if let Some(blocks) = self.factors {
            let form = tape.form(self.forms.factors);
            let all: Vec<Var<'t>> =
                (0..blocks).map(|_| tape.constant("rotary factors", form, FP32)).collect();
            self.last_factors.set(all.last().map(Var::kept));
            return all;
        }
        let frequencies = |name, form| tape.constant(name, form, FP32);
        let once = self.own.encodes && self.modules.encoder.registers_frequencies_once;
        let names = ["rotary frequencies", "first rotary frequencies"].into_iter().take(if once {
            1
        } else {
            2
        });
        let rotary = |form| {
            self.rotary
                .then(|| names.clone().map(|name| frequencies(name, form)).collect::<Vec<_>>())
        };
        let scale =
            self.scale.map(|format| tape.constant("embedding scale", self.shapes.scalar, format));
        let again = self.two_tables || self.modules.registers_spare_frequencies;
        let positions = self.others.map_or_else(Vec::new, |others| (others.positions)(self, tape));
        let [first, second] = [self.forms.rotary[2], self.forms.sliding_rotary[2]];
        let again = again.then(|| rotary(second)).flatten();
        let mut all: Vec<Var<'t>> = rotary(first).into_iter().chain(again).flatten().collect();
        let sines = (self.modules.keeps_sines && self.first)
            .then(|| tape.constant("table of sines", tape.form(self.forms.sines), self.made_in));
        let [positions_there] = self.forms.all_positions;
        let mask = (self.modules.registers_mask && self.first).then(|| {
            let form = tape.form([positions_there, positions_there]);
            tape.constant("mask of all positions", form, DType::Mask)
        });
        let of_logits = self.modules.adds_buffer_to_logits && self.source.is_some() && self.last;
        let of_logits = of_logits
            .then(|| tape.constant("bias of logits", tape.form(self.forms.words), self.made_in));
        self.logits_buffer.set(of_logits.as_ref().map(Var::kept));
        all.extend(mask);
        all.extend(scale);
        all.extend(self.streams.iter().flat_map(|streams| streams.buffers(tape)));
        all.extend(positions);
        all.extend(self.tower.iter().flat_map(|tower| tower::buffers(tape, tower, self.received)));
        all.extend(self.source.iter().flat_map(|source| source.buffers(tape)));
        all.extend(sines);
        all.extend(of_logits);
        all.extend(self.sight.iter().flat_map(|sight| sight.inputs(tape)));
        all
    }
}
