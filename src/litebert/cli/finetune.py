"""`litebert finetune RECIPE --model DIR (--train FILE | --task NAME --task-dir DIR) --out DIR [setting=value …]`."""

from pathlib import Path
from typing import Annotated, Final

from litebert.cli.arguments.common import (
    Flag,
    Json,
    OptionalRecipe,
    Overrides,
    print_result,
    recipe_and_settings,
    section,
)
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.data_arguments import DataArguments

FILES: Final = {
    "classification, multi_label, regression": "CSV, TSV, JSON lines or Parquet with columns text and label, "
    "or --text and --label",
    "multiple_choice": "columns option1, option2, … or a list; --text-pair is the question; RACE's own files",
    "pronoun_resolution": "the .jsonl files of SuperGLUE's WSC; benchmark wnli-pronouns",
    "token_classification": "CoNLL columns (.conll), Universal Dependencies (.conllu), or lists of words and "
    "labels in JSON lines",
    "extractive_qa": "SQuAD 1.1 or 2.0 (.json), or columns question, context and answer; recipes squad-v1.1 and "
    "squad-v2.0",
}
SETTINGS: Final = {
    "train.duration='3 epochs'": "length of the run; the learning rate decays to 0 over it",
    "train.learning_rate=2e-5": "peak learning rate of AdamW; the default depends on the model and on the number of "
    "rows, and small encoders of litebert pretrain are trained with Muon unless it is set",
    "batch_size=16": "examples per step; the default depends on the number of rows",
    "max_length=128": "longest input in tokens; by default 99 % of the training rows are not truncated",
    "long_texts=windows": "longer texts are read in several inputs, not truncated",
    "train.evaluate_every='100 steps'": "when to evaluate on the development set; the best model is kept",
    "metrics=[macro_f1,accuracy]": "the first selects the best model; macro_f1 counts rare labels as much as others",
    "data.dev.fraction=0.2": "how many rows are held out without --dev; data.dev.group_by=author keeps rows together",
    "early_stopping_patience=3": "stop after 3 evaluations without improvement",
    "class_weights=balanced": "rare labels count more; or numbers, such as class_weights.spam=5",
    "calibrate=true": "calibrate the probabilities on the development rows (temperature scaling)",
    "tune_thresholds=true": "choose the decision thresholds on the development rows: of each label, or of two classes",
    "fit_duplicate_token_heads=true": "for pairs of texts and a small encoder: initialize two attention heads so that "
    "each token attends to the same token in the other text; recipe default: auto",
    "elastic_depth=[2,4]": "train with 2, 4 or all layers, so that `litebert convert --layers 2` gives a faster model",
    "freeze=encoder": "train the head only; or embeddings, all_but_pooler",
    "layerwise_lr_decay=0.9": "smaller learning rates further from the head",
    "adapters.rank=8": "train LoRA adapters in a frozen encoder; also adapters.alpha, "
    "adapters.projections=[query,value], and adapters.per_layer=true for one in each layer of a shared block",
    "keep_head=true": "continue with the head of a model fine-tuned on the same labels",
    "hidden_dropout_prob=0.1": "dropout in the encoder; also attention_probs_dropout_prob, classifier_dropout_prob",
    "compute.activation_checkpoint_interval=1": "less memory, a third more time; compute.compile=true for long runs on "
    "a GPU",
    "train.precision=bf16": "the default is the fastest one, measured on this machine",
}


def description() -> str:
    """The help text, with the recipes and the main settings."""
    from litebert.commands.recipes import load_recipe, recipe_names
    from litebert.tasks.benchmarks.benchmarks import BENCHMARKS

    tasks = ", ".join(name for name, row in BENCHMARKS.items() if "train" in row.splits)
    recipes = {name: load_recipe(name, command="finetune").about["about"] for name in recipe_names("finetune")}
    return "\n\n".join(
        [
            "Fine-tune a model on a benchmark (GLUE, SQuAD, RACE) by its name and --task-dir, or on a labelled file of "
            f"your own by --train. Benchmarks: {tasks}.",
            section("The task type is guessed from the file and logged:", FILES),
            section("Recipes; those named like a benchmark need --task-dir only, others also take --task:", recipes),
            section("Main settings, after the recipe; --print-settings shows all:", SETTINGS),
            "The same command again resumes the run, or returns its result if it is finished.",
        ]
    )


def finetune(
    recipe: OptionalRecipe = "default",
    settings: Overrides = (),
    *,
    model: str,
    out: Path,
    data: Annotated[DataArguments, arguments_of(DataArguments)],
    from_scratch: Flag = False,
    no_baseline: Flag = False,
    print_settings: Flag = False,
    json: Json = False,
) -> None:
    """Fine-tune a model on labelled data.

    Args:
        recipe: name of a recipe or benchmark, or the path of a .yaml file
        settings: settings of the recipe to change
        model: model directory, run directory (its encoder is used, the head is new), or a name on the hub
        out: run directory to create or resume
        from_scratch: start from random weights; --model is then a preset or the directory of a model
        no_baseline: do not compare with the majority class and with a linear model of tf-idf features (scikit-learn)
        print_settings: print the resolved settings and stop
    """
    from litebert.commands.finetune.data.missing_inputs import validate_inputs_exist
    from litebert.commands.finetune.finetune_settings import load_finetune_config
    from litebert.settings import write_yaml

    recipe, settings = recipe_and_settings(recipe, settings)
    given = {"model": model, "from_scratch": from_scratch, "data": data.to_setting(recipe)}
    given |= {"baseline": False} if no_baseline else {}
    config = load_finetune_config(recipe, settings, given=given, out=out)
    if print_settings:
        print(write_yaml(config.to_dict()), end="")
        return
    validate_inputs_exist(config, out)
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.finetune.finetune import finetune as run
    from litebert.training.callbacks.progress_display import progress_display

    print_result(run(config, out, callbacks=[progress_display()]), as_json=json)
