"""The outputs of litebert's commands on small data, recorded before a refactoring and compared after it.

python tools/golden_outputs.py record OUT           runs every command below in a temporary directory, about a minute
python tools/golden_outputs.py compare OLD NEW      a line for each file; exit code 1 if any differs

PYTHONPATH decides which litebert is recorded. The data are made here from a seed, and every command runs with one
thread in a process of its own, so two recordings of the same code on the same machine are equal to the last digit.
Recorded: losses, scores, predictions, submission files, and hashes of corpora, tokenizers and trained weights. Not
recorded: times, memory, versions, settings and model cards. If settings, flags or files are renamed, change the section
COMMANDS; if keys or files of the outputs are renamed, add them to the tables of golden_names.py beside this file.
"""

import argparse
import csv
import hashlib
import io
import json
import multiprocessing
import os
import pkgutil
import random
import re
import shlex
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

from golden_names import (
    ADDED_KEYS,
    IGNORED_KEYS,
    RENAMED_FILES,
    RENAMED_KEYS,
    RENAMED_KEYS_OF,
    SUBKEY,
    UNPAIRED_FILES,
)

# ---------------------------------------------------------------------------------------------------------- COMMANDS
# All commands, in this order; they run in the directory of the data. The output of each is recorded as
# printed/NAME.json. Braces are filled in below; quotes and blanks are those of a shell.

JSON = "--json"
"""Added to every command, so that its output can be recorded."""

CORPORA = {
    "tokenizer": "tokenizer train text.txt --out tokenizer --vocab-size 110 --character-coverage 1.0 --seed 3",
    "corpus": "corpus build text.txt --tokenizer tokenizer --out corpus --validation-fraction 0.15",
    "corpus-of-files": (
        "corpus build text.txt --tokenizer tokenizer --out corpus-of-files --validation dev.txt "
        "--validation-fraction 0 --shard-bytes 16384 --sentences line --dedup-exact"
    ),
    "pieces": "tokenizer encode tokenizer 'The quiet farmer hides “two” maps (again), 1999.' 'Ünknown'",
    "corpus-verify": "corpus verify corpus-of-files",
    "corpus-stats": "corpus stats corpus --examples 100 --seed 3 --max-length 48",
    "corpus-show": "corpus show corpus --number 6 --seed 3 --max-length 48",
    "corpus-show-google": "corpus show corpus --number 6 --seed 3 --max-length 48 --preset google",
}

PRETRAIN = (
    "pretrain tiny --corpus corpus --out {name} seed=3 model.num_hidden_layers=2 model.hidden_size=32 "
    "model.embedding_size=16 model.num_attention_heads=4 model.intermediate_size=64 model.max_position_embeddings=128 "
    "sampling.max_length=48 batch_size=8 microbatch_size=4 max_eval_examples=32 "
    "train.duration='{steps} steps' train.evaluate_every='10 steps' train.checkpoint_every='1000 steps' "
    "train.log_every=1 train.device=cpu {settings}"
)
RANDOM_FP32 = "init=random freeze_duplicate_token_heads=false train.precision=fp32"
PRETRAINED = {
    "pretrained": (
        120,
        f"{RANDOM_FP32} model.initializer_range=0.1 eval_pair_objectives=[nsp] train.learning_rate=0.006",
    ),
    "structured": (12, "init=structured freeze_duplicate_token_heads=true train.precision=fp32"),
    "next-sentence": (8, f"{RANDOM_FP32} sampling.pairing=nsp model.hidden_dropout_prob=0.1 train.optimizer=lamb"),
    "packed-bf16": (8, "sampling.pairing=none sampling.packing=true sampling.max_ngram=3 train.precision=bf16"),
    "selected": (20, f"{RANDOM_FP32} sampling.preset=google metric_for_best_model=mlm_accuracy train.schedule=cosine"),
}
"""Name of a run → its steps and other settings."""
ON_TEXT = {
    "pretrained-scores": (
        "evaluate pretrained/model --corpus corpus --max-eval-examples 32 --eval-pair-objectives sop nsp"
    ),
    "structured-scores": (
        "evaluate structured/model --corpus corpus --max-eval-examples 32 --sampling max_length=48 max_ngram=1"
    ),
    "transformers": "convert pretrained/model transformers --to transformers",
    "tensorflow": "convert structured/model tensorflow --to tensorflow",
    "fillings": "predict pretrained/model masked.txt predictions/fillings.jsonl --top-k 3",
    "fillings-table": "predict pretrained/model masked.txt predictions/fillings.csv",
}

