"""Training speed of the paper's models: the last column of table 2, on the device at hand.

python benchmarks/preset_speed.py OUT.json [--length 512] [--examples 1] [--presets bert-large albert-base-v1 …]

Every model trains on the same number of random tokens in full rows, AdamW, forward, backward and update; presets are
visited in rounds, and the median counts. The paper's ratios are those of 64 to 512 TPUs at equal numbers of TPUs.
"""

import argparse
import json
import platform
import statistics
import time
from datetime import date
from pathlib import Path

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
    sizes = {"examples": arguments.examples, "length": arguments.length, "rounds": arguments.rounds}
    found = {name: measure(name, device=device, **sizes) for name in arguments.presets}
    reference = found.get("bert-large", next(iter(found.values())))["tokens_per_second"]
    print(f"{'preset':<16} {'tokens/s':>9} {'GFLOP/s':>8} {'relative':>9} {'paper':>6}")
    for name, result in found.items():
        result["relative"], result["paper"] = result["tokens_per_second"] / reference, PAPER.get(name)
        print(
            f"{name:<16} {result['tokens_per_second']:>9,.0f} {result['gflops_per_second']:>8,.0f} "
            f"{result['relative']:>9.2f} {result['paper'] or '':>6}"
        )
    about = {
        "date": date.today().isoformat(),
        "commit": source_commit(),
        "processor": processor_name(),
        "device": device,
    }
    about |= {"device": device, "threads": torch.get_num_threads(), "python": platform.python_version(), **sizes}
    arguments.out.write_text(json.dumps({**about, "presets": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
