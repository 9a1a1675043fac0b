"""Accuracy over training time of the same model on the same text: litebert's pretraining and transformers' MLM loop.

    python benchmarks/learning.py ours   CORPUS --minutes 30 --out ours.jsonl
    python benchmarks/learning.py theirs CORPUS --minutes 30 --out theirs.jsonl
    python benchmarks/learning.py compare ours.jsonl theirs.jsonl

One architecture, one tokenizer, one corpus from `litebert corpus build`, one measure: accuracy on the same masked
tokens of the held-out text, single tokens chosen as transformers' collator chooses them (which is what it trains and
litebert does not: it hides whole words and learns the order of sentences besides). The clock counts all of training,
with what litebert counts of the corpus before its first step, and for neither side the evaluations. Each side takes
`--minutes`; litebert's run is wound down at its end, so the time it needs for a given accuracy is that of a run planned
for it: give it a third. `theirs` is
`transformers.Trainer` with `DataCollatorForLanguageModeling` over blocks of text, as in its example run_mlm.py; its
settings are options, so that it can be given its defaults as well as the rate, batch and warm-up litebert uses. Needs
`pip install transformers accelerate`. Start both at once, each with `--threads 1`, or one after the other on a machine
that does nothing else.
"""

import argparse
import json
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from litebert.commands.pretrain.pretraining_objective import PretrainingObjective
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.corpus.statistics.cooccurrence import ppmi_svd_embeddings
from litebert.corpus.statistics.token_frequency import token_counts
from litebert.model.config import ModelConfig
from litebert.model.initialization.structured_init import EmbeddingSubspaces, structured_init_
from litebert.model.models import ForPretraining
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.train_settings import TrainSettings
from litebert.training.trainer import RunInfo, Trainer

EVALUATION_BLOCKS = 160
MASKED_FRACTION = 0.15


def main() -> None:
    """Train one side, or compare two curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sides = parser.add_subparsers(required=True)
    for name, side in (("ours", run_ours), ("theirs", run_theirs)):
        one = sides.add_parser(name)
        one.add_argument("corpus", type=Path)
        one.add_argument("--out", type=Path, required=True)
        one.add_argument("--minutes", type=float, default=30)
        one.add_argument("--every", type=float, default=60, help="seconds of training between evaluations")
        one.add_argument("--length", type=int, default=128)
        one.add_argument("--threads", type=int, default=torch.get_num_threads())
        one.add_argument("--learning-rate", type=float, default=0.0015)
        one.add_argument("--batch-size", type=int, default=16 if name == "ours" else 32)
        one.add_argument("--warmup", type=float, default=0.08)
        one.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
        one.add_argument("--initializer-range", type=float, default=0.05)
        if name == "ours":
            one.add_argument("--initial", choices=("structured", "random"), default="structured")
        one.set_defaults(run=side)
    both = sides.add_parser("compare")
    both.add_argument("ours", type=Path)
    both.add_argument("theirs", type=Path)
    both.set_defaults(run=compare)
    arguments = parser.parse_args()
    arguments.run(arguments)


class Curve:
    """Accuracy over training time, written during the run; the time of evaluations is not counted."""

    def __init__(self, corpus: Path, out: Path, *, length: int, every: float) -> None:
        self._inputs, self._targets, self._chosen = evaluation_set(Corpus.open(corpus, "validation"), length)
        self._out, self._every = out, every
        self._began, self._not_counted, self._last = time.perf_counter(), 0.0, 0.0
        out.write_text("")

    @property
    def seconds(self) -> float:
        """Time spent training."""
        return time.perf_counter() - self._began - self._not_counted

    def look(self, predict: Callable[[Tensor], Tensor], model: nn.Module, *, last: bool = False) -> None:
        """Evaluate if it is time to. `predict`: token ids [B, S] to the best token everywhere [B, S]."""
        if not last and self.seconds - self._last < self._every:
            return
        seconds, paused = self.seconds, time.perf_counter()
        model.eval()
        with torch.no_grad():
            answers = torch.cat([predict(part) for part in self._inputs.split(64)])
        model.train()
        right = (answers == self._targets)[self._chosen].float().mean().item()
        with self._out.open("a") as file:
            file.write(json.dumps({"seconds": round(seconds, 1), "accuracy": round(right, 5)}) + "\n")
        self._not_counted += time.perf_counter() - paused
        self._last = seconds


def evaluation_set(corpus: Corpus, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Masked ids, true ids and which are to be predicted, each [N, S]: 80 % [MASK], 10 % random, 10 % unchanged."""
    generator = np.random.default_rng(0)
    blocks = np.stack(list(islice(blocks_of(corpus, length), EVALUATION_BLOCKS)))
    chosen = (generator.random(blocks.shape) < MASKED_FRACTION) & (blocks >= 5)
    kind = generator.random(blocks.shape)
    masked = np.where(chosen & (kind < 0.8), corpus.vocabulary.mask_id, blocks)
    random = generator.integers(5, corpus.vocabulary.size, blocks.shape)
    masked = np.where(chosen & (kind >= 0.9), random, masked)
    return torch.from_numpy(masked), torch.from_numpy(blocks), torch.from_numpy(chosen)


