"""The paper's tables as data: complete, resolvable at every scale, with cells in common."""

import json
from importlib.resources import files
from math import nan

import pytest

from litebert.commands.recipes import load_recipe, resolved_model
from litebert.commands.reproduce.cells import Cell, Inputs, RowCells, cells_of, overrides, unique
from litebert.commands.reproduce.report import TableReport
from litebert.commands.reproduce.reproduce import write_reports
from litebert.commands.reproduce.reproduce_settings import ReproduceRun
from litebert.commands.reproduce.scheduler import CellPaths
from litebert.commands.reproduce.scores import all_cells, recipe_settings, scores_of
from litebert.commands.reproduce.tables.paper_tables import Table, load_table
from litebert.commands.reproduce.tables.scales import Scale, load_scale
from litebert.commands.reproduce.tables.table_files import file_names
from litebert.commands.reproduce.worker import percent
from litebert.errors import ConfigError
from litebert.files import write_json
from litebert.model.config import ModelConfig
from litebert.settings import with_overrides

ROWS = {2: 6, 3: 8, 4: 8, 5: 3, 6: 2, 7: 2, 8: 2, 9: 4, 10: 4, 11: 6, 12: 4, 13: 2}
TASKS = ("squad-v1.1", "squad-v2.0", "mnli", "sst-2", "race")


def cells(name, scale, corpus, *, seeds=(0,)):
    inputs = Inputs(corpus, (corpus,), ())
    return cells_of(load_table(name), load_scale(scale), inputs, seeds=seeds)


SCALES = ("paper", "small", "tiny")


def test_tables_are_those_of_the_paper():
    assert file_names("tables") == [*(f"table-{number}" for number in range(1, 15)), "figure-1", "figure-2"]
    scales = files("litebert") / "recipes/reproduce/scales"
    assert {path.name for path in scales.iterdir()} == {f"{scale}.yaml" for scale in SCALES}
    assert {number: len(load_table(f"table-{number}").rows) for number in ROWS} == ROWS


@pytest.mark.parametrize("number", [2, 3, 4, 6, 7, 8, 11, 12, 13])
def test_averages_of_the_paper_are_the_means_of_its_tasks(number):
    """Recomputed from the rows; the paper rounds, and table 4 has two cells of its own."""
    for row in load_table(f"table-{number}").rows:
        mean = sum(row.paper[task] for task in TASKS) / len(TASKS)
        assert row.paper["average"] == pytest.approx(mean, abs=0.11), row.name


def test_average_of_a_row_takes_the_mean_of_f1_and_exact_match_as_one_task(tmp_path):
    paths = CellPaths(tmp_path)
    metrics = {
        "squad-v1.1": {"exact_match": 80.0, "answer_f1": 90.0},
        "mnli": {"accuracy": 70.0},
        "race": {"accuracy": 40.0},
    }
    tasks = {task: Cell("finetune", {}, {"task": task}) for task in metrics}
    for task in ("squad-v1.1", "mnli"):
        write_json(paths.result(tasks[task]), {"key": tasks[task].key, "metrics": metrics[task]})
    row = RowCells("a", 0, None, tasks)
    assert scores_of([row], paths).values == {"a": {"squad-v1.1": [85.0], "mnli": [70.0], "race": [None]}}
    write_json(paths.result(tasks["race"]), {"key": tasks["race"].key, "metrics": metrics["race"]})
    assert scores_of([row], paths).of("a", "average") == [65.0]


def test_scores_of_cells_are_in_percent_once():
    found = percent({"accuracy": 0.7, "answer_f1": 8.9, "exact_match": 3.5, "loss": 1.0})
    assert found == pytest.approx({"accuracy": 70.0, "answer_f1": 8.9, "exact_match": 3.5})


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", file_names("tables"))
def test_rows_resolve_at_every_scale(name, scale, corpus_directory):
    if scale == "tiny":
        rows = cells(name, scale, corpus_directory, seeds=range(2))
        assert len(rows) == 2 * len(load_table(name).rows)
        return
    loaded = load_scale(scale)
    for row in load_table(name).rows:
        assert row.ensemble_of or row.recipe or loaded.models[row.model]
        loaded.resolve(row.set)


