"""Fine-tuning for several numbers of layers."""

import json
import math
from statistics import fmean
from types import SimpleNamespace

import pytest
import torch

from litebert import runtime
from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.export import ExportRun, export
from litebert.commands.finetune.elastic_depth import ElasticDepth
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun, load_finetune_config
from litebert.errors import ConfigError, StoppedBySignalError
from litebert.inference.predictor import Predictor
from litebert.interop.convert_weights import convert
from litebert.model.config import ModelConfig
from litebert.model.encoder import Encoder
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForPretraining
from support.data.labelled_files import write_opinions
from support.data.question_builders import QUESTIONS, squad_json, write_squad
from support.models.model_builders import MODERN
from support.models.tolerances import close_to
from support.runs.callbacks import At


@pytest.fixture(scope="module")
def config(tiny_tokenizer):
    return ModelConfig(
        vocab_size=tiny_tokenizer.vocab_size,
        embedding_size=16,
        hidden_size=32,
        num_hidden_layers=3,
        num_hidden_groups=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=40,
        initializer_range=0.1,
    )


@pytest.fixture
def settings(tiny_tokenizer, config, tmp_path):
    model = save_model(ForPretraining(config), tmp_path / "pretrained", extra_files=tiny_tokenizer.files())
    return {
        "model": str(model),
        "data": {"train": write_opinions(tmp_path / "train.tsv"), "dev": tmp_path / "train.tsv"},
        "train": {
            "duration": "12 steps",
            "optimizer": "adamw",
            "learning_rate": 0.01,
            "evaluate_every": "4 steps",
            "checkpoint_every": "2 steps",
            "device": "cpu",
        },
        "batch_size": 12,
        "microbatch_size": 8,
        "baseline": False,
        "elastic_depth": [2, 1],
    }


def parsed(settings, **changes):
    return FinetuneRun.parse({**settings, **changes}, where="test")


