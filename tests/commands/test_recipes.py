"""Recipes: those of the package load, parse and have a description; those of the user are files."""

import pytest

from litebert.commands.finetune.finetune_settings import load_finetune_config as finetune_planned
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.recipes import ABOUT, load_recipe, recipe_names, resolved_model
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from litebert.model.model_stats import memory, parameter_counts
from litebert.model.presets import preset
from litebert.settings import with_overrides
from litebert.training.loop.run_schedule import DurationConverter, RunSchedule, TrainingProgress
from support.pages.parsed_commands import code_of_parsing

PAPER = {
    "paper-base": 11_813_810,
    "paper-large": 17_847_474,
    "paper-xlarge": 59_021_490,
    "paper-xxlarge": 223_158_450,
    "paper-bert-base": 109_705_010,
    "paper-bert-large": 335_691_058,
}
"""Recipes of table 1, with the parameters of the models with their pretraining heads."""
RELEASED = {f"google-{size}": PAPER[f"paper-{size}"] for size in ("base", "large", "xlarge", "xxlarge")}
RECIPE_NAMES = {
    "pretrain": {
        "quickstart",
        "modern-quickstart",
        "tiny",
        "modern-tiny",
        "night",
        "night-albert",
        "night-large",
        "night-balanced",
        "night-unshared",
        "small",
        "base",
        "gpu-minutes",
        "gpu-hour",
        "gpu-day",
        *PAPER,
        *RELEASED,
    },
    "finetune": {
        *("quickstart", "default", "cola", "sst-2", "mrpc", "sts-b", "qqp", "mnli", "qnli", "rte", "wnli"),
        *("squad-v1.1", "squad-v2.0", "race", "race-v2"),
    },
}
RECIPES = [(command, name) for command in RECIPE_NAMES for name in recipe_names(command)]


@pytest.mark.parametrize("command", RECIPE_NAMES)
def test_documented_recipes_exist(command):
    assert set(recipe_names(command)) >= RECIPE_NAMES[command]


@pytest.mark.parametrize(("command", "name"), RECIPES)
def test_recipe_parses_into_the_settings_of_its_command(command, name):
    if command == "finetune":
        finetune_planned(name, given={"model": "m", "data": {"train": "t.csv"}})
        return
    settings = load_recipe(name, command=command).settings
    model = resolved_model(settings["model"], vocab_size=1000)
    run = PretrainRun.parse({**settings, "model": model, "corpus": "c"}, where=name)
    assert run.sampling.max_length <= run.model.max_position_embeddings
    assert run.batch_size % run.microbatch_size == 0


@pytest.mark.parametrize(("command", "name"), RECIPES)
def test_recipe_has_description_cost_and_expected_result(command, name):
    recipe = load_recipe(name, command=command)
    assert tuple(recipe.about) == ABOUT
    assert f"{command} {name} " in recipe.about["command"]
    assert code_of_parsing(recipe.about["command"].partition("litebert ")[2].split()) == 0
    assert recipe.to_text().startswith(f"{name}\n  about     ")


def test_the_two_forms_of_the_quickstart_read_the_same_examples_for_the_same_time():
    classic, modern = (load_recipe(name, command="pretrain").settings for name in ("quickstart", "modern-quickstart"))
    of_model = {"model", "train"}
    assert {name: classic[name] for name in classic if name not in of_model} == {
        name: modern[name] for name in modern if name not in of_model
    }
    assert classic["train"]["duration"] == modern["train"]["duration"]
    assert all(classic["model"][size] == modern["model"][size] for size in ("num_hidden_layers", "hidden_size"))


def test_the_two_forms_of_a_night_differ_in_the_block_alone():
    modern, classic = (load_recipe(name, command="pretrain").settings for name in ("night", "night-albert"))
    assert {**modern, "model": None} == {**classic, "model": None}
    block = {"norm_first", "position_embedding", "hidden_act", "gated_feed_forward", "intermediate_size", "use_bias"}
    first, second = (pretraining(name, vocab_size=8000).model.to_dict() for name in ("night", "night-albert"))
    assert {name for name in first if first[name] != second[name]} == block
    paper = preset("albert-base-v1").to_dict()
    assert all(second[name] == paper[name] for name in block - {"intermediate_size"})


