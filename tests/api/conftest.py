"""A pretrained model and labelled rows for the Python API."""

import pytest

from support.data.labelled_files import OPINIONS, SUBJECTS
from support.runs.tiny_runs import API_SETTINGS, save_pretrained


@pytest.fixture(scope="session")
def pretrained(tiny_tokenizer, tmp_path_factory):
    return save_pretrained(tiny_tokenizer, tmp_path_factory.mktemp("api") / "pretrained")


@pytest.fixture(scope="session")
def opinions():
    return [
        {"text": f"{subject} {opinion}", "label": name}
        for subject in SUBJECTS
        for name, opinions in OPINIONS.items()
        for opinion in opinions
    ]


@pytest.fixture(scope="session")
def tuned(pretrained, opinions, tmp_path_factory):
    import litebert

    out = tmp_path_factory.mktemp("api") / "tuned"
    return litebert.finetune(pretrained, train=opinions, dev=opinions, out=out, **API_SETTINGS)
