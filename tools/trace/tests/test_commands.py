"""What the commands compute, without the libraries: python3 -m unittest discover -s tools/trace/tests -t tools/trace."""
from __future__ import annotations

import json
import unittest

from vramfit_trace import data
from vramfit_trace.cards import CARDS, card_named
from vramfit_trace.compare import compare, first_event
from vramfit_trace.families import FAMILIES
from vramfit_trace.job import JobError, complete, read_job
from vramfit_trace.peaks import at_peaks
from vramfit_trace.shares import compare_shares
from vramfit_trace.space import draw
from vramfit_trace.space_processes import METHODS
from vramfit_trace.tracing import variables_of_processes, variables_of_unsloth
from vramfit_trace.walk import jobs_of
from vramfit_trace.worker import history, rows
from vramfit_trace.worker.names import module_of, place_of, span

MODEL = {"model_type": "llama"}


def window(name: str, *levels: int) -> dict:
    """A window of a trace with one peak and end in every level."""
    peak, end = levels
    return {"name": name, "peak": peak, "end": end, "allocated": {"peak": peak, "end": end}, "reserved": {"peak": peak, "end": end}}


def answer(name: str, *levels: int) -> dict:
    """The same window of a timeline."""
    level = {"peak": levels[0], "end": levels[1]}
    return {"name": name, "requested": level, "allocated": level, "reserved": level}


def trace(windows: list[dict], events: list | None = None, **model: object) -> dict:
    return {"job": complete({"model": MODEL | model}), "outcome": {"oom": None, "retries": 0}, "windows": windows, "events": events or []}


class Names(unittest.TestCase):
    def test_what_several_parameters_share_is_named_by_what_is_around_them(self) -> None:
        self.assertEqual(span(["layers.0.mlp.up_proj", "layers.0.mlp.down_proj"]), "layers.0.mlp")
        self.assertEqual(span(["layers.0.mlp.up_proj", "layers.0.self_attn.q_proj"]), "layers.0")
        self.assertEqual(span(["layers.1.mlp.up_proj", "layers.10.self_attn.q_proj", "norm"]), "layers.1..norm")
        self.assertEqual(span(["layers.1.mlp.up_proj", "layers.10.self_attn.q_proj"]), "layers.1..layers.10")
        self.assertEqual(span(["lm_head", "lm_head"]), "lm_head")
        self.assertEqual(span([]), "")

    def test_a_parameter_s_module_is_without_wrappers_and_adapters(self) -> None:
        name = place_of("base_model.model.model.layers.3.self_attn.q_proj.lora_A.default.weight")
        self.assertEqual(module_of(name), "layers.3.self_attn.q_proj")
        self.assertEqual(module_of(place_of("module.transformer.h.1._fsdp_wrapped_module.attn.c_attn.weight")), "layers.1.attn.c_attn")


