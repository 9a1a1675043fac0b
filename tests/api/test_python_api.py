"""The functions at the top of the package, from data in memory to results."""

import json
import linecache
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import litebert
from litebert.api import training_runs
from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForQuestionAnsweringWithNoAnswer
from litebert.tasks.metrics.metrics import METRICS
from support.data.texts import write_documents
from support.runs.tiny_runs import API_SETTINGS as SETTINGS


def test_import_loads_no_torch_and_no_numpy():
    code = (
        "import sys, litebert; litebert.__all__; print([m for m in ('torch', 'numpy', 'pydantic') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_exists_and_is_in_the_stub():
    stub = Path(litebert.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    for name in litebert.__all__:
        assert getattr(litebert, name) is not None
        assert f" {name} as {name}" in stub or name == "__version__"


def test_finetuned_model_has_metrics_curves_and_a_predictor(tuned, opinions):
    assert tuned.metrics["accuracy"] > 0.9
    assert tuned.predictor(["the film was good"])[0].label == "good"
    assert "accuracy" in str(tuned)
    frame = pytest.importorskip("pandas") and tuned.to_pandas()
    assert frame["train/loss"].count() == 30


def test_finetuning_again_returns_the_finished_run(tuned, pretrained, opinions):
    again = litebert.finetune(pretrained, train=opinions, dev=opinions, out=tuned.directory, **SETTINGS)
    assert again.result == tuned.result


def test_runs_without_out_are_named_by_their_arguments(pretrained, opinions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [
        litebert.finetune(pretrained, train=opinions, **{**SETTINGS, "duration": "1 steps"}, seed=seed)
        for seed in (0, 0, 1)
    ]
    assert runs[0].directory == runs[1].directory != runs[2].directory
    assert {run.directory.parent.name for run in runs} == {"runs"}


def test_run_without_out_is_trained_again_when_file_or_model_have_changed(pretrained, opinions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(pretrained, "model")

    def tune():
        return litebert.finetune("model", train="a.jsonl", **{**SETTINGS, "duration": "1 steps"}).directory

    lines = [json.dumps(row) + "\n" for row in opinions]
    Path("a.jsonl").write_text("".join(lines))
    first, again = tune(), tune()
    Path("a.jsonl").write_text("".join(lines[:-2]))
    edited = tune()
    litebert.save_model(litebert.ForPretraining(litebert.load_model(pretrained).config, seed=1), Path("other"))
    shutil.copy("other/model.safetensors", "model/model.safetensors")
    Path("model/SHA256SUMS").unlink()
    assert first == again
    assert len({first, edited, tune()}) == 3


def test_run_without_out_is_trained_again_when_corpus_or_init_checkpoint_have_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training_runs, "run_pretraining", lambda run, directory, callbacks: SimpleNamespace(end=None))
    litebert.train_tokenizer(write_documents(tmp_path / "text.txt", documents=40), "tokenizer", vocab_size=60)

    def train(documents):
        shutil.rmtree("corpus", ignore_errors=True)
        text = write_documents(tmp_path / "text.txt", documents=documents)
        litebert.build_corpus(text, "corpus", tokenizer="tokenizer", validation_fraction=0.2)
        return litebert.pretrain("quickstart", corpus="corpus").directory

    assert train(40) == train(40) != train(41)

    def train_from(weights):
        Path("model").mkdir(exist_ok=True)
        Path("model/model.safetensors").write_text(weights)
        return litebert.pretrain("quickstart", corpus="corpus", init_checkpoint="model").directory

    assert train_from("one") == train_from("one") != train_from("other")


def test_run_without_out_is_trained_again_when_a_metric_has_changed(
    pretrained, opinions, tmp_path, monkeypatch, request
):
    request.addfinalizer(lambda: METRICS.pop("share"))
    monkeypatch.chdir(tmp_path)
    scores = []
    for code in ("return 0.25", "return 0.75"):
        Path("share.py").write_text(f"def share(predictions, labels):\n    {code}\n")
        linecache.clearcache()
        share = runpy.run_path("share.py")["share"]
        tuned = litebert.finetune(pretrained, train=opinions, metrics=share, **{**SETTINGS, "duration": "1 steps"})
        scores.append(tuned.metrics["share"])
    assert scores == [0.25, 0.75]


def test_run_without_out_is_another_for_a_metric_with_another_closure(pretrained, opinions, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(METRICS, "share", None)
    monkeypatch.setattr("litebert.tasks.metrics.metrics.register_metric", lambda metric: metric.__name__)
    monkeypatch.setattr(
        training_runs,
        "run_finetuning",
        lambda config, directory, callbacks: SimpleNamespace(remarks=(), scores={}),
    )

    def make(value):
        def share(predictions, labels):
            return value

        return share

    def tune(metric, **options):
        return litebert.finetune(pretrained, train=opinions, metrics=[metric], **options, **SETTINGS).directory

    assert tune(make(0.25)) == tune(make(0.25)) != tune(make(0.75))
    with pytest.raises(ConfigError, match=r"metrics: share has the value .*; give the directory \(out=…\)"):
        tune(make(object()))
    assert tune(make(object()), out=tmp_path / "run") == tmp_path / "run"


def test_custom_metrics_and_callbacks_are_used(pretrained, opinions, tmp_path, request):
    request.addfinalizer(lambda: METRICS.pop("share_of_good"))

    def share_of_good(predictions, labels):
        return float(np.mean(predictions == 1))

    class Steps(litebert.Callback):
        seen = 0

        def on_step(self, run, record):
            self.seen += 1

    steps = Steps()
    run = litebert.finetune(
        pretrained,
        train=opinions,
        dev=opinions,
        out=tmp_path / "run",
        metrics=[share_of_good, "accuracy"],
        callbacks=[steps],
        **{**SETTINGS, "duration": "2 steps"},
    )
    assert list(run.metrics) == ["share_of_good", "accuracy"]
    assert steps.seen == 2


@pytest.mark.parametrize(("given", "expected"), [((), ("macro_f1",)), ("accuracy", ("accuracy",))])
def test_metrics_are_those_of_the_recipe_unless_they_are_given(
    pretrained, opinions, tmp_path, monkeypatch, given, expected
):
    (tmp_path / "recipe.yaml").write_text("command: finetune\nmetrics: [macro_f1]\n")
    runs = []

    def record(config, directory, callbacks):
        runs.append(config)
        return SimpleNamespace(remarks=(), scores={})

    monkeypatch.setattr(training_runs, "run_finetuning", record)
    recipe = str(tmp_path / "recipe.yaml")
    litebert.finetune(pretrained, train=opinions, recipe=recipe, metrics=given, out=tmp_path / "run", **SETTINGS)
    assert runs[0].metrics == expected


def test_training_shows_its_progress_unless_there_are_callbacks(pretrained, opinions, tmp_path, caplog):
    caplog.set_level("INFO")
    settings = {**SETTINGS, "duration": "1 steps"}
    litebert.finetune(pretrained, train=opinions, out=tmp_path / "shown", **settings)
    assert "training from step 0" in caplog.text
    caplog.clear()
    litebert.finetune(pretrained, train=opinions, out=tmp_path / "silent", callbacks=(), **settings)
    assert "training from step" not in caplog.text


def test_model_that_is_not_better_than_a_baseline_is_a_warning(pretrained, opinions, tmp_path, caplog):
    pytest.importorskip("sklearn")
    settings = {**SETTINGS, "duration": "1 steps"}
    for _ in ("trained", "finished before"):
        caplog.clear()
        run = litebert.finetune(pretrained, train=opinions, dev=opinions, out=tmp_path / "run", **settings)
        warnings = [record.message for record in caplog.records if record.levelname == "WARNING"]
        assert any(f"{tmp_path / 'run'}: " in each and "does not beat the baseline" in each for each in warnings)
        assert "does not beat the baseline" in str(run)


def test_finetune_without_data_says_what_to_give(pretrained, tmp_path):
    with pytest.raises(ConfigError, match="give train="):
        litebert.finetune(pretrained, out=tmp_path / "run")


def test_evaluation_has_metrics_and_a_prediction_for_each_row(tuned, opinions):
    result = litebert.evaluate(tuned.model, opinions)
    assert result.metrics["accuracy"] == pytest.approx(tuned.metrics["accuracy"])
    assert len(result.predictions) == len(opinions)
    pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert (frame["prediction"] == frame["label"]).mean() == pytest.approx(result.metrics["accuracy"])


def test_predictions_are_those_of_the_predictor(tuned, opinions):
    texts = [row["text"] for row in opinions]
    from_rows, from_texts = litebert.predict(tuned.model, opinions), litebert.predict(tuned.predictor, texts)
    assert [each.label for each in from_rows] == [each.label for each in tuned.predictor.classify(texts)]
    assert from_rows[0] == from_texts[0]
    assert list(from_rows)[1] == from_rows.predictions[1]
    pytest.importorskip("pandas")
    assert list(from_rows.to_pandas().columns[:3]) == ["text", "label", "prediction"]


def test_structured_initialization_beside_a_checkpoint_is_refused():
    with pytest.raises(ConfigError, match="init: structured initialization is of new models"):
        litebert.pretrain("tiny", corpus="corpus", init="structured", init_checkpoint="source")


def test_printed_predictions_are_their_number_and_the_first_ones():
    assert repr(litebert.Predictions(tuple("abcd"), ({},) * 4)) == "Predictions(4: 'a', 'b', 'c', …)"
    assert repr(litebert.Predictions(("a",), ({},))) == "Predictions(1: 'a')"
    assert repr(litebert.Predictions((), ())) == "Predictions(0)"


def test_results_are_shown_with_their_metrics(tuned, opinions):
    evaluated, shown = litebert.evaluate(tuned.model, opinions), f"accuracy {tuned.metrics['accuracy']:.4f}"
    assert repr(tuned) == f"TrainedModel({str(tuned.directory)!r}: {shown})"
    assert repr(evaluated) == f"EvaluationResult({len(opinions)} examples: {shown})"
    scores = {"mlm_loss": 4.55912, "mlm_count": 60_777}
    assert repr(replace(tuned, metrics=scores)).endswith(": mlm_loss 4.5591, mlm_count 60,777)")


def test_functions_ask_for_the_device_that_is_named_and_a_predictor_has_its_own(tuned, opinions, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    for call in (litebert.predict, litebert.evaluate, litebert.embed):
        with pytest.raises(ConfigError, match="device: 'cuda' was asked for, but torch finds 0 CUDA devices"):
            call(tuned.model, opinions, device="cuda")
    for call in (litebert.predict, litebert.embed):
        with pytest.raises(ConfigError, match="device: a Predictor has its own"):
            call(tuned.predictor, ["good"], device="cpu")
    assert litebert.predict(tuned.model, ["good"], device="cpu")[0].label in ("good", "bad")


def test_model_runs_on_a_device_of_torch(tuned, opinions):
    device = torch.device("cpu")
    assert litebert.predict(tuned.model, ["good"], device=device)[0].label in ("good", "bad")
    assert litebert.evaluate(tuned.model, opinions, metrics="accuracy", device=device).metrics["accuracy"] > 0.9
    assert len(litebert.embed(tuned.model, ["good"], device=device)) == 1
    assert litebert.Predictor.load(tuned.model, device=device).classify(["good"])[0].label in ("good", "bad")
    with pytest.raises(ConfigError, match="device: 'meta'; expected auto, cpu, cuda or cuda:N"):
        litebert.predict(tuned.model, ["good"], device=torch.device("meta"))


def test_predict_warns_of_missing_texts(tuned, caplog):
    frame = pytest.importorskip("pandas").DataFrame({"text": ["good", None, float("nan")]})
    predictions = litebert.predict(tuned.model, frame)
    assert predictions[1] == predictions[2]
    assert "data: 2 of 3 texts are empty or have no tokens" in caplog.text


def test_predict_warns_of_truncated_rows(tuned, caplog):
    litebert.predict(tuned.model, ["the film was good " * 50, "good"])
    assert "data: 1 of 2 rows are longer than" in caplog.text
    caplog.clear()
    litebert.predict(tuned.model, ["good"])
    assert "truncated" not in caplog.text


def test_embed_warns_of_truncated_texts(tuned, caplog):
    litebert.embed(tuned.model, ["the film was good " * 50, "good"], max_length=16)
    assert "texts: 1 of 2 texts are longer than 16 tokens, max_length, and were truncated" in caplog.text
    caplog.clear()
    litebert.embed(tuned.model, ["good"], max_length=16)
    assert "truncated" not in caplog.text


def test_columns_of_training_are_used_for_a_directory_and_a_loaded_model(pretrained, opinions, tmp_path):
    rows = [{"text": str(number), "review": row["text"], "label": row["label"]} for number, row in enumerate(opinions)]
    settings = {**SETTINGS, "duration": "2 steps"}
    run = litebert.finetune(pretrained, train=rows, dev=rows, text="review", out=tmp_path / "run", **settings)
    by_directory, by_predictor = (list(litebert.predict(model, rows)) for model in (run.model, run.predictor))
    expected = run.predictor.classify([row["review"] for row in rows])
    for predicted in (by_directory, by_predictor):
        assert [each.probabilities for each in predicted] == [each.probabilities for each in expected]


def test_masked_language_model_fills_masks(pretrained):
    (filled,) = litebert.predict(pretrained, ["the [MASK] was good"])
    assert len(filled.masks) == 1
    assert len(litebert.Predictor.load(pretrained)(["the [MASK] was good"])[0][0]) == 5


def test_predict_refuses_columns_that_the_model_does_not_read(tuned, pretrained):
    rows = [{"text": "a [MASK]", "b": "c"}]
    with pytest.raises(ConfigError, match="text_pair: not used for fill_mask"):
        litebert.predict(pretrained, rows, text_pair="b")
    with pytest.raises(ConfigError, match="text_pair: not used for fill_mask"):
        litebert.predict(pretrained, [("a [MASK]", "b")])
    with pytest.raises(ConfigError, match="options: not used for classification"):
        litebert.predict(tuned.model, rows, options="b")
    with pytest.raises(ConfigError, match="txt: no such column; did you mean 'text'"):
        litebert.predict(tuned.model, rows, txt="b")


@pytest.mark.parametrize("settings", [{}, {"duration": "3 parsecs"}])
def test_finetune_writes_nothing_into_a_directory_that_it_refuses(pretrained, opinions, tmp_path, settings):
    if not settings:
        (tmp_path / "notes.txt").write_text("mine")
    before = list(tmp_path.iterdir())
    with pytest.raises(ConfigError):
        litebert.finetune(pretrained, train=opinions, out=tmp_path, **settings)
    assert list(tmp_path.iterdir()) == before


def test_embeddings_are_unit_vectors_of_the_given_dimensions(tuned):
    vectors = litebert.embed(tuned.model, ["the film", "a play"], dimensions=4)
    assert vectors.shape == (2, 4)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


def test_predictor_refuses_a_single_text_as_a_list_of_texts(tuned):
    with pytest.raises(ConfigError, match="put it into a list"):
        litebert.embed(tuned.model, "the film")
    with pytest.raises(ConfigError, match=r"texts\[1\]: expected a text, found 5"):
        litebert.embed(tuned.model, ["the film", 5])


def test_predictor_loads_what_it_is_given(tuned):
    first, second = (
        litebert.Predictor(tuned.model, precision="fp32"),
        litebert.Predictor.load(tuned.model, precision="fp32"),
    )
    assert first(["the film"]) == second(["the film"])


def test_model_and_tokenizer_of_a_run_directory_are_those_of_its_model(tuned):
    ids = litebert.Tokenizer.load(tuned.directory).encode("the film")
    assert ids == litebert.Tokenizer.load(tuned.model).encode("the film")
    assert type(litebert.load_model(tuned.directory)).__name__ == "ForSequenceClassification"


def test_figures_show_curves_and_the_confusion_matrix(tuned, opinions):
    pytest.importorskip("matplotlib")
    titles = [axis.get_title() for axis in tuned.plot().axes]
    assert titles == ["training losses", "evaluations"]
    (axis,) = litebert.evaluate(tuned.model, opinions).plot().axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["bad", "good"]


def test_text_becomes_an_encoder(tmp_path):
    write_documents(tmp_path / "text.txt", documents=40)
    tokenizer = litebert.train_tokenizer(tmp_path / "text.txt", tmp_path / "tokenizer", vocab_size=60)
    assert tokenizer.vocab_size == 60
    litebert.build_corpus(
        tmp_path / "text.txt", tmp_path / "corpus", tokenizer=tmp_path / "tokenizer", validation_fraction=0.2
    )
    model = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    run = litebert.pretrain(
        "quickstart",
        corpus=tmp_path / "corpus",
        out=tmp_path / "run",
        model={**model, "embedding_size": 8},
        duration="2 steps",
        evaluate_every=None,
        precision="fp32",
        max_length=32,
        batch_size=4,
        microbatch_size=4,
        max_eval_examples=8,
        init="random",
    )
    assert run.result.steps == 2
    assert 0 <= run.metrics["mlm_accuracy"] <= 1


@pytest.mark.parametrize("keep_accents", [False, True])
def test_tokenizer_that_drops_the_marks_of_many_words_is_a_warning(tmp_path, caplog, keep_accents):
    text, out = tmp_path / "a.txt", tmp_path / "tokenizer"
    text.write_text("\n".join(f"Das Boot {number} ist schön, der Hund schläft schon." for number in range(1000)))
    litebert.train_tokenizer(text, out, vocab_size=45, character_coverage=1.0, keep_accents=keep_accents)
    assert (f"{out}: lost marks: " in caplog.text and "schön → schon" in caplog.text) is not keep_accents


def test_text_in_another_encoding_is_read_with_its_name(tmp_path):
    (tmp_path / "a.txt").write_bytes("Das Boot ist schön, der Hund schläft.\n\n".encode("latin-1") * 100)
    files, tokenizer = tmp_path / "a.txt", tmp_path / "tokenizer"
    with pytest.raises(DataError, match="100 of 200 lines"):
        litebert.train_tokenizer(files, tokenizer, vocab_size=40)
    options = {"character_coverage": 1.0, "keep_accents": True}
    trained = litebert.train_tokenizer(files, tokenizer, encoding="latin-1", vocab_size=34, **options)
    assert trained.decode(trained.encode("schön")) == "schön"
    with pytest.raises(DataError, match="100 of 200 lines"):
        litebert.build_corpus(files, tmp_path / "corpus", tokenizer=tokenizer, validation_fraction=0)
    corpus = litebert.build_corpus(
        *(files, tmp_path / "corpus"), tokenizer=tokenizer, validation_fraction=0, encoding="latin-1", workers=2
    )
    assert "lines repaired" not in corpus.counts


def test_tokenizer_is_trained_on_rows_with_another_key(tmp_path):
    rows = [json.dumps({"body": f"Das Boot {number}, der Hund."}) for number in range(100)]
    (tmp_path / "a.jsonl").write_text("\n".join([*rows, "{}"]))
    options = {"text_key": "body", "invalid_rows": "skip", "vocab_size": 38, "character_coverage": 1.0}
    trained = litebert.train_tokenizer(tmp_path / "a.jsonl", tmp_path / "tokenizer", **options)
    assert trained.decode(trained.encode("hund")) == "hund"


def test_pairs_in_memory_are_read_as_pairs(pretrained, opinions, tmp_path):
    texts, labels = [(row["text"], "it was") for row in opinions], [row["label"] for row in opinions]
    settings = {**SETTINGS, "duration": "2 steps"}
    run = litebert.finetune(pretrained, train=(texts, labels), dev=(texts, labels), out=tmp_path / "run", **settings)
    predicted = list(litebert.predict(run.model, texts))
    expected = run.predictor.classify(texts)
    assert [each.probabilities for each in predicted] == [each.probabilities for each in expected]
    assert [each.probabilities for each in run.predictor.classify([text for text, _ in texts])] != [
        each.probabilities for each in expected
    ]
    assert litebert.evaluate(run.model, (texts, labels)).metrics == pytest.approx(run.metrics)


def test_rows_of_an_evaluation_have_words_and_the_names_of_their_labels(pretrained, tmp_path):
    rows = [{"text": ["the", "film"], "label": ["DET", "NOUN"]}, {"text": ["a", "play"], "label": ["DET", "NOUN"]}] * 6
    run = litebert.finetune(
        pretrained, train=rows, dev=rows, out=tmp_path / "run", **{**SETTINGS, "duration": "2 steps"}
    )
    assert next(iter(run.metrics)) == "word_accuracy", "the metric that selects where labels are types only"
    evaluated = litebert.evaluate(run.model, rows).predictions.inputs[0]
    assert evaluated == {"text": ["the", "film"], "label": ["DET", "NOUN"]}


def test_two_metrics_of_one_name_are_refused(pretrained, opinions, tmp_path):
    with pytest.raises(ConfigError, match="two of accuracy, accuracy have one name"):
        litebert.finetune(pretrained, train=opinions, out=tmp_path / "run", metrics=["accuracy", "accuracy"])


def test_evaluation_takes_functions_as_metrics(tuned, opinions, request):
    request.addfinalizer(lambda: METRICS.pop("always_half"))

    def always_half(predictions, labels):
        return 0.5

    for metrics in (always_half, [always_half, "accuracy"]):
        assert litebert.evaluate(tuned.model, opinions, metrics=metrics).metrics["always_half"] == 0.5
    with pytest.raises(ConfigError, match="model: expected a directory or a name on the hub, found a Predictor"):
        litebert.evaluate(tuned.predictor, opinions)
    with pytest.raises(
        ConfigError, match=r"answers\.csv is a prediction file; score it with `litebert evaluate answers"
    ):
        litebert.evaluate("answers.csv", opinions)


def test_data_frame_of_predictions_keeps_the_columns_of_the_input(tuned):
    pytest.importorskip("pandas")
    found = litebert.predict(tuned.model, [{"text": "the film was good", "prediction": "mine"}])
    with pytest.raises(DataError, match="to_pandas: column 'prediction' is where the prediction is written; rename it"):
        found.to_pandas()


def test_predictions_of_an_evaluation_have_its_threshold(tiny_tokenizer, small_config, tmp_path):
    """That of a model without one is chosen by the evaluation."""
    model = ForQuestionAnsweringWithNoAnswer(small_config.replace(max_position_embeddings=64), seed=3)
    directory = save_model(model, tmp_path / "model", extra_files=tiny_tokenizer.files())
    pairs = [("who felt dull", "the old actor felt dull"), ("what was good", "the music was good"), ("who", "a film")]
    best = [each.text for each in Predictor.load(directory, threshold=1e9).answer_batch(pairs)]
    answers = [best[0], "", best[2]]
    rows = [{"question": q, "context": c, "answer": a} for (q, c), a in zip(pairs, answers, strict=True)]
    result = litebert.evaluate(directory, rows)
    right = sum(each.text == answer for each, answer in zip(result.predictions, answers, strict=True))
    assert result.metrics["exact_match"] == pytest.approx(100 * right / 3)
    run = litebert.finetune(directory, train=rows, dev=rows, out=tmp_path / "run", duration="1 steps", callbacks=[])
    assert set(run.metrics) == {"answer_f1", "exact_match"}, "a threshold is no metric"
    assert "no_answer_threshold" in run.result.best.metrics
