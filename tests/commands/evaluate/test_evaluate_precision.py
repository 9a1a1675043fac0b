"""`litebert evaluate --precision`: scores beside those of fp32."""

import pytest

from litebert.commands.evaluate.evaluate import EvaluateRun, evaluate
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from litebert.model.prepacked.prepack import has_operators


@pytest.mark.skipif(not has_operators("int8"), reason="torch without oneDNN")
def test_int8_scores_are_reported_beside_fp32(small_config, tiny_tokenizer, tmp_path):
    model = ForSequenceClassification(small_config, num_labels=2)
    save_model(
        model,
        tmp_path / "model",
        labels=("bad", "good"),
        problem_type="single_label_classification",
        extra_files=tiny_tokenizer.files(),
    )
    rows = "".join(f"the film was {label},{label}\n" for label in ("good", "bad", "good"))
    (tmp_path / "data.csv").write_text("text,label\n" + rows, encoding="utf-8")
    run = EvaluateRun(model=str(tmp_path / "model"), data=tmp_path / "data.csv", precision="int8")
    values, text = evaluate(run)
    assert list(values) == ["fp32", "int8"]
    assert all(scores["examples"] == 3 for scores in values.values())
    assert [line.split(":")[0] for line in text.splitlines() if "accuracy " in line] == ["fp32", "int8"]
