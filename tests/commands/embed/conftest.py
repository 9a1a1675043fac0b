"""A model that embeds, and a file of texts."""

import pytest

from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMaskedLM

ROWS = 15


@pytest.fixture(scope="session")
def model(tiny_tokenizer, small_config, tmp_path_factory):
    directory = tmp_path_factory.mktemp("embedding") / "model"
    return str(save_model(ForMaskedLM(small_config), directory, extra_files=tiny_tokenizer.files()))


@pytest.fixture(scope="session")
def texts():
    return [f"the {'film ' * (number % 4)}was good, in {1990 + number}" for number in range(ROWS)]


@pytest.fixture
def table(tmp_path, texts):
    """A CSV file with a number and a text in each row."""
    path = tmp_path / "in.csv"
    path.write_text("n,text\n" + "".join(f'{number},"{text}"\n' for number, text in enumerate(texts)))
    return path
