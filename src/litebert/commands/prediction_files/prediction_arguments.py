"""Settings of commands that score models or prediction files. Imports no torch: wrong ones are refused at once."""

from collections.abc import Sequence
from pathlib import Path

from litebert.commands.model_arguments import ModelArguments
from litebert.errors import ConfigError
from litebert.settings import validate_not_given
from litebert.tasks.prediction_files.prediction_rows import PREDICTION_ENDINGS, is_prediction_file


class ScoredArguments(ModelArguments):
    """How models run, and how examples are read where there are only prediction files."""

    task_type: str | None = None
    """With --data and without a model: task type of the examples (default: guessed from the file)."""
    label_names: tuple[str, ...] = ()
    """With --data and without a model: all labels, in their order (default: those that the column `probabilities`
    names, or those of --data)."""

    def validate_read(self, sources: Sequence[str], *, is_benchmark: bool) -> None:
        """Raise ConfigError for settings that are not read for these models and files, and for other files."""
        for source in sources:
            _validate_ending(source)
        only_files = all(map(is_prediction_file, sources))
        if is_benchmark or not only_files:
            given = {"task_type": self.task_type, "label_names": self.label_names}
            validate_not_given(given, "only for prediction files without a model, and with --data; leave it out")
        if only_files:
            validate_not_given(self._of_models(), "only for models, and there are only prediction files; leave it out")
        if len(set(self.label_names)) < len(self.label_names):
            raise ConfigError(
                f"label_names: a label is given twice in {', '.join(self.label_names)}; give each label once"
            )

    def _of_models(self) -> dict[str, object]:
        """The settings of models that are not the default."""
        fields = ModelArguments.model_fields
        return {name: getattr(self, name) for name in fields if getattr(self, name) != fields[name].default}


def _validate_ending(source: str) -> None:
    if Path(source).is_file() and not is_prediction_file(source):
        raise ConfigError(
            f"{source}: a file, but no prediction file, whose name ends in {', '.join(PREDICTION_ENDINGS)}; rename it, "
            "or give the directory of a model"
        )
