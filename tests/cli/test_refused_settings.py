"""Wrong settings of every command are refused before torch is imported."""

import json
import subprocess
import sys

import pytest

FINETUNE = ["--model", "tiny", "--train", "rows.csv", "--out", "run"]
REFUSED = [
    ["info", "tinny"],
    ["quickstart", "--minutes", "-1"],
    ["pretrain", "tinny", "--corpus", "corpus", "--out", "run"],
    ["corpus", "build", "a.txt", "--tokenizer", "tok", "--out", "corpus", "--validation-fraction", "3"],
    ["corpus", "show", "corpus", "--max-length", "2"],
    ["corpus", "stats", "corpus", "--pairing", "nsop"],
    ["tokenizer", "train", "a.txt", "--out", "tok", "--vocab-size", "many"],
    ["tokenizer", "train", "a.txt", "--out", "tok", "--encoding", "latin-0"],
    ["corpus", "build", "a.txt", "--tokenizer", "tok", "--out", "corpus", "--encoding", "utf-16"],
    ["prepare", "books", "a.txt", "--out", "books.txt", "--lines", "wraped"],
    ["analyze", "curves"],
    ["convert", "model", "out", "--to", "litebert", "--change", "sharing"],
    ["average", "model", "--out", "out"],
    ["average", "a", "b", "--out", "out", "--weights", "1"],
    ["finetune", "default", "epochs=3", *FINETUNE],
    ["finetune", "--epochs", "3", *FINETUNE],
    ["finetune", "cola", "--model", "tiny", "--out", "run"],
    ["finetune", "mrcp", "--model", "tiny", "--task-dir", "glue", "--out", "run"],
    ["info", "tiny", "num_hidden_layers=1000000000000"],
    ["serve", "model", "--workers", "100000000000"],
    ["sweep", "default", *FINETUNE, "--grid", "lr=1,2"],
    ["sweep", "default", *FINETUNE],
    ["evaluate", "model"],
    ["evaluate", "model", "--corpus", "corpus", "--sampling", "max_len=3"],
    ["evaluate", "model", "--task", "colla", "--task-dir", "glue"],
    ["evaluate", "model", "--data", "rows.csv", "--device", "cuda", "--precision", "int8"],
    ["evaluate", "model", "--task", "cola", "--task-dir", "glue", "--unlabelled-rows", "skip"],
    ["evaluate", "predictions.csv", "--data", "rows.csv", "--precision", "bf16"],
    ["evaluate", "predictions.csv", "--corpus", "corpus"],
    ["evaluate", "model", "--data", "rows.csv", "--label-names", "bad", "good"],
    ["compare", "a", "--baseline", "a", "--data", "rows.csv"],
    ["compare", "a", "--baseline", "predictions.csv", "--data", "rows.csv", "--task-type", "regression"],
    ["compare", "a.csv", "--baseline", "b.csv", "--data", "rows.csv", "--threads", "1"],
    ["compare", "a", "--baseline", "b", "--data", "rows.csv", "--device", "cuda", "--precision", "int8"],
    ["ensemble", "a", "a", "--data", "rows.csv"],
    ["ensemble", "a", "b", "--data", "rows.csv", "--device", "cuda", "--precision", "int8"],
    ["predict", "model", "rows.csv", "out.csv", "--top-k", "0"],
    ["predict", "model", "*.csv", "-"],
    ["predict", "model", "rows.csv", "out.csv", "--device", "tpu"],
    ["predict", "model", "rows.csv", "out.csv", "--device", "cuda", "--precision", "int8"],
    ["predict", "model", "glue", "out.tsv", "--task", "colla"],
    ["glue-submission", "cola", "--task-dir", "glue", "--out", "glue.zip"],
    ["glue-submission", "cola=a", "--task-dir", "glue", "--out", "glue.zip", "--device", "cuda", "--precision", "int8"],
    ["sweep", "default", *FINETUNE, "--seeds", "2", "--jobs", "0"],
    ["sweep", "pretrain", "tinny", "model.sharing=all,none", "--corpus", "corpus", "--out", "sweep"],
    ["sweep", "pretrain", "tiny", "model.sharing=all,none", "--corpus", "corpus", "--out", "sweep", "--jobs", "0"],
    ["sweep", "pretrain", "tiny", "train=", "--corpus", "corpus", "--out", "sweep"],
    ["finetune-tasks", "cola", "--model", "model", "--task-dir", "glue", "--out", "tasks", "--jobs", "0"],
    ["reproduce", "table-99", "--corpus", "corpus", "--out", "tables"],
    ["reproduce", "table-1", "--corpus", "corpus", "--out", "tables", "--scale", "tinny"],
    ["reproduce", "table-1", "--corpus", "corpus", "--out", "tables", "--jobs", "0"],
    ["embed", "model", "rows.csv", "vectors.txt"],
    ["embed", "model", "rows.csv", "vectors.npy", "--device", "cuda", "--precision", "int8"],
    ["embed", "model", "rows.csv", "vectors.npy", "--dimensions", "0"],
    ["search", "model", "rows.csv"],
    ["search", "model", "rows.csv", "--query", "a", "--device", "cuda", "--precision", "int8"],
    ["search", "model", "rows.csv", "--query", "a", "--top-k", "0"],
    ["export", "model", "out", "--precision", "fp8"],
    ["serve", "model", "--port", "99999"],
    ["serve", "model", "--runtime", "onnx", "--device", "cuda"],
    ["serve", "model", "--device", "cuda", "--precision", "int8"],
    ["push", "model", "two words"],
    ["analyze", "layers", "model", "--corpus", "corpus", "--out", "layers.txt"],
    ["analyze", "layers", "model", "--corpus", "corpus", "--examples", "0"],
    ["convert", "model", "out", "--to", "sentence-transformers", "--as-model", "ForMaskedLM"],
]
SCRIPT = """
import json, sys
from litebert.cli.main import main
for words in json.loads(sys.argv[1]):
    try:
        code = main(words)
    except SystemExit as left:
        code = left.code
    print(json.dumps([words, code, "torch" in sys.modules]))
"""


REFUSED_WITH_FILES = {
    ("pretrain", "tiny", "sampling.max_length=5000", "--corpus", "corpus", "--out", "new"): 2,
    ("finetune", "max_length=5000", "--model", "run", "--train", "labelled.csv", "--out", "new"): 2,
    ("finetune", "--model", "run", "--train", "absent.csv", "--out", "new"): 3,
    ("finetune", "cola", "--model", "run", "--task-dir", "absent", "--out", "new"): 3,
    ("finetune", "cola", "max_length=5000", "--model", "run", "--task-dir", "absent", "--out", "new"): 2,
}
"""Command line that names what is there → exit code."""


def exit_codes(lines, directory=None):
    """Of each line: its words, its exit code, and whether torch was imported so far; and what was written to stderr."""
    words = [sys.executable, "-c", SCRIPT, json.dumps(lines)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120, cwd=directory)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_wrong_settings_are_refused_before_torch_is_imported():
    found, said = exit_codes(REFUSED)
    assert found == [[each, 2, False] for each in REFUSED], said


@pytest.mark.parametrize("line", REFUSED_WITH_FILES)
def test_settings_that_do_not_fit_model_or_files_are_refused_before_torch_is_imported(line, made):
    found, said = exit_codes([line], made)
    assert found == [[list(line), REFUSED_WITH_FILES[line], False]], said
    assert not (made / "new").exists()


def test_help_imports_neither_torch_nor_pydantic():
    script = "import sys; from litebert.cli.main import main; main(['--help']); print('torch' in sys.modules)"
    script += "; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-2:] == ["False", "False"]