FINETUNE_SETTINGS = (
    "batch_size=12 microbatch_size=6 max_length=64 train.duration='60 steps' train.learning_rate=0.006 "
    "train.warmup=0.1 train.evaluate_every='20 steps' train.checkpoint_every='1000 steps' train.log_every=1 "
    "train.device=cpu train.precision=fp32"
)
FINETUNE = "finetune {recipe} seed={seed} {settings} --model {model} --out {out} {data}"
EVALUATE = "evaluate {name}-3/model --data {dev} {columns}"
PREDICT = "predict {name}-3/model {dev} predictions/{name}/{file} {options}"
ENSEMBLE = "ensemble {name}-3 {name}-4 --data {dev} --out predictions/{name}-ensemble{ending} {columns}"


@dataclass(frozen=True, kw_only=True)
class LabelledTask:
    """A labelled file: models are fine-tuned with the seeds 3 and 4, evaluated, used to predict, and averaged."""

    recipe: str = "default"
    train: str
    dev: str
    """File for everything but training."""
    predictions: tuple[str, ...] = ("predictions.csv", "predictions.tsv", "predictions.jsonl")
    """Outputs of `predict`; an empty name is a directory."""
    ensemble_suffix: str = ".jsonl"
    """Suffix of the predictions of the ensemble."""
    columns: str = ""
    """Flags with names of columns, for `finetune`, `evaluate` and `ensemble`."""
    options: str = ""
    """Those of them that `predict` needs because they are not stored with a model."""
    settings: str = ""
    is_dev_split_off: bool = False
    """Whether `finetune` splits its development rows off the training file."""


LABELLED_TASKS = {
    "sentences": LabelledTask(train="sentences.csv", dev="sentences-dev.csv", is_dev_split_off=True),
    "pairs": LabelledTask(
        train="pairs.tsv",
        dev="pairs-dev.tsv",
        columns="--text first --text-pair second --label verdict --slice shop",
        settings="hidden_dropout_prob=0.1 attention_probs_dropout_prob=0.1 class_weights=balanced metrics=[macro_f1]",
    ),
    "regression": LabelledTask(train="scores.csv", dev="scores-dev.csv", columns="--text-pair other --label score"),
    "multi-label": LabelledTask(train="labels.jsonl", dev="labels-dev.jsonl"),
    "choices": LabelledTask(
        train="choices.csv",
        dev="choices-dev.csv",
        columns="--text story --text-pair ask --label right --options first second third",
        options="--options first second third",
    ),
    "tags": LabelledTask(
        train="tags.conll",
        dev="tags-dev.conll",
        predictions=("predictions.conll", "predictions.tsv", "predictions.csv", "predictions.jsonl"),
        ensemble_suffix=".conll",
    ),
    "spans": LabelledTask(
        recipe="squad-v1.1", train="spans.json", dev="spans-dev.json", predictions=("",), ensemble_suffix=""
    ),
    "questions": LabelledTask(
        recipe="squad-v2.0", train="questions.json", dev="questions-dev.json", predictions=("",), ensemble_suffix=""
    ),
}
"""Names of the runs → files and settings."""

OTHER_ROWS = {
    "lines": "predict sentences-3/model masked.txt predictions/lines.jsonl",
    "spans-table": "predict spans-3/model table.csv predictions/spans-table.jsonl",
    "questions-table": "predict questions-3/model table.csv predictions/questions-table.csv",
    "questions-table-scores": "evaluate questions-3/model --data table.csv",
    "questions-threshold": "predict questions-3/model questions-dev.json predictions/threshold --threshold -0.5",
    "questions-table-ensemble": (
        "ensemble questions-3 questions-4 --data table.csv --out predictions/questions-table-ensemble.tsv"
    ),
    "forward-selection": (
        "ensemble pairs-3 pairs-4 --data pairs-dev.tsv --select forward --out predictions/pairs-selected.csv"
    ),
    "unlabelled": "ensemble sentences-3 sentences-4 --data unlabelled.csv --out predictions/unlabelled.csv",
}
"""Further predictions of the models of `LABELLED_TASKS`."""

VARIANTS = {
    "adapters": ("pretrained", "adapters.rank=4 adapters.projections=[query,value] train.optimizer=lamb"),
    "adapters-per-layer": ("pretrained", "adapters.rank=2 adapters.per_layer=true"),
    "frozen": (
        "pretrained",
        "freeze=embeddings layerwise_lr_decay=0.9 early_stopping_patience=1 train.evaluate_every='10 steps'",
    ),
    "bf16": ("structured", "train.precision=bf16 train.schedule=constant class_weights.good=3 class_weights.bad=1"),
    "keep-head": ("sentences-3", "keep_head=true data.dev.fraction=0.2 data.dev.seed=1"),
}
"""Further fine-tuning runs on the data of "sentences": the run that they start from, and settings."""
SWEEP = (
    "sweep default seed=3 {settings} --model pretrained/model --train sentences.csv "
    "--dev sentences-dev.csv --out sweep --grid train.learning_rate=0.001,0.003"
)

