"""`litebert pretrain RECIPE --corpus DIR --out DIR [setting=value …]`."""

from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Final

from litebert.cli.arguments.common import Flag, Json, Overrides, Recipe, print_result, section
from litebert.cli.arguments.processes import Processes, start_processes

SETTINGS: Final = {
    "train.duration='12 hours'": "length of the run: steps, examples, tokens, epochs, or wall-clock time",
    "batch_size=1024": "examples per step, over all processes; microbatch_size=32 of them are computed at once",
    "train.learning_rate=0.00176": "its peak; train.lr_reference_batch_size=4096: square-root scaling to batch_size",
    "train.schedule=cosine": "also constant, linear, polynomial, warmup_stable_decay, linear_tf; train.warmup=0.05",
    "train.optimizer=adamw": "or lamb, muon; train.bias_correction=true or false",
    "train.precision=bf16": "also fp32, fp16; the default is the fastest one, measured on this machine",
    "model.num_hidden_layers=6": "another depth; or another model, such as model.preset=albert-large-v1",
    "sampling.max_length=128": "tokens of an example; sampling.packing=true puts several short ones in one row",
    "init_checkpoint=RUN": "weights of a run or of a model on the hub, also of another depth or sharing",
    "metric_for_best_model=mlm_accuracy": "export the best of all evaluated models instead of the last one",
    "train.evaluate_every='1 hour'": "how often to evaluate; eval_pair_objectives=[nsp] evaluates next sentences too",
    "train.checkpoint_every='10 minutes'": "how often the run is saved; train.keep_checkpoints=2",
    "train.spikes.policy=skip": "what to do about steps whose loss spikes: skip, rollback, stop, none",
    "compute.compile=true": "compile the block, for GPUs; compute.activation_checkpoint_interval=1 needs less memory",
    "train.trackers=[tensorboard]": "also wandb, trackio; RUN/metrics.jsonl has all metrics in any case",
    "train.allow_config_changes=[train.duration]": "settings that may differ from those of the run to resume",
}
PROCESSES: Final = {
    "litebert pretrain … --processes 2": "on this machine, one for each GPU or for half of the cores",
    "torchrun --nproc-per-node 8 --no-python litebert pretrain …": "splits each batch over 8 processes",
    "examples/cluster": "the same under Slurm, Kubernetes and Ray",
}


def description() -> str:
    """The description in `--help`: recipes, the recommended ones in full, and the most important settings."""
    from litebert.commands.recipes import RECOMMENDED, load_recipe, recipe_names

    recommended = RECOMMENDED["pretrain"]
    names = [name for name in recipe_names("pretrain") if name not in recommended]
    others = {name: load_recipe(name, command="pretrain").about["about"] for name in names}
    return "\n\n".join(
        [
            "Train an encoder on a corpus.",
            "The same command again resumes an unfinished run, or prints the result of a finished one.",
            _recipes("Recipes to begin with, for text of your own:", recommended),
            section("Other recipes; docs/reference/recipes.md has their costs and expected results:", others),
            section("Important settings, given after the recipe; --print-settings shows all of them:", SETTINGS),
            section("Several processes, on one machine or many:", PROCESSES),
        ]
    )


def _recipes(title: str, names: Iterable[str]) -> str:
    from litebert.commands.recipes import load_recipe

    lines = [line for name in names for line in load_recipe(name, command="pretrain").to_text().splitlines()]
    # tyro keeps a line break only before an indented line
    indented = [fill(line, 96, initial_indent="  ", subsequent_indent=" " * 14) for line in lines]
    return "\n".join([title, *indented])


def pretrain(
    recipe: Recipe,
    settings: Overrides = (),
    *,
    corpus: Path,
    out: Path,
    processes: Processes = 1,
    print_settings: Flag = False,
    dry_run: Flag = False,
    json: Json = False,
) -> None:
    """Train an encoder on a corpus.

    Args:
        recipe: name of a recipe, or the path of a .yaml file of your own
        settings: settings of the recipe to change
        corpus: corpus directory from `litebert corpus build`
        out: run directory to create or to resume
        print_settings: print the resolved settings and stop
        dry_run: train one step, report the memory, time and disk that the run needs, and write nothing
    """
    from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
    from litebert.settings import write_yaml

    run = load_pretrain_config(recipe, settings, corpus=corpus)
    if print_settings:
        print(write_yaml(run.to_dict()), end="")
        return
    flags = [name for name, given in (("--dry-run", dry_run), ("--json", json)) if given]
    places = ["--corpus", str(corpus), "--out", str(out), "--processes", str(processes)]
    start_processes(processes, ["pretrain", recipe, *settings, *places, *flags])
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.pretrain import dry_run as dry_runs
    from litebert.commands.pretrain import pretrain as pretraining
    from litebert.training.callbacks.progress_display import progress_display

    result = dry_runs.dry_run(run, out) if dry_run else pretraining.pretrain(run, out, callbacks=[progress_display()])
    print_result(result, as_json=json)