def test_second_part_of_a_night_is_night_without_sharing_at_half_of_the_rates():
    first, second = (load_recipe(name, command="pretrain").settings for name in ("night", "night-unshared"))
    assert second["model"] == {**first["model"], "num_hidden_groups": preset("modern-tiny").num_hidden_layers}
    rates = {name: first["train"][name] / 2 for name in ("learning_rate", "muon_learning_rate")}
    assert second["train"] == {**first["train"], **rates}
    assert "init" not in second
    assert second["init_checkpoint"] == "RUN-OF-NIGHT"  # to be given: no such directory is an error
    assert {**second, "init": "structured"}.keys() - {"seed", "init_checkpoint"} == first.keys()
    for name in first.keys() - {"model", "train", "init"}:
        assert second[name] == first[name]


def test_large_form_of_a_night_is_night_at_another_width():
    first, second = (load_recipe(name, command="pretrain").settings for name in ("night", "night-large"))
    sizes = {"hidden_size": 384, "intermediate_size": 704, "num_attention_heads": 12}
    assert second["model"] == {**first["model"], **sizes}
    assert second["train"] == {**first["train"], "duration": "47.4M tokens", "muon_learning_rate": 0.0125}
    assert {**second, "batch_size": 32, "model": 0, "train": 0} == {**first, "model": 0, "train": 0}


def test_balanced_form_of_a_large_night_has_more_masked_steps_and_fewer_layers_at_first():
    first, second = (load_recipe(name, command="pretrain").settings for name in ("night-large", "night-balanced"))
    sampling = {"causal_fraction": 0.5, "mlm_probability": "0.3 to 0.15 in 10200 steps"}
    changes = {"sampling": {**first["sampling"], **sampling}, "progressive_depth": {"initial_layers": 3}}
    assert second == {**first, **changes, "train": {**first["train"], "duration": "75M tokens"}}


def pretraining(name, *overrides, vocab_size=30_000):
    settings = with_overrides(load_recipe(name, command="pretrain").settings, overrides)
    model = resolved_model(settings["model"], vocab_size=vocab_size)
    return PretrainRun.parse({**settings, "model": model, "corpus": "c"}, where=name)


def schedule_of(run):
    """The run schedule for a corpus of some million examples."""
    measure = DurationConverter(run.batch_size, examples_per_epoch=5_000_000)
    return RunSchedule(run.train, measure, measure.warmup_fraction(run.train.warmup, run.train.duration))


@pytest.mark.parametrize("name", recipe_names("pretrain"))
def test_pretrain_recipe_has_a_sensible_warmup_and_peak_learning_rate(name):
    schedule = schedule_of(pretraining(name))
    assert 0 < schedule.warmup < 0.2
    assert 1e-4 < schedule.peak <= 2e-3


@pytest.mark.parametrize("name", recipe_names("pretrain"))
def test_pretrain_recipe_microbatch_fits_its_intended_machine(name):
    """8 GiB for recipes for two cores, 40 GiB for those for a GPU; by formula, with space for the kernels' buffers."""
    run = pretraining(name)
    memory_gib = 40 if name == "base" or name.startswith(("gpu-", "google-", "paper-")) else 8
    length, rows = run.sampling.max_length, run.microbatch_size
    assert memory(run.model, batch_size=rows, length=length, precision="bf16").training < 0.8 * memory_gib * 2**30