BENCHMARKS = {"mrpc": (3, 4), "sts-b": (3,), "mnli": (3,), "race": (3,)}
"""Benchmarks → seeds of the runs NAME-SEED, fine-tuned with the recipe of that name."""
BENCHMARK_DATA = "--task-dir published"
ON_BENCHMARKS = {
    "mrpc-own-file": (
        "finetune mrpc seed=3 {settings} --model pretrained/model --out mrpc-own --task-dir published "
        "--split-file train=dev.tsv"
    ),
    "mrpc-scores": "evaluate mrpc-3/model --task mrpc --task-dir published",
    "mnli-scores": "evaluate mnli-3/model --task mnli --task-dir published",
    "sts-b-scores": "evaluate sts-b-3/model --task sts-b --task-dir published",
    "race-scores": "evaluate race-3/model --task race --task-dir published",
    "squad-scores": "evaluate questions-3/model --task squad-v2.0 --task-dir published",
    "mrpc-predictions": "predict mrpc-3/model published predictions/MRPC.tsv --task mrpc",
    "mrpc-dev-predictions": "predict mrpc-3/model published predictions/MRPC-dev.tsv --task mrpc --split dev",
    "mrpc-own-predictions": (
        "predict mrpc-3/model published predictions/MRPC-own.tsv --task mrpc --split-file test=own.tsv"
    ),
    "race-predictions": "predict race-3/model published predictions/race.json --task race",
    "squad-predictions": "predict questions-3/model published predictions/squad --task squad-v2.0 --split dev",
    "mrpc-ensemble": "ensemble mrpc-3 mrpc-4 --task mrpc --task-dir published --out predictions/mrpc-dev-ensemble.tsv",
    "mrpc-test-ensemble": (
        "ensemble mrpc-3 mrpc-4 --task mrpc --split test --task-dir published --out predictions/ensemble/MRPC.tsv"
    ),
    "race-ensemble": "ensemble race-3 --task race --task-dir published --out predictions/race-ensemble.json",
    "glue-submission": (
        "glue-submission mrpc=mrpc-3 mrpc=mrpc-4 sts-b=sts-b-3 mnli=mnli-3 --task-dir published "
        "--out predictions/glue.zip"
    ),
    "glue-submission-files": (
        "glue-submission predictions/ensemble/MRPC.tsv sts-b=sts-b-3/model --split-file sts-b.test=few.tsv "
        "--task-dir published --out predictions/glue-files.zip"
    ),
}


def commands() -> Iterator[tuple[str, str]]:
    """The name and the command line of every command, in the order in which they run."""
    yield from CORPORA.items()
    for name, (steps, settings) in PRETRAINED.items():
        yield name, PRETRAIN.format(name=name, steps=steps, settings=settings)
    yield from ON_TEXT.items()
    for name, task in LABELLED_TASKS.items():
        yield from commands_of(name, task)
    yield from OTHER_ROWS.items()
    for name, (model, settings) in VARIANTS.items():
        yield name, finetune("default", name, "--train sentences.csv", 3, settings, model=model)
    yield "sweep", SWEEP.format(settings=FINETUNE_SETTINGS)
    for name, seeds in BENCHMARKS.items():
        for seed in seeds:
            yield f"{name}-{seed}", finetune(name, f"{name}-{seed}", BENCHMARK_DATA, seed)
    for name, command in ON_BENCHMARKS.items():
        yield name, command.format(settings=FINETUNE_SETTINGS)


def finetune(recipe: str, out: str, data: str, seed: int, settings: str = "", *, model: str = "pretrained") -> str:
    """The command of a fine-tuning run with the settings that all of them share."""
    all_settings = f"{FINETUNE_SETTINGS} {settings}"
    return FINETUNE.format(recipe=recipe, out=out, data=data, seed=seed, settings=all_settings, model=f"{model}/model")


def commands_of(name: str, task: LabelledTask) -> Iterator[tuple[str, str]]:
    """Fine-tuning with two seeds, evaluation, predictions and an ensemble."""
    dev = "" if task.is_dev_split_off else f"--dev {task.dev}"
    data = f"--train {task.train} {dev} {task.columns}"
    for seed in (3, 4):
        yield f"{name}-{seed}", finetune(task.recipe, f"{name}-{seed}", data, seed, task.settings)
    fields = {"name": name, "dev": task.dev, "columns": task.columns, "options": task.options}
    yield f"{name}-scores", EVALUATE.format(**fields)
    for file in task.predictions:
        yield f"{name}-predictions{Path(file).suffix}", PREDICT.format(file=file, **fields)
    yield f"{name}-ensemble", ENSEMBLE.format(ending=task.ensemble_suffix, **fields)


# ----------------------------------------------------------------------------------------------------- recorded files

