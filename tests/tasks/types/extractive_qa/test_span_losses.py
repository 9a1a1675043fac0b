"""Losses of question answering."""

import pytest
import torch
from torch import nn

from litebert.commands.finetune.data.task_objective import TaskObjective
from litebert.model.models import ForQuestionAnswering, ForQuestionAnsweringWithNoAnswer
from litebert.tasks.types.extractive_qa.extractive_qa import EXTRACTIVE_QA, EXTRACTIVE_QA_NO_ANSWER
from litebert.tasks.types.extractive_qa.span_outputs import IMPOSSIBLE_WEIGHT, answer_mask
from support.models.tolerances import tolerance

PAIRS = [
    (ForQuestionAnswering, EXTRACTIVE_QA),
    (ForQuestionAnsweringWithNoAnswer, EXTRACTIVE_QA_NO_ANSWER),
]


@pytest.mark.parametrize(("model", "task_type"), PAIRS)
def test_span_losses_of_a_batch_are_the_sum_over_windows_without_padding(model, task_type, small_config, film_windows):
    model, objective = model(small_config).eval(), TaskObjective(task_type.loss)
    everything = list(range(len(film_windows)))
    whole = objective(model, film_windows.batch(everything))
    parts = [objective(model, film_windows.batch([index])) for index in everything]
    counts = objective.counts(film_windows.batch(everything))
    for name in whole.losses:
        assert whole.losses[name].item() == pytest.approx(
            sum(part.losses[name].item() for part in parts), rel=tolerance(depth="compound")
        )
        assert whole.correct[name].item() == sum(part.correct[name].item() for part in parts)
        assert counts[name] == len(film_windows)


def test_span_loss_is_the_mean_cross_entropy_of_both_ends(small_config, film_windows):
    model = ForQuestionAnswering(small_config).eval()
    batch = film_windows.batch([0])
    output = model(batch.inputs.input_ids, batch.inputs.attention_mask, batch.inputs.token_type_ids)
    start, end, _ = batch.labels[0].tolist()
    expected = -(output.start_logits[0].log_softmax(-1)[start] + output.end_logits[0].log_softmax(-1)[end]) / 2
    found = TaskObjective(EXTRACTIVE_QA.loss)(model, batch).losses["span"]
    assert found.item() == pytest.approx(expected.item(), rel=tolerance())


def test_answerability_loss_has_half_weight(small_config, film_windows):
    model = ForQuestionAnsweringWithNoAnswer(small_config).eval()
    batch = film_windows.batch([3])
    inputs = batch.inputs
    ids = inputs.input_ids, inputs.attention_mask, inputs.token_type_ids
    output = model(*ids, answer_mask(inputs), batch.labels[:, 0])
    expected = nn.functional.softplus(-output.impossible_logits).sum()
    found = TaskObjective(EXTRACTIVE_QA_NO_ANSWER.loss)(model, batch).losses["impossible"]
    assert found.item() == pytest.approx(IMPOSSIBLE_WEIGHT * expected.item(), rel=tolerance())


@pytest.mark.parametrize(("model", "task_type"), PAIRS)
def test_span_losses_overfit_one_batch(model, task_type, small_config, film_windows):
    model, objective = model(small_config).train(), TaskObjective(task_type.loss)
    batch = film_windows.batch(list(range(len(film_windows))))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(80):
        optimizer.zero_grad()
        sum(objective(model, batch).losses.values()).backward()
        optimizer.step()
    right = objective(model.eval(), batch).correct
    assert {name: int(count) for name, count in right.items()} == objective.counts(batch)
