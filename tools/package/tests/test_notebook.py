"""Answers where notebooks have them: pandas takes the rows of a sweep, IPython shows bars and pictures."""

import unittest
import xml.etree.ElementTree

import pandas
import vramfit
from IPython.core.interactiveshell import InteractiveShell


class Table(unittest.TestCase):
    def test_rows_are_a_frame(self):
        sweep = vramfit.sweep("gemma-2b", gpu="8GiB", rank=[8, 16], batch="1,2", seq=[256, 512], optim=["adamw_torch", "sgd"], top=10)
        frame = pandas.DataFrame(sweep.rows).set_index("place")
        self.assertEqual(len(frame), 10)
        self.assertEqual(str(frame["reserved"].dtype), "int64")
        self.assertTrue((frame["reserved"] >= frame["requested"]).all())
        widest = frame.groupby("optim")["sequence_length"].max()
        self.assertEqual(set(widest.index), {"adamw_torch", "sgd"})

    def test_windows_and_peaks_are_frames(self):
        windows = pandas.json_normalize(vramfit.timeline("gemma-2b", method="lora").document["windows"])
        self.assertGreater(windows["requested.peak"].max(), 0)
        peaks = pandas.json_normalize(vramfit.predict("gemma-2b", method="lora").document["peaks"])
        self.assertEqual(peaks["requested"].max(), peaks["requested"].iloc[peaks["requested"].argmax()])
        self.assertIn("name", peaks)


class Display(unittest.TestCase):
    def shown(self, answer):
        data, _ = InteractiveShell.instance().display_formatter.format(answer)
        return data

    def test_a_prediction_is_a_bar(self):
        page = self.shown(vramfit.predict("gemma-2b", method="qlora", gpu="8GiB"))["text/html"]
        self.assertIn("PyTorch", page)
        self.assertIn("fits", page)

    def test_a_sweep_is_its_ranking_and_map(self):
        data = self.shown(vramfit.sweep("gemma-2b", gpu="8GiB", rank=8, batch=[1, 2], seq=[256, 512]))
        self.assertIn("data:image/svg+xml;base64,", data["text/html"])
        xml.etree.ElementTree.fromstring(data["image/svg+xml"])

    def test_a_timeline_is_a_picture(self):
        data = self.shown(vramfit.timeline("gemma-2b", method="lora", gpu="24GiB"))
        xml.etree.ElementTree.fromstring(data["image/svg+xml"])
        self.assertIn("<img", data["text/html"])


if __name__ == "__main__":
    unittest.main()
