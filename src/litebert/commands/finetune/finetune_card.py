"""What the README of a fine-tuned model says. Before: `finetune`, at each best model. After: a model directory."""

from collections.abc import Mapping
from typing import Any, Final

from torch import nn

from litebert.commands.finetune.finetune_settings import FinetuneRun, LabelledFiles
from litebert.commands.model_card import model_card
from litebert.tasks.task_type import Kind, Task

_TITLES: Final[dict[Kind, tuple[str, str]]] = {
    "classification": ("An ALBERT classifier", "text-classification"),
    "regression": ("An ALBERT regressor", "text-classification"),
    "multi_label": ("An ALBERT classifier for several labels", "text-classification"),
    "multiple_choice": ("An ALBERT for multiple choice", "multiple-choice"),
    "tokens": ("An ALBERT tagger", "token-classification"),
    "spans": ("An ALBERT that answers questions", "question-answering"),
    "answerability": ("An ALBERT that answers questions", "question-answering"),
}
_CALLS: Final[dict[Kind, tuple[str, str]]] = {
    "classification": ("classify", '["a text"]'),
    "regression": ("score", '["a text"]'),
    "multi_label": ("label", '["a text"]'),
    "multiple_choice": ("choose", '[("a text", "a question", ["an option", "another"])]'),
    "tokens": ("tag", '[["some", "words"]]'),
    "spans": ("answer", '"a question", "a text with the answer"'),
    "answerability": ("answer", '"a question", "a text, perhaps with the answer"'),
}


def card(run: FinetuneRun, task: Task, evaluation: Mapping[str, Any], model: nn.Module) -> str:
    """The README of the best model so far."""
    title, pipeline = _TITLES[task.kind]
    method, argument = _CALLS[task.kind]
    if method in ("classify", "label", "score") and len(task.text) > 1:
        argument = '[("a text", "its pair")]'
    source = run.data.train.name if isinstance(run.data, LabelledFiles) else run.data.task
    return model_card(
        model,
        title=title,
        task=pipeline,
        summary=f"Fine-tuned for {_goal(task)}.",
        use=f'from litebert import Predictor\n\nPredictor.load(".").{method}({argument})',
        scores={**evaluation["metrics"], "development rows": evaluation["examples"], "step": evaluation["step"]},
        settings={
            "start": run.model,
            "from scratch": run.from_scratch,
            "training data": source,
            "duration": str(run.train.duration),
            "learning rate": run.train.learning_rate,
            "batch size": run.batch_size,
            "seed": run.seed,
        },
        card=run.card,
    )


def _goal(task: Task) -> str:
    if task.labels:
        return f"{len(task.labels)} labels: {', '.join(task.labels)}"
    return f"the score {task.label!r}" if task.kind == "regression" else task.kind.replace("_", " ")