def test_scale_paper_claims_the_average_of_every_row_within_a_point():
    scale = load_scale("paper")
    table = load_table("table-3")
    added = table.with_intervals(scale.within).claims[len(table.claims) :]
    assert {(claim.kind, claim.of, claim.metric, claim.within) for claim in added} == {
        ("interval", row.name, "average", 1.0) for row in table.rows
    }
    ensembles = load_table("table-10")
    scores = {claim.metric for claim in ensembles.with_intervals(1.0).claims if claim.kind == "interval"}
    assert scores == {"squad-v1.1", "squad-v2.0", "race"}
    assert table.with_intervals(load_scale("tiny").within) == table


@pytest.mark.parametrize("name", ["table-1", "table-14"])
def test_sizes_and_recipes_are_no_scores_that_may_differ_by_a_point(name):
    table = load_table(name)
    assert table.with_intervals(1.0) == table


def planned(row, scale):
    """What the run of a row depends on at a scale, apart from the paths of its corpora."""
    given = overrides({**scale.settings, **scale.models[row.model], **scale.resolve(row.set)})
    values = with_overrides(load_recipe(scale.recipe, command="pretrain").settings, given)
    model = ModelConfig.parse(resolved_model(values["model"], vocab_size=30_000), where=row.name)
    values["model"] = model.to_dict()
    return json.dumps([values, row.corpus, row.start_from], sort_keys=True)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", file_names("tables"))
def test_rows_of_a_table_are_different_runs_at_every_scale(name, scale):
    runs = [planned(row, load_scale(scale)) for row in load_table(name).rows if row.model]
    assert len(set(runs)) == len(runs)


def test_tables_share_the_cells_that_they_have_in_common(corpus_directory):
    base = {"table-2": "ALBERT base", "table-3": "all shared, E = 128", "table-4": "all shared, E = 128"}
    base |= {"table-5": "SOP", "table-7": "no additional data", "figure-2": "no additional data"}
    keys = set()
    for name, row in base.items():
        keys |= {each.model.key for each in cells(name, "tiny", corpus_directory) if each.row == row}
    assert len(keys) == 1
    everything = [cell for name in file_names("tables") for cell in all_cells(cells(name, "tiny", corpus_directory))]
    pretraining = [cell for cell in unique(everything) if cell.kind == "pretrain"]
    # 31 distinct runs of the paper's tables, the longer run of the ensembles, and 3 layers that start from random
    # weights, which table 12 compares with those of other hidden sizes.
    assert len(pretraining) == 33


def test_cells_come_after_those_that_they_need(corpus_directory):
    found = unique(reversed(all_cells(cells("table-11", "tiny", corpus_directory))))
    places = {cell: place for place, cell in enumerate(found)}
    assert all(places[needed] < places[cell] for cell in found for needed in cell.needs)
    assert sum(bool(cell.needs) for cell in found) == 5  # all but one layer start from the row before


def test_key_of_a_cell_depends_on_what_decides_its_result_only(corpus_directory, second_corpus):
    (first, *_) = cells("table-5", "tiny", corpus_directory)
    scale = load_scale("tiny")
    logged = scale.replace(settings={**scale.settings, "train.log_every": 3, "train.evaluate_every": "7 steps"})
    warmer = scale.replace(settings={**scale.settings, "train.warmup": 0.7})
    table, inputs = load_table("table-5"), Inputs(corpus_directory, (), ())
    (same, *_), (other, *_) = (cells_of(table, each, inputs, seeds=[0]) for each in (logged, warmer))
    (elsewhere, *_) = cells("table-5", "tiny", second_corpus)
    assert same.model.key == first.model.key
    assert (
        len({first.model.key, other.model.key, cells("table-5", "tiny", corpus_directory, seeds=[1])[0].model.key}) == 3
    )
    assert elsewhere.model.key != first.model.key


