"""Code that mypy --strict accepts, with lines that it must not accept."""

import vramfit

prediction = vramfit.predict("qwen3-8b", method="qlora", seq=2048, gpu="RTX 4090", mixed_precision="bf16")
reserved: int = prediction.peak.reserved
verdict: str = prediction.verdict
sweep = vramfit.sweep("gemma-2b", gpu="8GiB", rank=[8, 16], optim=["sgd", "adamw_torch"], use_dora="true,false")
names: list[str] = [row["peak"] for row in sweep.rows]
answers = vramfit.check("a.yml", "b.yml", gpu=["24GiB"], set=["lora_r=8"]).answers
largest: int | None = answers[0].wall

vramfit.predict("qwen3-8b", method="qlroa")  # type: ignore[arg-type]
vramfit.predict("qwen3-8b", no_such_flag=1)  # type: ignore[call-arg]
verdict = prediction.peak.reserved  # type: ignore[assignment]
