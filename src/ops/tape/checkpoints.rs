//! Frames of checkpointing in forward: operations that run inside one keep the frame's inputs
//! alone.

use std::collections::VecDeque;
use std::rc::Rc;

use super::backward::Again;
use super::keeps::{Frame, Part};
use super::state::{NONE, at, count};
use super::{Tape, Var};

impl Tape {
    /// Runs a block under checkpointing: only its input is kept, and it runs again in backward.
    ///
    /// `beside` are the further tensors that it reads.
    pub fn checkpoint<'t, T>(
        &'t self,
        input: &Var<'t>,
        beside: &[Var<'t>],
        block: impl FnOnce(&'t Self, &Var<'t>) -> T,
    ) -> T {
        self.state.borrow_mut().keep_as_input(input.storage);
        let inputs = std::iter::once(input).chain(beside).map(|input| input.storage).collect();
        self.open_frame(inputs, None, input.node != NONE);
        let output = block(self, input);
        self.close_frame();
        output
    }

    /// Runs a part of a block under checkpointing.
    pub fn checkpoint_part<T>(
        &self,
        again: Rc<dyn Again>,
        inputs: &[&Var<'_>],
        part: impl FnOnce() -> T,
    ) -> T {
        let copies = self.state.borrow().copies;
        let shapes = inputs
            .iter()
            .map(|input| (input.form, input.dtype, input.order, input.node != NONE))
            .collect();
        let part_of = Part { again, inputs: shapes, copies };
        self.open_frame(inputs.iter().map(|input| input.storage).collect(), Some(part_of), true);
        let output = part();
        self.close_frame();
        output
    }

    fn open_frame(&self, inputs: Vec<u32>, part: Option<Part>, wanted: bool) {
        let mut state = self.state.borrow_mut();
        if state.recording.is_some() {
            return;
        }
        for input in &inputs {
            state.hold(*input);
        }
        let first = count(state.nodes.len());
        let (kept, kept_behind) = (VecDeque::new(), VecDeque::new());
        let (saves, holders, recomputed, follows) = (0, 0, false, false);
        state.frames.push(Frame {
            inputs,
            part,
            first,
            last: first,
            saves,
            holders,
            recomputed,
            follows,
            wanted,
            kept,
            kept_behind,
        });
        state.open_frame = Some(count(state.frames.len()) - 1);
    }

    fn close_frame(&self) {
        let mut state = self.state.borrow_mut();
        let last = count(state.nodes.len());
        let Some(frame) = state.open_frame.take() else { return };
        let Some(frame) = state.frames.get_mut(at(frame)) else { return };
        frame.last = last;
        let mut unread = Vec::new();
        while frame.kept_behind.back() == Some(&frame.saves) {
            // A compiler does not keep tensors that backward never reads.
            frame.kept_behind.pop_back();
            unread.extend(frame.kept.pop_back());
        }
        if frame.saves == 0 {
            // Nothing in it wants a gradient: nothing holds it.
            for input in std::mem::take(&mut frame.inputs) {
                state.release(input);
            }
        }
        for kept in unread {
            state.release(kept);
        }
    }
}