def test_fine_tuned_cells_depend_on_when_models_are_evaluated_and_not_on_memory(corpus_directory, tmp_path):
    for split in ("train", "dev"):
        (tmp_path / "SST-2").mkdir(exist_ok=True)
        (tmp_path / "SST-2" / f"{split}.tsv").write_text("sentence\tlabel\na good film\t1\n")
    scale, inputs = load_scale("tiny"), Inputs(corpus_directory, (), (tmp_path,))

    def key(**settings):
        changed = scale.replace(finetune={**scale.finetune, **settings})
        (row, *_) = cells_of(load_table("table-5"), changed, inputs, seeds=[0])
        return row.tasks["sst-2"].key

    assert key() == key(microbatch_size=1) != key(**{"train.evaluate_every": "3 steps"})


def test_rows_with_additional_data_need_it(corpus_directory):
    table = load_table("table-7")
    alone = cells_of(table, load_scale("tiny"), Inputs(corpus_directory), seeds=[0])
    assert [each.row for each in alone] == ["no additional data"]


def test_rows_that_need_a_row_without_data_are_left_out(corpus_directory):
    rows = [
        {"name": "more", "model": "albert-base", "corpus": "additional"},
        {"name": "deeper", "model": "albert-large", "start_from": "more"},
        {"name": "alone", "model": "albert-base"},
    ]
    table = Table.parse({"title": "t", "tasks": False, "rows": rows}, where="t")
    found = cells_of(table, load_scale("tiny"), Inputs(corpus_directory), seeds=[0])
    assert [each.row for each in found] == ["alone"]


def test_settings_of_a_recipe_leave_out_a_warmup_in_shares():
    assert recipe_settings("quickstart")["warmup_steps"] is None
    assert recipe_settings("cola")["warmup_steps"] == 320


def test_table_names_its_tasks():
    five = ["squad-v1.1", "squad-v2.0", "mnli", "sst-2", "race"]
    scale = load_scale("paper")
    assert load_table("table-2").tasks_of(scale) == five
    assert load_table("table-10").tasks_of(scale) == ["squad-v1.1", "squad-v2.0", "race"]
    glue = {"mnli", "qnli", "qqp", "rte", "sst-2", "mrpc", "cola", "sts-b"}
    assert set(load_table("table-9").tasks_of(scale)) == glue
    assert load_table("table-9").tasks_of(load_scale("tiny")) == ["sst-2", "mnli"]
    assert load_table("table-1").tasks_of(scale) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"start_from": "b"}, "'a' needs 'b', which is not the name of a model before it"),
        ({"start_from": "a"}, "'a' needs 'a', which is not the name of a model before it"),
        ({"model": None}, "expected one of model, ensemble_of, recipe and baseline"),
        ({"recipe": "cola"}, "expected one of model, ensemble_of, recipe and baseline"),
        ({"model": None, "baseline": "linear", "set": {"seed": 1}}, "are of pretraining, which only rows"),
        ({"model": None, "baseline": "linear", "corpus": "additional"}, "are of pretraining, which only rows"),
    ],
)
def test_table_refuses_rows_that_cannot_be_run(changed, message):
    rows = [{"name": "a", "model": "m", **changed}, {"name": "b", "model": "m"}]
    with pytest.raises(ConfigError, match=message):
        Table.parse({"title": "t", "rows": rows}, where="t")


def test_table_refuses_a_metric_that_does_not_exist():
    claim = {"kind": "ordering", "about": "x", "metric": "colla", "greater": "a", "less": 1.0}
    with pytest.raises(ConfigError, match="'colla' is not a metric; did you mean 'cola'"):
        Table.parse({"title": "t", "rows": [{"name": "a", "model": "m"}], "claims": [claim]}, where="t")


def test_table_refuses_unknown_rows_and_repeated_names():
    row = {"name": "a", "model": "albert-base"}
    claim = {"kind": "ordering", "about": "x", "metric": "mlm_loss", "greater": "b", "less": 1.0}
    with pytest.raises(ConfigError, match="'b' is not a row"):
        Table.parse({"title": "t", "rows": [row], "claims": [claim]}, where="t")
    with pytest.raises(ConfigError, match="two rows have the same name"):
        Table.parse({"title": "t", "rows": [row, row]}, where="t")


