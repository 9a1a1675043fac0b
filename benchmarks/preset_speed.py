"""Training speed of the paper's models: the last column of table 2, on the device at hand.

python benchmarks/preset_speed.py OUT.json [--length 512] [--examples 1] [--presets bert-large albert-base-v1 …]

Every model trains on the same number of random tokens in full rows, AdamW, forward, backward and update; the median
of the rounds counts. The ratios of the paper are those of 64 to 512 TPUs at equal numbers of TPUs. Results are added to
OUT.json, so that each preset can be measured in a call of its own; the table of all of them is printed as Markdown.
"""

import argparse
import json
import platform
import statistics
import time
from datetime import date
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from litebert.machine import processor_name, source_commit
from litebert.model.model_stats import flops_per_token
from litebert.model.models import ForPretraining
from litebert.model.presets import preset

PAPER = {
    "bert-large": 1.0,
    "bert-base": 4.7,
    "albert-base-v1": 5.6,
    "albert-large-v1": 1.7,
    "paper-xlarge": 0.6,
    "paper-xxlarge": 0.3,
}
PREDICTED = 0.15


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[torch.Tensor, ...]) -> None:
    """One update."""
    input_ids, mask, types, positions, labels = batch
    with torch.autocast(input_ids.device.type, torch.bfloat16):
        output = model(input_ids, mask, types, positions)
        loss = cross_entropy(output.mlm_logits.float(), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def random_batch(vocab_size: int, examples: int, length: int, device: str) -> tuple[torch.Tensor, ...]:
    """Full rows of random tokens, of which a share is predicted."""
    generator = torch.Generator().manual_seed(0)
    input_ids = torch.randint(5, vocab_size, (examples, length), generator=generator)
    positions = torch.randperm(examples * length, generator=generator)[: int(PREDICTED * examples * length)].sort()[0]
    mask, types = torch.ones_like(input_ids, dtype=torch.bool), torch.zeros_like(input_ids)
    labels = input_ids.flatten()[positions]
    return tuple(tensor.to(device) for tensor in (input_ids, mask, types, positions, labels))


def measure(name: str, *, examples: int, length: int, rounds: int, device: str) -> dict[str, float]:
    """Tokens per second of one preset."""
    config = preset(name)
    model = ForPretraining(config, seed=0).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batch = random_batch(config.vocab_size, examples, length, device)
    seconds = []
    for number in range(rounds + 1):
        start = time.perf_counter()
        step(model, optimizer, batch)
        if device == "cuda":
            torch.cuda.synchronize()
        if number:  # the first one warms up
            seconds.append(time.perf_counter() - start)
    median = statistics.median(seconds)
    flops = flops_per_token(config, length=length, predicted=PREDICTED).training
    tokens = examples * length
    return {"tokens_per_second": tokens / median, "seconds": median, "gflops_per_second": tokens * flops / median / 1e9}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--examples", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--presets", nargs="+", default=list(PAPER))
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sizes = {"examples": arguments.examples, "length": arguments.length}
    about = {
        "processor": processor_name(),
        "device": device,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **sizes,
    }
    content = json.loads(arguments.out.read_text()) if arguments.out.exists() else {**about, "presets": {}}
    if differing := [name for name, value in about.items() if content[name] != value]:
        parser.error(f"{arguments.out}: was measured with another {', '.join(differing)}; give another file")
    for name in arguments.presets:
        found = measure(name, device=device, rounds=arguments.rounds, **sizes)
        stamp = {"rounds": arguments.rounds, "date": date.today().isoformat(), "commit": source_commit()}
        content["presets"][name] = {**found, "paper": PAPER.get(name), **stamp}
        arguments.out.write_text(json.dumps(with_ratios(content), indent=2) + "\n")
    print(markdown(content))


def with_ratios(content: dict[str, Any]) -> dict[str, Any]:
    """The results with the speed of each preset relative to that of BERT-large, where that was measured."""
    presets = content["presets"]
    reference = presets.get("bert-large", {}).get("tokens_per_second")
    for result in presets.values():
        result["relative"] = reference and result["tokens_per_second"] / reference
    return content


def markdown(content: dict[str, Any]) -> str:
    """The table of docs/results/performance.md."""
    lines = ["| preset | tokens/s | GFLOP/s | relative to `bert-large` | paper |", "| --- | --- | --- | --- | --- |"]
    known = [name for name in PAPER if name in content["presets"]]
    for name in [*known, *(name for name in content["presets"] if name not in PAPER)]:
        each = content["presets"][name]
        relative, paper = each["relative"] and f"{each['relative']:.2f}", each["paper"]
        figures = f"{each['tokens_per_second']:,.1f} | {each['gflops_per_second']:,.0f}"
        lines.append(f"| `{name}` | {figures} | {relative or '–'} | {paper or '–'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
