"""Gives TRL's loss its tokens on the pretended GPU, where a mask is never computed and `x[mask]` has no rows.

    PYTHONPATH=tests/data/tools/trl_labels python ../truth/tools/pretend_gpu/frameworks/run_rows.py rows.jsonl measured.jsonl

Every label of the rows is a token, so that `x[mask]` is all of x: the same two lists of places, as long as they are on a GPU.
"""
import importlib.machinery
import sys

SCORED = "hidden_states[mask] if compact", "labels[mask] if compact"
ALL_OF = '''

def _all_of(x, mask):
    """x[mask] of a mask that is true everywhere, by the places that nonzero() would return: one tensor of two columns."""
    places = torch.zeros((mask.numel(), 2), dtype=torch.int64, device=mask.device)
    return x[places[:, 0], places[:, 1]]
'''


class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        text = self.get_data(self.path).decode()
        for chosen in SCORED:
            assert chosen in text, chosen
            text = text.replace(chosen, f"_all_of({chosen.split('[')[0]}, mask) if compact")
        return compile(text + ALL_OF, self.path, "exec")


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "trl.trainer.utils":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        spec.loader = Loader(name, spec.origin)
        return spec


sys.meta_path.insert(0, Finder)
