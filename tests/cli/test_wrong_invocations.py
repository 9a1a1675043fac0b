"""Any wrong argument of any command: the right exit code, one or two sentences, no traceback, nothing written."""

import contextlib
import io
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from litebert.cli.main import main
from support.data.wrong_words import write_bad_files, wrong_word

COMMANDS = {
    "tokenizer train": ["text:{made}/text.txt", "--out out:{new}/out", "--vocab-size integer:60"],
    "tokenizer encode": ["tokenizer:{made}/tokenizer", "text"],
    "corpus build": [
        *("text:{made}/text.txt", "--tokenizer tokenizer:{made}/tokenizer", "--out out:{new}/out"),
        *("--workers count:1", "--validation-fraction number:0.2"),
    ],
    "corpus verify": ["corpus:{made}/corpus"],
    "corpus show": ["corpus:{made}/corpus", "--number integer:1", "--max-length integer:32"],
    "corpus stats": ["corpus:{made}/corpus", "--examples integer:5", "--short-seq-prob number:0.1"],
    "pretrain": [
        *("recipe:quickstart", "setting:train.duration=1 steps", "--corpus corpus:{made}/corpus"),
        "--out out:{new}/out",
    ],
    "evaluate (corpus)": [
        "model:{made}/run",
        "--corpus corpus:{made}/corpus",
        "--max-eval-examples integer:1",
        "--device device:cpu",
        "--threads count:1",
    ],
    "evaluate (data)": ["classifier:{made}/tuned", "--data labelled:{made}/labelled.csv"],
    "evaluate (task)": ["classifier:{made}/tuned", "--task task:cola", "--task-dir labelled:{bad}/directory"],
    "evaluate (predictions)": [
        *("labelled:{made}/labelled.csv", "--data labelled:{made}/labelled.csv", "--task-type task:regression"),
        "--label-names name:good",
    ],
    "finetune": [
        *("recipe:default", "setting:train.duration=1 steps", "--model model:{made}/run", "--out out:{new}/out"),
        "--train labelled:{made}/labelled.csv",
    ],
    "sweep": [
        *("recipe:default", "setting:train.duration=1 steps", "--model text:{made}/run", "--out out:{new}/out"),
        *("--train text:{made}/labelled.csv", "--seeds count:x"),
    ],
    "finetune-tasks": [
        *("task:cola", "--model model:{made}/run", "--task-dir labelled:{bad}/directory", "--out out:{new}/out"),
        *("--seeds count:1", "--jobs count:1"),
    ],
    "predict": [
        "classifier:{made}/tuned",
        "labelled:{made}/labelled.csv",
        "{new}/out.csv",
        "--threads count:1",
        "--device device:cpu",
    ],
    "predict (output)": ["classifier:{made}/tuned", "{made}/labelled.csv", "out:{new}/out.csv"],
    "ensemble": [
        *("classifier:{made}/tuned", "--data labelled:{made}/labelled.csv", "--device device:cpu", "--threads count:1"),
    ],
    "compare": [
        *("classifier:{made}/tuned", "--baseline classifier:{made}/tuned", "--data labelled:{made}/labelled.csv"),
        *("--device device:cpu", "--threads count:1"),
    ],
    "compare (predictions)": [
        *("classifier:{made}/tuned", "--baseline labelled:{made}/labelled.csv", "--data labelled:{made}/labelled.csv"),
    ],
    "glue-submission": [
        *("task:cola", "--task-dir labelled:{bad}/directory", "--out out:{new}/out.zip"),
        *("--device device:cpu", "--threads count:1"),
    ],
    "convert": ["model:{made}/run", "out:{new}/out", "--to litebert", "--tokenizer tokenizer:{made}/tokenizer"],
    "average": ["model:{made}/run", "model:{made}/run", "--out out:{new}/out", "--weights number:1 1"],
    "info": ["architecture:tiny", "setting:num_hidden_layers=2", "--length integer:8", "--batch-size integer:1"],
    "analyze curves": ["run:{made}/run", "--out out:{new}/curves.html"],
    "analyze layers": [
        "model:{made}/run",
        "--corpus corpus:{made}/corpus",
        "--examples integer:1",
        "--out out:{new}/a.png",
    ],
    "prepare books": ["text:{made}/text.txt", "--out out:{new}/books.txt"],
    "quickstart": [
        "--text text:{made}/text.txt",
        "--out out:{new}/out",
        "--minutes number:1",
        "--vocab-size integer:60",
    ],
    "sweep pretrain": [
        *("recipe:quickstart", "setting:train.duration=1 steps", "seed=0,1", "--corpus corpus:{made}/corpus"),
        *("--out out:{new}/out", "--seeds count:1", "--jobs count:1"),
    ],
    "sweep pretrain (tasks)": [
        *("recipe:quickstart", "seed=0,1", "--corpus corpus:{made}/corpus", "--out out:{new}/out"),
        *("--tasks task:cola", "--data {bad}/directory"),
    ],
    "reproduce": [
        *("table:table-1", "--corpus corpus:{made}/corpus", "--out out:{new}/out", "--scale scale:tiny"),
        *("--seeds count:1", "--jobs count:1"),
    ],
    "embed": [
        "model:{made}/run",
        "labelled:{made}/labelled.csv",
        "{new}/out.npy",
        "--threads count:1",
        "--device device:cpu",
    ],
    "embed (output)": ["model:{made}/run", "{made}/labelled.csv", "out:{new}/out.npy", "--dimensions integer:4"],
    "search": ["model:{made}/run", "labelled:{made}/labelled.csv", "--query film", "--top-k integer:1"],
    "search (queries)": [
        "model:{made}/run",
        "{made}/labelled.csv",
        "--queries labelled:{made}/labelled.csv",
        "--vectors out:{new}/no.npy",
    ],
    "export": ["model:{made}/run", "out:{new}/out", "--precision precision:fp32"],
    "serve": ["model:{made}/run", "--port integer:0", "--workers count:1", "--timeout-seconds number:1"],
    "push": ["model:{made}/run", "name:someone/model"],
    "convert (sentence-transformers)": [
        *("model:{made}/run", "out:{new}/out", "--to sentence-transformers", "--tokenizer tokenizer:{made}/tokenizer"),
    ],
}
"""Command (which of its arguments) → a command line that is right or fails, with the kinds of the arguments that can be
made wrong.
"""
INVOCATIONS = 300


