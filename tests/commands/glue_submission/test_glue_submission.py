"""The submission to GLUE."""

import zipfile

import pytest

from litebert.commands.glue_submission.glue_submission import SUBMISSION_FILES, models_by_task
from litebert.errors import ConfigError, DataError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMultipleChoice, ForSequenceClassification
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from support.data.benchmark_files import SENTENCES, write_cola, write_mnli
from support.runs.prediction_commands import predict_split, run_ensemble, run_submission


@pytest.fixture(scope="module")
def save(tiny_tokenizer, small_config, tmp_path_factory):
    root = tmp_path_factory.mktemp("models")

    def save(*labels, seed=0, **options):
        model = ForSequenceClassification(small_config, num_labels=len(labels), seed=seed)
        place = root / str(len(list(root.iterdir())))
        return save_model(model, place, labels=labels, extra_files=tiny_tokenizer.files(), **options)

    return save


@pytest.fixture(scope="module")
def models(save):
    """Two models for each task."""
    return {
        "cola": [save("0", "1"), save("1", "0", seed=1)],
        "mnli": [save("contradiction", "entailment", "neutral", seed=seed) for seed in range(2)],
    }


def packed(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def write_sts(root):
    (root / "STS-B").mkdir(parents=True)
    rows = [f"{number}\t{text}\tthe film" for number, (text, _) in enumerate(SENTENCES)]
    (root / "STS-B" / "test.tsv").write_text("\n".join(["index\tsentence1\tsentence2", *rows]) + "\n")
    return root


def test_glue_submission_has_official_names_and_reports_missing_files(models, tmp_path):
    data = write_mnli(write_cola(tmp_path))
    result = run_submission({name: paths[:1] for name, paths in models.items()}, data, tmp_path / "glue.zip")
    contents = packed(tmp_path / "glue.zip")
    assert list(contents) == ["AX.tsv", "CoLA.tsv", "MNLI-m.tsv", "MNLI-mm.tsv"]
    assert contents["AX.tsv"].startswith("index\tprediction\n0\t")
    assert result.files == {"CoLA.tsv": 36, "MNLI-m.tsv": 36, "MNLI-mm.tsv": 36, "AX.tsv": 1}
    assert set(result.missing) == {"SST-2.tsv", "MRPC.tsv", "STS-B.tsv", "QQP.tsv", "QNLI.tsv", "RTE.tsv", "WNLI.tsv"}
    assert set(result.missing) | set(result.files) == set(SUBMISSION_FILES)
    assert "the leaderboard also expects SST-2.tsv" in result.to_text()
    assert "CoLA.tsv    36 predictions, one model" in result.to_text()


def test_glue_submission_of_one_model_equals_predict(save, models, tmp_path):
    data = write_sts(write_cola(tmp_path))
    scorer = save("score", problem_type="regression")
    run_submission({"cola": models["cola"][1:], "sts-b": [scorer]}, data, tmp_path / "glue.zip")
    for name, file, model in (("cola", "CoLA.tsv", models["cola"][1]), ("sts-b", "STS-B.tsv", scorer)):
        predict_split(model, BenchmarkSplit(task=name, split="test"), data, tmp_path / file)
        assert packed(tmp_path / "glue.zip")[file] == (tmp_path / file).read_text()


def test_glue_submission_of_several_models_equals_their_ensemble(models, tmp_path):
    data = write_mnli(write_cola(tmp_path))
    result = run_submission(models, data, tmp_path / "glue.zip")
    assert result.models == dict.fromkeys(result.files, 2)
    assert "CoLA.tsv    36 predictions, average of 2 models" in result.to_text()
    for name, file, part in (("cola", "CoLA.tsv", "test"), ("mnli", "MNLI-mm.tsv", "test-mismatched")):
        run_ensemble(models[name], data, split=BenchmarkSplit(task=name, split=part), out=tmp_path / file)
        assert packed(tmp_path / "glue.zip")[file] == (tmp_path / file).read_text()


def test_a_pattern_with_brackets_stands_for_the_models_that_it_matches(tmp_path):
    for seed in (0, 1, 7):
        (tmp_path / f"seed{seed}").mkdir()
    found = models_by_task([f"cola={tmp_path}/seed[0-4]"])
    assert found == {"cola": [f"{tmp_path}/seed0", f"{tmp_path}/seed1"]}
    with pytest.raises(ConfigError, match="matches no directory"):
        models_by_task([f"cola={tmp_path}/seed[23]"])


def test_glue_submission_packs_existing_files(models, tmp_path):
    data, answers = write_mnli(write_cola(tmp_path)), tmp_path / "CoLA.tsv"
    run_ensemble(models["cola"], data, split=BenchmarkSplit(task="cola", split="test"), out=answers)
    result = run_submission({"mnli": models["mnli"]}, data, tmp_path / "glue.zip", files=[answers])
    assert packed(tmp_path / "glue.zip")["CoLA.tsv"] == answers.read_text()
    assert set(result.files) == {"CoLA.tsv", "MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"}
    assert "CoLA.tsv    36 predictions, given file" in result.to_text()


@pytest.mark.parametrize(
    ("name", "tasks", "times", "message"),
    [
        ("cola.tsv", (), 1, r"cola\.tsv: not a name of the leaderboard; expected one of CoLA\.tsv"),
        ("CoLA.tsv", (), 2, "given twice; give each submission file once"),
        ("CoLA.tsv", ("cola",), 1, "models of cola predict it too"),
    ],
)
def test_glue_submission_rejects_two_sources_of_a_file(models, tmp_path, name, tasks, times, message):
    data, answers = write_cola(tmp_path), tmp_path / name
    run_ensemble(models["cola"][:1], data, split=BenchmarkSplit(task="cola", split="test"), out=answers)
    with pytest.raises(ConfigError, match=message):
        run_submission({task: models[task] for task in tasks}, data, tmp_path / "x.zip", files=[answers] * times)


@pytest.mark.parametrize("name", ["race", "imdb"])
def test_glue_submission_rejects_other_tasks(tiny_tokenizer, small_config, tmp_path, name):
    model = save_model(ForMultipleChoice(small_config), tmp_path / "race", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match=f"'{name}' is no task of GLUE; give TASK=DIRECTORY"):
        run_submission({name: [model]}, tmp_path, tmp_path / "x.zip")


def test_glue_submission_rejects_a_model_of_another_task(models, tmp_path):
    with pytest.raises(ConfigError, match="that of CoLA is classification with labels 0, 1; give a model"):
        run_submission({"cola": models["mnli"]}, write_cola(tmp_path), tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_glue_submission_rejects_a_directory_without_test_files(models, tmp_path):
    with pytest.raises(DataError, match="no test file of CoLA"):
        run_submission({"cola": models["cola"]}, tmp_path, tmp_path / "x.zip")


def test_glue_submission_reads_split_files_instead_of_the_official_ones(models, tmp_path):
    data, own = write_mnli(write_cola(tmp_path)), tmp_path / "few.tsv"
    own.write_text("index\tsentence\n7\tthe film was good\n")
    files = [BenchmarkSplit(task="cola", split="test", file=str(own))]
    result = run_submission(models, data, tmp_path / "glue.zip", own=files)
    assert result.files == {"CoLA.tsv": 1, "MNLI-m.tsv": 36, "MNLI-mm.tsv": 36, "AX.tsv": 1}
    (tmp_path / "CoLA.tsv").write_text(packed(tmp_path / "glue.zip")["CoLA.tsv"])
    again = run_submission({}, tmp_path / "nowhere", tmp_path / "again.zip", files=[tmp_path / "CoLA.tsv"], own=files)
    assert again.files == {"CoLA.tsv": 1}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (
            BenchmarkSplit(task="cola", split="dev", file="x.tsv"),
            "cola.dev is no test file of GLUE; give TASK.SPLIT=FILE",
        ),
        (BenchmarkSplit(task="mnli", split="test", file="x.tsv"), "no model predicts x.tsv; give mnli=MODEL too"),
    ],
)
def test_glue_submission_rejects_a_split_file_that_is_not_read(models, tmp_path, part, message):
    with pytest.raises(ConfigError, match=message):
        run_submission({"cola": models["cola"]}, write_cola(tmp_path), tmp_path / "x.zip", own=[part])


@pytest.mark.parametrize("order", [("ax", "mnli"), ("mnli", "ax")])
def test_diagnostics_are_predicted_by_models_of_their_own_if_there_are_any(models, tmp_path, order):
    first, second = models["mnli"]
    given = {"ax": [first], "mnli": [first, second]}
    result = run_submission({name: given[name] for name in order}, write_mnli(tmp_path), tmp_path / "glue.zip")
    assert result.models == {"AX.tsv": 1, "MNLI-m.tsv": 2, "MNLI-mm.tsv": 2}
