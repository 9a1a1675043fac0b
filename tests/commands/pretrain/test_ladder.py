"""benchmarks/ladder.py: which arms go on, and that a ladder which was stopped continues."""

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.errors import ConfigError
from support.runs.pretrain_runs import SIZES

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def ladder(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import ladder

    return ladder


@pytest.fixture
def arm_run(ladder):
    from arms import arm_run

    return arm_run


def made(ladder, arm, loss, *, tokens=10, seed=0, clm_curve=()):
    values = {"seconds": 1.0, "mlm_accuracy": 0.1, "clm_loss": None, "pairs": None, "scoring": None}
    values["curve"], values["clm_curve"] = [(0.0, 0, 9.0), (10.0, 40, loss)], clm_curve
    return ladder.Run(arm=arm, tokens=tokens, seed=seed, mlm_loss=loss, **values)


def test_better_half_is_chosen_by_the_median_of_its_rung(ladder):
    arms = {name: [] for name in ("a", "b", "c")}
    runs = [made(ladder, "a", 3.0), made(ladder, "b", 2.0), made(ladder, "c", 9.0), made(ladder, "c", 1.0, tokens=5)]
    assert ladder.better_half(arms, runs, tokens=10, metric="mlm_loss", reference="a") == ["a", "b"]
    assert ladder.better_half({"b": [], "c": []}, runs, tokens=10, metric="mlm_loss", reference="a") == ["b"]
    goes_on = ladder.better_half({"a": [], "b": []}, runs, tokens=10, metric="mlm_loss", reference="a")
    assert goes_on == ["a", "b"], "the reference goes on"


def test_speed_up_is_the_ratio_of_the_times_to_the_loss_that_both_reach(ladder):
    slow, fast = made(ladder, "slow", 5.0).curve, made(ladder, "fast", 1.0).curve
    for column in (0, 1):
        assert ladder.speed_up(fast, slow, column=column) == pytest.approx(2.0)  # 5.0 at the middle instead of the end
        assert ladder.speed_up(slow, fast, column=column) == pytest.approx(0.5)
        assert ladder.speed_up(slow, slow, column=column) == 1.0
    assert [ladder.reached(fast, 5.0, column=column) for column in (0, 1)] == [5.0, 20.0]
    with pytest.raises(ValueError, match=r"the loss 4\.0 is not reached"):
        ladder.reached(slow, 4.0, column=0)


def test_summary_has_the_median_of_the_seeds_beside_the_reference(ladder):
    runs = [made(ladder, arm, loss, seed=seed) for seed in (0, 1, 2) for arm, loss in (("a", 5.0), ("b", 1.0 + seed))]
    *_, first, second = ladder.summary(runs, "a")
    assert first.endswith("| 5.000 (5.000 to 5.000) |  |  | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) |  |")
    assert second.endswith("| 2.000 (1.000 to 3.000) |  |  | 1.75 (1.50 to 2.00) | 1.75 (1.50 to 2.00) |  |")
    (alone,) = ladder.summary(runs[1:2], "a")[2:]
    assert alone.endswith("| 1.000 (1.000 to 1.000) |  |  |  |  |  |"), "compared once the reference is finished"


def test_summary_compares_the_losses_of_next_tokens_too(ladder):
    slow, fast = [(0.0, 0, 8.0), (1.0, 40, 4.0)], [(0.0, 0, 8.0), (1.0, 10, 4.0)]
    runs = [made(ladder, "a", 5.0, clm_curve=slow), made(ladder, "b", 5.0, clm_curve=fast)]
    *_, second = ladder.summary(runs, "a")
    assert second.endswith("| 1.00 (1.00 to 1.00) | 4.00 (4.00 to 4.00) |")


TINY = [f"model.{name}={value}" for name, value in SIZES.items()]
TINY += ["sampling.max_length=32", "max_eval_examples=32", "train.device=cpu", "train.precision=bf16"]
TINY += [
    "init=random",
    "batch_size=12",
    "microbatch_size=12",
    "train.log_every=1",
]


TRIALS = [
    "stochastic_depth",
    "random_recursion_count",
    "weighted_outputs",
    "token_dropping",
    "z_loss",
    "ema",
    "adaptive_masking",
    "quotations",
    "falling_causal_share",
    "shifted_masks",
    "short_convolution",
    "value_residual",
    "input_injection",
    "bigram_embeddings",
]


def job(arm_run, corpus_directory, directory, name, *words, tokens=4000):
    places = {"ladder": directory / "ladder", "corpus": corpus_directory, "suite": None}
    overrides = (*TINY, "model.num_hidden_layers=4", *words)
    return arm_run.Job(recipe="modern-tiny", arm=name, overrides=overrides, tokens=tokens, seed=0, **places)


@pytest.fixture
def job_of(arm_run, corpus_directory, tmp_path):
    return partial(job, arm_run, corpus_directory, tmp_path)


@pytest.fixture
def run_arm(arm_run, job_of):
    def run(name, *words, tokens=4000):
        return arm_run.run_job(job_of(name, *words, tokens=tokens))

    return run


@pytest.fixture
def trials(ladder):
    from arms import trials

    return trials


PARTLY_CAUSAL = ("train.precision=bf16", "sampling.causal_fraction=0.25")


@pytest.fixture(scope="module")
def reference(corpus_directory, tmp_path_factory):
    """The loss of a run without a trial, and the text of its scores before training."""
    directory = tmp_path_factory.mktemp("reference")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        from arms import arm_run

        run = arm_run.run_job(job(arm_run, corpus_directory, directory, "reference", *PARTLY_CAUSAL))
    return run.mlm_loss, (directory / "ladder/reference-4000-seed0/initial_scores.json").read_text()


@pytest.mark.parametrize("name", [*TRIALS, "short_sequences_first", "small_batches_first"])
def test_trials_change_training_and_not_the_evaluation_before_it(name, reference, run_arm, tmp_path):
    loss, scores = reference
    assert run_arm(name, *PARTLY_CAUSAL, f"trial={name}").mlm_loss != loss
    if name not in ("short_sequences_first", "shifted_masks"):  # evaluated with their own lengths and positions
        assert (tmp_path / "ladder" / f"{name}-4000-seed0" / "initial_scores.json").read_text() == scores


@pytest.mark.parametrize(
    ("arm", "suite", "message"),
    [
        ("train.learning_rte=1", [], "arms.yaml: wrong: tiny: unknown setting 'train.learning_rte'"),
        ("cost=-1", [], "arms.yaml: wrong: expected one cost, a positive number; found -1"),
        ("trial=z_los", [], "arms.yaml: wrong: expected at most one trial of"),
        ("batch_size=16", ["--suite", "/nowhere"], "/nowhere: no such file or directory"),
    ],
)
def test_wrong_arms_and_suites_end_a_ladder_before_it_trains(
    ladder, arm_run, corpus_directory, tmp_path, monkeypatch, arm, suite, message
):
    (tmp_path / "arms.yaml").write_text(f"recipe: tiny\narms:\n  reference: []\n  wrong: [{arm}]\n")
    words = ["--corpus", str(corpus_directory), "--out", str(tmp_path / "out"), "--metric", "mlm_loss", *suite]
    monkeypatch.setattr(sys, "argv", ["ladder.py", str(tmp_path / "arms.yaml"), *words])
    monkeypatch.setattr(arm_run, "pretrain", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(SystemExit, match=rf"ladder.py: .*{message}"):
        ladder.main()


@pytest.mark.parametrize("words", [["trial=z_los"], ["trial=z_loss", "trial=ema"]])
def test_a_trial_that_does_not_exist_and_two_trials_are_errors(run_arm, words):
    with pytest.raises(ConfigError, match=f"expected at most one trial of stochastic_depth, .*found {words[0][6:]}"):
        run_arm("typo", *words)


def test_an_arm_of_twice_the_cost_gets_half_of_the_tokens(run_arm):
    tokens = {cost: run_arm(cost, f"cost={cost}").curve[-1][1] for cost in ("1", "2")}
    assert tokens["2"] == pytest.approx(tokens["1"] / 2, rel=0.15), "whole steps"


@pytest.mark.parametrize("words", [["cost=0"], ["cost=much"], ["cost=inf"], ["cost=1", "cost=2"]])
def test_a_cost_that_is_no_positive_number_and_two_costs_are_errors(run_arm, words):
    with pytest.raises(ConfigError, match="expected one cost, a positive number; found"):
        run_arm("wrong", *words)


def test_every_trial_is_tested(trials):
    from arms.first_phases import FIRST_PHASES

    assert [*trials.TRIALS] == TRIALS
    assert [*FIRST_PHASES] == ["short_sequences_first", "small_batches_first"]


def test_quotations_are_words_of_a_sentence_of_the_second_segment(trials, corpus_directory):
    settings = SamplingSettings(max_length=128, pairing="none", single_segment=True, causal_fraction=0.5)
    batches = PretrainBatches(Corpus.open(corpus_directory), settings, batch_size=16, microbatch_size=16, seed=0)
    plain = [part for step in range(4) for part in batches.microbatches(step)]
    with trials.quotations():
        pairs = [part for step in range(4) for part in batches.microbatches(step)]
    assert not any(part.token_type_ids.any() for part in plain)
    for before, part in zip(plain, pairs, strict=True):
        if part.causal:
            assert torch.equal(before.input_ids, part.input_ids)
            continue
        ids = part.input_ids.flatten().index_copy(0, part.masked_positions, part.labels).view_as(part.input_ids)
        quoting = part.token_type_ids.any(1)
        assert 0 < quoting.sum() < len(quoting)
        for row, segments, mask in zip(ids[quoting], part.token_type_ids[quoting], part.attention_mask[quoting]):
            second = row[segments == 1].tolist()
            position = -1
            for token in row[mask & (segments == 0)][1:-1].tolist():
                position = second.index(token, position + 1)  # ValueError: not in this order


def test_tokens_before_a_token_are_those_of_its_example(ladder):
    from arms.block_trials import _tokens_before

    tokens, positions = torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[0, 1, 2, 0, 1]])
    assert _tokens_before(tokens[..., None], positions, 1)[..., 0].tolist() == [[0, 1, 2, 0, 4]]
    assert _tokens_before(tokens[..., None], positions, 2)[..., 0].tolist() == [[0, 0, 1, 0, 0]]


