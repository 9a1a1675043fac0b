"""Model directories small enough to make in a moment, one for each task."""

from pathlib import Path

from litebert.model.io.model_directory import save_model
from litebert.model.models import (
    ForMaskedLM,
    ForMultipleChoice,
    ForPretraining,
    ForQuestionAnswering,
    ForQuestionAnsweringWithNoAnswer,
    ForSequenceClassification,
    ForTokenClassification,
    SentenceEmbedder,
)


def save_models(root: Path, tokenizer, config) -> dict[str, Path]:
    """The directory of a model by its name."""

    def save(name, model, **options):
        return save_model(model, root / name, extra_files=tokenizer.files(), **options)

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
        "doubter": save("doubter", ForQuestionAnsweringWithNoAnswer(config)),
        "embedder": save("embedder", SentenceEmbedder(config)),
    }
