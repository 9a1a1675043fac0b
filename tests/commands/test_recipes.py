"""Recipes: each that comes with the package loads, parses and says what it is; the user's own are files."""

import pytest

from litebert.commands.finetune.finetune_settings import load_finetune_config as finetune_planned
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.recipes import ABOUT, load_recipe, recipe_names, resolved_model
from litebert.errors import ConfigError
from litebert.model.model_stats import memory, parameter_counts
from litebert.model.presets import preset
from litebert.training.loop.duration import DurationConverter, TrainingProgress
from litebert.training.loop.run_schedule import RunSchedule

PAPER = {
    "paper-base": 11_813_810,
    "paper-large": 17_847_474,
    "paper-xlarge": 59_021_490,
    "paper-xxlarge": 223_158_450,
    "paper-bert-base": 109_705_010,
    "paper-bert-large": 335_691_058,
}
"""Recipes of table 1, with the parameters of the models with their pretraining heads."""
KINDS = {
    "pretrain": {"quickstart", "tiny", "small", "base", "gpu-hour", "gpu-day", *PAPER},
    "finetune": {
        *("quickstart", "default", "cola", "sst-2", "mrpc", "sts-b", "qqp", "mnli", "qnli", "rte", "wnli"),
        *("squad-v1.1", "squad-v2.0", "race", "race-v2"),
    },
}
RECIPES = [(kind, name) for kind in KINDS for name in recipe_names(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_recipes_that_are_promised_are_there(kind):
    assert set(recipe_names(kind)) >= KINDS[kind]


@pytest.mark.parametrize(("kind", "name"), RECIPES)
def test_every_recipe_parses_into_the_settings_of_its_verb(kind, name):
    if kind == "finetune":
        finetune_planned(name, given={"model": "m", "data": {"train": "t.csv"}})
        return
    settings = load_recipe(name, kind=kind).settings
    model = resolved_model(settings["model"], vocab_size=1000)
    run = PretrainRun.parse({**settings, "model": model, "corpus": "c"}, where=name)
    assert run.examples.max_length <= run.model.max_position_embeddings
    assert run.batch_size % run.microbatch_size == 0


@pytest.mark.parametrize(("kind", "name"), RECIPES)
def test_every_recipe_says_what_it_is_what_it_costs_and_what_to_expect(kind, name):
    recipe = load_recipe(name, kind=kind)
    assert tuple(recipe.about) == ABOUT
    assert f"{kind} {name} " in recipe.about["command"]
    assert recipe.to_text().startswith(f"{name}\n  about     ")


def pretraining(name, *overrides, vocab_size=30_000):
    settings = load_recipe(name, kind="pretrain").with_overrides(overrides)
    model = resolved_model(settings["model"], vocab_size=vocab_size)
    return PretrainRun.parse({**settings, "model": model, "corpus": "c"}, where=name)


def plan_of(run):
    """The engine's plan for a corpus of some million examples."""
    measure = DurationConverter(run.batch_size, examples_per_epoch=5_000_000)
    return RunSchedule(run.train, measure, measure.warmup_share(run.train.warmup, run.train.duration))


@pytest.mark.parametrize("name", recipe_names("pretrain"))
def test_every_recipe_has_a_plan_and_a_rate_at_its_peak(name):
    plan = plan_of(pretraining(name))
    assert 0 < plan.warmup < 0.2
    assert 1e-4 < plan.peak < 2e-3


@pytest.mark.parametrize("name", recipe_names("pretrain"))
def test_every_recipes_microbatch_fits_where_it_is_meant_for(name):
    """8 GiB for those of two cores, 40 GiB for those of a GPU; by the formula, with room for the kernels' buffers."""
    run = pretraining(name)
    room = 8 if name in ("quickstart", "tiny", "small") else 40
    length, rows = run.examples.max_length, run.microbatch_size
    assert memory(run.model, batch_size=rows, length=length, precision="bf16").training < 0.8 * room * 2**30


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_recipes_are_the_papers(name):
    """Source: sections 4.1 and 2.6 of the paper and its code: table 1's models, 125k steps of 4,096, LAMB, 3,125."""
    run, plan = pretraining(name), plan_of(pretraining(name))
    assert parameter_counts(run.model).pretraining == PAPER[name]
    assert (plan.total_steps, plan.warmup, plan.peak) == (125_000, pytest.approx(3125 / 125_000), 0.00176)
    assert (run.examples.max_length, run.examples.max_predictions_per_seq, run.batch_size) == (512, 20, 4096)
    assert (run.train.optimizer, run.train.weight_decay, run.train.max_grad_norm) == ("lamb", 0.01, 1.0)
    assert run.model.hidden_dropout_prob == run.model.attention_probs_dropout_prob == 0.1


@pytest.mark.parametrize(("batch", "steps", "peak"), [(512, 1_000_000, 0.000622), (32_768, 15_625, 0.00498)])
def test_the_papers_recipes_bend_to_another_batch(batch, steps, peak):
    plan = plan_of(pretraining("paper-base", f"batch_size={batch}"))
    assert (plan.total_steps, plan.peak) == (steps, pytest.approx(peak, rel=1e-3))
    assert plan.warmup == pytest.approx(0.025, abs=1 / steps)


@pytest.mark.parametrize("name", sorted(PAPER))
def test_the_papers_recipes_train_for_wall_clock_time_too(name):
    """Source: table 6."""
    plan = plan_of(pretraining(name, "train.duration=32 hours", "train.warmup=0.025"))
    assert plan.progress(TrainingProgress(step=1, seconds=8 * 3600.0)) == 0.25


def test_a_file_of_the_users_is_a_recipe_too(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("about: two\n  lines\nseed: 3\n")
    recipe = load_recipe(str(path), kind="pretrain")
    assert (recipe.name, recipe.about, recipe.settings) == ("mine", {"about": "two lines"}, {"seed": 3})
    assert recipe.with_overrides(["seed=4", "train.duration=2 steps"]) == {
        "seed": 4,
        "train": {"duration": "2 steps"},
    }


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ConfigError, match=r"'huge': no such recipe; expected .*tiny.* or a path"):
        load_recipe("huge", kind="pretrain")


def test_a_recipe_of_the_other_verb_is_unknown():
    with pytest.raises(ConfigError, match="no such recipe"):
        load_recipe("default", kind="pretrain")


def test_a_preset_is_where_a_model_starts_and_its_settings_win():
    assert resolved_model({"preset": "tiny"}, vocab_size=77) == preset("tiny").replace(vocab_size=77).to_dict()
    assert resolved_model({"preset": "tiny", "hidden_size": 8}, vocab_size=77)["hidden_size"] == 8
    assert resolved_model({"hidden_size": 8}, vocab_size=77) == {"hidden_size": 8, "vocab_size": 77}