def blocks_of(corpus: Corpus, length: int) -> Iterator[np.ndarray]:
    """The text end to end, cut into `[CLS] … [SEP]` of `length` tokens, as run_mlm.py groups texts."""
    vocabulary, room = corpus.vocabulary, length - 2
    for number in range(len(corpus.entries)):
        tokens = corpus.shard(number).tokens
        for start in range(0, len(tokens) - room + 1, room):
            yield np.concatenate([[vocabulary.cls_id], tokens[start : start + room], [vocabulary.sep_id]]).astype(
                np.int64
            )


def small_model(corpus: Corpus, arguments: Namespace) -> ModelConfig:
    """The model both sides train: 4 layers of 128, one shared block."""
    return ModelConfig(
        vocab_size=corpus.vocabulary.size,
        embedding_size=128,
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=512,
        max_position_embeddings=arguments.length,
        initializer_range=arguments.initializer_range,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def run_ours(arguments: Namespace) -> None:
    """litebert with the recipe `tiny`: MLM and SOP."""
    torch.set_num_threads(arguments.threads)
    corpus = Corpus.open(arguments.corpus, "train")
    curve = Curve(arguments.corpus, arguments.out, length=arguments.length, every=0)
    model = our_model(corpus, arguments)
    batches = PretrainBatches(
        corpus,
        SamplingSettings(max_length=arguments.length, max_ngram=1, mlm_probability=0.25),
        batch_size=arguments.batch_size,
        microbatch_size=arguments.batch_size,
        seed=0,
    )
    settings = TrainSettings.parse(
        {
            "duration": f"{arguments.minutes} minutes",
            "optimizer": "adamw",
            "learning_rate": arguments.learning_rate,
            "betas": [0.9, 0.98],
            "warmup": arguments.warmup,
            "precision": arguments.precision,
            "evaluate_every": f"{arguments.every} seconds",
        },
        where="benchmark",
    )

    def evaluate(trained: nn.Module) -> dict[str, float]:
        curve.look(lambda ids: our_answers(trained, ids, arguments.precision), trained, last=True)
        return {}

    with tempfile.TemporaryDirectory() as directory:
        trainer = Trainer(
            model,
            objective=PretrainingObjective("sop"),
            batches=batches,
            settings=settings,
            run=RunInfo(directory=Path(directory)),
            evaluate=evaluate,
        )
        trainer.fit()


def our_model(corpus: Corpus, arguments: Namespace) -> ForPretraining:
    """Random weights, or the initialization of the recipe `tiny`, whose time is counted."""
    config = small_model(corpus, arguments)
    model = ForPretraining(config, seed=0)
    if arguments.initial == "structured":
        counts = token_counts(corpus)
        vectors = ppmi_svd_embeddings(corpus, EmbeddingSubspaces.of(config).num_token_columns, seed=0, counts=counts)
        structured_init_(model, torch.from_numpy(vectors), torch.from_numpy(counts).float(), seed=0)
    return model


def our_answers(model: Any, ids: Tensor, precision: str) -> Tensor:
    """The most probable token at every position."""
    everywhere = torch.arange(ids.numel())
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        output = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.zeros_like(ids), everywhere)
    return output.mlm_logits.argmax(-1).view_as(ids)