class Jobs(unittest.TestCase):
    def test_defaults_are_filled_in(self) -> None:
        job = read_job(json.dumps({"model": MODEL, "loop": {"steps": 3}}))
        self.assertEqual((job["loop"]["steps"], job["loop"]["kind"], job["load"]["dtype"]), (3, "trainer", "bfloat16"))

    def test_unknown_keys_and_choices_are_refused(self) -> None:
        for wrong in (
                {"modle": MODEL}, {"load": {"dtyp": 1}}, {"loop": {"kind": "ppo"}}, {"environment": {"LD_PRELOAD": "x"}}, {"card": "a"}):
            with self.assertRaises(JobError):
                complete({"model": MODEL, **wrong})

    def test_preferences_are_rows_of_given_lengths(self) -> None:
        job = complete({"model": MODEL, "loop": {"kind": "dpo"}, "batch": {"prompt_length": 2, "completion_length": [3, 1]}})
        self.assertEqual(job["batch"], {"prompt_length": 2, "completion_length": [3, 1], "rejected_length": None})
        self.assertTrue(job["trl"]["peft_config"])
        self.assertNotIn("prompt_length", complete({"model": MODEL})["batch"])
        for kind, wrong in (("dpo", {"sequence_length": 8}), ("dpo", {"prompt_length": 0}), ("grpo", {"rejected_length": 4}),
                            ("kto", {"completion_length": []}), ("kto", {"desirable": [1]}), ("reward", {"rejected_length": True}),
                            ("trainer", {"prompt_length": 2})):
            with self.assertRaises(JobError):
                complete({"model": MODEL, "loop": {"kind": kind}, "batch": wrong})
        self.assertEqual(complete({"model": MODEL, "loop": {"kind": "dpo"}, "distributed": {"kind": "ddp"}})["trl"]["trainer"], "trl")
        for kind, processes in (("dpo", "tp"), ("grpo", "fsdp1"), ("rloo", "fsdp1"), ("kto", "ddp")):
            with self.assertRaises(JobError):
                complete({"model": MODEL, "loop": {"kind": kind}, "distributed": {"kind": processes}})

    def test_networks_beside_the_one_that_is_trained(self) -> None:
        job = complete({"model": MODEL, "loop": {"kind": "grpo", "reward_models": [{"model": MODEL, "dtype": "float16"}]}})
        self.assertEqual(job["loop"]["reward_models"][0]["dtype"], "float16")
        self.assertEqual(job["loop"]["reward_models"][0]["model"]["dtype"], "bfloat16")
        self.assertNotIn("teacher", job["loop"])
        self.assertIsNone(complete({"model": MODEL, "loop": {"kind": "gkd", "teacher": {"model": MODEL}}})["batch"]["generated_length"])
        for wrong in ({"kind": "dpo", "reward_models": [{"model": MODEL}]}, {"kind": "grpo", "reward_models": [{}]}, {"kind": "gkd"},
                      {"kind": "grpo", "teacher": {"model": MODEL}}, {"kind": "gkd", "teacher": {"model": MODEL, "name": "x"}}):
            with self.assertRaises(JobError):
                complete({"model": MODEL, "loop": wrong})

    def test_processes_have_defaults_and_options_of_their_kind_only(self) -> None:
        job = complete({"model": MODEL, "distributed": {"kind": "fsdp2", "rank": 1}})
        self.assertEqual((job["distributed"]["world_size"], job["distributed"]["events"]), (2, "slow"))
        self.assertIsNone(complete({"model": MODEL})["distributed"])
        for wrong in ({"kind": "pipeline"}, {"kind": "tp", "ddp": {"ddp_bucket_cap_mb": 1}}, {"kind": "ddp", "rank": 2}, {"kind": "ddp", "size": 2}):
            with self.assertRaises(JobError):
                complete({"model": MODEL, "distributed": wrong})

    def test_a_launcher_tells_each_process_its_rank(self) -> None:
        job = complete({"model": MODEL, "distributed": {"kind": "tp", "world_size": 4, "rank": 3}})
        told = variables_of_processes(job)
        self.assertEqual((told["RANK"], told["WORLD_SIZE"], told["LOCAL_RANK"]), ("3", "4", "0"))
        self.assertEqual(variables_of_processes(complete({"model": MODEL})), {})

    def test_a_card_can_be_spelled_out(self) -> None:
        self.assertEqual(card_named(CARDS["t4"].text()), CARDS["t4"])

    def test_an_l2_cache_of_its_own_may_follow(self) -> None:
        self.assertEqual(card_named("X,8,9,76,1000,900,4194304").l2, 4194304)
        self.assertEqual(card_named("X,8,9,76,1000,900").l2, 50 << 20)
        with self.assertRaises(ValueError):
            card_named("X,8,9,76,1000,900,1,2")

    def test_unsloth_s_options_have_defaults_of_their_own(self) -> None:
        job = complete({"model": MODEL, "loop": {"kind": "unsloth"}, "peft": {"r": 16}, "unsloth": {"load_in_4bit": False}})
        self.assertEqual((job["unsloth"]["load_in_4bit"], job["unsloth"]["use_gradient_checkpointing"]), (False, "unsloth"))
        self.assertEqual((job["training"]["optim"], job["batch"]["lengths"]), ("adamw_8bit", None))
        self.assertNotIn("gradient_checkpointing", job["training"])
        self.assertNotIn("unsloth", complete({"model": MODEL}))
        for wrong in ({"peft": None}, {"unsloth": {"full_finetuning": True}}, {"unsloth": {"load_in_4_bit": True}}, {"batch": {"lengths": []}},
                      {"batch": {"lengths": [1]}}, {"batch": {"attention_mask": "absent"}}, {"load": {"dtype": "float32"}}, {"prepare_kbit": {}},
                      {"distributed": {"kind": "fsdp2"}}):
            with self.assertRaises(JobError):
                complete({"model": MODEL, "loop": {"kind": "unsloth"}, "peft": {"r": 16}, **wrong})

    def test_unsloth_runs_with_nobody_told(self) -> None:
        job = complete({"model": MODEL, "loop": {"kind": "unsloth"}, "peft": {}})
        self.assertEqual(variables_of_unsloth(job)["UNSLOTH_DISABLE_STATISTICS"], "1")
        self.assertEqual(variables_of_unsloth(complete({"model": MODEL})), {})

    def test_walks_of_trl_leave_out_what_its_trainer_cannot_trace(self) -> None:
        jobs = jobs_of(1, 40, "hf-2026-11", {"llama": FAMILIES["llama"]}, [], sft=True)
        self.assertTrue(jobs)
        self.assertEqual({job["loop"]["kind"] for job in jobs}, {"sft"})
        self.assertLessEqual({job["batch"]["attention_mask"] for job in jobs}, {"ones", "right_padded"})
        self.assertFalse([job["name"] for job in jobs if "int8" in job["name"]])


