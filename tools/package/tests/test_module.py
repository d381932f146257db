"""The module against the program that is installed beside it, or against $VRAMFIT_PROGRAM."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

import vramfit


def answer_of(*words):
    """What the program itself prints."""
    return subprocess.run([vramfit.program(), *words], capture_output=True, text=True)


class Questions(unittest.TestCase):
    def test_a_prediction_is_the_programs(self):
        words = ["--method", "qlora", "--seq", "512", "--gpu", "8GiB", "--format", "json"]
        document = json.loads(answer_of("predict", "gemma-2b", *words).stdout)
        prediction = vramfit.predict("gemma-2b", method="qlora", seq=512, gpu="8GiB")
        self.assertEqual(prediction.document, document)
        self.assertEqual(prediction.verdict, "fits")
        self.assertEqual(prediction.peak.reserved, document["peak"]["reserved"])
        self.assertEqual([peak.id for peak in prediction.peaks], [peak["id"] for peak in document["peaks"]])
        self.assertEqual(prediction.peaks[0].shares[0].bytes, document["peaks"][0]["shares"][0]["bytes"])

    def test_what_does_not_fit_is_an_answer(self):
        prediction = vramfit.predict("gemma-2b", method="full", gpu="8GiB")
        self.assertEqual(prediction.verdict, "too_large")

    def test_booleans_lists_and_paths(self):
        given = vramfit.predict("gemma-2b", use_dora=True, targets=["q_proj", "v_proj"], bnb_4bit_quant_type=None)
        self.assertEqual(given.plan["peft"]["use_dora"], True)
        self.assertEqual(given.plan["peft"]["target_modules"], ["q_proj", "v_proj"])

    def test_a_job_from_a_dictionary(self):
        first = vramfit.predict("gemma-2b", method="qlora", rank=16)
        with_batch = {**first.plan, "training": {**first.plan["training"], "per_device_train_batch_size": 4}}
        job = {"schema": "vramfit.job/1", "model": "gemma-2b", **with_batch}
        try:
            second = vramfit.predict(job=job)
        except vramfit.VramfitError as error:
            self.fail(str(error))
        self.assertEqual(second.plan["training"]["per_device_train_batch_size"], 4)

    def test_a_sweep_is_a_table(self):
        sweep = vramfit.sweep("gemma-2b", gpu="8GiB", rank=[8, 16], batch="1,2", seq=[256, 512], top=5)
        self.assertEqual(len(sweep.rows), 5)
        row = sweep.rows[0]
        self.assertIn(row["rank"], (8, 16))
        self.assertEqual(row["reserved"], sweep.ranking[0].reserved)
        again = subprocess.run([vramfit.program(), *shlex.split(row["command"])[1:], "--format", "json"], capture_output=True)
        self.assertEqual(json.loads(again.stdout)["peak"]["allocated"], row["allocated"])

    def test_choices_are_columns(self):
        sweep = vramfit.sweep("gemma-2b", gpu="8GiB", rank=8, batch=1, seq=256, optim=["adamw_torch", "sgd"])
        self.assertEqual({row["optim"] for row in sweep.rows}, {"adamw_torch", "sgd"})

    def test_plan_timeline_and_check(self):
        plan = vramfit.plan("llama-3.2-1b", gpus="2x24GiB", no_largest=True)
        self.assertIn("ddp", {method.id.split("_")[0] for method in plan.methods})
        timeline = vramfit.timeline("gemma-2b", method="lora")
        self.assertGreater(max(window.reserved.peak for window in timeline.windows), 0)
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "config.yml"
            config.write_text(
                "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nadapter: lora\nlora_r: 8\nbf16: true\n"
                "micro_batch_size: 1\n"
            )
            check = vramfit.check(config, gpu=["24GiB", "1GiB"], set=["lora_r=16", "micro_batch_size=2"])
            self.assertEqual([answer.verdict for answer in check.answers], ["fits", "too_large"])
            self.assertEqual(check.plan["peft"]["r"], 16)
            config.write_text(
                "base_model: llama-3.2-1b\ndatasets: []\nrl: ebft\nsequence_len: 512\nadapter: lora\nlora_r: 8\nbf16: true\n"
                "micro_batch_size: 1\n"
            )
            with self.assertRaises(vramfit.Unsupported) as caught:
                vramfit.check(config, gpu="24GiB")
            self.assertIn("config.yml:3:1", caught.exception.where)
            self.assertEqual(caught.exception.document["refusals"][0]["key"], "rl")

    def test_tables(self):
        self.assertIn("qwen3-8b", {row["name"] for row in vramfit.models("qwen3")})
        self.assertTrue(any("4090" in row["name"] for row in vramfit.gpus()))
        self.assertIn("hf-2026-11", {row["name"] for row in vramfit.stacks()})


class Errors(unittest.TestCase):
    def test_place_problem_and_hint(self):
        with self.assertRaises(vramfit.InvalidQuestion) as caught:
            vramfit.predict("gemma-2b", gpu="24")
        error = caught.exception
        self.assertEqual((error.where, error.what), ("--gpu", "'24' has no unit"))
        self.assertTrue(error.hint.startswith("write 24GiB"))
        self.assertIn("'24' has no unit", str(error))

    def test_a_keyword_that_is_no_flag(self):
        with self.assertRaises(vramfit.InvalidQuestion) as caught:
            vramfit.predict("gemma-2b", bach=4)
        self.assertEqual((caught.exception.where, caught.exception.hint), ("--bach", "did you mean '--batch'?"))

    def test_what_is_not_supported(self):
        with self.assertRaises(vramfit.Unsupported) as caught:
            vramfit.predict("gemma-2b", gpu="mi300x")
        self.assertEqual(caught.exception.where, "--gpu")

    def test_a_value_that_looks_like_a_flag_or_a_shell(self):
        for value in ("--format", "; touch pwned", "-"):
            with self.assertRaises(vramfit.VramfitError):
                vramfit.predict("gemma-2b", gpu=value)


class Notebooks(unittest.TestCase):
    def test_the_verdict_as_a_bar(self):
        shown = vramfit.predict("gemma-2b", method="qlora", gpu="8GiB")._repr_html_()
        self.assertIn("fits", shown)
        self.assertRegex(shown, r"width:\d+\.\d%")
        self.assertIn("no GPU was given", vramfit.predict("gemma-2b")._repr_html_())

    def test_the_map_as_svg(self):
        sweep = vramfit.sweep("gemma-2b", gpu="8GiB", rank=[8, 16], batch=[1, 2], seq=[256, 512])
        self.assertTrue(sweep.map().startswith("<svg") or sweep.map().startswith("<?xml"))
        self.assertIn("data:image/svg+xml", sweep._repr_html_())
        self.assertIn("configurations of gemma-2b", sweep._repr_html_())
        none = vramfit.sweep("llama-3.1-8b", gpu="2GiB", rank=8, batch=1, seq=256)
        self.assertIn("none fits", none._repr_html_())

    def test_other_reports_of_the_same_question(self):
        prediction = vramfit.predict("gemma-2b", gpu="8GiB", method="qlora")
        self.assertEqual(prediction.report(), answer_of("predict", "--model=gemma-2b", "--gpu=8GiB", "--method=qlora").stdout)


class Program(unittest.TestCase):
    def test_python_m(self):
        done = subprocess.run([sys.executable, "-m", "vramfit", "--version"], capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), f"vramfit {vramfit.version()}")
        done = subprocess.run([sys.executable, "-m", "vramfit", "predict", "nothing"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)

    @unittest.skipIf("VRAMFIT_PROGRAM" in os.environ, "another program is asked for")
    def test_the_program_is_that_of_this_environment(self):
        self.assertTrue(vramfit.program().startswith(sys.prefix), vramfit.program())


class Pandas(unittest.TestCase):
    def test_rows_become_a_frame(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        sweep = vramfit.sweep("gemma-2b", gpu="8GiB", rank=[8, 16], batch=[1, 2], seq=256)
        frame = pandas.DataFrame(sweep.rows)
        self.assertEqual(frame["reserved"].max(), max(row.reserved for row in sweep.ranking))


if __name__ == "__main__":
    unittest.main()
