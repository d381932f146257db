"""Recordings of small networks; these need torch and transformers, and are skipped without."""
from __future__ import annotations

import importlib.util
import json
import unittest
from typing import Any

HAS_LIBRARIES = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))


def tiny(model_type: str, **values: Any) -> Any:
    import transformers

    transformers.logging.set_verbosity_error()
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 257}
    return transformers.AutoConfig.for_model(model_type, **{**sizes, **values})


@unittest.skipUnless(HAS_LIBRARIES, "needs torch and transformers")
class Recordings(unittest.TestCase):
    def recorded(self, config: Any, *variants: Any) -> Any:
        from vramfit_record import schema
        from vramfit_record.check import problems
        from vramfit_record.record import record_network
        from vramfit_record.variants import BASE

        made = record_network(config, variants=variants or (BASE,))
        self.assertEqual(schema.errors(made, schema.read()), [])
        self.assertEqual(problems(made), [])
        self.assertEqual(made["refused"], [])
        return made

    def calls(self, made: Any, of_class: str) -> list[Any]:
        return next(p for p in made["programs"] if p["class"] == of_class)["code"]

    def test_llama_is_what_modeling_llama_says(self) -> None:
        made = self.recorded(tiny("llama"))
        self.assertEqual([row.get("when") for row in made["variants"]], [{"batch": 1}, None])  # a single row has calls of its own
        norm = self.calls(made, "LlamaRMSNorm")
        self.assertEqual([row[1] if row[0] == "call" else row for row in norm], [
            "torch.Tensor.to", "torch.Tensor.pow", "torch.Tensor.mean", ["end", [2]], "torch.Tensor.add", "torch.rsqrt", ["end", [4]], "torch.Tensor.mul",
            ["end", [5, 1]], "torch.Tensor.to", "torch.Tensor.mul", ["end", [7, 6, 3]]])
        self.assertEqual(norm[0][2], ["%0", "!float32"])
        self.assertEqual(norm[9][2], ["%6", "!%0"])
        self.assertEqual(norm[0][4], [[1, "float32", ["=B", "=S", 64]]])

    def test_layers_of_a_kind_share_a_program(self) -> None:
        made = self.recorded(tiny("llama"))
        layers = [row for row in self.calls(made, "LlamaModel") if row[0] == "module" and row[1].startswith("layers.")]
        self.assertEqual([row[1] for row in layers], ["layers.0", "layers.1", "layers.2"])
        self.assertEqual(len({row[2] for row in layers}), 1)

    def test_kinds_of_layers_differ(self) -> None:
        made = self.recorded(tiny("gemma3_text", layer_types=["sliding_attention", "full_attention", "sliding_attention"], sliding_window=20))
        layers = [row[2] for row in self.calls(made, "Gemma3TextModel") if row[0] == "module" and row[1].startswith("layers.")]
        self.assertEqual(layers[0], layers[2])

    def test_rows_that_reach_a_window_have_programs_of_their_own(self) -> None:
        from vramfit_record.variants import Variant

        made = self.recorded(tiny("olmo3", layer_types=["sliding_attention", "full_attention", "sliding_attention"], sliding_window=200), Variant(mask="full"))
        self.assertEqual([row.get("when") for row in made["variants"]], [{"sizes": "S >= 200"}, None])
        reaching, below = (made["programs"][made["variants"][i]["program"]] for i in (0, 1))
        self.assertNotEqual(reaching, below)
        for program, holds in ((reaching, True), (below, False)):
            base = made["programs"][next(row[2] for row in program["code"] if row[0] == "module")]
            self.assertIn(["if", "S >= 200", holds], base["code"])

    def test_frequencies_are_made_outside_of_autocast_and_autograd(self) -> None:
        rotary = self.calls(self.recorded(tiny("llama")), "LlamaRotaryEmbedding")
        flags = {row[1]: row[5] if len(row) > 5 else {} for row in rotary if row[0] == "call"}
        self.assertTrue(all(f.get("no_grad") for f in flags.values()))
        self.assertFalse(flags["torch.Tensor.matmul"]["autocast"])

    def test_a_condition_of_the_path(self) -> None:
        self.assertIn(["if", "S > 1", True], self.calls(self.recorded(tiny("llama")), "LlamaAttention"))

    def test_the_loss_is_marked(self) -> None:
        outer = self.calls(self.recorded(tiny("llama")), "LlamaForCausalLM")
        marked = [row[1] for row in outer if row[0] == "call" and len(row) > 5 and row[5].get("loss")]
        self.assertEqual(marked[-1], "torch.nn.functional.cross_entropy")
        self.assertNotIn("torch.Tensor.__getitem__", marked[:1])

    def test_masks_are_read_as_they_are(self) -> None:
        from vramfit_record.variants import Variant

        made = self.recorded(tiny("llama"), Variant(mask="full"), Variant(mask="padded"))
        self.assertEqual([v["mask"] for v in made["variants"]], ["full", "padded"])
        self.assertNotEqual(made["variants"][0]["program"], made["variants"][1]["program"])
        assumed = [row for p in made["programs"] for row in p["code"] if row[0] == "call" and len(row) > 5 and row[5].get("assumed")]
        self.assertEqual(assumed, [])

    def test_checkpointed_layers_are_units(self) -> None:
        from vramfit_record.variants import Variant

        made = self.recorded(tiny("llama"), Variant(checkpointing=True))
        units = [row for row in self.calls(made, "LlamaModel") if row[0] == "checkpoint"]
        self.assertEqual(len(units), 3)
        self.assertEqual([row[0] for row in made["programs"][units[0][2]]["inputs"]][0], "0")

    def test_tied_weights(self) -> None:
        made = self.recorded(tiny("llama", tie_word_embeddings=True))
        self.assertEqual(made["ties"], [["model.embed_tokens.weight", "lm_head.weight"]])

    def test_what_the_class_declares(self) -> None:
        network = self.recorded(tiny("llama"))["network"]
        self.assertEqual((network["input_embeddings"], network["output_embeddings"]), ("model.embed_tokens", "lm_head"))
        self.assertTrue(network["accepts_loss_kwargs"] and network["loss_shifts_labels"])
        self.assertFalse({"checkpoint", "conversion"} & network.keys())

    def test_names_in_checkpoints(self) -> None:
        mixture = self.recorded(tiny("mixtral", num_local_experts=4, num_experts_per_tok=2))["network"]
        expert = "model.layers.*.block_sparse_moe.experts.*"
        self.assertEqual(mixture["checkpoint"],
                         [["model.layers.*.mlp.gate.weight", "model.layers.*.block_sparse_moe.gate.weight"],
                          ["model.layers.*.mlp.experts.gate_up_proj", f"{expert}.w1.weight", f"{expert}.w3.weight"],
                          ["model.layers.*.mlp.experts.down_proj", f"{expert}.w2.weight"]])
        self.assertNotIn("conversion", mixture)

    def test_sizes_are_formulas_of_the_configuration(self) -> None:
        from vramfit_record.check import problems, value_of
        from vramfit_record.record import record_network

        made = record_network(tiny("llama"), vary={"hidden_size": (64, 88, 152), "num_attention_heads": (8, 9, 14), "num_key_value_heads": (4, 3, 7), "head_dim": (14, 34, 26)})
        self.assertEqual(problems(made), [])
        query = next(k for k in made["modules"] if k["class"] == "Linear")["parameters"][0][2]
        self.assertEqual(query, ["=num_attention_heads*head_dim", "=hidden_size"])
        self.assertEqual(value_of(query[0], 1, 1, {"num_attention_heads": 32, "head_dim": 128}), 4096)
        self.assertRaises(ValueError, record_network, tiny("llama"), vary={"hidden_size": (20, 30, 50)})

    def test_numbers_are_the_first_formula_that_says_them(self) -> None:
        from vramfit_record.sizes import Fit

        fit = Fit({"B": (2, 3, 5), "S": (48, 83, 114), "hidden_size": (192, 320, 480), "heads": (12, 8, 20), "rope_head_dim": (18, 26, 10), "v_head_dim": (74, 58, 94)})
        for numbers, formula in {(7, 7, 7): 7, (96, 249, 570): "B*S", (576, 960, 1440): "3*hidden_size", (96, 160, 240): "hidden_size//2",
                                 (288, 480, 720): "3*hidden_size//2", (16, 40, 24): "hidden_size//heads", (32, 80, 48): "2*(hidden_size//heads)", (193, 321, 481): "hidden_size+1",
                                 (92, 84, 104): "(rope_head_dim+v_head_dim)", (-2, 14, 14): "(hidden_size//heads)-rope_head_dim", (50, 106, 58): "rope_head_dim+2*(hidden_size//heads)",
                                 (192 * 96, 320 * 249, 480 * 570): "B*S*hidden_size", (193, 322, 484): None}.items():
            self.assertEqual(fit(numbers), formula, numbers)

    def test_what_is_remembered_of_functions_changes_nothing(self) -> None:
        from vramfit_record import passes
        from vramfit_record.device import replaced

        plain = type("Plain", (), {"call": staticmethod(lambda name, function, args, kwargs: function(*args, **kwargs))})
        for model_type, values in (("qwen3_moe", {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}), ("gptj", {"n_embd": 64, "n_head": 4, "rotary_dim": 8})):
            made = self.recorded(tiny(model_type, **values))
            with replaced([(passes, "REMEMBERED", plain)]):
                self.assertEqual(json.dumps(self.recorded(tiny(model_type, **values))), json.dumps(made))

    def test_the_same_bytes(self) -> None:
        texts = {json.dumps(self.recorded(tiny("qwen2"))) for _ in range(2)}
        self.assertEqual(len(texts), 1)


if __name__ == "__main__":
    unittest.main()