class Rows(unittest.TestCase):
    def job(self, kind: str, **batch: object) -> dict:
        return complete({"model": MODEL, "loop": {"kind": kind}, "batch": batch})

    def test_each_word_is_a_token_and_the_end_is_the_trainer_s(self) -> None:
        job = self.job("dpo", prompt_length=2, completion_length=[3, 1], rejected_length=5)
        self.assertEqual(rows.row_of(job, 0), {"prompt": "w w", "chosen": " w w", "rejected": " w w w w"})
        self.assertEqual(rows.row_of(job, 3)["chosen"], "")
        self.assertEqual(rows.row_of(self.job("dpo", completion_length=4), 0)["rejected"], " w w w")
        self.assertEqual([rows.row_of(self.job("kto"), row)["label"] for row in range(3)], [True, False, True])
        self.assertEqual(set(rows.row_of(self.job("grpo"), 0)), {"prompt"})

    def test_a_reward_model_sees_prompt_and_completion_apart(self) -> None:
        job = complete({"model": MODEL, "loop": {"kind": "grpo", "reward_models": [{"model": MODEL}]}, "batch": {"prompt_length": 2}})
        self.assertEqual(rows.row_of(job, 0), {"prompt": "w w "})
        job = complete({"model": MODEL, "loop": {"kind": "gkd", "teacher": {"model": MODEL}}, "batch": {"prompt_length": 2, "completion_length": 2}})
        self.assertEqual((rows.row_of(job, 0)["input_ids"][-1], rows.row_of(job, 0)["completion_mask"]), (0, [0, 0, 1, 1]))

    def test_completions_end_at_the_job_s_lengths(self) -> None:
        drawn = rows.Completions(self.job("rloo", completion_length=[3, 1]))
        self.assertEqual([drawn.draw(2) for _ in range(3)], [[rows.WORD, rows.END], [rows.WORD, rows.END], [rows.END, rows.END]])
        drawn.restart()
        self.assertEqual(drawn.draw(1), [rows.WORD])
        self.assertEqual([drawn.whole(row) for row in range(3)], [[rows.WORD, rows.WORD, rows.END], [rows.END], [rows.WORD, rows.WORD, rows.END]])


class Histories(unittest.TestCase):
    ENTRIES = [{"action": "segment_alloc", "addr": 1, "size": 2097152}, {"action": "alloc", "addr": 1, "size": 100},
               {"action": "alloc", "addr": 2, "size": 600}, {"action": "free_completed", "addr": 1, "size": 512},
               {"action": "alloc", "addr": 1, "size": 50}, {"action": "free_completed", "addr": 2, "size": 600}]

    def test_windows_end_where_the_allocator_had_made_so_many_calls(self) -> None:
        found = history.read(self.ENTRIES, [0, 2, 5], stop=False)
        self.assertEqual([event[0] for event in found.events if event[1] != "segment_alloc"], [1, 1, 2, 2, 2])
        self.assertEqual(found.events[3], [2, "free", 1, 100])
        levels = history.requested(found.events, 3)
        self.assertEqual([(level.peak, level.end) for level in levels], [(0, 0), (700, 700), (700, 50)])
        self.assertEqual((levels[1].peak_rounded, levels[2].end_rounded), (1536, 512))

    def test_what_came_after_the_end_is_left_out(self) -> None:
        self.assertEqual(len(history.read(self.ENTRIES, [0, 2], stop=True).allocations()), 2)


