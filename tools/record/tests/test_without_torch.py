"""The validator, which needs nothing but Python: python3 -m unittest discover -s tools/record/tests -t tools/record."""
from __future__ import annotations

import copy
import unittest
from typing import Any

from vramfit_record import schema
from vramfit_record.check import problems, value_of
from vramfit_record.types.sharing import rope_not_known, with_sparsity

#: A network of one linear layer: y = linear(x); z = y + y; the sum of z.
DOCUMENT: dict[str, Any] = {
    "schema": "vramfit.network/1",
    "recorded_with": {"torch": "2.11.0", "transformers": "5.17.0"},
    "network": {"class": "Tiny", "head": "causal_lm", "model_type": "tiny", "no_split_modules": [], "tp_plan": {}, "pp_plan": {}, "supports_gradient_checkpointing": False, "config": {}},
    "modules": [
        {"class": "Linear", "leaf": "linear", "parameters": [["weight", "weights", [5, 7]]]},
        {"class": "Tiny", "children": [["proj", 0]]}],
    "root": 1, "ties": [],
    "programs": [
        {"class": "Linear", "inputs": [["0", 0, "weights", ["=B", "=S", 7]]],
         "code": [["call", "torch.nn.functional.linear", ["%0", "@weight", None], {}, [[1, "weights", ["=B", "=S", 5]]]]], "outputs": [["", "%1"]]},
        {"class": "Tiny", "inputs": [["x", 0, "weights", ["=B", "=S", 7]]],
         "code": [["module", "proj", 0, [0], [1]], ["call", "torch.Tensor.add", ["%1", "%1"], {}, [[2, "weights", ["=B", "=S", 5]]]], ["end", [1]],
                  ["call", "torch.Tensor.sum", ["%2"], {}, [[3, "weights", []]]], ["end", [2]]],
         "outputs": [["loss", "%3"]]}],
    "variants": [{"attention": "sdpa", "mask": "absent", "use_cache": False, "labels": True, "checkpointing": False, "program": 1}],
    "refused": [],
}


def changed(change: Any) -> list[str]:
    document = copy.deepcopy(DOCUMENT)
    change(document)
    return problems(document)


