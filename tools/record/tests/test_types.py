"""Recorded types: what needs nothing but Python on those of models/types, and with torch and transformers a small proof."""
from __future__ import annotations

import importlib.util
import json
import unittest
from pathlib import Path
from typing import Any

from vramfit_record import schema
from vramfit_record.check import problems
from vramfit_record.types.alternatives import Alternatives, NotExplained
from vramfit_record.types.carried import without_whole_slices
from vramfit_record.types.instantiate import NotKnown, folded, instantiate
from vramfit_record.types.kinds import state_among
from vramfit_record.types.normal import difference, fingerprint, normal
from vramfit_record.types.parts import flattened, nested, type_of
from vramfit_record.types.trees import moved, of_all_layers, starred

ROOT = Path(__file__).resolve().parents[3]
HAS_LIBRARIES = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))


def types() -> dict[str, Any]:
    return {place.stem: json.loads(place.read_text()) for place in sorted((ROOT / "models/types").glob("*.json"))}


def leaf(body: Any, **below: Any) -> Any:
    return {"body": body, "below": below}


class OfFiles(unittest.TestCase):
    def test_each_is_as_the_schema_says(self) -> None:
        for name, type_ in types().items():
            with self.subTest(name):
                self.assertEqual(schema.errors(type_, schema.read("network-type")), [])
                self.assertEqual(type_["model_type"], name)

    def test_networks_are_those_that_were_proven(self) -> None:
        known, networks = types(), schema.read()
        for line in (ROOT / "tests/data/networks/types.jsonl").read_text().splitlines()[::12]:  # vramfit's own test makes all of them
            row = json.loads(line)
            with self.subTest(line):
                made = instantiate(known[type_of(row["config"])], row["config"])
                self.assertEqual(fingerprint(made), row["network"])
                self.assertEqual(problems(made), [])
                self.assertEqual(schema.errors(made, networks), [])

    def test_networks_are_those_of_their_own_recordings(self) -> None:
        folder = ROOT / "tests/data/networks"
        recorded = {name: type_ for name, type_ in types().items() if (folder / f"{name}-tiny.json").exists()}
        self.assertGreater(len(recorded), 9)
        for name, type_ in recorded.items():
            with self.subTest(name):
                made = instantiate(type_, json.loads((folder / f"{name}-tiny.config.json").read_text()))
                of_its_own = json.loads((folder / f"{name}-tiny.json").read_text())
                there = [{k: v for k, v in row.items() if k != "program"} for row in of_its_own["variants"]]  # some have no padded rows
                made["variants"] = [row for row in made["variants"] if {k: v for k, v in row.items() if k != "program"} in there]
                self.assertEqual(difference(normal(made), normal(of_its_own)), "")

    def test_what_is_not_covered_is_refused(self) -> None:
        lines = (ROOT / "tests/data/networks/types.jsonl").read_text().splitlines()
        for name, type_ in types().items():
            config = next(config for config in (json.loads(line)["config"] for line in lines) if type_of(config) == name)
            wrong = {"output_hidden_states": True, type_["layers"]["key"]: 0}
            if "rope" in type_:
                wrong["rope_scaling"] = {"rope_type": "other", "factor": 2.0}
            for key, value in wrong.items():
                with self.subTest(f"{name} {key}"):
                    said = {"text_config": {**config["text_config"], key: value}} if "text_config" in type_.get("parts", {}) else {key: value}
                    self.assertRaises(NotKnown, instantiate, type_, {**config, **said})


