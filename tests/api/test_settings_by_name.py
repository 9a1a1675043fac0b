"""Keyword arguments are placed in the settings class that has them."""

import pytest

from litebert.api.training_runs import placed
from litebert.commands.finetune.data_settings import LabelledFiles
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.settings import merged_settings
from litebert.training.train_settings import TrainSettings

GROUPS = {"train": TrainSettings, "data": LabelledFiles}


def test_settings_are_placed_in_the_class_that_has_them():
    values = placed({"learning_rate": 1e-4, "batch_size": 8, "text": "review"}, FinetuneRun, GROUPS)
    assert values == {"train": {"learning_rate": 1e-4}, "batch_size": 8, "data": {"text": "review"}}


def test_settings_by_name_take_a_group_whole_and_in_parts():
    values = placed({"train": {"warmup": 0.1}, "learning_rate": 1e-4}, FinetuneRun, GROUPS)
    assert values == {"train": {"warmup": 0.1, "learning_rate": 1e-4}}


def test_settings_by_name_take_a_group_as_an_object_with_further_settings():
    files = LabelledFiles(train="a.csv", label="stars")
    for given in ({"data": files, "text": "review"}, {"text": "review", "data": files}):
        assert placed(given, FinetuneRun, GROUPS) == {"data": {**files.to_dict(), "text": "review"}}


def test_unknown_settings_are_answered_with_the_nearest_name():
    with pytest.raises(ConfigError, match="learnin_rate: no such setting; did you mean 'learning_rate'"):
        placed({"learnin_rate": 1e-4}, FinetuneRun, GROUPS)


def test_merged_settings_keep_what_is_not_changed():
    merged = merged_settings({"train": {"a": 1, "b": 2}}, {"train": {"b": 3}, "c": 4})
    assert merged == {"train": {"a": 1, "b": 3}, "c": 4}


@pytest.mark.parametrize(
    "classes", [(FinetuneRun, TrainSettings, LabelledFiles), (PretrainRun, TrainSettings, SamplingSettings)]
)
def test_no_name_belongs_to_two_settings_classes(classes):
    names = [name for fields in classes for name in fields.model_fields if name not in ("train", "dev")]
    assert len(names) == len(set(names))
