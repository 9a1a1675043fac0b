"""The Python blocks and the commands of each page run from top to bottom on small data and print what the page shows.

`pytest tests/docs --update-docs` writes the printed lines into the pages.
"""

import contextlib
import io
import shutil
from pathlib import Path

import pytest

from litebert.cli.main import main
from support.pages.documented_examples import ROOT, examples, pages, text_of
from support.pages.parsed_commands import code_of_parsing
from support.pages.shown_output import is_same_output, updated_output
from support.runs.short_runs import short_python, short_words
from support.runs.toy import ToyBatches, ToyModel, ToyObjective

PAGES = [page for page in pages() if examples(page)]
COMMANDS_OF_PAGES = [example for page in PAGES for example in examples(page) if example.is_command]
NOT_RUN = {
    "litebert quickstart": "reads the documentation of installed packages; tests/commands/quickstart",
    "litebert reproduce": "trains dozens of models; tests/commands/reproduce",
    "torchrun": "starts several processes; tests/distributed/test_torchrun.py",
    "--executor": "needs Slurm or Ray; tests/corpus/build/test_executors.py",
    "milestones": "names steps that a short run does not reach; tests/commands/test_milestones.py",
    "--page": "needs packages of npm; tests/export/test_browser_page.py",
    "litebert push": "needs the hub; tests/model/io/test_push.py",
}
"""Part of a command → why it is only parsed."""
OPTIONAL = {
    "transformers": "transformers",
    "sentence_transformers": "sentence_transformers",
    "datasets": "datasets",
    "hf:": "datasets",
    "to_pandas": "pandas",
    ".parquet": "pyarrow",
    ".plot()": "matplotlib",
    "analyze curves": "matplotlib",
    "litebert export": "onnx",
    "litebert serve": "fastapi",
}
"""Part of an example → the package that it needs; the page is skipped without it."""
ERROR = "litebert: "
"""How the output of a command begins that the page shows as wrong."""


def toy_training():
    return {"model": ToyModel(), "MyObjective": ToyObjective, "MyBatches": ToyBatches, "directory": Path("toy")}


NAMES = {"docs/reference/training.md": toy_training}
"""Page → the objects that its Python blocks expect the reader to have."""


def is_run(example):
    return not any(part in example.text for part in NOT_RUN)


def run(example, names):
    """What the example prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if not example.is_command:
            exec(compile(short_python(example.text), f"{example.page}:{example.line}", "exec"), names)
            return out.getvalue()
        words = short_words(example.words)
        for output in outputs(words):
            # Pages show alternatives with the same output directory; each runs as if it were the first one.
            remove(Path(output))
        code = main(words)
    place = f"{example.page}:{example.line}: {example.text}"
    is_wrong = example.output and text_of(example.page)[slice(*example.output)].lstrip().startswith(ERROR)
    assert (code == 0) is not bool(is_wrong), f"{place}\nexit code {code}\n{err.getvalue()[-3000:]}"
    return err.getvalue() if is_wrong else out.getvalue()


def outputs(words):
    return words[words.index("--out") + 1 :][:1] if "--out" in words else words[2:3] if words[0] == "convert" else []


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", PAGES)
def test_page_runs_from_top_to_bottom_and_prints_what_it_shows(page, workspace, update_docs):
    for part in (part for part in OPTIONAL if any(part in example.text for example in examples(page))):
        pytest.importorskip(OPTIONAL[part])
    workspace(page)
    names = {"__name__": "block", **NAMES.get(page, dict)()}
    replaced = []
    for example in filter(is_run, examples(page)):
        printed = run(example, names).splitlines()
        shown = text_of(page)[slice(*example.output)].splitlines() if example.output else None
        if shown is None or is_same_output(shown, printed):
            continue
        expected = updated_output(shown, printed)
        assert update_docs, f"{page}:{example.line}: {example.text}\nprinted\n" + "\n".join(printed)
        replaced.append((example.output, "\n".join(expected) + "\n"))
    text = text_of(page)
    for (start, end), new in reversed(replaced):
        text = text[:start] + new + text[end:]
    (ROOT / page).write_text(text, encoding="utf-8") if replaced else None


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_are_parsed(page):
    for example in (example for example in examples(page) if example.is_command):
        if is_run(example) and short_words(example.words) == example.words:
            continue
        assert code_of_parsing(example.words) == 0, f"{page}:{example.line}: {example.text}"


def test_nine_of_ten_commands_run():
    run_ones = [example for example in COMMANDS_OF_PAGES if is_run(example)]
    assert len(run_ones) >= 0.9 * len(COMMANDS_OF_PAGES)
