"""The ending of a file tells what is asked."""

from pathlib import Path

import pytest

from litebert.commands.predict import predict_file as module
from litebert.commands.predict.predict import PredictRun
from litebert.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "answered_by"),
    [
        ("rows.csv", "predict"),
        ("rows.txt", "predict"),
        ("dev.json", "predict_squad"),
        ("news.conll", "predict_words"),
        ("news.iob", "predict_words"),
    ],
)
def test_each_file_goes_to_its_own(monkeypatch, name, answered_by):
    for each in ("predict", "predict_squad", "predict_words"):
        monkeypatch.setattr(module, each, lambda *given, each=each, **options: each)
    run = PredictRun(model=Path("m"), input=Path(name), output=Path("out"))
    assert module.predict_file(run) == answered_by


@pytest.mark.parametrize("name", ["dev.json", "news.conll"])
@pytest.mark.parametrize(
    ("given", "named"),
    [({"text": "a"}, "text"), ({"text_pair": "b", "options": ("c", "d"), "top_k": 2}, "text_pair, options, top_k")],
)
def test_a_file_without_named_columns_takes_no_names(name, given, named):
    run = PredictRun(model=Path("m"), input=Path(name), output=Path("out"), **given)
    with pytest.raises(ConfigError, match=f"^{named}: a {Path(name).suffix} file has places of its own"):
        module.predict_file(run)


def test_words_have_no_threshold():
    run = PredictRun(model=Path("m"), input=Path("news.conll"), output=Path("out"), threshold=0.0)
    with pytest.raises(ConfigError, match=r"^threshold: a \.conll file"):
        module.predict_file(run)
