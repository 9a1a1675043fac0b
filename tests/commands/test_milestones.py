"""`train.milestones`: models of chosen points of a run, which stay and are used like any model."""

import shutil

import pytest

from litebert.commands.evaluate.evaluate import evaluate
from litebert.commands.evaluate.evaluate_settings import EvaluateRun
from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.pretrain.pretrain import pretrain
from litebert.errors import CheckpointError, ConfigError
from litebert.inference.predictor import Predictor
from litebert.interop.convert_weights import convert
from litebert.model.io.model_directory import load_model
from litebert.training.callbacks.milestones import Milestones
from litebert.training.checkpointing import run_checkpoints
from litebert.training.checkpointing.checkpoint import read_tensors
from support.models.tolerances import close_to
from support.runs.callbacks import killed_after_saving
from support.runs.prediction_commands import run_ensemble
from support.runs.pretrain_runs import TOY, plan
from support.runs.tiny_runs import opinions_run

STEPS = ('train.milestones=["2 steps", "3 steps"]', "train.checkpoint_every=2 steps")
NAMES = ("step-00000002", "step-00000003")


def assert_same_predictions(*models):
    texts = ["the film was good", "the music felt dull"]
    found, expected = (Predictor(model, precision="fp32")(texts) for model in models)
    assert [each.label for each in found] == [each.label for each in expected]
    for one, other in zip(found, expected, strict=True):
        assert list(one.probabilities.values()) == close_to(list(other.probabilities.values()))


@pytest.fixture(scope="module")
def run(corpus_directory, tmp_path_factory):
    out = tmp_path_factory.mktemp("milestones") / "run"
    pretrain(plan(corpus_directory, *TOY, *STEPS), out)
    return out


def test_milestones_are_the_models_of_these_steps(run):
    assert sorted(path.name for path in (run / "milestones").iterdir()) == list(NAMES)
    expected, _ = read_tensors(run / "checkpoints" / NAMES[0])
    found = load_model(run / "milestones" / NAMES[0]).state_dict()
    assert all(found[name].equal(tensor) for name, tensor in expected.items())
    later = load_model(run / "milestones" / NAMES[1]).state_dict()
    assert not all(found[name].equal(later[name]) for name in expected)


def test_milestones_of_a_resumed_run_are_those_of_one_without_interruption(run, corpus_directory, tmp_path):
    again, settings = tmp_path / "run", plan(corpus_directory, *TOY, *STEPS)
    killed_after_saving(2, lambda callbacks: pretrain(settings, again, callbacks=callbacks))
    pretrain(settings, again)
    for name in NAMES:
        ours, expected = (each / "milestones" / name / "model.safetensors" for each in (again, run))
        assert ours.read_bytes() == expected.read_bytes()


@pytest.mark.parametrize("milestones", ["[1 step, 2 steps, 3 steps]", "[1 token, 2 steps, 3 steps]"])
def test_milestones_that_a_resumed_run_has_passed_are_named(corpus_directory, tmp_path, caplog, milestones):
    """Not those whose models were saved, nor those that are still to come."""
    out, first = tmp_path / "run", plan(corpus_directory, *TOY, *STEPS)
    killed_after_saving(2, lambda callbacks: pretrain(first, out, callbacks=callbacks))
    assert "train.milestones" not in caplog.text
    pretrain(plan(corpus_directory, *TOY, *STEPS[1:], f"train.milestones={milestones}"), out)
    missed = milestones.partition(",")[0].removeprefix("[").replace("step", "steps").replace("token", "tokens")
    assert f"the run is at step 2 already, so the models of {missed} are not saved" in caplog.text
    assert [path.name for path in sorted((out / "milestones").iterdir())] == list(NAMES)


def test_milestones_that_an_earlier_version_saved_are_not_named(corpus_directory, tmp_path, caplog, monkeypatch):
    out, settings = tmp_path / "run", plan(corpus_directory, *TOY, *STEPS)
    with monkeypatch.context() as earlier:
        earlier.setattr(run_checkpoints, "has_state", lambda callback: not isinstance(callback, Milestones))
        killed_after_saving(2, lambda callbacks: pretrain(settings, out, callbacks=callbacks))
    pretrain(settings, out)
    assert "train.milestones" not in caplog.text


