"""Wrong values for the arguments of a command line, by what the argument is."""

import json
from pathlib import Path

from hypothesis import strategies as st

HUGE = "9" * 5000
LONG_PATH = "x" * 300

PATHS = ["", "{bad}/absent", "{bad}/" + LONG_PATH, "{bad}/file.txt/below", "{bad}/directory", "{bad}/empty.txt"]
WORDS = {
    "text": [
        *PATHS,
        "{bad}/binary.txt",
        "{bad}/table.csv.gz",
        "{bad}/*.absent",
    ],
    "tokenizer": [*PATHS, "{bad}/binary.txt", "{bad}/utf16.json", "{made}/corpus", "{bad}/damaged"],
    "corpus": [*PATHS, "{made}/run", "{made}/tokenizer", "{bad}/damaged", "{bad}/utf16.json"],
    "model": [
        *PATHS,
        "{made}/corpus",
        "{made}/tokenizer",
        "{bad}/damaged",
        "{bad}/list",
        "{bad}/utf16",
        "{bad}/hollow",
    ],
    "architecture": [*PATHS, "tinny", "{bad}/damaged", "{bad}/list", "{bad}/utf16", "{bad}/binary.txt"],
    "run": [*PATHS, "{made}/tokenizer", "{bad}/damaged"],
    "classifier": [*PATHS, "{made}/corpus", "{bad}/damaged", "{bad}/list", "{bad}/hollow"],
    "labelled": [
        *(path for path in PATHS if path),
        *(
            f"{{bad}}/{name}"
            for name in ("empty.csv", "head.csv", "binary.csv", "other.csv", "ragged.csv", "list.json")
        ),
        *(f"{{bad}}/{name}" for name in ("binary.json", "utf16.json", "binary.jsonl", "numbers.jsonl", "binary.conll")),
        *("{bad}/table.xlsx", "{bad}/deep.jsonl"),
    ],
    "recipe": [
        *("", "tinny", "{bad}/absent.yaml", "{bad}/directory.yaml", "{bad}/binary.yaml", "{bad}/list.yaml"),
        *("{bad}/empty.yaml", "{bad}/unknown.yaml", "{bad}/wrong.yaml", "{bad}/file.txt", "{bad}/bomb.yaml"),
    ],
    "out": ["", "{bad}/file.txt", "{bad}/file.txt/below", "{bad}/directory", "{bad}/" + LONG_PATH],
    "task": ["", "colla", "MRPC ", "squad"],
    "table": ["", "table-99", "table", "{bad}/absent.yaml", "{bad}/wrong.yaml", "{bad}/directory"],
    "scale": ["", "tinny", "{bad}/absent.yaml", "{bad}/list.yaml", "{bad}/binary.yaml"],
    "device": ["", "tpu", "CPU", "cuda:0"],
    "precision": ["", "fp8", "auto", "FP32"],
    "name": ["", "two words", "a/b/c", "-", "some..one/model", "x" * 200],
    # Above each limit, so that nothing starts that many processes, threads or runs.
    "count": ["", "0", "-1", "1.5", "9" * 20, HUGE],
    "integer": ["", "one", "1.5", "nan", "-1", HUGE, "0x10"],
    "number": ["", "some", "nan", "inf", "-1", "1e999"],
    "setting": [
        *("=", "a", "=1", "train", "train=", "train=1", "train.=1", ".train=1", "train..duration=1 steps"),
        *("epochs=3", "learning_rate=1", "trian.duration=1 steps", "train.duration=5", "train.duration=0 steps"),
        *("train.learning_rate=fast", "train.learning_rate=-1", "train.learning_rate=.nan", "train.learning_rate=[1]"),
        *("batch_size=0", "batch_size=1.5", "batch_size=many", "batch_size={a: b}", "train.device=tpu"),
        *("train.precision=fp8", "seed=-1", "train.schedule=cosin", "train.optimizer=sgdd", "train.betas=[1]"),
        *("card.language=english", "train.duration=[", "train.spikes.policy=jump", "compute.compile=perhaps"),
    ],
}


def wrong_word(kind: str) -> st.SearchStrategy[str]:
    """Wrong words for an argument; for settings also unknown names."""
    known = st.sampled_from(WORDS[kind])
    if kind != "setting":
        return known
    unknown = st.text("abcdefghij_.ÄŁ中 -", min_size=1, max_size=12).map(lambda name: f"x{name}=1")
    return known | unknown


def write_bad_files(directory: Path, model: Path) -> None:
    """The files and directories that WORDS names; `model` is a model directory to damage."""
    binary, utf16 = b"\x7fELF\x00\x01\xff\xfe" * 50, "{}".encode("utf-16")
    for name in ("directory", "directory.yaml", "damaged", "list", "utf16", "hollow"):
        (directory / name).mkdir()
    (directory / "directory" / "note").write_text("mine")
    texts = {
        "file.txt": "some text\n",
        "empty.txt": "",
        "empty.csv": "",
        "head.csv": "text,label\n",
        "other.csv": "body,topic\na,b\nc,d\n",
        "ragged.csv": "text,label\na,b,c,d\ne\n",
        "list.json": "[1, 2]",
        "numbers.jsonl": "1\n2\n",
        "deep.jsonl": "[" * 20_000 + "\n",
        "table.xlsx": "PK",
        "list.yaml": "- 1\n",
        "empty.yaml": "",
        "unknown.yaml": "trian: {}\n",
        "wrong.yaml": "train: 3\nmodel: 4\n",
        "bomb.yaml": "train: " + "[" * 20_000,
        "damaged/config.json": '{"model_type": "albert"',
        "damaged/index.json": '{"version": ',
        "list/config.json": "[1]",
        "list/index.json": "[1]",
    }
    for name, text in texts.items():
        (directory / name).write_text(text)
    for name in ("binary.txt", "binary.csv", "binary.json", "binary.jsonl", "binary.conll", "binary.yaml"):
        (directory / name).write_bytes(binary)
    for name in ("utf16.json", "utf16/config.json", "table.csv.gz"):
        (directory / name).write_bytes(utf16)
    for name in ("config.json", "spiece.model", "tokenizer_config.json"):
        (directory / "hollow" / name).write_bytes((model / name).read_bytes())
    config = json.loads((model / "config.json").read_text())
    (directory / "hollow" / "config.json").write_text(json.dumps(config))
