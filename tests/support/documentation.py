"""The code blocks of the documentation, and a directory in which they run on small data."""

import glob
import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from support.benchmark_files import write_cola
from support.labelled_files import write_opinions
from support.texts import write_documents
from support.tiny_runs import save_pretrained

ROOT = Path(__file__).parents[2]
GENERATED = {"docs/reference/commands.md", "docs/reference/settings.md", "docs/reference/python-api.md"}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?((?:[A-Z_]+=\S+ )*litebert (?!…).*)$")
OVERRIDE = re.compile(r"^[a-z_][a-z_.]*=")
TINY = {
    "pretrain": [
        *("train.duration=2 steps", "train.evaluate_every=null", "train.precision=fp32", "batch_size=4"),
        *("microbatch_size=4", "max_eval_examples=8", "sampling.max_length=32", "compute.compile=false"),
        *("model.num_hidden_layers=1", "model.hidden_size=16", "model.num_attention_heads=4"),
        *("model.intermediate_size=32", "model.embedding_size=8"),
    ],
    "finetune": [
        *(
            "train.duration=2 steps",
            "train.evaluate_every=null",
            "train.precision=fp32",
            "train.checkpoint_every=2 steps",
        ),
        *("max_length=32", "train.warmup=0", "batch_size=8", "microbatch_size=8"),
    ],
}
"""Settings that make a command take a moment."""


@dataclass(frozen=True)
class Block:
    """One code block of a page."""

    page: str
    number: int
    language: str
    text: str

    @property
    def first_line(self) -> str:
        return self.text.splitlines()[0]

    @property
    def commands(self) -> list[str]:
        """The lines that call litebert, with continued lines joined."""
        if self.language not in ("", "bash", "sh", "console"):
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        return [match[1] for line in lines if (match := COMMAND.match(line.strip()))]


def pages() -> list[str]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in paths if path.relative_to(ROOT).as_posix() not in GENERATED]


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(page, text[: match.start()].count("\n") + 1, match[1], match[2]) for match in BLOCK.finditer(text)]


def words_of(command: str) -> list[str]:
    """The words after `litebert`, as the shell passes them; file patterns that match are expanded."""
    words = shlex.split(command, comments=True)
    words = words[words.index("litebert") + 1 :]
    return [each for word in words for each in (sorted(glob.glob(word)) if "*" in word else []) or [word]]  # noqa: PTH207


def small(words: list[str]) -> list[str]:
    """The same command with a small vocabulary, few steps and one process."""
    words = [word for word in words if word != "$SETTINGS"]
    for option, value in (("--vocab-size", "60"), ("--workers", "1"), ("--minutes", "0.05"), ("--seeds", "2")):
        if option in words:
            words[words.index(option) + 1] = value
    if words[0] not in TINY:
        return words
    # The overrides of a command must follow each other, so all of them come after the recipe.
    names = {setting.partition("=")[0] for setting in TINY[words[0]]}
    overrides = [word for word in words if OVERRIDE.match(word)]
    options = [word for word in words[2:] if not OVERRIDE.match(word)]
    kept = [word for word in overrides if word.partition("=")[0] not in names]
    return [*words[:2], *TINY[words[0]], *kept, *options]


def make_workspace(directory: Path, tokenizer) -> Path:
    """Models, labelled files, texts and benchmarks by the names that the pages use."""
    import litebert

    write_cola(directory / "GLUE")
    (directory / "text").mkdir()
    write_documents(directory / "text" / "first.txt", documents=40)
    shutil.copy(directory / "text" / "first.txt", directory / "books.txt")
    (directory / "books").mkdir()
    shutil.copy(directory / "books.txt", directory / "books" / "first.txt")
    tokenizer.save(directory / "tokenizer")
    litebert.build_corpus(
        directory / "text", directory / "corpus", tokenizer=directory / "tokenizer", validation_fraction=0.2
    )
    write_opinions(directory / "train.csv")
    for name in ("labelled.csv", "test.csv", "dev.csv", "reviews.csv"):
        (directory / name).write_text((directory / "train.csv").read_text())
    lines = (directory / "train.csv").read_text().splitlines()
    (directory / "new.csv").write_text("\n".join(line.partition(",")[0] for line in lines) + "\n")
    (directory / "stories.txt").write_text("\n".join(line.partition(",")[0] for line in lines[1:]) + "\n")
    contexts = [
        {
            "context": "The old actor was good.",
            "qas": [
                {"id": f"q{n}", "question": "Who was good?", "answers": [{"text": "old actor", "answer_start": 4}]}
                for n in range(4)
            ],
        }
    ]
    squad = json.dumps({"version": "1.1", "data": [{"title": "film", "paragraphs": contexts}]})
    for name in ("train-v1.1.json", "dev-v1.1.json", "train.json", "dev.json", "questions.json"):
        (directory / name).write_text(squad)
    (directory / "questions.csv").write_text("question,context\nWho was good?,The old actor was good.\n")
    save_pretrained(tokenizer, directory / "model", max_position_embeddings=512)
    (directory / "MODEL").symlink_to("model")
    (directory / "CORPUS").symlink_to("corpus")
    shutil.copytree(directory / "model", directory / "albert" / "albert-base-v2")
    shutil.copytree(directory / "model", directory / "run" / "model")
    rows = [{"text": f"the film was {word}", "label": word} for word in ("good", "bad")] * 8
    litebert.finetune(
        directory / "model",
        train=rows,
        dev=rows,
        out=directory / "classifier",
        duration="2 steps",
        max_length=32,
        baseline=False,
    )
    (directory / "RUN").symlink_to("classifier")
    (directory / "tuned").symlink_to("classifier")
    return directory