TIMES = re.compile(r"(seconds|minutes|per_second|memory_bytes|mfu)$")
"""JSON keys and columns of tables that differ between any two runs."""
RECORDED = (
    ("printed/*.json", "tree"),
    ("predictions/*.zip", "members"),
    ("predictions/*", "copy"),
    ("*/metrics.jsonl", "records"),
    ("*/result.json", "tree"),
    ("*/start.json", "tree"),
    ("*/report.json", "tree"),
    ("*/corpus.json", "tree"),
    ("*/shard.json", "tree"),
    ("*/tokenizer.json", "hash"),
    ("*/spiece.model", "hash"),
    ("*/model/*.json", "tree"),
    ("*.safetensors", "tensors"),
    ("tensorflow/*", "hash"),
    ("sweep/sweep.json", "tree"),
    ("sweep/table.csv", "table"),
    ("corpus*.npy", "hash"),
)
"""Pattern of a path → form in which such a file is recorded; the first match counts. Other files are not recorded."""
NOT_RECORDED = ("*/checkpoints/*", "*/model/tokenizer*", "*/model/spiece.model", "corpus*/tokenizer/*", "published/*")
"""Copies of other files, and data."""

# ------------------------------------------------------------------------------------------------------- recording

SEED = 11
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "GOMP_SPINCOUNT": "1000",
    "HF_HUB_OFFLINE": "1",
    "LITEBERT_LOG": "info",
    "COLUMNS": "120",
    "NO_COLOR": "1",
}
COMMAND_SECONDS = 300
"""A command that takes longer hangs."""


class CommandError(Exception):
    """A command of litebert failed; holds the end of its stderr."""


def record(out: Path) -> int:
    """Run all commands and record their outputs in the empty or new directory `out`; returns how many failed.

    The commands after a failed one run too, so that all outdated command lines are found at once.
    """
    if out.exists() and any(out.iterdir()):
        raise SystemExit(f"{out}: not empty; give a new directory")
    os.environ.update(ENVIRONMENT)
    preload()
    with tempfile.TemporaryDirectory(prefix="golden-") as directory:
        work = Path(directory).resolve()
        write_data(work)
        (work / "printed").mkdir()
        (work / "predictions").mkdir()
        failed = sum(not succeeds(name, command, work) for name, command in commands())
        copy_recorded(work, out)
    return failed


def succeeds(name: str, command: str, work: Path) -> bool:
    """Whether a command succeeds; its output goes to `printed`, an error message to stderr."""
    began = time.monotonic()
    try:
        printed = run(shlex.split(f"{command} {JSON}"), work)
    except CommandError as error:
        log(f"FAILED    {name}: {error}")
        return False
    (work / "printed" / f"{name}.json").write_text(printed, encoding="utf-8")
    log(f"{time.monotonic() - began:6.1f} s  {name}")
    return True


def preload() -> None:
    """Import all modules once, so that the processes of the commands, forks of this one, start fast."""
    package = import_module("litebert")
    log(f"recording {package.__file__}")
    for module in pkgutil.walk_packages(package.__path__, "litebert."):
        if not module.name.endswith("__main__"):
            with suppress(Exception):  # a module of an optional package
                import_module(module.name)
    for name in ("sklearn.metrics", "scipy.stats"):
        with suppress(ImportError):
            import_module(name)


def run(words: Sequence[str], work: Path) -> str:
    """The stdout of a command; CommandError if it fails."""
    with tempfile.TemporaryDirectory() as directory:
        streams = [Path(directory) / name for name in ("stdout", "stderr")]
        process = multiprocessing.get_context("fork").Process(target=_in_process, args=(words, work, streams))
        process.start()
        process.join(COMMAND_SECONDS)
        if process.exitcode is None:
            process.terminate()
            process.join()
        if process.exitcode != 0:
            message = streams[1].read_text(encoding="utf-8")[-3000:]
            raise CommandError(f"litebert {shlex.join(words)}: exit code {process.exitcode}\n{message}")
        return streams[0].read_text(encoding="utf-8")


def _in_process(words: Sequence[str], work: Path, streams: Sequence[Path]) -> None:
    for number, stream in enumerate(streams, start=1):
        with stream.open("wb") as file:
            os.dup2(file.fileno(), number)
    os.chdir(work)
    sys.exit(import_module("litebert.cli.main").main(list(words)))


def copy_recorded(work: Path, out: Path) -> None:
    """Write the files of `RECORDED` to `out`, without times."""
    for path in sorted(path for path in work.rglob("*") if path.is_file()):
        name = path.relative_to(work).as_posix()
        if any(fnmatch(name, pattern) for pattern in NOT_RECORDED):
            continue
        form = next((form for pattern, form in RECORDED if fnmatch(name, pattern)), None)
        if form is not None:
            for part, content in FORMS[form](path):
                target = out / name / part if part else out / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.replace(str(work).encode(), b"WORK"))


Contents = Iterable[tuple[str, bytes]]
"""Names of the parts of a file, empty for the whole file, and their contents."""


def _copy(path: Path) -> Contents:
    return [("", path.read_bytes())]