def test_dropped_tokens_are_half_of_each_row_in_order(trials):
    mask = torch.arange(9) < torch.tensor([[9], [4], [1]])
    kept, kept_mask = trials._random_positions(mask)
    rows, columns = kept // 9, kept % 9
    assert kept_mask.sum(1).tolist() == [5, 2, 1]
    for row, (places, real) in enumerate(zip(columns, kept_mask, strict=True)):
        places = places[real].tolist()
        assert places == sorted(set(places))
        assert places[0] == 0
        assert mask[row, places].all()
        assert (rows[row][real] == row).all()


def test_an_arm_that_was_changed_is_not_read_from_its_old_run(run_arm):
    run_arm("arm")
    with pytest.raises(ConfigError, match="other settings"):
        run_arm("arm", "train.learning_rate=0.1")
    with pytest.raises(ConfigError, match="run with the trial None, and the arm now has ema"):
        run_arm("arm", "trial=ema")


def test_an_arm_that_has_not_run_may_be_changed(arm_run, job_of):
    assert arm_run.finished_run(job_of("arm")) is None
    _, trial = job_of("arm", "trial=ema").settings()
    assert trial == "ema"


def test_an_arm_that_was_stopped_between_its_phases_continues(arm_run, run_arm, monkeypatch):
    train, trained = arm_run.pretrain, []

    def stopped(settings, out, **options):
        if trained:
            raise KeyboardInterrupt
        return trained.append(train(settings, out, **options))

    monkeypatch.setattr(arm_run, "pretrain", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_arm("arm", "trial=small_batches_first")
    monkeypatch.setattr(arm_run, "pretrain", train)
    resumed = run_arm("arm", "trial=small_batches_first")
    assert resumed.mlm_loss == run_arm("other", "trial=small_batches_first").mlm_loss, "not stopped"
    assert resumed.mlm_loss == run_arm("arm", "trial=small_batches_first").mlm_loss, "read from its file"


def test_scores_of_two_suites_are_two_files(arm_run, tmp_path):
    suites = [None, tmp_path / "blimp" / "data", tmp_path / "other" / "data"]
    assert len({arm_run.scores_file(tmp_path, suite) for suite in suites}) == 3


@pytest.fixture
def run_ladder(ladder, corpus_directory, tmp_path, monkeypatch):
    """Runs a ladder of two arms in a directory of this name."""

    def run_ladder(name, *words, arms=("batch_size=4", "seed=1")):
        tiny = [*TINY, "model.num_hidden_layers=1", "train.learning_rate=0.001"]
        lines = "\n".join(f"  {arm}: {json.dumps([*tiny, change])}" for arm, change in zip(("few", "many"), arms))
        (tmp_path / "arms.yaml").write_text(f"recipe: modern-tiny\narms:\n{lines}\n")
        out = tmp_path / name
        command = ["ladder.py", tmp_path / "arms.yaml", "--corpus", corpus_directory, "--out", out, "--tokens", "200"]
        command += ["--rungs", "2", "--seeds", "2", "--metric", "mlm_loss", *words]
        monkeypatch.setattr(sys, "argv", [str(part) for part in command])
        ladder.main()
        return out

    return run_ladder


def without_seconds(out):
    """The runs of a ladder."""
    runs = json.loads((out / "ladder.json").read_text())
    curves = [{name: [point[1:] for point in run[name]] for name in ("curve", "clm_curve")} for run in runs]
    return [run | {"seconds": None} | own for run, own in zip(runs, curves, strict=True)]


def test_ladder_runs_every_arm_and_continues_where_it_stopped(run_ladder, arm_run, monkeypatch):
    table = (run_ladder("out") / "ladder.md").read_text()
    assert len(table.splitlines()) == 2 + 2 + 2 + 1 + 2 + 1, "two arms, then one with two seeds, and its medians"
    monkeypatch.setattr(arm_run, "pretrain", None)  # nothing is trained again
    assert (run_ladder("out") / "ladder.md").read_text() == table


@pytest.mark.usefixtures("forked_python")
def test_two_jobs_that_were_stopped_give_the_runs_of_one(run_ladder, ladder, arm_run, monkeypatch):
    write, written = ladder.write_table, []

    def write_and_stop(runs, *arguments, **options):
        write(runs, *arguments, **options)
        written.append(len(runs))
        if written == [1]:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(ladder, "write_table", write_and_stop)
    with pytest.raises(SystemExit, match=r"together: stopped; every run has saved its state, the same command"):
        run_ladder("together", "--jobs", "2")
    together = run_ladder("together", "--jobs", "2")
    assert written[-4:] == [1, 2, 3, 4], "a table after each run"
    assert without_seconds(together) == without_seconds(run_ladder("alone"))
    monkeypatch.setattr(arm_run, "pretrain", None)  # nothing is trained again, whatever the number of jobs
    monkeypatch.setattr(ladder, "Worker", None)
    table = (together / "ladder.md").read_text()
    for jobs in ("1", "2"):
        assert (run_ladder("together", "--jobs", jobs) / "ladder.md").read_text() == table


@pytest.mark.usefixtures("forked_python")
def test_first_job_that_fails_stops_the_others(run_ladder, tmp_path):
    message = r"few-\d+-seed0: its process ended with code 1; see .*few-\d+-seed0\.log\. The other runs were stopped"
    with pytest.raises(SystemExit, match=message):
        run_ladder("out", "--jobs", "2", "--tokens", "500M", arms=("init_checkpoint=nowhere", "seed=1"))
    assert "ladder.py: init_checkpoint: nowhere: " in next((tmp_path / "out" / "logs").glob("few*")).read_text()


def test_ladder_needs_a_job(run_ladder):
    with pytest.raises(SystemExit, match=r"--jobs: expected 1 to \d+, .* found 0"):
        run_ladder("out", "--jobs", "0")