class Parts(unittest.TestCase):
    def test_formulas(self) -> None:
        keys = {"hidden_size": 64, "num_attention_heads": 4}
        self.assertEqual(folded("hidden_size//num_attention_heads", keys), 16)
        self.assertEqual(folded("B*S*hidden_size", keys), "64*B*S")
        self.assertEqual(folded("B*(hidden_size//num_attention_heads)+1", keys), "16*B+1")
        self.assertEqual(folded("(S+63)//hidden_size", keys), "(S+63)//64")

    def test_layers_in_place_of_others(self) -> None:
        known = [["b", "a", "b", "a"], ["b", "a", "b", "a", "b"]]
        self.assertEqual(state_among(["b", "a", "a"], {}, known), known[0])
        self.assertEqual(state_among(["b", "b", "a", "b"], {}, known), known[1])
        self.assertNotIn(state_among(["a", "b", "a"], {}, known), known)
        self.assertNotIn(state_among(["b"] * 3, {}, known), known)

    def test_values_under_other_numbers(self) -> None:
        row = ["call", "f", ["%3", "%9", "!%9", "'%9"], {}, [[10, "weights", ["=B"], {"view": "%9"}]]]
        self.assertEqual(moved([row], 5, 9), [["call", "f", ["%3", "%14", "!%14", "'%9"], {}, [[15, "weights", ["=B"], {"view": "%14"}]]]])

    def test_ends_of_all_layers(self) -> None:
        ends = [64, 9, 41, 42, 31, 32, 21, 22, 3, 43]  # three layers from 20 on, each of which makes ten values
        self.assertEqual(of_all_layers(ends, 20, 10, 3), [64, 9, [21, 22], 3, 43])
        self.assertEqual(of_all_layers([41, 42, 31, 21, 22], 20, 10, 3), [41, 42, 31, 21, 22])
        self.assertEqual(of_all_layers([21, 22], 20, 10, 1), [21, 22])
        self.assertEqual(moved([["end", [3, [21, 22], 43]]], 5, 20), [["end", [3, [21, 22], 48]]])

    def test_slices_of_all_that_there_is(self) -> None:
        def slice_of(value: int, made: int, first: int) -> Any:
            return ["call", "torch.Tensor.__getitem__", [f"%{value}", [{"slice": [None, None, None]}, {"slice": [first, None, None]}]], {}, [[made, "weights", ["=B", "=S"], {"view": f"%{value}"}]]]
        layers = [{"class": "Layer", "inputs": [["0", 0]], "code": [], "outputs": [["", "%0"]]}]
        code = [["module", "layers.0", 0, [0], [1]], slice_of(1, 2, 0), ["end", [1]], slice_of(2, 3, 1), ["module", "layers.1", 0, [2], [4]], ["end", [2]]]
        model = {"class": "Model", "inputs": [["0", 0]], "code": code, "outputs": [["", "%4"]]}
        self.assertEqual(without_whole_slices({"programs": [*layers, model]})["programs"][1], {**model, "outputs": [["", "%3"]], "code": [
            ["module", "layers.0", 0, [0], [1]], slice_of(1, 2, 1), ["module", "layers.1", 0, [1], [3]], ["end", [1]]]})

    def test_names_of_several_lists(self) -> None:
        text = '["module","attentions.1",4,[1],[2]] "@layers.1.weight" "@ffns.11.weight" "@/transformer.ffns.1.act"'
        self.assertEqual(starred(text, ("attentions", "ffns"), 1), '["module","attentions.*",4,[1],[2]] "@layers.1.weight" "@ffns.11.weight" "@/transformer.ffns.*.act"')

    def test_configurations_with_parts(self) -> None:
        parts = {"text_config": "", "vision_config": "vision_", "": "whole_"}
        given = {"text_config": {"hidden_size": 64}, "vision_config": {"hidden_size": 48}, "tie_word_embeddings": True}
        flat = {"hidden_size": 64, "vision_hidden_size": 48, "whole_tie_word_embeddings": True}
        self.assertEqual(flattened(parts, given), flat)
        self.assertEqual(nested(parts, flat), given)
        self.assertEqual([type_of({"model_type": "mistral3", "text_config": {"model_type": text}}) for text in ("mistral", "ministral3")], ["mistral3", "mistral3_ministral3"])

    def test_choices_that_explain(self) -> None:
        found = Alternatives()
        recorded = [({"a": a, "b": b}, leaf("top", x=leaf(["x", a]), y=leaf(["y", a and b]))) for a in (False, True) for b in (False, True)]
        number = found.merged(recorded)
        nodes = [json.loads(node) for node in found.nodes]
        below = nodes[number]["below"]
        self.assertEqual(nodes[below["x"]]["by"], ["a"])
        self.assertEqual(nodes[below["y"]]["by"], ["a", "b"])
        self.assertRaises(NotExplained, Alternatives().merged, [({"a": 1}, leaf("one")), ({"a": 1}, leaf("two"))])


@unittest.skipUnless(HAS_LIBRARIES, "needs torch and transformers")
class Proof(unittest.TestCase):
    def test_chunks_are_no_sizes_of_the_tables(self) -> None:
        from vramfit_record.sizes import Fit
        from vramfit_record.types.known import SIZES
        from vramfit_record.variants import CHUNKS

        names = ("hidden_size", "intermediate_size", "vocab_size", "num_attention_heads", "num_key_value_heads", "num_local_experts", "num_experts_per_tok", "shared_intermediate_size", "mamba_n_heads", "mamba_d_state")
        batches = (2, 3, 5)
        for left in ((0, 0, 0), (208, 173, 142)):  # rows of whole chunks, and others
            lengths = tuple(256 * chunks - n for chunks, n in zip(CHUNKS, left))
            fit = Fit({"B": batches, "S": lengths, **{name: SIZES[name] for name in names}})
            for numbers in (CHUNKS, tuple(n + 1 for n in CHUNKS), lengths, tuple(b * s for b, s in zip(batches, lengths)), tuple(b * n for b, n in zip(batches, CHUNKS)), left):
                found = str(fit(numbers))
                self.assertFalse(any(name in found for name in names), f"{numbers}: {found}")

    def test_a_network_that_no_one_recorded_for_the_type(self) -> None:
        import transformers

        from vramfit_record.record import record_network
        from vramfit_record.variants import TRAINER

        transformers.logging.set_verbosity_error()
        config = {"vocab_size": 411, "hidden_size": 96, "intermediate_size": 136, "num_attention_heads": 6, "num_key_value_heads": 2, "num_hidden_layers": 3, "pad_token_id": 0,
                  "tie_word_embeddings": True}
        made = instantiate(types()["olmo"], {"model_type": "olmo", **config})
        recorded = record_network(transformers.AutoConfig.for_model("olmo", **config), variants=TRAINER)
        self.assertEqual(difference(normal(made), normal(recorded)), "")
        other = record_network(transformers.AutoConfig.for_model("olmo", **{**config, "num_hidden_layers": 2}), variants=TRAINER)
        self.assertNotEqual(difference(normal(made), normal(other)), "")


if __name__ == "__main__":
    unittest.main()
