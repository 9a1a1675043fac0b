"""`litebert finetune RECIPE --model DIR (--train FILE | --task NAME --data DIR) --out DIR [setting=value …]`."""

from pathlib import Path
from typing import Final

from litebert.cli.arguments.common import Flag, Json, Overrides, Recipe, emit, section
from litebert.cli.arguments.labelled_data import COLUMNS, NO_ROWS, ColumnArguments, TrainingRows

KINDS_OF_FILES: Final = {
    "a label, several, or a score": "CSV, TSV or JSON lines with columns text and label, or as --text and --label say",
    "the best of some options": "columns option1, option2, … or a list; --text-pair is the question; RACE's own files",
    "a label for each word": "CoNLL columns (.conll), or lists of words and tags in JSON lines",
    "an answer in a text": "SQuAD 1.1 or 2.0 (.json), or columns question, context and answer; recipes squad-v1.1 and "
    "squad-v2.0",
}
SETTINGS: Final = {
    "train.duration='3 epochs'": "length of the run; the learning rate goes down to 0 over all of it",
    "train.learning_rate=2e-5": "peak of the learning rate; batch_size, max_length and seed likewise",
    "train.evaluate_every='100 steps'": "when to look for the best model on the development rows; the best is kept",
    "patience=3": "stop after so many evaluations without a better one",
    "class_weights=balanced": "rare labels count more; or numbers, such as class_weights.spam=5",
    "freeze=encoder": "train the head alone; or embeddings, all_but_pooler",
    "layerwise_lr_decay=0.9": "smaller learning rates further from the head",
    "adapters.rank=8": "train adapters of low rank (LoRA) in a frozen encoder; also adapters.alpha, "
    "adapters.projections=[query,value], and adapters.per_layer=true for one in each layer of a shared block",
    "keep_head=true": "go on with the head of a model that was fine-tuned on the same labels",
    "hidden_dropout_prob=0.1": "dropout in the encoder; also attention_probs_dropout_prob, classifier_dropout_prob",
    "compute.activation_checkpoint_interval=1": "less memory, a third more time; compute.compile=true for long runs on a GPU",
    "train.precision=bf16": "faster on GPUs and CPUs that have it; fp32 is the default",
}


def description() -> str:
    """What `--help` says, with the recipes that there are and the settings that are worth knowing."""
    from litebert.commands.recipes import load_recipe, recipe_names
    from litebert.tasks.benchmarks.benchmarks import TASKS

    tasks = ", ".join(name for name, row in TASKS.items() if "train" in row.parts)
    recipes = {name: load_recipe(name, kind="finetune").about["about"] for name in recipe_names("finetune")}
    return "\n\n".join(
        [
            "Train a model on labelled rows: a published task (GLUE, SQuAD, RACE) from its files, by its name and "
            f"--data; or a file of your own, by --train. Tasks: {tasks}.",
            section("What is asked of a row is guessed from the file and said:", KINDS_OF_FILES),
            section(
                "Recipes; those with the name of a task need --data alone, and any other takes --task too:", recipes
            ),
            section("Settings worth knowing, after the recipe; --print-settings shows them all:", SETTINGS),
            "The same command again resumes the run, or says that it is done.",
        ]
    )


def finetune(
    recipe: Recipe,
    settings: Overrides = (),
    *,
    model: str,
    out: Path,
    rows: TrainingRows = NO_ROWS,
    columns: ColumnArguments = COLUMNS,
    from_scratch: Flag = False,
    print_settings: Flag = False,
    json: Json = False,
) -> None:
    """Train a model on labelled rows.

    Args:
        recipe: name of a recipe or of a published task, or the path of a .yaml file of your own
        settings: settings of the recipe to change
        model: model directory, earlier run (of mnli, say: its encoder is taken, the head is new), or a name on the hub
        out: run directory to make or to resume
        from_scratch: start from random weights; `model` is then a preset or a directory for its architecture
        print_settings: print the resolved settings and stop
    """
    from litebert.commands.finetune.finetune import finetune as run
    from litebert.commands.finetune.finetune_settings import load_finetune_config
    from litebert.settings import write_yaml
    from litebert.training.callbacks.progress_display import progress_display

    given = {"model": model, "from_scratch": from_scratch, "data": rows.setting(recipe, columns)}
    plan = load_finetune_config(recipe, settings, given=given)
    if print_settings:
        print(write_yaml(plan.to_dict()), end="")
        return
    result = run(plan, out, callbacks=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)