class Validator(unittest.TestCase):
    def test_a_right_document(self) -> None:
        self.assertEqual(problems(DOCUMENT), [])
        self.assertEqual(schema.errors(DOCUMENT, schema.read()), [])

    def test_a_value_is_used_after_its_end(self) -> None:
        found = changed(lambda d: d["programs"][1]["code"].insert(1, ["end", [1]]))
        self.assertTrue(any("value 1 has ended" in line for line in found), found)

    def test_a_value_never_ends(self) -> None:
        found = changed(lambda d: d["programs"][1]["code"].pop())
        self.assertEqual(found, ["program 1 (Tiny): values [2] never end"])

    def test_a_program_is_called_before_it_is_there(self) -> None:
        found = changed(lambda d: d["programs"][1]["code"][0].__setitem__(2, 1))
        self.assertIn("program 1, instruction 0: program 1 is not before it", found)

    def test_rounds_of_a_loop_leave_the_same(self) -> None:
        begin, following = [["call", "f", ["%0"], {}, [[1, "weights", []]]]], [["call", "f", ["%1", "#varies"], {}, [[2, "weights", []]]], ["end", [1]]]
        rest = [["call", "f", ["%1"], {}, [[3, "weights", []]]], ["end", [1]]]

        def loop(first: Any, then: Any, count: Any = "=S//64") -> list[str]:
            return changed(lambda d: d["programs"][1].__setitem__("code", [["repeat", count, 1, 1, first, then], *rest]))
        self.assertEqual(loop(begin, following), [])
        self.assertIn("program 1, instruction 0: =hidden is no formula", loop(begin, following, "=hidden"))
        self.assertIn("program 1, instruction 0: values [1] do not end in the next round", loop(begin, following[:1]))
        self.assertIn("program 1, instruction 0: the rounds of a loop leave different values", loop(begin, following[1:]))
        self.assertIn("program 1, instruction 0: a loop calls programs", loop([["module", "proj", 0, [0], [1]]], following))

    def test_values_of_all_rounds_are_kept(self) -> None:
        def loop(*kept: Any) -> list[str]:
            rounds = [[["call", "f", ["%0"], {}, [[n, "weights", []]]]] for n in (1, 2)]
            return changed(lambda d: d["programs"][1].__setitem__("code", [["repeat", "=S", 1, 1, *rounds, *kept], ["call", "torch.stack", [{"rounds": "%1"}], {}, [[3, "weights", []]]], ["end", [1]]]))
        self.assertEqual(loop([1]), [])
        self.assertIn("program 1, instruction 0: values [1] do not end in the next round", loop())

    def test_a_call_gives_too_much(self) -> None:
        found = changed(lambda d: d["programs"][1]["code"][0].__setitem__(3, [0, 0]))
        self.assertIn("program 1, instruction 0: program 0 is given 2 values in place of 1", found)

    def test_names_that_are_not_there(self) -> None:
        self.assertEqual(changed(lambda d: d["programs"][1]["code"][0].__setitem__(1, "head")), ["program 1 (Tiny), instruction 0: no module head"])
        self.assertEqual(changed(lambda d: d["programs"][0]["code"][0][2].__setitem__(1, "@bias")), ["program 0 (Linear), instruction 0: no parameter bias"])

    def test_a_formula_that_is_none(self) -> None:
        found = changed(lambda d: d["programs"][0]["code"][0][4][0][2].__setitem__(0, "=print(1)"))
        self.assertIn("program 0, instruction 0: =print(1) is no formula", found)

    def test_the_schema_knows_its_keys(self) -> None:
        self.assertEqual(schema.errors({**DOCUMENT, "more": 1}, schema.read()), [": more is no key"])
        self.assertTrue(schema.errors({**DOCUMENT, "root": "1"}, schema.read()))

    def test_formulas(self) -> None:
        self.assertEqual(value_of("=2*B*S+1", 3, 5), 31)
        self.assertEqual(value_of("=(S+63)//64", 3, 65), 2)
        self.assertRaises(ValueError, value_of, "=__import__", 1, 1)


class Layers(unittest.TestCase):
    """What a configuration says for each layer."""

    def test_shares_of_sparse_layers(self) -> None:
        row = {"key": "activation_sparsity_pattern", "first": 2}
        self.assertEqual(["sparse+a", "b"], with_sparsity(row, ["a", "b"], [0.95, 0.0]))
        self.assertEqual(["a", "b"], with_sparsity(row, ["a", "b"], None))
        self.assertEqual(["sparse+a", "sparse+b", "c"], with_sparsity(row, ["a", "b", "c"], None))
        for given in ([0.95], [0.95, -1], [0.95, True], "0.95"):
            self.assertIsNone(with_sparsity(row, ["a", "b"], given))

    def test_rotary_embeddings_of_each_kind(self) -> None:
        kinds = {"full": {"none": True}, "sliding": {"type": "default", "may": ["rope_theta"], "own": {"mrope_section": [24, 20, 20]}}}
        sliding = {"rope_type": "default", "rope_theta": 50000, "mrope_section": [24, 20, 20]}
        self.assertEqual("", rope_not_known(kinds, {"rope_parameters": {"full": None, "sliding": sliding, "rope_theta": 1.0}}, ["rope_theta"]))
        self.assertIn("the key is missing", rope_not_known(kinds, {}, []))
        self.assertIn("rope_parameters.full", rope_not_known(kinds, {"rope_parameters": {"full": sliding, "sliding": sliding}}, []))
        self.assertIn("recorded with", rope_not_known(kinds, {"rope_parameters": {"full": None, "sliding": {**sliding, "mrope_section": [22, 22, 20]}}}, []))
        self.assertIn("rope_parameters", rope_not_known(kinds, {"rope_parameters": {"full": None, "sliding": sliding, "factor": 2.0}}, []))


if __name__ == "__main__":
    unittest.main()
