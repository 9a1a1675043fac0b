"""Model directories small enough to make in a moment."""

import pytest

from litebert.model.io.model_directory import save_model
from litebert.model.models import (
    ForMaskedLM,
    ForMultipleChoice,
    ForPretraining,
    ForQuestionAnswering,
    ForSequenceClassification,
    ForTokenClassification,
    SentenceEmbedder,
)


@pytest.fixture(scope="session")
def config(small_config):
    return small_config.replace(num_hidden_layers=2, max_position_embeddings=48)


@pytest.fixture(scope="session")
def saved(tiny_tokenizer, config, tmp_path_factory):
    """The directory of a model by its name."""
    root = tmp_path_factory.mktemp("models")

    def save(name, model, **options):
        return save_model(model, root / name, extra_files=tiny_tokenizer.files(), **options)

    return {
        "pretraining": save("pretraining", ForPretraining(config)),
        "masked": save("masked", ForMaskedLM(config)),
        "classifier": save(
            "classifier",
            ForSequenceClassification(config, num_labels=3),
            labels=("bad", "fair", "good"),
            problem_type="single_label_classification",
        ),
        "regressor": save(
            "regressor",
            ForSequenceClassification(config, num_labels=1),
            labels=("stars",),
            problem_type="regression",
        ),
        "several": save(
            "several",
            ForSequenceClassification(config, num_labels=3),
            labels=("long", "dull", "loud"),
            problem_type="multi_label_classification",
        ),
        "chooser": save("chooser", ForMultipleChoice(config)),
        "tagger": save("tagger", ForTokenClassification(config, num_labels=3), labels=("O", "B-X", "I-X")),
        "reader": save("reader", ForQuestionAnswering(config)),
        "embedder": save("embedder", SentenceEmbedder(config)),
    }