class Comparisons(unittest.TestCase):
    def test_windows_pair_in_order(self) -> None:
        traced = trace([window("trainer", 1, 1), window("adapters", 2, 2), window("trainer", 3, 3)])
        ours = {"windows": [answer("trainer", 1, 1), answer("adapters", 2, 2), answer("trainer", 3, 4)]}
        found = compare(traced, ours)
        self.assertEqual((found.windows, found.equal["requested"], found.exact), (3, 2, False))
        self.assertIn("requested peak +0 of 3, end +1 of 3", found.differences[0].text())

    def test_the_peak_of_a_threaded_load_may_differ(self) -> None:
        ours = {"windows": [answer("load", 1009, 900)]}
        self.assertTrue(compare(trace([window("load", 1000, 900)], num_experts=8), ours).exact)
        self.assertFalse(compare(trace([window("load", 1000, 900)]), ours).exact)
        alone = trace([window("load", 1000, 900)], num_experts=8)
        alone["job"]["environment"]["HF_DEACTIVATE_ASYNC_LOAD"] = "1"
        self.assertFalse(compare(alone, ours).exact)

    def test_outcomes_are_compared(self) -> None:
        refused = {**trace([]), "outcome": {"refused": "ValueError: no"}}
        self.assertTrue(compare(refused, {"refused": "unsupported", "status": 3}).exact)
        self.assertFalse(compare(trace([]), {"refused": "unsupported", "status": 3}).exact)

    def test_the_first_event_that_differs(self) -> None:
        events = [[0, "alloc", 1, 8, {"op": "aten::mm", "inputs": [[[2, 2], "bfloat16"]]}],
                  [0, "alloc", 2, 9], [0, "free", 1, 8], [0, "free", 2, 9]]
        swapped = [[0, "alloc", 0, 8, {"op": "aten::mm"}], [0, "alloc", 1, 9], [0, "free", 1, 9], [0, "free", 0, 8]]
        traced = trace([window("start", 17, 0)], events)
        self.assertEqual(first_event(traced, {"windows": [answer("start", 17, 0)], "events": swapped}), "")
        other = [[0, "alloc", 0, 16, {"op": "aten::mm", "shape": [2, 2], "dtype": "float32"}], *swapped[1:]]
        text = first_event(traced, {"windows": [answer("start", 17, 0)], "events": other})
        self.assertIn("> traced   +8 aten::mm, [2, 2] bfloat16\n> vramfit  +16 aten::mm, -> [2, 2] float32", text)


class Walks(unittest.TestCase):
    def test_the_same_number_draws_the_same_job_and_each_is_well_formed(self) -> None:
        for number in range(200):
            job = draw(1, number, "hf-2026-11", FAMILIES, [])
            self.assertEqual(job, draw(1, number, "hf-2026-11", FAMILIES, []))
            complete(job)

    def test_a_walk_among_processes_draws_each_kind(self) -> None:
        kinds = {}
        for number in range(60):
            job = draw(1, number, "hf-2026-11", FAMILIES, [], METHODS)
            self.assertEqual(job, draw(1, number, "hf-2026-11", FAMILIES, [], METHODS))
            kinds[complete(job)["distributed"]["kind"]] = job
        self.assertEqual(set(kinds), set(METHODS))

    def test_the_compact_form(self) -> None:
        self.assertEqual(data.compact("x", trace([window("start", 1, 2)]))["windows"], [["start", 1, 2, 1, 2, 1, 2]])


class Peaks(unittest.TestCase):
    EVENTS = [[0, "alloc", 1, 100, {"category": "weights", "module": "lm_head"}], [1, "alloc", 2, 50, {"category": "temporaries", "module": ""}],
              [1, "free", 2, 50], [1, "alloc", 3, 50, {"category": "gradients", "module": "lm_head"}]]

    def test_the_first_instant_of_a_peak_counts(self) -> None:
        start, step = at_peaks(self.EVENTS, [100, 150])
        self.assertEqual(dict(start.shares), {"weights": 100})
        self.assertEqual(dict(step.shares), {"weights": 100, "temporaries": 50})
        self.assertEqual(step.tensors[50, "temporaries", ""], 1)

    def test_a_window_may_begin_at_its_peak(self) -> None:
        events = [*self.EVENTS[:3], [2, "alloc", 3, 1, {"category": "gradients"}]]
        self.assertEqual([held.total for held in at_peaks(events, [100, 150, 101])], [100, 150, 101])
        self.assertEqual(at_peaks([*events[:2], [2, "free", 2, 50]], [100, 150, 150])[2].total, 150)
        with self.assertRaises(ValueError):
            at_peaks(self.EVENTS, [100, 151])

    def test_shares_of_a_named_peak_are_compared(self) -> None:
        window = {"name": "w", "peak": 100, **at_peaks(self.EVENTS[:1], [100])[0].as_json()}
        document = {"windows": [{"name": "w", "requested": {"peak": 100}}], "events": self.EVENTS[:1]}
        for category, right in (("weights", 1.0), ("adapters", 0.0)):
            prediction = {"peaks": [{"name": "load", "window": "w", "requested": 100, "shares": [{"category": category, "bytes": 100}]}]}
            self.assertEqual(compare_shares({"windows": [window]}, prediction, document)[0].share, right)

    def test_what_is_freed_after_the_last_window_is_told_apart(self) -> None:
        entries = [{"action": "alloc", "addr": 1, "size": 8}, {"action": "free_completed", "addr": 1, "size": 8}]
        found = history.read(entries, [1], stop=True)
        self.assertEqual((len(found.events), found.freed_later), (1, [1]))


if __name__ == "__main__":
    unittest.main()