@pytest.mark.parametrize("name", PAPER)
def test_paper_recipes_match_the_paper(name):
    """Source: sections 4.1 and 2.6 of the paper and its code: table 1's models, 125k steps of 4,096, LAMB, 3,125."""
    run, schedule = pretraining(name), schedule_of(pretraining(name))
    assert parameter_counts(run.model).pretraining == PAPER[name]
    assert (schedule.total_steps, schedule.warmup, schedule.peak) == (125_000, pytest.approx(3125 / 125_000), 0.00176)
    assert (run.sampling.max_length, run.sampling.max_predictions_per_seq, run.batch_size) == (512, None, 4096)
    assert (run.sampling.mlm_probability, run.sampling.max_ngram, run.sampling.short_seq_prob) == (0.15, 3, 0.1)
    assert run.model.num_attention_heads * 64 == run.model.hidden_size
    assert run.model.intermediate_size == 4 * run.model.hidden_size
    assert (run.train.optimizer, run.train.weight_decay, run.train.max_grad_norm) == ("lamb", 0.01, 1.0)
    assert run.model.hidden_dropout_prob == run.model.attention_probs_dropout_prob == 0.1
    assert run.metric_for_best_model is None, "the paper exports the last model"
    assert run.train.spikes.policy == "none"


@pytest.mark.parametrize("name", RELEASED)
def test_recipes_of_the_release_have_its_models_and_its_masking(name):
    run = pretraining(name)
    assert parameter_counts(run.model).pretraining == RELEASED[name]
    assert run.model == preset(f"albert-{name.removeprefix('google-')}-v1")
    assert run.sampling == SamplingSettings.parse({"preset": "google"}, where=name)
    assert schedule_of(run).total_steps == (1_500_000 if name == "google-xxlarge" else 125_000)


@pytest.mark.parametrize(("batch", "steps", "peak"), [(512, 1_000_000, 0.000622), (32_768, 15_625, 0.00498)])
def test_paper_recipes_scale_to_another_batch_size(batch, steps, peak):
    schedule = schedule_of(pretraining("paper-base", f"batch_size={batch}"))
    assert (schedule.total_steps, schedule.peak) == (steps, pytest.approx(peak, rel=1e-3))
    assert schedule.warmup == pytest.approx(0.025, abs=1 / steps)


@pytest.mark.parametrize("name", sorted(PAPER))
def test_paper_recipes_may_train_for_a_wall_clock_time(name):
    """Source: table 6."""
    schedule = schedule_of(pretraining(name, "train.duration=32 hours", "train.warmup=0.025"))
    assert schedule.fraction(TrainingProgress(step=1, seconds=8 * 3600.0)) == 0.25


def test_recipe_may_be_a_file_of_the_user(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("about: two\n  lines\nseed: 3\n")
    recipe = load_recipe(str(path), command="pretrain")
    assert (recipe.name, recipe.about, recipe.settings) == ("mine", {"about": "two lines"}, {"seed": 3})
    assert with_overrides(recipe.settings, ["seed=4", "train.duration=2 steps"]) == {
        "seed": 4,
        "train": {"duration": "2 steps"},
    }


def test_unknown_recipe_suggests_a_known_one():
    with pytest.raises(ConfigError, match=r"'tinny': no such recipe; did you mean 'tiny'\? \(or give the path"):
        load_recipe("tinny", command="pretrain")
    with pytest.raises(ConfigError, match=r"'wikipedia': no such recipe; expected one of night, tiny, .*small \(or"):
        load_recipe("wikipedia", command="pretrain")


def test_recipe_of_another_command_is_unknown():
    with pytest.raises(ConfigError, match="no such recipe"):
        load_recipe("default", command="pretrain")


def test_model_settings_override_the_preset():
    assert resolved_model({"preset": "tiny"}, vocab_size=77) == preset("tiny").replace(vocab_size=77).to_dict()
    assert resolved_model({"preset": "tiny", "hidden_size": 8}, vocab_size=77)["hidden_size"] == 8
    assert resolved_model({"hidden_size": 8}, vocab_size=77) == {"hidden_size": 8, "vocab_size": 77}


def test_changes_of_a_loaded_recipe_are_not_those_of_the_next_one():
    load_recipe("tiny", command="pretrain").settings["train"]["optimizer"] = "lamb"
    assert load_recipe("tiny", command="pretrain").settings["train"]["optimizer"] == "muon"
