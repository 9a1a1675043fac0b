"""One zip for the leaderboard of GLUE, from models, from several for a task, and from files of their answers."""

import zipfile

import pytest

from litebert.commands.ensemble.ensemble import ensemble
from litebert.commands.glue_submission import FILES, submit_glue
from litebert.commands.predict.predict_benchmark import predict_official
from litebert.errors import ConfigError, DataError
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForMultipleChoice, ForSequenceClassification
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit
from support.benchmark_files import SENTENCES, write_cola, write_mnli


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


def test_the_archive_holds_official_names_and_says_what_it_lacks(models, tmp_path):
    data = write_mnli(write_cola(tmp_path))
    result = submit_glue({name: paths[:1] for name, paths in models.items()}, data, tmp_path / "glue.zip")
    contents = packed(tmp_path / "glue.zip")
    assert list(contents) == ["AX.tsv", "CoLA.tsv", "MNLI-m.tsv", "MNLI-mm.tsv"]
    assert contents["AX.tsv"].startswith("index\tprediction\n0\t")
    assert result.files == {"CoLA.tsv": 36, "MNLI-m.tsv": 36, "MNLI-mm.tsv": 36, "AX.tsv": 1}
    assert set(result.missing) == {"SST-2.tsv", "MRPC.tsv", "STS-B.tsv", "QQP.tsv", "QNLI.tsv", "RTE.tsv", "WNLI.tsv"}
    assert set(result.missing) | set(result.files) == set(FILES)
    assert "the leaderboard also expects SST-2.tsv" in result.to_text()
    assert "CoLA.tsv    36 rows, one model" in result.to_text()


def test_one_model_answers_as_predict_does(save, models, tmp_path):
    data = write_sts(write_cola(tmp_path))
    scorer = save("score", problem_type="regression")
    submit_glue({"cola": models["cola"][1:], "sts-b": [scorer]}, data, tmp_path / "glue.zip")
    for name, file, model in (("cola", "CoLA.tsv", models["cola"][1]), ("sts-b", "STS-B.tsv", scorer)):
        predict_official(model, BenchmarkSplit(name, "test"), data, tmp_path / file)
        assert packed(tmp_path / "glue.zip")[file] == (tmp_path / file).read_text()


def test_several_models_answer_as_their_ensemble_does(models, tmp_path):
    data = write_mnli(write_cola(tmp_path))
    result = submit_glue(models, data, tmp_path / "glue.zip")
    assert result.models == dict.fromkeys(result.files, 2)
    assert "CoLA.tsv    36 rows, an average of 2 models" in result.to_text()
    for name, file, part in (("cola", "CoLA.tsv", "test"), ("mnli", "MNLI-mm.tsv", "test-mismatched")):
        ensemble(models[name], data, task=BenchmarkSplit(name, part), out=tmp_path / file)
        assert packed(tmp_path / "glue.zip")[file] == (tmp_path / file).read_text()


def test_what_an_ensemble_wrote_is_packed_beside_what_models_answer(models, tmp_path):
    data, answers = write_mnli(write_cola(tmp_path)), tmp_path / "CoLA.tsv"
    ensemble(models["cola"], data, task=BenchmarkSplit(task="cola", split="test"), out=answers)
    result = submit_glue({"mnli": models["mnli"]}, data, tmp_path / "glue.zip", answers=[answers])
    assert packed(tmp_path / "glue.zip")["CoLA.tsv"] == answers.read_text()
    assert set(result.files) == {"CoLA.tsv", "MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"}
    assert "CoLA.tsv    36 rows, a file of answers" in result.to_text()


@pytest.mark.parametrize(
    ("name", "tasks", "times", "message"),
    [
        ("cola.tsv", (), 1, r"cola\.tsv: the leaderboard knows no such name; call the answers one of CoLA\.tsv"),
        ("CoLA.tsv", (), 2, "it is given twice; give each file of answers once"),
        ("CoLA.tsv", ("cola",), 1, "models of cola answer it too"),
    ],
)
def test_each_file_of_the_archive_comes_from_one_place(models, tmp_path, name, tasks, times, message):
    data, answers = write_cola(tmp_path), tmp_path / name
    ensemble(models["cola"][:1], data, task=BenchmarkSplit(task="cola", split="test"), out=answers)
    with pytest.raises(ConfigError, match=message):
        submit_glue({task: models[task] for task in tasks}, data, tmp_path / "x.zip", answers=[answers] * times)


@pytest.mark.parametrize("name", ["race", "imdb"])
def test_only_tasks_of_glue_are_submitted(tiny_tokenizer, small_config, tmp_path, name):
    model = save_model(ForMultipleChoice(small_config), tmp_path / "race", extra_files=tiny_tokenizer.files())
    with pytest.raises(ConfigError, match=f"'{name}' is no task of GLUE; give TASK=DIRECTORY"):
        submit_glue({name: [model]}, tmp_path, tmp_path / "x.zip")


def test_a_model_of_another_task_is_refused_and_nothing_written(models, tmp_path):
    with pytest.raises(ConfigError, match="but CoLA is classification with 0, 1; give models"):
        submit_glue({"cola": models["mnli"]}, write_cola(tmp_path), tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_a_directory_without_test_files_is_refused(models, tmp_path):
    with pytest.raises(DataError, match="no test file of CoLA"):
        submit_glue({"cola": models["cola"]}, tmp_path, tmp_path / "x.zip")


def test_files_of_ones_own_are_answered_in_place_of_the_published_ones(models, tmp_path):
    data, own = write_mnli(write_cola(tmp_path)), tmp_path / "few.tsv"
    own.write_text("index\tsentence\n7\tthe film was good\n")
    files = [BenchmarkSplit(task="cola", split="test", file=str(own))]
    result = submit_glue(models, data, tmp_path / "glue.zip", files=files)
    assert result.files == {"CoLA.tsv": 1, "MNLI-m.tsv": 36, "MNLI-mm.tsv": 36, "AX.tsv": 1}
    (tmp_path / "CoLA.tsv").write_text(packed(tmp_path / "glue.zip")["CoLA.tsv"])
    again = submit_glue({}, tmp_path / "nowhere", tmp_path / "again.zip", answers=[tmp_path / "CoLA.tsv"], files=files)
    assert again.files == {"CoLA.tsv": 1}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (BenchmarkSplit(task="cola", split="dev", file="x.tsv"), "cola.dev is no test file of GLUE; give TASK.PART=FILE"),
        (BenchmarkSplit(task="mnli", split="test", file="x.tsv"), "nothing answers x.tsv; give mnli=MODEL too"),
    ],
)
def test_a_file_of_ones_own_that_nothing_answers_is_refused(models, tmp_path, part, message):
    with pytest.raises(ConfigError, match=message):
        submit_glue({"cola": models["cola"]}, write_cola(tmp_path), tmp_path / "x.zip", files=[part])
