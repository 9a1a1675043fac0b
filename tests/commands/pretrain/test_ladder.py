"""benchmarks/ladder.py: which arms go on, and that a ladder which was stopped continues."""

import sys
from pathlib import Path

import pytest

from support.runs.pretrain_runs import SIZES

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def ladder(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import ladder

    return ladder


def made(ladder, arm, loss, *, tokens=10, seed=0):
    values = {"seconds": 1.0, "mlm_accuracy": 0.1, "pairs": None, "scoring": None}
    values["curve"] = [(0.0, 9.0), (10.0, loss)]
    return ladder.Run(arm=arm, tokens=tokens, seed=seed, mlm_loss=loss, **values)


def test_better_half_is_chosen_by_the_median_of_its_rung(ladder):
    arms = {name: [] for name in ("a", "b", "c")}
    runs = [made(ladder, "a", 3.0), made(ladder, "b", 2.0), made(ladder, "c", 9.0), made(ladder, "c", 1.0, tokens=5)]
    assert ladder.better_half(arms, runs, 10, "mlm_loss") == ["a", "b"]
    assert ladder.better_half({"a": [], "b": []}, runs, 10, "mlm_loss") == ["b"]


def test_speed_up_is_the_ratio_of_the_times_to_the_loss_that_both_reach(ladder):
    slow, fast = made(ladder, "slow", 5.0), made(ladder, "fast", 1.0)
    assert ladder.speed_up(fast, slow) == pytest.approx(2.0)  # 5.0 after 5 seconds instead of 10
    assert ladder.speed_up(slow, fast) == pytest.approx(0.5)
    assert ladder.speed_up(slow, slow) == 1.0
    with pytest.raises(ValueError, match=r"the loss 4\.0 is not reached"):
        ladder.seconds_to(slow.curve, 4.0)


def test_summary_has_the_median_of_the_seeds_beside_the_first_arm(ladder):
    runs = [made(ladder, arm, loss, seed=seed) for seed in (0, 1, 2) for arm, loss in (("a", 5.0), ("b", 1.0 + seed))]
    *_, first, second = ladder.summary(runs)
    assert first.endswith("| 5.000 (5.000 to 5.000) |  | 1.00 (1.00 to 1.00) |")
    assert second.endswith("| 2.000 (1.000 to 3.000) |  | 1.75 (1.50 to 2.00) |")


def test_ladder_runs_every_arm_and_continues_where_it_stopped(ladder, corpus_directory, tmp_path, monkeypatch):
    tiny = [f"model.{name}={value}" for name, value in SIZES.items()]
    tiny += ["model.num_hidden_layers=1", "sampling.max_length=32", "max_eval_examples=32", "train.device=cpu"]
    tiny += ["freeze_duplicate_token_heads=false"]
    arms = "\n".join(f"  {name}: {[*tiny, change]}" for name, change in (("few", "batch_size=4"), ("many", "seed=1")))
    (tmp_path / "arms.yaml").write_text(
        f"recipe: modern-tiny\nsettings: [init=random]\narms:\n{arms}\n".replace("'", '"')
    )
    out = tmp_path / "ladder"
    command = ["ladder.py", tmp_path / "arms.yaml", "--corpus", corpus_directory, "--out", out, "--tokens", "200"]
    command += ["--rungs", "2", "--seeds", "2", "--metric", "mlm_loss"]
    monkeypatch.setattr(sys, "argv", [str(part) for part in command])
    ladder.main()
    table = (out / "ladder.md").read_text()
    assert len(table.splitlines()) == 2 + 2 + 2 + 1 + 2 + 1, "two arms, then one with two seeds, and its medians"
    monkeypatch.setattr(ladder, "pretrain", None)  # nothing is trained again
    ladder.main()
    assert (out / "ladder.md").read_text() == table
