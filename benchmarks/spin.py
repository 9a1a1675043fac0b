"""Cost of OpenMP's spinning for a small training step, on an idle machine and with a busy process.

Each setting runs in a process of its own, since OpenMP reads the variable once. A setting whose loss differs from that
of the first is an error, and no figure of it is printed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from measurement.clocks import seconds_of

COUNTS = (None, 0, 1_000, 3_000, 10_000, 30_000, 100_000)
WARMUP_STEPS, STEPS = 5, 20


def measure() -> None:
    """Seconds of a step and the last loss, printed; runs in the child."""
    import torch

    from litebert.model.config import ModelConfig
    from litebert.model.losses import classification_loss
    from litebert.model.models import ForPretraining

    config = ModelConfig(
        vocab_size=4000, hidden_size=128, num_hidden_layers=4, num_attention_heads=2, intermediate_size=512
    )
    model = ForPretraining(config, seed=0)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 4000, (32, 64), generator=generator)
    everything, segments = torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids)
    positions, order = torch.arange(0, 32 * 64, 7), torch.zeros(32, dtype=torch.int64)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    def step() -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            output = model(ids, everything, segments, positions, masked_labels=ids.flatten()[positions])
        loss = output.mlm.loss / len(positions) + classification_loss(output.sentence_pair_logits, order) / len(order)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    for _ in range(WARMUP_STEPS):
        step()
    print(seconds_of(lambda: [step() for _ in range(STEPS)]) / STEPS, step().item())


@contextmanager
def busy_process(*, wanted: bool) -> Iterator[None]:
    """Another process that never sleeps, if wanted."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def run(count: int | None) -> tuple[float, str]:
    """(seconds of a step, last loss) with a spin count."""
    environment = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    if count is not None:
        environment["GOMP_SPINCOUNT"] = str(count)
    command = [sys.executable, __file__, "measure"]
    seconds, loss = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), loss


def main() -> None:
    """Print a row for each count."""
    expected = None
    print("| spin count | alone | beside a busy process |\n| --- | --- | --- |")
    for count in COUNTS:
        figures = []
        for beside in (False, True):
            with busy_process(wanted=beside):
                seconds, loss = run(count)
            expected = expected or loss
            if loss != expected:
                raise ValueError(f"spin count {count}: the loss is {loss}, expected {expected}")
            figures.append(seconds)
        print(f"| {'default' if count is None else count} | {figures[0]:.3f} s | {figures[1]:.3f} s |", flush=True)


if __name__ == "__main__":
    measure() if sys.argv[1:] == ["measure"] else main()
