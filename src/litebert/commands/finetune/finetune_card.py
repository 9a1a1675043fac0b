"""The model card of a fine-tuned model, and what the run does in words."""

from torch import nn

from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.finetune.finetune_settings import FinetuneRun, LabelledFiles
from litebert.commands.finetune.setup import RunData
from litebert.commands.model_card import model_card
from litebert.tasks.types.registry import get_task_type


def provenance(run: FinetuneRun, data: RunData) -> dict[str, str]:
    """What the run trains and how, in words: for the model card and `environment.json`."""
    head = "its own head" if run.keep_head else "a new head"
    return {
        "objective": data.task.task_type.replace("_", " "),
        "initialization": "random" if run.from_scratch else f"weights of {run.model}, {head}",
        "exported model": f"the best by {data.task.metric_for_best_model} on the development examples",
        "development examples": f"{len(data.dev.examples):,}: {data.selection}",
    }


def finetune_card(run: FinetuneRun, data: RunData, result: FinetuneResult, model: nn.Module) -> str:
    """The model card of the best model of a finished run."""
    card = get_task_type(data.task.task_type).card
    argument = card.pair_argument if card.pair_argument and len(data.task.text) > 1 else card.argument
    metric, words = data.task.metric_for_best_model, provenance(run, data)
    if result.evaluations > 1:
        words["exported model"] += f", of {result.evaluations} evaluations: these scores are optimistic"
    return model_card(
        model,
        title=card.title,
        task=card.pipeline_tag,
        summary=" ".join([f"Fine-tuned for {card.goal(data.task)}.", *map(_sentence, result.remarks)]),
        use=f'from litebert import Predictor\n\nPredictor.load(".").{card.method}({argument})',
        scores={
            **result.best["metrics"],
            **{f"{metric} of the baseline {name}": scores[metric] for name, scores in result.baselines.items()},
            "step": result.best["step"],
        },
        settings={
            **words,
            "training data": data.train.path.name if isinstance(run.data, LabelledFiles) else run.data.task,
            "training examples": result.train_examples,
            "longest input in tokens": result.max_length,
            "duration": str(run.train.duration),
            "learning rate": run.train.learning_rate,
            "batch size": run.batch_size,
            "seed": run.seed,
        },
        card=run.card,
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
