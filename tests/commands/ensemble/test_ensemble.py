"""Ensembles."""

import json
import re
import shutil

import pytest

from litebert.commands.finetune.finetune import finetune
from litebert.commands.finetune.finetune_settings import FinetuneRun
from litebert.commands.row_files import input_file
from litebert.commands.row_files.input_file import InputFile
from litebert.commands.row_files.resumable_output import Written
from litebert.commands.several_models import examples
from litebert.errors import ConfigError, DataError
from litebert.inference import pipeline
from litebert.model import matmul_speed
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import save_model
from litebert.model.models import (
    ForMaskedLM,
    ForMultipleChoice,
    ForQuestionAnswering,
    ForQuestionAnsweringWithNoAnswer,
    ForSequenceClassification,
    ForTokenClassification,
)
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from litebert.tasks.input_settings import InputSettings
from litebert.tasks.read_labelled import rows_of
from litebert.tasks.readers.columns import Columns
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer
from support.data.benchmark_files import write_cola, write_race
from support.data.labelled_files import OPINIONS, SUBJECTS, write_opinions
from support.data.question_builders import CONTEXT, QUESTIONS, squad_json, write_squad
from support.models.tolerances import tolerance
from support.runs.interrupted_runs import interrupt
from support.runs.prediction_commands import evaluate_file, evaluate_task, run_ensemble, run_predict
from support.runs.tiny_runs import opinions_run, save_pretrained

ROWS = {
    "opinions.csv": lambda path: write_opinions(path),
    "stars.tsv": lambda path: write_opinions(path, labels=(1.5, 4)),
    "sets.jsonl": lambda path: _jsonl(path, [{"text": text, "label": [label]} for text, label in _opinions()]),
    "choices.jsonl": lambda path: _jsonl(
        path, [{"text": text, "option1": "good", "option2": "bad", "label": label} for text, label in _opinions()]
    ),
    "words.jsonl": lambda path: _jsonl(
        path, [{"text": text.split(), "label": ["O"] * (len(text.split()) - 1) + ["B-X"]} for text, _ in _opinions()]
    ),
    "certain.jsonl": lambda path: _jsonl(
        path, [{"question": q.text, "context": CONTEXT, "answer": q.answers[0].text} for q in QUESTIONS[:3]]
    ),
    "unsure.json": lambda path: write_squad(path, squad_json(*QUESTIONS)),
}
MODELS = {
    "opinions.csv": (ForSequenceClassification, {"labels": ("bad", "good")}),
    "stars.tsv": (ForSequenceClassification, {"labels": ("label",), "problem_type": "regression"}),
    "sets.jsonl": (
        ForSequenceClassification,
        {"labels": ("bad", "good"), "problem_type": "multi_label_classification"},
    ),
    "choices.jsonl": (ForMultipleChoice, {}),
    "words.jsonl": (ForTokenClassification, {"labels": ("O", "B-X")}),
    "certain.jsonl": (ForQuestionAnswering, {}),
    "unsure.json": (ForQuestionAnsweringWithNoAnswer, {}),
}


def _opinions():
    return [(f"{subject} {opinion}", name) for subject in SUBJECTS for name in OPINIONS for opinion in OPINIONS[name]]


def _jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def config_for(tokenizer):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    return ModelConfig(
        vocab_size=tokenizer.vocab_size,
        embedding_size=8,
        max_position_embeddings=96,
        initializer_range=0.3,
        **sizes,
    )


def save_member(name, tokenizer, directory, seed, **changes):
    """A model of random weights that answers the rows called `name`."""
    model, options = MODELS[name]
    options = {**options, **changes}
    sizes = {"num_labels": len(options["labels"])} if "labels" in options else {}
    built = model(config_for(tokenizer), seed=seed, **sizes)
    return save_model(built, directory, extra_files=tokenizer.files(), **options)


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch):
    monkeypatch.setattr("litebert.tasks.metrics.bootstrap_difference.RESAMPLES", 20)


