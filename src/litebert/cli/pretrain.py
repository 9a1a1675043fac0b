"""`litebert pretrain RECIPE --corpus DIR --out DIR [setting=value …]`."""

from pathlib import Path
from textwrap import fill
from typing import Final

from litebert.cli.arguments.common import Flag, Json, Overrides, Recipe, emit, section

SETTINGS: Final = {
    "train.duration='12 hours'": "length of the run: steps, examples, tokens, epochs, or time on the clock",
    "batch_size=1024": "examples in a step, over all processes; microbatch_size=32 are computed at once",
    "train.learning_rate=0.00176": "its peak; train.lr_reference_batch_size=4096 fits it to the batch, by the root",
    "train.schedule=cosine": "also constant, linear, polynomial, warmup_stable_decay, linear_tf; train.warmup=0.05",
    "train.optimizer=adamw": "or lamb; train.bias_correction=true or false",
    "train.precision=bf16": "also fp32, fp16",
    "model.num_hidden_layers=6": "another depth; or another model, such as model.preset=albert-large-v1",
    "examples.max_length=128": "tokens of an example; examples.pack=true puts several short ones in one row",
    "init_checkpoint=RUN": "weights of an earlier run, of another depth, or of a model on the hub",
    "metric_for_best_model=mlm_accuracy": "export the best model of all that were evaluated instead of the last one",
    "train.evaluate_every='1 hour'": "when to score held-out text; eval_pair_objectives=[nsp] scores next sentences too",
    "train.checkpoint_every='10 minutes'": "how often the run is saved; train.keep_checkpoints=2",
    "train.spikes.policy=skip": "what to do about steps whose loss leaps: skip, rollback, stop, none",
    "compute.compile=true": "compile the block, for GPUs; compute.activation_checkpoint_interval=1 needs less memory",
    "train.trackers=[tensorboard]": "also wandb, trackio; RUN/metrics.jsonl has all numbers anyway",
    "train.allow_config_changes=[train.duration]": "settings that may differ from those of the run that goes on",
}
PROCESSES: Final = {
    "torchrun --nproc-per-node 8 --no-python litebert pretrain …": "the batch is split over them",
    "examples/cluster": "the same under Slurm, Kubernetes and Ray",
}


def description() -> str:
    """What `--help` says, with the recipes that there are and the settings that are worth knowing."""
    from litebert.commands.recipes import load_recipe, recipe_names

    recipes = [load_recipe(name, kind="pretrain").to_text() for name in recipe_names("pretrain")]
    lines = [line for recipe in recipes for line in recipe.splitlines()]
    # tyro leaves a line by itself only if it is indented
    indented = [fill(line, 96, initial_indent="  ", subsequent_indent=" " * 14) for line in lines]
    return "\n\n".join(
        [
            "Train an encoder on a corpus.",
            "The same command again resumes the run, or says that it is done.",
            "\n".join(["Recipes:", *indented]),
            section("Settings worth knowing, after the recipe; --print-settings shows them all:", SETTINGS),
            section("Several processes, on one machine or many:", PROCESSES),
        ]
    )


def pretrain(
    recipe: Recipe,
    settings: Overrides = (),
    *,
    corpus: Path,
    out: Path,
    print_settings: Flag = False,
    dry_run: Flag = False,
    json: Json = False,
) -> None:
    """Train an encoder on a corpus.

    Args:
        recipe: name of a recipe, or the path of a .yaml file of your own
        settings: settings of the recipe to change
        corpus: corpus directory from `litebert corpus build`
        out: run directory to make or to resume
        print_settings: print the resolved settings and stop
        dry_run: do one step, tell what memory, time and disk the run needs and its learning rates; write nothing
    """
    from litebert.commands.pretrain.pretrain import pretrain as run
    from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
    from litebert.settings import write_yaml
    from litebert.training.callbacks.progress_display import progress_display

    plan = load_pretrain_config(recipe, settings, corpus=corpus)
    if print_settings:
        print(write_yaml(plan.to_dict()), end="")
        return
    if dry_run:
        from litebert.commands.pretrain.dry_run import dry_run as profile_step

        report = profile_step(plan, out)
        emit({**report.to_dict(), "disk_needed": report.disk_needed}, report.to_text(), as_json=json)
        return
    result = run(plan, out, callbacks=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)