def test_new_milestones_of_a_finished_run_are_named(run, corpus_directory, tmp_path, caplog):
    out = shutil.copytree(run, tmp_path / "run")
    for milestones in ("[2 steps]", "[1 step, 2 steps, 4 steps]"):
        assert "new milestones" not in caplog.text
        pretrain(plan(corpus_directory, *TOY, STEPS[1], f"train.milestones={milestones}"), out)
    assert "the run is finished, so the models of the new milestones (1 steps, 4 steps) are not saved" in caplog.text


def test_milestones_are_accepted_where_a_model_is(run, tmp_path):
    """A model is fine-tuned from one of pretraining; those of fine-tuning are the members of an ensemble."""
    start, file = run / "milestones" / NAMES[0], tmp_path / "opinions.tsv"
    assert Predictor.load(start).fill_mask("The baker finds the [MASK].")[0]
    settings = opinions_run(start, file, duration="4 steps", milestones=["2 steps", "4 steps"])
    finetune(FinetuneRun.parse(settings, where="run"), tmp_path / "run")
    members = sorted((tmp_path / "run" / "milestones").iterdir())
    assert len(members) == 2
    report = run_ensemble(members, file)
    assert {member.name for member in members} <= {path.name for path in report.members}


@pytest.mark.parametrize("directory", ["milestones", "checkpoints"])
def test_milestone_is_scored_on_examples_drawn_as_in_its_run(run, corpus_directory, caplog, directory):
    caplog.set_level("INFO")
    evaluate(EvaluateRun(model=str(run / directory / NAMES[0]), corpus=corpus_directory))
    assert "drawn as in its pretraining" in caplog.text


def test_milestone_beyond_the_end_is_refused_before_anything_is_written(corpus_directory, tmp_path):
    with pytest.raises(ConfigError, match=r"5 steps is beyond the end of the run, 4 steps"):
        pretrain(plan(corpus_directory, *TOY, 'train.milestones=["5 steps"]'), tmp_path / "run")
    times = ('train.milestones=["9 seconds"]', "train.duration=8 seconds")
    with pytest.raises(ConfigError, match=r"9 s is beyond the end of the run, 8 s"):
        pretrain(plan(corpus_directory, *TOY, *times), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_checkpoint_is_accepted_where_a_model_is(run, tmp_path):
    """It is the model that a milestone of the same step is."""
    checkpoint, milestone = (run / part / NAMES[0] for part in ("checkpoints", "milestones"))
    filled, expected = (Predictor(each, precision="fp32").fill_mask("A [MASK].")[0] for each in (checkpoint, milestone))
    assert [each.piece for each in filled] == [each.piece for each in expected]
    convert(checkpoint, tmp_path / "converted", to="transformers")
    found, weights = load_model(tmp_path / "converted").state_dict(), load_model(milestone).state_dict()
    assert found.keys() == weights.keys()
    assert all(found[name].equal(tensor) for name, tensor in weights.items())


def test_checkpoint_of_fine_tuning_predicts_as_its_milestone(run, tmp_path):
    file = tmp_path / "opinions.tsv"
    settings = opinions_run(run / "checkpoints" / NAMES[0], file, duration="4 steps", milestones=["4 steps"])
    finetune(FinetuneRun.parse(settings, where="run"), tmp_path / "run")
    (checkpoint,), (milestone,) = ((tmp_path / "run" / part).glob("step-*") for part in ("checkpoints", "milestones"))
    assert len(run_ensemble([checkpoint, milestone], file).members) == 2
    assert_same_predictions(checkpoint, milestone)


@pytest.mark.parametrize("per_layer", [False, True])
def test_checkpoint_of_a_model_with_adapters_keeps_them(run, tmp_path, per_layer):
    file = tmp_path / "opinions.tsv"
    settings = opinions_run(run / "milestones" / NAMES[1], file, duration="4 steps", milestones=["4 steps"])
    finetune(
        FinetuneRun.parse({**settings, "adapters": {"rank": 2, "per_layer": per_layer}}, where="run"), tmp_path / "run"
    )
    (checkpoint,), (milestone,) = ((tmp_path / "run" / part).glob("step-*") for part in ("checkpoints", "milestones"))
    assert_same_predictions(checkpoint, milestone)


def test_checkpoint_without_a_config_is_refused(run, tmp_path):
    copy = tmp_path / NAMES[0]
    shutil.copytree(run / "checkpoints" / NAMES[0], copy)
    (copy / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"a checkpoint without config\.json"):
        Predictor(copy)