def _tree(path: Path) -> Contents:
    """One JSON value, or a list of the values of the lines."""
    content = path.read_text(encoding="utf-8")
    try:
        value = json.loads(content)
    except ValueError:
        value = [json.loads(line) for line in content.splitlines()]
    return [("", _indented(without_times(value)))]


def _records(path: Path) -> Contents:
    lines = [without_times(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return [("", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())]


def _table(path: Path) -> Contents:
    with path.open(encoding="utf-8", newline="") as file:
        records = list(csv.reader(file))
    columns = [column for column, name in enumerate(records[0]) if not TIMES.search(name)]
    return [("", _as_csv([[record[column] for column in columns] for record in records]).encode())]


def _hash(path: Path) -> Contents:
    return [("", _indented({"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}))]


def _tensors(path: Path) -> Contents:
    """SHA256 of each tensor; the file begins with the length of its header, which holds their offsets."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    hashes = {}
    for name, entry in sorted(json.loads(content[8:start]).items()):
        if name != "__metadata__":
            low, high = entry["data_offsets"]
            digest = hashlib.sha256(content[start + low : start + high]).hexdigest()
            hashes[name] = {"dtype": entry["dtype"], "shape": entry["shape"], "sha256": digest}
    return [("", _indented(hashes))]


def _members(path: Path) -> Contents:
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


FORMS: Mapping[str, Callable[[Path], Contents]] = {
    "copy": _copy,
    "tree": _tree,
    "records": _records,
    "table": _table,
    "hash": _hash,
    "tensors": _tensors,
    "members": _members,
}


def without_times(value: Any) -> Any:
    """JSON without the keys that match `TIMES`."""
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if not TIMES.search(name)}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def _indented(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


# ------------------------------------------------------------------------------------------------------------- data

SUBJECTS = (
    *("the baker", "an old sailor", "her sister", "the teacher", "a small dog", "the gardener", "my uncle"),
    *("the young doctor", "a tired clerk", "the queen", "their neighbour", "a quiet farmer"),
)
VERBS = ("carries", "finds", "paints", "remembers", "sells", "watches", "wants", "hides", "praises", "forgets")
OBJECTS = (
    *("the bread", "a red boat", "the letter", "an apple", "the garden", "a long song", "two heavy boxes"),
    *("the broken clock", "a map", "his silver coin"),
)
MOMENTS = ("in the morning", "at night", "before dinner", "after the rain", "on sundays", "in winter")
OPINIONS = {"good": ("was good", "felt great", "is wonderful"), "bad": ("was bad", "felt dull", "is awful")}
WORKS = ("the film", "this story", "the old play", "the music", "her first song", "a long movie, again")

Row = dict[str, Any]


def write_data(work: Path) -> None:
    """All input files of the commands."""
    rng = random.Random(SEED)
    write_text(work, rng)
    write_opinions(work, rng)
    write_pairs(work, rng)
    write_choices(work, rng)
    write_tags(work, rng)
    write_questions(work, rng)
    write_published(work / "published", rng)


def sentence(rng: random.Random) -> str:
    """A sentence with a subject, a action, an object and a time."""
    words = " ".join(rng.choice(part) for part in (SUBJECTS, VERBS, OBJECTS, MOMENTS))
    return f"{words[0].upper()}{words[1:]}."


def opinion(rng: random.Random) -> tuple[str, str]:
    """A text and its label, good or bad."""
    label = rng.choice(sorted(OPINIONS))
    return f"{rng.choice(WORKS)} {rng.choice(OPINIONS[label])} {rng.choice(MOMENTS)}", label


def write_text(work: Path, rng: random.Random) -> None:
    """Documents for the tokenizer and the corpora, and lines with masked words."""
    for name, documents in (("text.txt", 90), ("dev.txt", 8)):
        blocks = ["\n".join(sentence(rng) for _ in range(rng.randint(1, 9))) for _ in range(documents)]
        opinions = [" ".join(f"{opinion(rng)[0]}." for _ in range(4)) for _ in range(documents // 4)]
        blocks = [*blocks, *opinions, blocks[0]]
        (work / name).write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    masked = [sentence(rng).replace(f" {word} ", " [MASK] ", 1) for word in ("the", "a") for _ in range(4)]
    lines = [line if "[MASK]" in line else f"{line} [MASK] [MASK]" for line in masked]
    (work / "masked.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_opinions(work: Path, rng: random.Random) -> None:
    """Texts with one label, with several labels, and without a label."""
    for name, count in (("", 80), ("-dev", 24)):
        rows = [dict(zip(("text", "label"), opinion(rng), strict=True)) for _ in range(count)]
        write_table(work / f"sentences{name}.csv", rows)
        several = []
        for row in rows:
            labels = [word for word in ("film", "story", "good") if word in f"{row['text']} {row['label']}"]
            several.append({"text": row["text"], "label": labels})
        write_table(work / f"labels{name}.jsonl", several)
    write_table(work / "unlabelled.csv", [{"number": number, "text": opinion(rng)[0]} for number in range(9)])


def write_pairs(work: Path, rng: random.Random) -> None:
    """Pairs of sentences with a verdict, and with a similarity score."""
    for name, count in (("", 80), ("-dev", 24)):
        pairs = [_pair(rng) for _ in range(count)]
        verdicts = [
            {"number": n, "first": a, "second": b, "verdict": verdict, "shop": rng.choice("xyz")}
            for n, (a, b, verdict, _) in enumerate(pairs)
        ]
        write_table(work / f"pairs{name}.tsv", verdicts)
        scores = [{"text": a, "other": b, "score": score} for a, b, _, score in pairs]
        write_table(work / f"scores{name}.csv", scores)


def _pair(rng: random.Random) -> tuple[str, str, str, float]:
    """Two sentences, a verdict, and their similarity: the share of common words, times five."""
    first, second = sentence(rng), sentence(rng)
    verdict = rng.choice(("entailment", "neutral", "contradiction"))
    if verdict == "entailment":
        second = f"{' '.join(first.split()[:4])} is right, is true."
    elif verdict == "contradiction":
        second = f"no, never, {rng.choice(VERBS)} no, never."
    one, other = set(first.lower().split()), set(second.lower().split())
    return first, second, verdict, round(len(one & other) / len(one | other) * 5, 2)


def write_choices(work: Path, rng: random.Random) -> None:
    """Stories, questions and three options, in columns with unusual names."""
    for name, count in (("", 48), ("-dev", 16)):
        rows = []
        for _ in range(count):
            options, right = rng.sample(OBJECTS, 3), rng.randrange(3)
            who = rng.choice(SUBJECTS)
            story = f"{sentence(rng)} {who} {rng.choice(VERBS)} {options[right]}."
            named = dict(zip(("first", "second", "third"), options, strict=True))
            rows.append({"story": story, "ask": f"{who} has _", **named, "right": "ABC"[right]})
        write_table(work / f"choices{name}.csv", rows)


def write_tags(work: Path, rng: random.Random) -> None:
    """Tagged words in CoNLL columns: subjects and objects."""
    for name, count in (("", 60), ("-dev", 20)):
        blocks = []
        for _ in range(count):
            lines = [*_tagged(rng.choice(SUBJECTS), "WHO"), (rng.choice(VERBS), "O")]
            lines += [*_tagged(rng.choice(OBJECTS), "WHAT"), *((word, "O") for word in rng.choice(MOMENTS).split())]
            blocks.append("".join(f"{word}\t{tag}\n" for word, tag in lines))
        (work / f"tags{name}.conll").write_text("\n".join(blocks), encoding="utf-8")


def _tagged(words: str, kind: str) -> list[tuple[str, str]]:
    return [(word, f"{'I' if number else 'B'}-{kind}") for number, word in enumerate(words.split())]


def write_questions(work: Path, rng: random.Random) -> None:
    """Questions about paragraphs longer than a window, in the layouts of SQuAD 1.1 and 2.0 and in a table."""
    for name, count in (("", 16), ("-dev", 6)):
        for kind, unanswered in (("spans", False), ("questions", True)):
            paragraphs = [_paragraph(rng, f"{kind}{name}-{n}", unanswered=unanswered) for n in range(count)]
            write_squad(work / f"{kind}{name}.json", paragraphs)
    rows = [each for n in range(3) for each in _question_rows(_paragraph(rng, f"table-{n}", unanswered=True))]
    write_table(work / "table.csv", rows)


def _paragraph(rng: random.Random, name: str, *, unanswered: bool) -> Row:
    subjects = rng.sample(SUBJECTS, 8)
    context, questions = "", []
    for number, subject in enumerate(subjects[:6]):
        action, thing = rng.choice(VERBS), rng.choice(OBJECTS)
        answer = {"text": thing, "answer_start": len(context) + len(f"{subject} {action} ")}
        context += f"{subject} {action} {thing} {rng.choice(MOMENTS)}. "
        if number % 2:
            longer = {"text": f"{action} {thing}", "answer_start": answer["answer_start"] - len(action) - 1}
            fields = {"question": f"What is it that {subject} {action}?", "answers": [answer, longer]}
            questions.append({"id": f"{name}-{number}", **fields})
    for number, subject in enumerate(subjects[6:] if unanswered else (), start=6):
        questions.append({"id": f"{name}-{number}", "question": f"Where is {subject}?", "answers": []})
    if unanswered:
        questions = [{**each, "is_impossible": not each["answers"]} for each in questions]
    return {"context": context.strip(), "qas": questions}


def _question_rows(paragraph: Row) -> list[Row]:
    return [
        {
            "id": each["id"],
            "question": each["question"],
            "context": paragraph["context"],
            "answer": each["answers"][0]["text"] if each["answers"] else "",
        }
        for each in paragraph["qas"]
    ]


def write_squad(path: Path, paragraphs: Sequence[Row]) -> None:
    """Paragraphs in the layout of SQuAD."""
    content = {"version": "2.0", "data": [{"title": "People", "paragraphs": paragraphs}]}
    path.write_text(json.dumps(content), encoding="utf-8")


def write_published(root: Path, rng: random.Random) -> None:
    """Small files in the published layouts of MRPC, STS-B, MNLI with its diagnostics, RACE and SQuAD."""
    sizes = (("train", 48), ("dev", 16), ("test", 12))
    for name, count in sizes:
        _write_mrpc(root / "MRPC" / f"{name}.tsv", rng, count)
        _write_sts(root / "STS-B" / f"{name}.tsv", rng, count)
        for level in ("middle", "high"):
            for number in range(count // 6):
                _write_passage(root / "RACE" / name / level / f"{number}.txt", rng, f"{level}{number}.txt")
    _write_mrpc(root / "own.tsv", rng, 5, is_test=True)
    _write_sts(root / "few.tsv", rng, 5, is_test=True)
    parts = ("train", "dev_matched", "dev_mismatched", "test_matched", "test_mismatched")
    for name, count in zip(parts, (48, 12, 12, 10, 10), strict=True):
        _write_mnli(root / "MNLI" / f"{name}.tsv", rng, count)
    _write_mnli(root / "AX" / "diagnostic.tsv", rng, 8)
    (root / "SQuAD").mkdir()
    paragraphs = [_paragraph(rng, f"published-{number}", unanswered=True) for number in range(3)]
    write_squad(root / "SQuAD" / "dev-v2.0.json", paragraphs)


def _write_mrpc(path: Path, rng: random.Random, count: int, *, is_test: bool = False) -> None:
    first = "index" if is_test or path.stem == "test" else "Quality"
    rows = []
    for number in range(count):
        a, b, verdict, _ = _pair(rng)
        label = number if first == "index" else int(verdict != "contradiction")
        rows.append({first: label, "#1 ID": number, "#2 ID": number + 100, "#1 String": a, "#2 String": b})
    write_table(path, rows, begin="\ufeff")


def _write_sts(path: Path, rng: random.Random, count: int, *, is_test: bool = False) -> None:
    rows = []
    for number in range(count):
        a, b, _, score = _pair(rng)
        row = {"index": number, "genre": rng.choice(("news", "captions")), "sentence1": a, "sentence2": b}
        rows.append(row if is_test or path.stem == "test" else {**row, "score": score})
    write_table(path, rows)


def _write_mnli(path: Path, rng: random.Random, count: int) -> None:
    rows = []
    for number in range(count):
        a, b, verdict, _ = _pair(rng)
        row = {"index": number, "genre": rng.choice(("fiction", "travel")), "sentence1": a, "sentence2": b}
        rows.append({**row, "gold_label": verdict} if path.stem.startswith(("train", "dev")) else row)
    write_table(path, rows)


def _write_passage(path: Path, rng: random.Random, name: str) -> None:
    things, right = [rng.sample(OBJECTS, 4) for _ in range(2)], [rng.randrange(4) for _ in range(2)]
    sentences = [
        f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {options[n]}" for options, n in zip(things, right, strict=True)
    ]
    passage = {
        "id": name,
        "article": f"{'. '.join(sentences)}. {sentence(rng)}",
        "questions": ["the first one has _ .", "What has the second one?"],
        "options": things,
        "answers": ["ABCD"[n] for n in right],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(passage), encoding="utf-8")


def write_table(path: Path, rows: Sequence[Row], *, begin: str = "") -> None:
    """Rows as CSV, TSV or JSON lines, according to the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        content = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        records = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
        content = _as_csv(records) if path.suffix == ".csv" else "".join("\t".join(line) + "\n" for line in records)
    path.write_text(begin + content, encoding="utf-8")


def _as_csv(records: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(records)
    return buffer.getvalue()


# ------------------------------------------------------------------------------------------------------- comparing


def compare(old: Path, new: Path) -> dict[str, str]:
    """For each file of either recording, by its new name: its first difference, or an empty text."""
    before = {renamed_file(name): path for name, path in files_of(old).items()}
    after = files_of(new)
    found = {}
    for name in sorted(before.keys() | after.keys()):
        if name in before and name in after:
            found[name] = difference(before[name], after[name], name)
        elif not any(fnmatch(name, pattern) for pattern in UNPAIRED_FILES):
            found[name] = f"only in the {'older' if name in before else 'newer'} recording"
    return found


def files_of(directory: Path) -> dict[str, Path]:
    """The files in a directory by their relative paths."""
    return {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}


def renamed_file(name: str) -> str:
    """The new name of a file of the older recording."""
    for old, new in RENAMED_FILES.items():
        name = name.replace(old, new)
    return name


Renaming = Callable[[str, str], str]
"""The new name of a name, given the key of the object that holds it, or an empty text."""


def renaming(file: str) -> Renaming:
    """The new names in a file; a prefix that ends in a slash stays, except in paths."""
    names = dict(RENAMED_KEYS)
    for pattern, own in RENAMED_KEYS_OF.items():
        if fnmatch(file, pattern):
            names |= own

    def renamed(name: str, parent: str = "") -> str:
        if f"{parent}.{name}" in names:
            return names[f"{parent}.{name}"]
        prefix, slash, last = name.rpartition("/")
        if not slash:
            return names.get(name, name)
        measure = names.get(last, last)
        return renamed_file(name if SUBKEY in measure else f"{prefix}/{measure}")

    return renamed


def unchanged(name: str, parent: str = "") -> str:
    """The names of the newer recording."""
    return name


def difference(old: Path, new: Path, name: str) -> str:
    """The first difference between two files of the new name `name`; empty if there is none."""
    if old.read_bytes() == new.read_bytes():
        return ""
    text, other = (path.read_text(encoding="utf-8") for path in (old, new))
    renamed = renaming(name)
    if new.suffix in (".csv", ".tsv"):
        return _first_line(_renamed_cells(text, new.suffix, renamed), other)
    ignored = frozenset().union(*(keys for pattern, keys in IGNORED_KEYS.items() if fnmatch(name, pattern)))
    try:
        return _first_value(
            _parsed(text, new.suffix, renamed, ignored), _parsed(other, new.suffix, unchanged, ignored), ""
        )
    except ValueError:
        return _first_line(text, other)


def _parsed(text: str, suffix: str, renamed: Renaming, ignored: frozenset[str]) -> Any:
    """The JSON of a file, or of each line, with new names and numbers as written; ValueError if it is not JSON."""

    def changed(value: Any, parent: str = "") -> Any:
        if isinstance(value, dict):
            values: dict[str, Any] = {}
            for key, each in value.items():
                *parents, last = renamed(key, parent).split(SUBKEY)
                if last not in ignored:
                    target = values
                    for outer in parents:
                        target = target.setdefault(outer, {})
                    target[last] = changed(each, key)
            return values
        if isinstance(value, list):
            return [changed(each) for each in value]
        return renamed(value, "") if isinstance(value, str) else value

    def read(line: str) -> Any:
        return changed(json.loads(line, parse_float=_Written, parse_int=_Written))

    return [read(line) for line in text.splitlines()] if suffix == ".jsonl" else read(text)


@dataclass(frozen=True)
class _Written:
    """A number as written, so that 1 and 1.0 differ."""

    digits: str

    def __repr__(self) -> str:
        return self.digits


def _first_value(old: Any, new: Any, where: str) -> str:
    """The keys and indices of the first difference of two JSON values.

    A key with an empty value (null, 0, no items) equals a missing one; the order of keys does not count.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for name in (*old, *(name for name in new if name not in old)):
            if name in old and name in new:
                if found := _first_value(old[name], new[name], f"{where}/{name}"):
                    return found
            elif name in old and not _is_empty(old[name]):
                return f"{where}/{name}: only in the older recording"
            elif name in new and name not in ADDED_KEYS and not _is_empty(new[name]):
                return f"{where}/{name}: only in the newer recording"
        return ""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        found = (_first_value(a, b, f"{where}/{place}") for place, (a, b) in enumerate(zip(old, new, strict=True)))
        return next(filter(None, found), "")
    return "" if old == new else f"{where or '/'}: {_short(old)} → {_short(new)}"


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_empty, value.values()))
    return value in (None, False, [], _Written("0"), _Written("0.0"))


def _renamed_cells(text: str, suffix: str, renamed: Renaming) -> str:
    if suffix == ".tsv":
        return "\n".join("\t".join(renamed(cell, "") for cell in line.split("\t")) for line in text.split("\n"))
    return _as_csv([[renamed(cell, "") for cell in record] for record in csv.reader(io.StringIO(text))])


def _first_line(old: str, new: str) -> str:
    for number, (line, other) in enumerate(zip_longest(old.split("\n"), new.split("\n")), start=1):
        if line != other:
            return f"line {number}: {_short(line)} → {_short(other)}"
    return ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


def log(line: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("out", type=Path)
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    chosen = parser.parse_args(arguments)
    if chosen.command == "record":
        began = time.monotonic()
        failed = record(chosen.out)
        seconds = time.monotonic() - began
        print(f"{chosen.out}: {len(files_of(chosen.out))} files in {seconds:.0f} s, {failed} commands failed")
        return int(failed > 0)
    found = compare(chosen.old, chosen.new)
    width = max(map(len, found), default=0)
    for name, what in found.items():
        print(f"{name.ljust(width)}  {f'differs: {what}' if what else 'identical'}")
    different = sum(map(bool, found.values()))
    print(f"{len(found)} files, {different} of them different")
    return int(different > 0 or not found)


if __name__ == "__main__":
    sys.exit(main())
