import pytest
import torch

from litebert.model.models import ForQuestionAnsweringWithNoAnswer
from support.models.model_builders import padded_mask, random_batch
from support.models.tolerances import tolerance


@pytest.fixture
def question(tiny_config):
    """A batch of two questions; answers may be at position 0 and from position 4."""
    batch = random_batch(tiny_config, padded_mask([9, 7]))
    answer_mask = batch.attention_mask.clone()
    answer_mask[:, 1:4] = False
    return (*batch.arguments, answer_mask)


@pytest.fixture
def model(tiny_config):
    return ForQuestionAnsweringWithNoAnswer(tiny_config).eval()


def test_question_answering_gives_masked_positions_no_probability(model, question):
    output = model(*question, torch.tensor([0, 5]))
    for log_probs in (output.start_log_probs, output.end_log_probs):
        assert not log_probs.exp()[~question[-1]].any()
        assert torch.allclose(log_probs.exp().sum(-1), torch.ones(2))


def test_question_answering_end_depends_on_the_start(model, question):
    first, second = (model(*question, torch.tensor(starts)).end_log_probs for starts in ([0, 5], [4, 6]))
    assert not torch.allclose(first, second)


def test_question_answering_end_reads_its_state_and_the_start_state(model, question):
    starts = torch.tensor([0, 5])
    states = model.encoder(*question[:3]).last_hidden_state
    joined = torch.cat([states, states[torch.arange(2), starts][:, None].expand_as(states)], dim=-1)
    logits = model.end(model.end_norm(torch.tanh(model.end_dense(joined))))[..., 0]
    expected = logits.masked_fill(~question[-1], -1e30).log_softmax(-1)
    assert torch.allclose(model(*question, starts).end_log_probs, expected, atol=tolerance())


def test_question_answering_no_answer_reads_the_expected_start_and_first_state(model, question):
    output = model(*question, torch.tensor([0, 5]))
    states = output.encoder.last_hidden_state
    expected_start = (output.start_log_probs.exp()[..., None] * states).sum(1)
    joined = torch.cat([expected_start, states[:, 0]], dim=-1)
    expected = model.answer(torch.tanh(model.answer_dense(joined)))[:, 0]
    assert torch.allclose(output.impossible_logits, expected, atol=tolerance())


def test_question_answering_beams_are_the_best_starts_and_ends(model, question):
    beams = model.beams(*question, num_starts=3, num_ends=2)
    assert beams.end_positions.shape == (2, 3, 2)
    for beam in range(3):
        starts = beams.start_positions[:, beam]
        scored = model(*question, starts)
        best_start = scored.start_log_probs.gather(1, starts[:, None])[:, 0]
        assert torch.allclose(beams.start_log_probs[:, beam], best_start, atol=tolerance())
        best_ends, positions = scored.end_log_probs.topk(2)
        assert torch.allclose(beams.end_log_probs[:, beam], best_ends, atol=tolerance())
        assert torch.equal(beams.end_positions[:, beam], positions)
    assert torch.equal(beams.impossible_logits, scored.impossible_logits)


def test_question_answering_has_fewer_beams_for_short_sequences(model, question):
    beams = model.beams(*(tensor[:, :4] for tensor in question))
    assert beams.end_log_probs.shape == (2, 4, 4)


def test_question_answering_normalizes_logits_in_32_bits(model, question):
    with torch.autocast("cpu", torch.bfloat16):
        output = model(*question, torch.tensor([0, 5]))
    assert output.start_log_probs.dtype == torch.float32
    assert torch.allclose(output.start_log_probs.exp().sum(-1), torch.ones(2))