def drawn_layers(config: ModelConfig, depths: tuple[int, ...], *, seed: int, steps: int) -> list[int]:
    encoder = Encoder(config)
    callback, run = ElasticDepth(encoder, depths, seed=seed), SimpleNamespace(progress=SimpleNamespace(step=0))
    callback.on_train_begin(run)
    layers = []
    for step in range(steps):
        assert encoder.schedule[: len(encoder.training_schedule)] == encoder.training_schedule
        layers.append(len(encoder.training_schedule) // config.inner_group_num)
        run.progress.step = step + 1
        callback.on_step(run, None)
    return layers


@pytest.mark.parametrize("changes", [{}, {"inner_group_num": 2}])
def test_each_depth_is_drawn_as_often_and_by_seed_and_step(config, changes):
    config = config.replace(**changes)
    layers = drawn_layers(config, (1, 2), seed=0, steps=3000)
    # A third of the steps, within five standard deviations.
    assert all(870 < layers.count(depth) < 1130 for depth in (1, 2, 3))
    assert layers == drawn_layers(config, (1, 2), seed=0, steps=3000)
    assert layers != drawn_layers(config, (1, 2), seed=1, steps=3000)


def test_scores_of_the_first_layers_are_those_of_the_converted_models(settings, tmp_path):
    run = parsed(settings)
    assert run.elastic_depth == (1, 2)
    result = finetune(run, tmp_path / "run")
    assert list(result.by_layers) == [1, 2]
    depths = [result.scores, *result.by_layers.values()]
    assert result.best.metrics["accuracy_over_depths"] == fmean(metrics["accuracy"] for metrics in depths)
    for layers, metrics in result.by_layers.items():
        directory = tmp_path / f"{layers}-layers"
        convert(result.model, directory, to="litebert", layers=layers)
        assert load_model(directory).config.num_hidden_layers == layers
        evaluated = evaluate(EvaluateRun(model=str(directory), data=tmp_path / "train.tsv", precision="fp32"))
        assert evaluated.scores.metrics == metrics
    assert "\naccuracy by layers: first 1: " in result.to_text()
    assert "| accuracy of the first 2 layers |" in (result.model / "README.md").read_text()
    again = finetune(run, tmp_path / "run")
    assert again.by_layers == result.by_layers
    assert again.to_dict() == json.loads(json.dumps(result.to_dict()))


def test_scores_of_the_first_layers_have_the_no_answer_threshold_of_all_layers(settings, tmp_path):
    questions = write_squad(tmp_path / "dev.json", squad_json(*QUESTIONS))
    result = finetune(parsed(settings, data={"train": questions, "dev": questions}), tmp_path / "run")
    for layers, metrics in result.by_layers.items():
        assert metrics["no_answer_threshold"] == result.best.metrics["no_answer_threshold"]
        convert(result.model, tmp_path / str(layers), to="litebert", layers=layers)
        run = EvaluateRun(model=str(tmp_path / str(layers)), data=questions, precision="fp32")
        assert evaluate(run).scores.metrics == metrics


def test_scores_of_the_first_layers_of_a_diverged_model_are_not_numbers(settings, tmp_path):
    settings["train"]["learning_rate"] = 1e30
    run = parsed(settings)
    for result in (finetune(run, tmp_path / "run"), finetune(run, tmp_path / "run")):
        assert all(math.isnan(metrics["accuracy"]) for metrics in result.by_layers.values())
        assert "no evaluated model has scores that are finite" in result.remarks[0]


def test_an_exported_model_runs_the_first_layers_as_the_converted_one(settings, tmp_path):
    model = finetune(parsed(settings), tmp_path / "run").model
    export(ExportRun(model=str(model), out=tmp_path / "exported"))
    convert(model, tmp_path / "two", to="litebert", layers=2)
    texts = ["the film was good", "her first play felt dull"]
    exported = runtime.Predictor.load(tmp_path / "exported", layers=2).classify(texts)
    for one, other in zip(exported, Predictor.load(tmp_path / "two", precision="fp32").classify(texts), strict=True):
        assert one.probabilities == close_to(other.probabilities, depth="model")


def test_a_resumed_run_trains_the_same_layers(settings, tmp_path):
    run = parsed(settings)
    whole = finetune(run, tmp_path / "whole")

    def stop():
        raise StoppedBySignalError("stopped by the test", signal_number=15)

    with pytest.raises(StoppedBySignalError):
        finetune(run, tmp_path / "stopped", callbacks=[At("step", 5, stop)])
    resumed = finetune(run, tmp_path / "stopped")
    assert resumed.by_layers == whole.by_layers
    expected = load_model(whole.model).state_dict()
    for name, tensor in load_model(resumed.model).state_dict().items():
        assert torch.equal(tensor, expected[name]), name


def test_every_number_of_layers_learns(settings, tmp_path):
    settings["train"] |= {"duration": "150 steps", "evaluate_every": "50 steps", "learning_rate": 0.003}
    elastic = finetune(parsed(settings), tmp_path / "elastic")
    assert elastic.scores["accuracy"] == elastic.by_layers[1]["accuracy"] == elastic.by_layers[2]["accuracy"] == 1


def test_conversion_warns_of_numbers_of_layers_that_were_not_trained(settings, tmp_path, caplog):
    model = finetune(parsed(settings, elastic_depth=[2]), tmp_path / "run").model
    report = convert(model, tmp_path / "two", to="litebert", layers=2)
    assert " format), the first 2 of 3 layers: " in report.to_text()
    assert "alone predict worse" not in caplog.text
    convert(model, tmp_path / "one", to="litebert", layers=1)
    assert "fine-tuned with 2 or 3 layers, so the first 1 alone predict worse" in caplog.text
    convert(model, tmp_path / "again", to="litebert", dtype="float16")
    convert(tmp_path / "again", tmp_path / "two again", to="litebert", layers=2)
    assert "has no evaluation.json, which says for which numbers of layers it was fine-tuned" in caplog.text


def test_without_the_setting_every_step_trains_all_layers(settings, tmp_path):
    result = finetune(parsed(settings, elastic_depth=[]), tmp_path / "run")
    assert result.by_layers == {}
    assert "first layers" not in result.to_text()


def test_layers_with_low_rank_updates_of_their_own_are_trained(settings, tiny_tokenizer, config, tmp_path):
    updated = config.replace(**{**MODERN, "num_hidden_layers": 4, "recursion_lora_rank": 2})
    model = save_model(ForPretraining(updated), tmp_path / "updated", extra_files=tiny_tokenizer.files())
    run = parsed(settings, model=str(model), elastic_depth=[2, 3])
    assert [*finetune(run, tmp_path / "run").by_layers] == [2, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"elastic_depth": [0, 2]}, "expected different positive numbers of layers, such as"),
        ({"elastic_depth": [2, 2]}, "expected different positive numbers of layers, such as"),
        ({"elastic_depth": [1], "adapters": {"per_layer": True}}, "keeps all its layers; set adapters.per_layer=false"),
    ],
)
def test_wrong_numbers_of_layers_are_refused(settings, changes, message):
    with pytest.raises(ConfigError, match=message):
        parsed(settings, **changes)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (3, "elastic_depth: 3 are all layers of the model, which are trained anyway; remove it"),
        (4, "elastic_depth: layers: 4, expected 1 to 3, the layers of the model"),
    ],
)
def test_numbers_of_layers_that_the_model_cannot_have_are_refused(settings, tmp_path, layers, message):
    given = {**settings, "elastic_depth": [1, layers]}
    with pytest.raises(ConfigError, match=message):
        load_finetune_config("default", given={name: given[name] for name in ("model", "data", "elastic_depth")})
    with pytest.raises(ConfigError, match=message):
        finetune(parsed(given), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_loaded_model_whose_layers_change_does_not_answer_with_those_before(settings, tmp_path):
    predictor = Predictor.load(finetune(parsed(settings), tmp_path / "run").model, precision="fp32")
    whole = predictor.probabilities(["the film was good"])
    encoder = predictor.backend.model.encoder
    encoder.schedule = encoder.first_layers(1)
    assert (predictor.probabilities(["the film was good"]) != whole).any()
