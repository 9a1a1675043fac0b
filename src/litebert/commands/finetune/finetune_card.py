"""The model card of a fine-tuned model."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from litebert.commands.finetune.finetune_settings import FinetuneRun, LabelledFiles
from litebert.commands.model_card import model_card
from litebert.tasks.task import Task
from litebert.tasks.types.registry import get_task_type


def finetune_card(run: FinetuneRun, task: Task, evaluation: Mapping[str, Any], model: nn.Module) -> str:
    """The model card of the best model so far."""
    card = get_task_type(task.task_type).card
    argument = card.pair_argument if card.pair_argument and len(task.text) > 1 else card.argument
    source = run.data.train.name if isinstance(run.data, LabelledFiles) else run.data.task
    return model_card(
        model,
        title=card.title,
        task=card.pipeline_tag,
        summary=f"Fine-tuned for {card.goal(task)}.",
        use=f'from litebert import Predictor\n\nPredictor.load(".").{card.method}({argument})',
        scores={**evaluation["metrics"], "development examples": evaluation["examples"], "step": evaluation["step"]},
        settings={
            "pretrained model": run.model,
            "from scratch": run.from_scratch,
            "training data": source,
            "duration": str(run.train.duration),
            "learning rate": run.train.learning_rate,
            "batch size": run.batch_size,
            "seed": run.seed,
        },
        card=run.card,
    )
