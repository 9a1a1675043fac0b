"""What the methods of a `Predictor` accept: any iterable, and no single text in the place of a list."""

import numpy as np
import pytest

from litebert.errors import ConfigError
from litebert.inference.method_inputs import method_examples
from litebert.inference.predictor import Predictor
from litebert.tasks.labelled_data import Example

TEXTS = ["the film was good", "music"]
MASKED = ["the [MASK] was good", "[MASK]"]
PAIRS = [("the film was good", "the music felt dull"), ("music", "was bad")]
CHOICES = [("the film", "it was _", ["good", "bad"]), ("a", None, ["x", "y"])]
SENTENCES = [["the", "old", "actor"], ["music"]]
INPUTS = {
    "classifier": TEXTS,
    "several": TEXTS,
    "regressor": TEXTS,
    "chooser": CHOICES,
    "tagger": SENTENCES,
    "reader": PAIRS,
    "masked": MASKED,
    "embedder": TEXTS,
}
"""Kind of model → inputs of the method of its task."""
OTHER_METHODS = [
    ("pretraining", "order_batch", PAIRS),
    ("masked", "fill_masks", MASKED),
    ("masked", "log_likelihoods", TEXTS),
    ("masked", "embed", TEXTS),
    ("classifier", "probabilities", TEXTS),
    ("classifier", "predict", TEXTS),
]


@pytest.fixture(scope="module")
def predictors(saved):
    return {name: Predictor.load(saved[name], precision="fp32") for name in saved}


@pytest.mark.parametrize("name", INPUTS)
def test_predictor_of_a_generator_gives_what_it_gives_of_a_list(predictors, name):
    expected, found = predictors[name](INPUTS[name]), predictors[name](each for each in INPUTS[name])
    assert len(found) == 2
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("name", "method", "inputs"), OTHER_METHODS)
def test_method_of_a_generator_gives_what_it_gives_of_a_list(predictors, name, method, inputs):
    call = getattr(predictors[name], method)
    assert len(call(iter(inputs))) == 2
    assert np.array_equal(call(iter(inputs)), call(inputs))


def test_classify_accepts_a_map_and_an_array(predictors):
    expected = predictors["classifier"].classify(TEXTS)
    assert predictors["classifier"].classify(map(str, TEXTS)) == expected
    assert predictors["classifier"].classify(np.array(TEXTS)) == expected


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("masked", lambda model: model("the [MASK]")),
        ("masked", lambda model: model.fill_masks("the [MASK]")),
        ("masked", lambda model: model.predict("the [MASK]")),
        ("classifier", lambda model: model.predict("the film")),
        ("classifier", lambda model: model.probabilities("the film")),
    ],
)
def test_one_text_in_the_place_of_a_list_is_refused(predictors, name, call):
    with pytest.raises(ConfigError, match="expected a list of texts, found one text; put it into a list"):
        call(predictors[name])


def test_path_in_the_place_of_texts_is_told_to_read_the_file(predictors, tmp_path):
    (tmp_path / "texts.txt").write_text("the film\n")
    with pytest.raises(ConfigError, match="found one text; read the texts of that file into a list"):
        predictors["classifier"].classify(str(tmp_path / "texts.txt"))


@pytest.mark.parametrize("name", [name for name in INPUTS if name != "embedder"])
def test_predict_accepts_the_inputs_of_the_method_of_the_task(predictors, name):
    results = predictors[name].predict(INPUTS[name])
    assert len(results) == 2
    of_the_method = predictors[name](INPUTS[name])
    if name == "regressor":
        assert [each.value for each in results] == of_the_method
    elif name == "masked":
        assert [[each.piece for each in mask] for mask in results[0].masks] == [
            [each.piece for each in mask] for mask in of_the_method[0]
        ]
    else:
        assert results == of_the_method


def test_predict_accepts_examples_and_pairs(predictors):
    (expected,) = predictors["classifier"].classify([("the film", "was good")])
    assert predictors["classifier"].predict([("the film", "was good")]) == [expected]
    assert predictors["classifier"].predict([Example(text="the film", text_pair="was good")]) == [expected]


def test_predict_refuses_what_is_no_input_of_the_method(predictors):
    with pytest.raises(ConfigError, match=r"texts\[0\]: expected a text or a pair of texts"):
        predictors["classifier"].predict([("a", "b", "c")])


def test_method_of_an_own_task_type_has_examples_only():
    assert method_examples("count_words", ["the film"]) == ["the film"]


