"""Question answering models of transformers and google-research/albert have the same outputs."""

import numpy as np
import pytest
import torch

from litebert.inference.pipeline import model_outputs
from litebert.interop.convert_weights import convert
from litebert.model.io.model_directory import build, load_model, save_model
from litebert.model.io.model_spec import ModelSpec
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.span_scores import SpanLogits, decode_answer
from litebert.tasks.types.extractive_qa.windows import encode_questions
from litebert.tasks.types.registry import get_task_type
from support.data.question_builders import CONTEXT, QUESTIONS, question

LONG = f"{CONTEXT} That quiet ending seemed bright. This story is awful, in 2024. The music felt great."
ASKED = (*QUESTIONS, question("q5", "What felt great?", "The music", context=LONG))
SETTINGS = QuestionSettings(max_length=48, doc_stride=9)


@pytest.fixture(scope="module")
def config(small_config):
    return small_config.replace(num_hidden_layers=2)


@pytest.fixture(scope="module")
def examples(tiny_tokenizer):
    found = encode_questions(ASKED, tiny_tokenizer, SETTINGS)
    assert len(found) > len(ASKED), "some contexts take several windows"
    return found


def answers(model, name, examples):
    return decoded(name, examples, model_outputs(model, examples, get_task_type(name).forward))


def decoded(name, examples, outputs):
    """The answers by the model's outputs for all windows."""
    task_type, settings = get_task_type(name), SETTINGS
    scores = [task_type.inference.predict(each, settings, np.float32) for each in examples.by_example(outputs)]
    return [decode_answer(each, asked, (), settings) for each, asked in zip(scores, ASKED, strict=True)]


def spans(found):
    return [[(answer.start, answer.end, answer.text) for answer in each.n_best] for each in found]


def test_question_answering_of_transformers_gives_the_same_spans(config, examples, tmp_path):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AlbertForQuestionAnswering(transformers.AlbertConfig(**config.to_dict())).eval()
    theirs.save_pretrained(tmp_path)
    ours = answers(load_model(tmp_path), "extractive_qa", examples)

    given = []
    with torch.inference_mode():
        for index in range(len(examples)):
            inputs = examples.inputs([index])
            output = theirs(
                inputs.input_ids, attention_mask=inputs.attention_mask, token_type_ids=inputs.token_type_ids
            )
            given.append(SpanLogits(output.start_logits[0].numpy(), output.end_logits[0].numpy()))
    expected = decoded("extractive_qa", examples, given)
    assert spans(ours) == spans(expected)


@pytest.mark.parametrize(
    ("model", "kind", "head"),
    [
        ("ForQuestionAnswering", "extractive_qa", {"cls/squad/output_weights", "cls/squad/output_bias"}),
        (
            "ForQuestionAnsweringWithNoAnswer",
            "extractive_qa_no_answer",
            {
                "start_logits/dense/kernel",
                "end_logits/dense_0/kernel",
                "end_logits/LayerNorm/gamma",
                "end_logits/dense_1/bias",
                "answer_class/dense_0/kernel",
                "answer_class/dense_1/kernel",
            },
        ),
    ],
)
def test_question_answering_survives_a_tensorflow_checkpoint(model, kind, head, config, examples, tmp_path):
    source = build(ModelSpec(model=model, config=config), seed=3).eval()
    save_model(source, tmp_path / "ours")
    written = convert(tmp_path / "ours", tmp_path / "original", to="tensorflow")
    assert head <= {theirs for _, theirs in written.mapped}
    convert(tmp_path / "original", tmp_path / "again", to="litebert", as_model=model)
    expected, found = (answers(load_model(tmp_path / name), kind, examples) for name in ("ours", "again"))
    assert found == expected, "bit for bit: texts, places, scores, null scores"
    assert spans(found) == spans(answers(source, kind, examples))
