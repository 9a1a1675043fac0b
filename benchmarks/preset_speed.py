"""Training speed of the paper's models: the last column of table 2, on the device at hand.

python benchmarks/preset_speed.py OUT.json [--length 512] [--examples 1] [--presets bert-large albert-base-v1 …]
python benchmarks/preset_speed.py OUT.json --scale tiny --vocab-size 8000 --presets bert-large albert-xxlarge

Every model trains on the same number of random tokens in full rows, AdamW, forward, backward and update; the median
of the rounds counts. Forward and backward are timed apart from the update of the weights, which the paper's batches
of 4,096 rows spread over more tokens. The ratios of the paper are those of 64 to 512 TPUs at equal numbers of them.
With --scale the presets are models of that scale of `litebert reproduce`: so its `equal_time` for table 6 was found.
Results are added to OUT.json, so that each preset can be measured in a call of its own; the table of all of them is
printed as Markdown.
"""

import argparse
import json
import platform
import statistics
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measurement.step_times import seconds_on
from torch.nn.functional import cross_entropy

from litebert.commands.recipes import load_recipe, resolved_model
from litebert.commands.reproduce.cells import overrides
from litebert.commands.reproduce.tables.scales import load_scale
from litebert.machine import processor_name, source_commit
from litebert.model.config import ModelConfig
from litebert.model.model_stats import flops_per_token
from litebert.model.models import ForPretraining
from litebert.model.presets import preset
from litebert.settings import with_overrides

PAPER = {
    "bert-large": 1.0,
    "bert-base": 4.7,
    "albert-base-v1": 5.6,
    "albert-large-v1": 1.7,
    "paper-xlarge": 0.6,
    "paper-xxlarge": 0.3,
}
PREDICTED = 0.15
RATIOS = {"relative": "tokens_per_second", "relative_without_update": "tokens_per_second_without_update"}


def forward_and_backward(model: torch.nn.Module, batch: tuple[torch.Tensor, ...]) -> None:
    """A step without the update."""
    input_ids, mask, types, positions, labels = batch
    with torch.autocast(input_ids.device.type, torch.bfloat16):
        output = model(input_ids, mask, types, positions)
        loss = cross_entropy(output.mlm_logits.float(), labels)
    loss.backward()


def random_batch(vocab_size: int, *, examples: int, length: int, device: torch.device) -> tuple[torch.Tensor, ...]:
    """Full rows of random tokens, of which a share is predicted."""
    generator = torch.Generator().manual_seed(0)
    input_ids = torch.randint(5, vocab_size, (examples, length), generator=generator)
    positions = torch.randperm(examples * length, generator=generator)[: int(PREDICTED * examples * length)].sort()[0]
    mask, types = torch.ones_like(input_ids, dtype=torch.bool), torch.zeros_like(input_ids)
    labels = input_ids.flatten()[positions]
    return tuple(tensor.to(device) for tensor in (input_ids, mask, types, positions, labels))


def model_of_scale(name: str, scale_name: str, vocab_size: int) -> ModelConfig:
    """A model of a scale of `litebert reproduce`."""
    scale = load_scale(scale_name)
    recipe = load_recipe(scale.recipe, command="pretrain").settings
    values = with_overrides(recipe, overrides({**scale.settings, **scale.models[name]}))
    return ModelConfig.parse(resolved_model(values["model"], vocab_size=vocab_size), where=name)


def measure(config: ModelConfig, *, examples: int, length: int, rounds: int, device: torch.device) -> dict[str, float]:
    """Seconds and speed of one model."""
    model = ForPretraining(config, seed=0).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batch = random_batch(config.vocab_size, examples=examples, length=length, device=device)
    rounds_seconds = []
    for _ in range(rounds + 1):
        inside = seconds_on(device, partial(forward_and_backward, model, batch))
        update = seconds_on(device, optimizer.step)
        optimizer.zero_grad(set_to_none=True)
        rounds_seconds.append((inside, update))
    inside, update = (statistics.median(part) for part in zip(*rounds_seconds[1:], strict=True))  # the first warms up
    flops = flops_per_token(config, length=length, predicted=PREDICTED).training
    tokens, whole = examples * length, inside + update
    return {
        "tokens_per_second": tokens / whole,
        "tokens_per_second_without_update": tokens / inside,
        "seconds": whole,
        "update_seconds": update,
        "gflops_per_second": tokens * flops / inside / 1e9,
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--examples", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--presets", nargs="+", default=list(PAPER))
    parser.add_argument("--scale", help="take the models of this scale instead of presets")
    parser.add_argument("--vocab-size", type=int, default=30_000, help="of the models of a scale")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sizes = {"examples": arguments.examples, "length": arguments.length}
    about = {
        "processor": processor_name(),
        "device": device.type,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **sizes,
        "scale": arguments.scale,
    }
    if arguments.scale:  # presets have vocabularies of their own
        about["vocab_size"] = arguments.vocab_size
    content = json.loads(arguments.out.read_text()) if arguments.out.exists() else {**about, "presets": {}}
    if differing := [name for name, value in about.items() if content.get(name) != value]:
        parser.error(f"{arguments.out}: was measured with another {', '.join(differing)}; give another file")
    for name in arguments.presets:
        scale = arguments.scale
        config = model_of_scale(name, scale, arguments.vocab_size) if scale else preset(name)
        found = measure(config, device=device, rounds=arguments.rounds, **sizes)
        stamp = {"rounds": arguments.rounds, "date": date.today().isoformat(), "commit": source_commit()}
        content["presets"][name] = {**found, "paper": None if scale else PAPER.get(name), **stamp}
        arguments.out.write_text(json.dumps(with_ratios(content), indent=2) + "\n")
    print(markdown(content))


def with_ratios(content: dict[str, Any]) -> dict[str, Any]:
    """The results with the speeds of each preset relative to those of BERT-large, where it was measured."""
    presets = content["presets"]
    reference = presets.get("bert-large")
    for result in presets.values():
        for ratio, speed in RATIOS.items():
            result[ratio] = reference and result[speed] / reference[speed]
    return content


def markdown(content: dict[str, Any]) -> str:
    """The table of docs/results/performance.md."""
    lines = [
        "| preset | tokens/s | GFLOP/s | relative to `bert-large` | without the update of the weights | paper |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    known = [name for name in PAPER if name in content["presets"]]
    for name in [*known, *(name for name in content["presets"] if name not in PAPER)]:
        each = content["presets"][name]
        relative = " | ".join(f"{each[ratio]:.2f}" if each[ratio] else "–" for ratio in RATIOS)
        figures = f"{each['tokens_per_second']:,.1f} | {each['gflops_per_second']:,.0f}"
        lines.append(f"| `{name}` | {figures} | {relative} | {each['paper'] or '–'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