@pytest.mark.parametrize(("name", "method"), [("classifier", "classify"), ("several", "classify_multi_label")])
def test_probabilities_are_those_of_the_results_in_the_order_of_the_labels(predictors, name, method):
    predictor = predictors[name]
    found = predictor.probabilities([*TEXTS, PAIRS[0]])
    assert (found.dtype, found.shape) == (np.float32, (3, len(predictor.labels)))
    for row, result in zip(found, getattr(predictor, method)([*TEXTS, PAIRS[0]]), strict=True):
        expected = [result.probabilities[label] for label in predictor.labels]
        assert row == pytest.approx(np.array(expected, np.float32), abs=0)


def test_probabilities_of_no_texts_have_a_column_for_each_label(predictors):
    assert predictors["classifier"].probabilities([]).shape == (0, 3)


@pytest.mark.parametrize(("name", "fitting"), [("regressor", "regress"), ("tagger", "classify_tokens")])
def test_probabilities_of_a_model_without_labels_of_texts_are_refused(predictors, name, fitting):
    with pytest.raises(ConfigError, match=rf"Predictor\.probabilities: .*; call '{fitting}'"):
        predictors[name].probabilities(TEXTS)


@pytest.mark.parametrize("pair", [(), ("a", "b", "c"), ("a", 1)])
def test_text_that_is_no_text_and_no_pair_is_an_error(predictors, pair):
    with pytest.raises(ConfigError, match=r"texts\[0\]: expected a text or a pair of texts, found"):
        predictors["classifier"].classify([pair])


def test_a_tuple_of_one_text_is_that_text(predictors):
    assert predictors["classifier"].classify([("music",)]) == predictors["classifier"].classify(["music"])


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ("one text", "questions: expected a list of texts"),
        ([("text", ["a", "b"])], r"questions\[0\]: expected \(text, "),
        ([CHOICES[1], ("text", None, "abc")], r"questions\[1\]: expected .* the options a list of texts; found"),
        ([("text", None, ["a", 2])], r"questions\[0\]: expected \(text, "),
        ([("text", 3, ["a", "b"])], r"questions\[0\]: expected \(text, "),
        ([(None, None, ["a", "b"])], r"questions\[0\]: expected \(text, "),
    ],
)
def test_question_without_its_three_parts_is_an_error(predictors, questions, message):
    with pytest.raises(ConfigError, match=message):
        predictors["chooser"].multiple_choice(questions)


def test_question_with_more_options_than_letters_is_an_error(predictors):
    with pytest.raises(ConfigError, match="questions: one of them has 27 options; give at most 26"):
        predictors["chooser"].multiple_choice([("a", None, ["x"] * 27)])


def test_taggers_take_texts_and_lists_of_words_together(predictors):
    texts = ["the film was good.", "", "music"]
    mixed = [SENTENCES[0], *texts]
    expected = [*predictors["tagger"].classify_tokens(SENTENCES[:1]), *predictors["tagger"].classify_tokens(texts)]
    assert predictors["tagger"](mixed) == predictors["tagger"].predict(mixed)
    assert [each.labels for each in predictors["tagger"](mixed)] == [each.labels for each in expected]


def test_predict_takes_arrays_of_words(predictors):
    sentences = [np.array(words) for words in SENTENCES]
    assert predictors["tagger"].predict(sentences) == predictors["tagger"].classify_tokens(SENTENCES)


class Table:
    """As a data frame or a data set: its iterator gives names of columns."""

    columns = ("text",)

    def __iter__(self):
        return iter(self.columns)


@pytest.mark.parametrize("name", ["classifier", "tagger", "reader", "embedder", "masked", "chooser"])
@pytest.mark.parametrize("given", [{"text": ["a"]}, Table()])
def test_tables_are_refused_where_their_names_would_be_read(predictors, name, given):
    with pytest.raises(ConfigError, match=r"expected a list, found a (dict|Table); give one column of it"):
        predictors[name](given)


@pytest.mark.parametrize("given", [None, 3])
def test_what_is_no_list_is_refused(predictors, given):
    with pytest.raises(ConfigError, match=r"texts: expected a list, found a (NoneType|int)"):
        predictors["classifier"](given)


def test_rows_of_an_array_are_pairs(predictors):
    pairs = [["a", "b"], ["c", "d"]]
    assert predictors["classifier"](np.array(pairs)) == predictors["classifier"](pairs)
    assert predictors["pretraining"].order_batch(np.array(PAIRS)) == predictors["pretraining"].order_batch(PAIRS)


@pytest.mark.parametrize("top_k", ["3", 1.5, True])
def test_number_that_is_not_whole_is_refused(predictors, top_k):
    with pytest.raises(ConfigError, match=r"top_k: .* expected a whole number"):
        predictors["masked"].fill_mask("the [MASK]", top_k=top_k)


@pytest.mark.parametrize("threshold", ["0.5", float("nan"), True])
def test_threshold_that_is_no_number_is_refused(saved, threshold):
    with pytest.raises(ConfigError, match=r"threshold: .*, expected a number"):
        Predictor.load(saved["doubter"], threshold=threshold)