def run_theirs(arguments: Namespace) -> None:
    """transformers: `Trainer`, `AlbertForMaskedLM`, its collator that masks anew each time, blocks without padding."""
    from transformers import AlbertForMaskedLM, AutoTokenizer, Trainer, TrainerCallback, TrainingArguments
    from transformers import DataCollatorForLanguageModeling as Collator

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    corpus = Corpus.open(arguments.corpus, "train")
    with tempfile.TemporaryDirectory() as directory:
        Tokenizer.load(corpus.tokenizer_directory).save(Path(directory))
        tokenizer = AutoTokenizer.from_pretrained(directory)
        model = AlbertForMaskedLM(their_config(small_model(corpus, arguments)))
        texts = [{"input_ids": block} for block in blocks_of(corpus, arguments.length)]

        def trainer(steps: int, **more: Any) -> Any:
            chosen = TrainingArguments(
                directory,
                max_steps=steps,
                per_device_train_batch_size=arguments.batch_size,
                learning_rate=arguments.learning_rate,
                warmup_steps=int(steps * arguments.warmup),
                bf16=arguments.precision == "bf16",
                use_cpu=True,
                save_strategy="no",
                report_to=[],
                logging_steps=200,
                disable_tqdm=True,
            )
            return Trainer(
                model, chosen, Collator(tokenizer, mlm_probability=MASKED_FRACTION), train_dataset=texts, **more
            )

        weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        steps = int(arguments.minutes * 60 / seconds_a_step(trainer))
        model.load_state_dict(weights)
        curve = Curve(arguments.corpus, arguments.out, length=arguments.length, every=arguments.every)

        class Look(TrainerCallback):
            def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                curve.look(
                    lambda ids: their_answers(model, ids, arguments.precision),
                    model,
                    last=state.global_step == steps,
                )

        trainer(steps, callbacks=[Look()]).train()


def seconds_a_step(trainer: Callable[..., Any], steps: int = 60) -> float:
    """Seconds per step, from the second half of a short run: `Trainer` takes a number of steps, not minutes."""
    from transformers import TrainerCallback

    times: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            times.append(time.perf_counter())

    trainer(steps, callbacks=[Clock()]).train()
    return (times[-1] - times[len(times) // 2]) / (len(times) - 1 - len(times) // 2)


def their_config(config: ModelConfig) -> Any:
    """The same architecture as an AlbertConfig."""
    from transformers import AlbertConfig

    return AlbertConfig(**{name: value for name, value in config.to_dict().items() if name != "sharing"})


def their_answers(model: Any, ids: Tensor, precision: str) -> Tensor:
    """The most probable token at every position."""
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        return model(ids).logits.argmax(-1)


def compare(arguments: Namespace) -> None:
    """When each of the two first reached the accuracies that transformers reached."""
    ours, theirs = (
        [json.loads(line) for line in path.read_text().splitlines()] for path in (arguments.ours, arguments.theirs)
    )
    best = max(point["accuracy"] for point in theirs)
    print(f"{'accuracy':>10}{'litebert':>12}{'transformers':>14}{'ratio':>8}")
    for share in (0.25, 0.5, 0.75, 1.0):
        wanted = best * share
        first, second = (
            next((point["seconds"] for point in curve if point["accuracy"] >= wanted), None) for curve in (ours, theirs)
        )
        ratio = f"{first / second:.2f}" if first and second else "never"
        print(f"{wanted:>10.2%}{first or float('nan'):>12.0f}{second or float('nan'):>14.0f}{ratio:>8}")


if __name__ == "__main__":
    main()
