//! Memory that matrix products of cuBLAS and cuBLASLt work in.

use super::scratch::Scratch;
use super::state::{Entry, Kind, State, When, at};
use super::{Tape, Var};
use crate::units::DType;

const MIB: u64 = 1 << 20;

/// Workspace of one call of cuBLAS on compute capability 9 (`getChosenWorkspaceSize` in
/// `aten/src/ATen/cuda/CublasHandlePool.cpp`). PyTorch takes it anew for every call from 2.15 on;
/// before, each thread that multiplied kept one for good.
const CUBLAS: u64 = 32 * MIB;

/// Workspace of one call of cuBLASLt, which multiplies and adds a bias in one kernel
/// (`getCUDABlasLtWorkspaceSize`). It is kept as cuBLAS's is: PyTorch 2.11 does.
const CUBLAS_LT: u64 = MIB;

/// The name of a workspace that is kept.
pub(crate) const KEPT_WORKSPACE: &str = "workspace of cuBLAS, kept";

impl Tape {
    /// From here on a thread that multiplies keeps its workspaces
    /// (`cublas_handle_stream_to_workspace` in `aten/src/ATen/cuda/CublasHandlePool.cpp`):
    /// forward's takes its own, and backward's others.
    pub fn keep_workspaces(&self) {
        self.state.borrow_mut().keeps_workspaces = true;
    }

    /// The workspaces of both threads as they are when a step begins; none where they are not kept.
    /// Those of cuBLASLt, 1 MiB for each thread that adds a bias, are left out.
    pub fn kept_workspaces(&self) -> Vec<Var<'_>> {
        let threads = {
            let mut state = self.state.borrow_mut();
            state.kept_workspaces = [[true; 2]; 2];
            if state.keeps_workspaces && state.scratch > Scratch::None { 2 } else { 0 }
        };
        (0..threads)
            .map(|_| self.lump(KEPT_WORKSPACE, (Kind::Scratch, CUBLAS, DType::Int8)))
            .collect()
    }
}

impl State {
    /// Takes and frees the workspace of a matrix product, as its kernel is started: its result is
    /// there already.
    pub(super) fn multiply_with_workspace(&mut self, adds_bias: bool) {
        if self.scratch == Scratch::None || self.stopped {
            return;
        }
        if self.keeps_workspaces {
            return self.keep_workspace(adds_bias);
        }
        let known = self.workspaces[usize::from(adds_bias)];
        let workspace =
            match self.storages.get(at(known)).filter(|storage| storage.born == Kind::Scratch) {
                // One storage stands for those of all products of an operation.
                Some(storage) if storage.taken_in == self.op && storage.layer == self.layer => {
                    self.log.push(Entry::Taken(known));
                    self.log.push(Entry::Freed(known));
                    return;
                }
                Some(storage) => self.take_scratch_of("workspace of cuBLAS", storage.form),
                None => self.take_scratch("workspace of cuBLAS", bytes_of(adds_bias)),
            };
        self.workspaces[usize::from(adds_bias)] = workspace;
        self.release(workspace);
    }

    /// Takes the workspaces of the thread that runs, which are never freed, unless it has them.
    /// Backward's own thread runs recomputed layers. A product that adds a bias asks for cuBLAS's
    /// handle first (`getCUDABlasLtWorkspace` of PyTorch 2.11), and so for its workspace.
    fn keep_workspace(&mut self, adds_bias: bool) {
        let backward = self.segments.last().is_some_and(|segment| segment.when == When::Backward);
        for with_bias in [false, true].into_iter().filter(|with_bias| adds_bias || !with_bias) {
            let [forwards, backwards] = &mut self.kept_workspaces;
            let [without, with] = if backward { backwards } else { forwards };
            if !std::mem::replace(if with_bias { with } else { without }, true) {
                self.take_scratch(KEPT_WORKSPACE, bytes_of(with_bias));
            }
        }
    }
}

/// Bytes of the workspace of a product.
const fn bytes_of(adds_bias: bool) -> u64 {
    if adds_bias { CUBLAS_LT } else { CUBLAS }
}