@pytest.fixture(scope="module")
def bad(made, tmp_path_factory):
    directory = tmp_path_factory.mktemp("bad")
    write_bad_files(directory, made / "run" / "model")
    return directory


@st.composite
def wrong_command_line(draw, arguments):
    """The words of a command line with one wrong argument, or with an unknown option."""
    kinds = [index for index, each in enumerate(arguments) if re.match(r"(--\S+ )?[a-z]+:", each)]
    wrong = draw(st.sampled_from([*kinds, None]))
    words = [] if wrong is not None else [draw(st.sampled_from(["--absent", "-z", "--json=3", "--epochs=3"]))]
    for index, each in enumerate(arguments):
        flag, kind, value = re.match(r"(?:(--\S+) )?(?:([a-z]+):)?(.*)", each).groups()
        value = draw(wrong_word(kind)) if index == wrong else value
        words += [flag, value] if flag else [value]
    return words


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_invocation_exits_with_a_sentence_and_writes_nothing(command, made, bad, tmp_path_factory, monkeypatch):
    new = tmp_path_factory.mktemp("new")
    monkeypatch.chdir(new)

    @settings(max_examples=-(-INVOCATIONS // len(COMMANDS)), database=None, suppress_health_check=list(HealthCheck))
    @given(wrong_command_line(COMMANDS[command]))
    def check(words):
        name = command.partition(" (")[0].split()
        words = [*name, *(word.format(made=made, bad=bad, new=new) if "}/" in word else word for word in words)]
        before = [listing(directory) for directory in (new, bad, made)]
        code, said = run(words)
        assert code in (2, 3, 4), (words, code, said)
        assert not re.search(r"Traceback|<class|pydantic|Errno|Error:", said), (words, said)
        if said.startswith("litebert: "):
            assert said.count("\n") <= 2, (words, said)
            assert len(said) < 900 + len(str(bad)) * 3, (words, said)
        assert [listing(directory) for directory in (new, bad, made)] == before, words

    check()


def run(words):
    """(exit code, what is said on stderr besides the log)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as left:
            code = left.code
    lines = err.getvalue().splitlines(keepends=True)
    said = [line for line in lines if not re.match(r"\d\d:\d\d:\d\d (INFO|WARNING)", line)]
    return code, "".join(said)


def listing(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))