@pytest.fixture(scope="module")
def other_tokenizer(tmp_path_factory):
    """Fewer pieces than `tiny_tokenizer`, so other windows, positions and ids."""
    texts = [*(text for text, _ in _opinions()), CONTEXT, *(question.text for question in QUESTIONS)]
    settings = TokenizerSettings(vocab_size=48, character_coverage=1.0)
    return train_tokenizer(texts, settings, tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(params=ROWS)
def asked(request, tiny_tokenizer, other_tokenizer, tmp_path):
    """(rows of one kind, three members of which one has another tokenizer)."""
    rows = ROWS[request.param](tmp_path / request.param)
    tokenizers = (tiny_tokenizer, tiny_tokenizer, other_tokenizer)
    members = [
        save_member(request.param, tokenizer, tmp_path / f"member{seed}", seed)
        for seed, tokenizer in enumerate(tokenizers)
    ]
    return rows, members


def test_ensemble_of_one_member_scores_as_the_member(asked):
    rows, members = asked
    result = run_ensemble(members[:1], rows)
    expected = evaluate_file(members[0], rows)
    assert result.score.evaluation.metrics == pytest.approx(expected.metrics)
    assert result.score.evaluation.by_slice == expected.by_slice
    assert result.score.members[0].gain.difference == 0


def test_ensemble_does_not_depend_on_the_order_of_members(asked, tmp_path):
    rows, members = asked
    first, second = run_ensemble(members, rows), run_ensemble(members[::-1], rows)
    assert first == second


def test_ensemble_of_copies_equals_the_member(asked, tmp_path):
    rows, members = asked
    copies = [shutil.copytree(members[0], tmp_path / f"copy{number}") for number in range(2)]
    one, three = run_ensemble(members[:1], rows), run_ensemble([members[0], *copies], rows)
    assert three.score.evaluation == one.score.evaluation
    assert {member.gain.difference for member in three.score.members} == {0.0}


def test_ensemble_of_one_member_predicts_unlabelled_rows_as_predict(asked, tmp_path):
    rows, members = asked
    unlabelled = _without_labels(rows)
    if rows.suffix == ".json":
        run_ensemble(members[:1], unlabelled, out=tmp_path / "found")
        run_predict(members[0], unlabelled, tmp_path / "expected")
        names = ("predictions.json", "nbest_predictions.json", "null_odds.json")
        pairs = [(json.loads((tmp_path / side / name).read_text())) for name in names for side in ("found", "expected")]
        assert pairs[0] == pairs[1]
        assert pairs[4] == pytest.approx(pairs[5])
        return
    run_predict(members[0], unlabelled, tmp_path / "expected.jsonl")
    run_ensemble(members[:1], unlabelled, out=tmp_path / "found.jsonl")
    found, expected = (
        [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        for name in ("found.jsonl", "expected.jsonl")
    )
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        assert set(one) == set(other)
        if isinstance(one["prediction"], str):
            assert one["prediction"] == other["prediction"]
        assert one.get("probability", 0.0) == pytest.approx(other.get("probability", 0.0), abs=tolerance())


def test_ensemble_skips_rows_without_a_label_if_asked(tiny_tokenizer, tmp_path):
    rows = _jsonl(tmp_path / "rows.jsonl", [{"text": "a film", "label": name} for name in ("good", None, "bad")])
    member = save_member("opinions.csv", tiny_tokenizer, tmp_path / "member", 0)
    with pytest.raises(DataError, match=r"in 1 of 3 rows \(line 2\); .* ensemble: --unlabelled-rows skip\)"):
        run_ensemble([member], rows)
    result = run_ensemble([member], rows, out=tmp_path / "out.jsonl", unlabelled_rows="skip")
    assert result.examples == result.score.evaluation.examples == 2
    assert [json.loads(line)["label"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == ["good", "bad"]


def test_ensemble_refuses_labels_that_the_first_row_lacks(tiny_tokenizer, tmp_path):
    rows = _jsonl(tmp_path / "rows.jsonl", [{"text": "a film"}, {"text": "a play", "label": "good"}])
    member = save_member("opinions.csv", tiny_tokenizer, tmp_path / "member", 0)
    with pytest.raises(DataError, match=r"rows\.jsonl:2: field 'label': the first row has no such field"):
        run_ensemble([member], rows, out=tmp_path / "out.jsonl")


def _signs_and_numbers(path):
    """The text of a file without its probabilities, and these."""
    parts = re.split(r"([01]\.\d+)", path.read_text())
    return parts[::2], [float(part) for part in parts[1::2]]


@pytest.mark.parametrize("ending", [".conll", ".csv", ".jsonl"])
@pytest.mark.parametrize("content", ["the O\nfilm B-X\n\nmusic O\n", "-DOCSTART-\n\nthe\nfilm\n\nmusic\n"])
def test_ensemble_of_one_member_writes_conll_as_predict(tiny_tokenizer, tmp_path, content, ending):
    words, found, expected = tmp_path / "words.conll", tmp_path / f"found{ending}", tmp_path / f"expected{ending}"
    words.write_text(content)
    members = [save_member("words.jsonl", tiny_tokenizer, tmp_path / str(seed), seed) for seed in range(2)]
    result = run_ensemble(members[:1], words, out=found)
    run_predict(members[0], words, expected)
    (found_signs, found_numbers), (expected_signs, expected_numbers) = map(_signs_and_numbers, (found, expected))
    assert found_signs == expected_signs
    assert found_numbers == pytest.approx(expected_numbers, abs=tolerance())
    assert (result.score is None) == content.startswith("-DOCSTART-")
    both = run_ensemble(members, words, out=tmp_path / "both.bio")
    assert (both.examples, run_ensemble(members, tmp_path / "both.bio").examples) == (2, 2)


def _without_labels(rows):
    """The same rows with nothing that says what is right."""
    bare = rows.with_stem(f"{rows.stem}-bare")
    if rows.suffix == ".json":
        content = json.loads(rows.read_text())
        for question in (q for article in content["data"] for part in article["paragraphs"] for q in part["qas"]):
            question.pop("answers", None)
        bare.write_text(json.dumps(content))
    elif rows.suffix == ".jsonl":
        values = [json.loads(line) for line in rows.read_text().splitlines()]
        _jsonl(bare, [{k: v for k, v in row.items() if k not in ("label", "answer")} for row in values])
    else:
        separator = "," if rows.suffix == ".csv" else "\t"
        bare.write_text("".join(line.split(separator)[0] + "\n" for line in rows.read_text().splitlines()))
    return bare


@pytest.fixture
def classifiers(tiny_tokenizer, tmp_path):
    def classifiers(count, **changes):
        return [save_member("opinions.csv", tiny_tokenizer, tmp_path / f"m{n}", n, **changes) for n in range(count)]

    return classifiers


@pytest.fixture
def opinions(tmp_path):
    return write_opinions(tmp_path / "opinions.csv")


def test_ensemble_of_forward_selection_is_no_worse_than_the_best_member(classifiers, opinions):
    result = run_ensemble(classifiers(5), opinions, select="forward")
    scores = [member.metrics["accuracy"] for member in result.score.members]
    assert result.score.evaluation.metrics["accuracy"] >= max(scores)
    assert [member.path for member in result.score.members if member.chosen] == list(result.members)
    if len(result.members) < 5:
        assert "The score therefore overestimates" in result.to_text()
        assert ", not selected" in result.to_text()


def test_ensemble_scores_a_data_set_of_the_hub(classifiers, opinions, monkeypatch, tmp_path):
    class Split(list):
        column_names = ("text", "label")
        features = {"text": object(), "label": object()}  # noqa: RUF012

    rows = Split({"text": text, "label": label} for text, label in _opinions())
    monkeypatch.setattr("litebert.tasks.readers.hub_tables.load_split", lambda name: rows)
    of_hub, of_file = (run_ensemble(classifiers(2), data).score for data in ("hf:owner/opinions", opinions))
    assert of_hub.evaluation.metrics == of_file.evaluation.metrics
    with pytest.raises(ConfigError, match="out: hf:owner/opinions is scored only"):
        run_ensemble(classifiers(2), "hf:owner/opinions", out=tmp_path / "found.csv")


def test_ensemble_median_member_has_the_median_score(classifiers, opinions):
    for count in (3, 4):
        score = run_ensemble(classifiers(count), opinions).score
        values = sorted(member.metrics["accuracy"] for member in score.members)
        median = next(member for member in score.members if member.path == score.median_member)
        assert median.metrics["accuracy"] == values[count // 2]


def test_ensemble_averages_labels_by_their_names(tiny_tokenizer, opinions, tmp_path):
    (one,) = [save_member("opinions.csv", tiny_tokenizer, tmp_path / "one", 0)]
    turned = save_member("opinions.csv", tiny_tokenizer, tmp_path / "turned", 0, labels=("good", "bad"))
    together = run_ensemble([one, turned], opinions, out=tmp_path / "answers.csv").score
    scores = [member.metrics["accuracy"] for member in together.members]
    assert scores[0] == pytest.approx(1 - scores[1])
    answers = (tmp_path / "answers.csv").read_text().splitlines()
    assert [float(line.split(",")[-1]) for line in answers[1:]] == pytest.approx([0.5] * 36)


def test_ensemble_warns_of_rows_that_a_member_truncates(tiny_tokenizer, tmp_path, caplog):
    members = [save_member("opinions.csv", tiny_tokenizer, tmp_path / f"member{seed}", seed) for seed in range(2)]
    for name, content in InputSettings(max_length=8).model_files().items():
        (members[1] / name).write_bytes(content)
    rows = f"text,label\n{'the film ' * 9},bad\na,good\n"
    for content in (rows, rows.replace(",label", "").replace(",bad", "").replace(",good", "")):
        (tmp_path / "rows.csv").write_text(content)
        caplog.clear()
        run_ensemble(members, data=tmp_path / "rows.csv", out=tmp_path / "out.csv")
        warnings = [record.message for record in caplog.records if "truncated" in record.message]
        expected = f"{tmp_path / 'rows.csv'}: at least 1 of 2 rows are longer than a member reads, and were truncated"
        if "label" in content:
            members_and_rows = f"1 of 2 rows by {members[1]} (8 tokens)"
            expected = f"longer than the max_length of the fine-tuning, truncated: {members_and_rows}"
        assert warnings == [expected]


def test_ensemble_predicts_an_empty_text_as_predict_does(tiny_tokenizer, tmp_path, caplog):
    member = save_member("opinions.csv", tiny_tokenizer, tmp_path / "member", 0)
    for header, label in (("text", ""), ("text,label", ",bad")):
        (tmp_path / "rows.csv").write_text(f'{header}\na{label}\n" "{label}\n')
        caplog.clear()
        run_ensemble([member], data=tmp_path / "rows.csv", out=tmp_path / "found.jsonl")
        assert " 1 of 2 texts are empty or have no tokens" in caplog.text
        run_predict(member, tmp_path / "rows.csv", tmp_path / "expected.jsonl", precision="fp32")
        found, expected = (
            [json.loads(line)["probability"] for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
            for name in ("found", "expected")
        )
        assert found == pytest.approx(expected, abs=tolerance())


def test_ensemble_with_another_measured_precision_begins_again(tiny_tokenizer, tmp_path, monkeypatch):
    member = save_member("opinions.csv", tiny_tokenizer, tmp_path / "member", 0)
    (tmp_path / "rows.csv").write_text("text\na\nthe film\n")
    fingerprints = []
    monkeypatch.setattr(
        input_file,
        "write_predictions",
        lambda *arguments, fingerprint, **_: fingerprints.append(fingerprint) or Written(2, {}),
    )
    for measured in ("fp32", "bf16", "fp32"):
        monkeypatch.setattr(pipeline, "resolve_precision", lambda asked, model, found=measured: found)
        run_ensemble([member], data=tmp_path / "rows.csv", out=tmp_path / "out.csv", precision="auto")
    assert fingerprints[0] == fingerprints[2] != fingerprints[1]


def test_interrupted_ensemble_continues_in_the_precisions_it_measured(tiny_tokenizer, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    members = [save_member("opinions.csv", tiny_tokenizer, tmp_path / f"member{seed}", seed) for seed in range(2)]
    (tmp_path / "rows.csv").write_text("text\n" + "the film was good\nthe music was bad\n" * 5)
    whole, resumed = tmp_path / "whole" / "out.jsonl", tmp_path / "resumed" / "out.jsonl"

    def run(out, *measured):
        found = iter(measured)
        monkeypatch.setattr(matmul_speed, "fastest_precision", lambda config, device, use: next(found))
        run_ensemble(members, data=tmp_path / "rows.csv", out=out, precision="auto")

    run(whole, "fp32", "bf16")
    interrupt(monkeypatch, lambda: run(resumed, "fp32", "bf16"))
    with caplog.at_level("INFO", "litebert"):
        run(resumed)
    assert "resuming after 8 rows" in caplog.text
    assert resumed.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("change", ["rows", "members"])
def test_interrupted_ensemble_measures_again_for_other_rows_or_members(tiny_tokenizer, tmp_path, monkeypatch, change):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 4)
    members = [save_member("opinions.csv", tiny_tokenizer, tmp_path / f"member{seed}", seed) for seed in range(2)]
    rows, out, measured = tmp_path / "rows.csv", tmp_path / "out.jsonl", []
    rows.write_text("text\n" + "the film\n" * 10)
    monkeypatch.setattr(matmul_speed, "fastest_precision", lambda *_: measured.append("fp32") or "fp32")
    interrupt(monkeypatch, lambda: run_ensemble(members, data=rows, out=out, precision="auto"))
    if change == "rows":
        rows.write_text("text\n" + "music\n" * 10)
    used = members if change == "rows" else members[:1]
    run_ensemble(used, data=rows, out=out, precision="auto")
    assert len(measured) == 2 + len(used)


def test_ensemble_members_may_be_runs_and_checkpoints(tiny_tokenizer, tmp_path):
    pretrained = save_pretrained(tiny_tokenizer, tmp_path / "pretrained")
    values = opinions_run(pretrained, tmp_path / "rows.csv", duration="8 steps", checkpoint_every="4 steps")
    finetune(FinetuneRun.parse(values, where="test"), tmp_path / "run")
    steps = sorted((tmp_path / "run" / "checkpoints").glob("step-*"))
    assert len(steps) == 2
    found = run_ensemble([tmp_path / "run", *steps], tmp_path / "rows.csv").score
    scores = {member.path: member.metrics for member in found.members}
    assert scores[tmp_path / "run"] == scores[steps[-1]]


def test_ensemble_scores_and_predicts_a_glue_task(classifiers, tmp_path):
    data = write_cola(tmp_path / "glue")
    members = classifiers(2, labels=("0", "1"))
    single = run_ensemble(members[:1], data, split=BenchmarkSplit(task="cola", split="dev")).score.evaluation
    assert single.metrics == evaluate_task(members[0], "cola", data).splits["dev"].metrics
    result = run_ensemble(members, data, split=BenchmarkSplit(task="cola", split="test"), out=tmp_path / "CoLA.tsv")
    assert result.score is None
    assert (tmp_path / "CoLA.tsv").read_text().startswith("index\tprediction\n0\t")
    assert "36 predictions written" in result.to_text()
    run_ensemble(members, data, split=BenchmarkSplit(task="cola", split="dev"), out=tmp_path / "dev.tsv")
    assert (tmp_path / "dev.tsv").read_text().splitlines()[1].startswith("0\t")


def test_ensemble_scores_race_by_level(tiny_tokenizer, tmp_path):
    data = write_race(tmp_path / "race")
    members = [save_member("choices.jsonl", tiny_tokenizer, tmp_path / f"m{seed}", seed) for seed in range(2)]
    result = run_ensemble(members, data, split=BenchmarkSplit(task="race", split="dev"), out=tmp_path / "race.json")
    assert {part.name for part in result.score.evaluation.by_slice} <= {"middle", "high"}
    assert set(json.loads((tmp_path / "race.json").read_text()).values()) <= set("ABCD")


def test_ensemble_rejects_members_that_do_not_fit(classifiers, tiny_tokenizer, opinions, tmp_path):
    (member,) = classifiers(1)
    stars = save_member("stars.tsv", tiny_tokenizer, tmp_path / "stars", 0)
    masked = save_model(
        ForMaskedLM(config_for(tiny_tokenizer)), tmp_path / "masked", extra_files=tiny_tokenizer.files()
    )
    for members, message in [
        ([], "members: must have at least 1 item"),
        ([member, member], "a member is given twice"),
        ([member, stars], "regression with the labels label, that of .* is classification with the labels bad, good"),
        ([masked], "a ForMaskedLM has no fine-tuned head"),
        ([tmp_path], "no model; give a run"),
    ]:
        with pytest.raises(ConfigError, match=message):
            run_ensemble(members, opinions)
    with pytest.raises(ConfigError, match="that of CoLA is classification with labels 0, 1"):
        run_ensemble([member], write_cola(tmp_path / "glue"), split=BenchmarkSplit(task="cola", split="dev"))


def test_ensemble_rejects_invalid_outputs_and_data_before_predicting(classifiers, tiny_tokenizer, opinions, tmp_path):
    (member,) = classifiers(1)
    bare = _without_labels(opinions)
    for rows, options, message in [
        (bare, {}, "has no labels, so there is nothing to score; give --out"),
        (bare, {"out": tmp_path / "a.csv", "select": "forward"}, "has no labels; select members"),
        (bare, {"out": tmp_path / "a.csv", "unlabelled_rows": "skip"}, "has no labels, and all rows are predicted"),
        (opinions, {"out": tmp_path / "a.txt"}, r"'a.txt' has none of the endings .jsonl, .csv, .tsv"),
        (opinions, {"out": opinions}, "is the input; choose another file"),
    ]:
        with pytest.raises(ConfigError, match=message):
            run_ensemble([member], rows, **options)
    with pytest.raises(DataError, match="no column 'lable'"):
        run_ensemble([member], opinions, Columns(label="lable"))
    squad = write_squad(tmp_path / "dev.json", squad_json(*QUESTIONS))
    answerer = save_member("unsure.json", tiny_tokenizer, tmp_path / "answerer", 0)
    with pytest.raises(ConfigError, match="are several files; give a directory"):
        run_ensemble([answerer], squad, out=tmp_path / "a.json")
    tagger = save_member("words.jsonl", tiny_tokenizer, tmp_path / "tagger", 0)
    (tmp_path / "words.conll").write_text("the\nfilm\n")
    for model, file, found in [
        (member, "words.conll", r"cannot read \.conll files"),
        (tagger, "dev.json", r"cannot read \.json files; .* save rows as JSON lines"),
    ]:
        with pytest.raises(ConfigError, match=found):
            run_ensemble([model], tmp_path / file, out=tmp_path / "a.csv")
    for model, file in [(tagger, "words.conll"), (answerer, "dev.json")]:
        with pytest.raises(ConfigError, match=r"^text: a \.\w+ file has no named columns"):
            run_ensemble([model], tmp_path / file, Columns(text="text"), out=tmp_path / "answers")
    empty = _jsonl(tmp_path / "empty.jsonl", [{"text": []}])
    with pytest.raises(DataError, match="field 'text': has no words; remove the row"):
        run_ensemble([tagger], empty, out=tmp_path / "a.jsonl")


def test_regressions_of_columns_with_other_names_are_one_task(tiny_tokenizer, tmp_path):
    stars = ROWS["stars.tsv"](tmp_path / "stars.tsv")
    one, other = (
        save_member("stars.tsv", tiny_tokenizer, tmp_path / name, seed, labels=(name,))
        for seed, name in enumerate(("score", "rating"))
    )
    assert len(run_ensemble([one, other], stars).members) == 2


def test_ensemble_leaves_blank_rows_of_a_labelled_file_out(classifiers, opinions, tmp_path):
    first, *others = opinions.read_text().splitlines()
    spaced = tmp_path / "spaced.csv"
    spaced.write_text("\n".join([first, ",", *others, ","]) + "\n")
    outputs = [tmp_path / "of-all.csv", tmp_path / "of-spaced.csv"]
    for file, output in zip((opinions, spaced), outputs, strict=True):
        run_ensemble(classifiers(1), file, out=output)
    assert outputs[0].read_text() == outputs[1].read_text()


def test_ensemble_that_scores_reads_the_rows_of_its_output_once(classifiers, opinions, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(InputFile, "windows", lambda file: pytest.fail("rows of a labelled table are no windows"))
    monkeypatch.setattr(examples, "rows_of", lambda data: calls.append(data.path) or rows_of(data))
    assert run_ensemble(classifiers(2), opinions, out=tmp_path / "out.csv").score
    assert len(calls) == 1


def test_blank_rows_of_questions_with_options_are_left_out_of_an_output(tiny_tokenizer, tmp_path):
    model, file = save_member("choices.jsonl", tiny_tokenizer, tmp_path / "model", 0), tmp_path / "rows.csv"
    file.write_text("text,option1,option2,label\na,b,c,A\n,,,\nd,e,f,B\n")
    run_ensemble([model], file, out=tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize("metric", ["f1", "precision"])
def test_ensemble_refuses_metrics_of_the_second_label_for_labels_in_other_orders(
    tiny_tokenizer, opinions, tmp_path, metric
):
    one = save_member("opinions.csv", tiny_tokenizer, tmp_path / "one", 0)
    turned = save_member("opinions.csv", tiny_tokenizer, tmp_path / "turned", 0, labels=("good", "bad"))
    with pytest.raises(ConfigError, match=f"{metric} is that of the second label"):
        run_ensemble([one, turned], opinions, metrics=("accuracy", metric))


def test_ensemble_refuses_before_predicting_what_it_cannot_write_or_would_ignore(
    classifiers, opinions, tmp_path, monkeypatch
):
    members = classifiers(2)
    taken = _jsonl(
        tmp_path / "taken.jsonl", [{"text": text, "label": name, "prediction": ""} for text, name in _opinions()]
    )
    monkeypatch.setattr("litebert.commands.ensemble.ensemble.predict_members", None)
    with pytest.raises(DataError, match="column 'prediction' is where the prediction is written; rename it"):
        run_ensemble(members, taken, out=tmp_path / "out.jsonl")
    with pytest.raises(ConfigError, match=r"metrics: .* has no labels, so there is nothing to score"):
        run_ensemble(members, _without_labels(opinions), out=tmp_path / "a.csv", metrics=("accuracy",))
    link = tmp_path / "link"
    link.symlink_to(members[0])
    with pytest.raises(ConfigError, match=r"the same model as .*; give each member once"):
        run_ensemble([members[0], link], opinions)