def test_scale_names_the_values_and_models_that_it_lacks(corpus_directory):
    scale = Scale.parse({"about": "", "recipe": "tiny", "models": {"albert-base": {}}, "values": {"E64": 8}}, where="s")
    with pytest.raises(ConfigError, match=r"\$E65: the scale has no such value; did you mean 'E64'"):
        scale.resolve({"model.embedding_size": "$E65"})
    table = Table.parse({"title": "t", "rows": [{"name": "a", "model": "albert-big"}]}, where="t")
    with pytest.raises(ConfigError, match="a: the scale has no model 'albert-big'; it has albert-base"):
        cells_of(table, scale, Inputs(corpus_directory), seeds=[0])


def test_unknown_table_and_scale_are_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="'table-15': not one of the tables; did you mean"):
        load_table("table-15")
    with pytest.raises(ConfigError, match="'tinny': not one of the scales; did you mean 'tiny'"):
        load_scale("tinny")


@pytest.mark.parametrize("where", ["row", "scale", "additional"])
def test_key_of_a_cell_depends_on_the_mixture(corpus_directory, second_corpus, where):
    def key(weight):
        mixture = {} if weight is None else {f"data_mixture.{second_corpus}": weight}
        row = {"name": "a", "model": "m", "set": mixture if where == "row" else {}}
        row |= {"corpus": "additional"} if where == "additional" else {}
        settings = {} if where == "row" else mixture
        scale = Scale(about="", recipe="tiny", models={"m": {}}, settings=settings)
        table = Table.parse({"title": "t", "rows": [row]}, where="t")
        (found,) = cells_of(table, scale, Inputs(corpus_directory, (corpus_directory,), ()), seeds=[0])
        if where == "additional":
            assert str(corpus_directory) in found.model.settings["data_mixture"]
        return found.model.key, len(found.model.settings["data_mixture"])

    found = [key(weight) for weight in (None, 0.5, 2.0)]
    assert len({name for name, _ in found}) == 3
    assert [size for _, size in found] == ([1, 2, 2] if where == "additional" else [0, 1, 1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tasks": ["sst2"]}, "tasks: 'sst2' is not a benchmark"),
        ({"rows": [{"name": "a", "model": "m", "paper": {"sst2": 90}}]}, "'sst2' is not a metric"),
    ],
)
def test_misspelt_names_of_a_table_are_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        Table.parse({"title": "t", **values}, where="t")


def test_all_adds_the_tables_of_the_package_to_those_that_are_named(corpus_directory, tmp_path):
    own = tmp_path / "heads.yaml"
    own.write_text("title: Heads\n")
    run = ReproduceRun(tables=("all", str(own), "table-3"), corpus=corpus_directory)
    assert run.names == (*file_names("tables"), str(own))


@pytest.mark.parametrize("first", ["table-3", "other/table-3.yaml"])
def test_two_tables_of_one_name_are_refused(corpus_directory, tmp_path, first):
    for folder in (tmp_path, tmp_path / "other"):
        folder.mkdir(exist_ok=True)
        (folder / "table-3.yaml").write_text("title: Heads\n")
    names = (str(tmp_path / first) if "/" in first else first, str(tmp_path / "table-3.yaml"))
    with pytest.raises(ConfigError, match="have one name in the report; rename one of the files"):
        ReproduceRun(tables=names, corpus=corpus_directory)


def test_score_that_is_not_a_number_is_missing_and_the_report_is_valid_json(tmp_path):
    paths = CellPaths(tmp_path)
    metrics = {"squad-v1.1": {"exact_match": nan, "answer_f1": nan}, "mnli": {"accuracy": nan}}
    tasks = {task: Cell("finetune", {}, {"task": task}) for task in metrics}
    for task, cell in tasks.items():
        write_json(paths.result(cell), {"key": cell.key, "metrics": metrics[task]})
    scores = scores_of([RowCells("a", 0, None, tasks)], paths)
    assert scores.values == {"a": {"squad-v1.1": [None], "mnli": [None]}}
    row = {"name": "a", "paper": {}, "values": {"mnli": [nan, 60.0]}, "runs": []}  # as earlier versions wrote it
    report = TableReport("t", "T", "", "tiny", ["mnli"], [row], [], [], [], [])
    write_reports([report], tmp_path, title="Tables", about="")
    json.loads((tmp_path / "results.json").read_text(), parse_constant=pytest.fail)
    assert "| a | 60.0 (1 of 2 seeds) |" in (tmp_path / "report.md").read_text()
