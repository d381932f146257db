"""Programs that are the same in memory under another release of the library. Needs nothing but Python."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from vramfit_record.types.memory import angles, in_memory, with_inputs_by_name  # noqa: E402

OFF = {"no_grad": True}
STATES = ["0", 0, "weights", ["=B", "=S", 64]]
#: Angles of rotary embeddings: transformers 5.17.0 modeling_olmo3.py Olmo3RotaryEmbedding.forward, without the sine.
BY_MATRICES = {"class": "Olmo3RotaryEmbedding", "inputs": [STATES, ["1", 1, "int64", [1, "=S"]]], "outputs": [["0", "%8"]], "code": [
    ["call", "torch.Tensor.__getitem__", ["@inv_freq", [None, {"slice": [None, None, None]}, None]], {}, [[2, "float32", [1, 36, 1], {"view": "@inv_freq"}]], OFF],
    ["call", "torch.Tensor.__getitem__", ["%1", [{"slice": [None, None, None]}, None, {"slice": [None, None, None]}]], {}, [[3, "int64", [1, 1, "=S"], {"view": "%1"}]], OFF],
    ["call", "torch.Tensor.float", ["%3"], {}, [[4, "float32", [1, 1, "=S"]]], OFF], ["end", [3]],
    ["call", "torch.Tensor.matmul", ["%2", "%4"], {}, [[5, "float32", [1, 36, "=S"]]], OFF],
    ["call", "torch.Tensor.transpose", ["%5", 1, 2], {}, [[6, "float32", [1, "=S", 36], {"view": "%5"}]], OFF],
    ["call", "torch.cat", [["%6", "%6"]], {"dim": -1}, [[7, "float32", [1, "=S", 72]]], OFF],
    ["call", "torch.Tensor.cos", ["%7"], {}, [[8, "float32", [1, "=S", 72]]], OFF], ["end", [2, 4, 6, 5, 7]]]}
#: The same of 5.23.0.
BY_ELEMENTS = {"class": "Olmo3RotaryEmbedding", "inputs": [STATES, ["position_ids", 1, "int64", [1, "=S"]]], "outputs": [["0", "%7"]], "code": [
    ["call", "torch.Tensor.__getitem__", ["%1", ["...", None]], {}, [[2, "int64", [1, "=S", 1], {"view": "%1"}]], OFF],
    ["call", "torch.Tensor.float", ["%2"], {}, [[3, "float32", [1, "=S", 1]]], OFF], ["end", [2]],
    ["call", "torch.Tensor.to", ["@inv_freq"], {"dtype": "!float32"}, [[4, "float32", [36], {"view": "@inv_freq"}]], OFF],
    ["call", "torch.Tensor.mul", ["%3", "%4"], {}, [[5, "float32", [1, "=S", 36]]], OFF], ["end", [3, 4]],
    ["call", "torch.cat", [["%5", "%5"]], {"dim": -1}, [[6, "float32", [1, "=S", 72]]], OFF],
    ["call", "torch.Tensor.cos", ["%6"], {}, [[7, "float32", [1, "=S", 72]]], OFF], ["end", [5, 6]]]}


def module(code, outputs, *inputs):
    return {"class": "Module", "inputs": [STATES, *inputs], "code": code, "outputs": outputs}


class Memory(unittest.TestCase):
    def test_angles_take_the_same(self):
        self.assertEqual(angles(BY_MATRICES), angles(BY_ELEMENTS))
        longer = {**BY_ELEMENTS, "code": [row if row != ["end", [3, 4]] else ["end", [4]] for row in BY_ELEMENTS["code"][:-1]] + [["end", [3, 5, 6]]]}
        self.assertNotEqual(angles(BY_MATRICES), angles(longer))

    def test_a_view_of_the_same_sizes_is_left_out(self):
        plain = module([["call", "torch.nn.functional.silu", ["%0"], {}, [[1, "weights", ["=B", "=S", 64]]]], ["call", "torch.Tensor.neg", ["%1"], {}, [[2, "weights", ["=B", "=S", 64]]]], ["end", [1]]], [["", "%2"]])
        again = module([["call", "torch.nn.functional.silu", ["%0"], {}, [[1, "weights", ["=B", "=S", 64]]]],
                        ["call", "torch.Tensor.reshape", ["%1", "=B", -1, 64], {}, [[2, "weights", ["=B", "=S", 64], {"view": "%1"}]]],
                        ["call", "torch.Tensor.neg", ["%2"], {}, [[3, "weights", ["=B", "=S", 64]]]], ["end", [2, 1]]], [["", "%3"]])
        self.assertEqual(in_memory(plain), in_memory(again))

    def test_memory_ends_with_its_last_name(self):
        def ending(*ends):
            code = [["call", "torch.nn.functional.silu", ["%0"], {}, [[1, "weights", ["=B", "=S", 64]]]], ["call", "torch.Tensor.__getitem__", ["%1", 0], {}, [[2, "weights", ["=S", 64], {"view": "%1"}]]],
                    ["call", "torch.Tensor.neg", ["%2"], {}, [[3, "weights", ["=S", 64]]]]]
            return in_memory(module([row for one, end in zip(code, ends) for row in ([one, end] if end else [one])], [["", "%3"]]))
        self.assertEqual(ending(None, ["end", [1]], ["end", [2]]), ending(None, None, ["end", [2, 1]]))
        self.assertEqual(ending(None, None, ["end", [1, 2]])["code"][-1], ["end", [1]])

    def test_keyword_arguments_in_any_order(self):
        a, b, c = (["a", 1, "bool", []], ["b", 2, "int64", []], ["c", 3, "int64", []])
        code = [["call", "torch.where", ["%1", "%2", "%0"], {}, [[3, "weights", ["=B", "=S", 64]]]]]
        first = [module(code, [["", "%3"]], a, b), module([["module", "m", 0, [0, 1, 2], [3]]], [["", "%3"]], a, b)]
        turned = [["call", "torch.where", ["%2", "%1", "%0"], {}, [[4, "weights", ["=B", "=S", 64]]]]]
        other = [module(turned, [["", "%4"]], ["b", 1, "int64", []], ["a", 2, "bool", []], c), module([["module", "m", 0, [0, 2, 1, 2], [3]]], [["", "%3"]], a, b)]
        self.assertEqual(with_inputs_by_name(first), with_inputs_by_name(other))


if __name__ == "__main__":
    unittest.main()
