"""Export directories: what is written, and that nothing is left after a failure."""

import json
import math
import shutil
import sys

import numpy as np
import pytest
import torch

from litebert.commands.recipes import load_recipe, resolved_model
from litebert.errors import CheckpointError, ConfigError, LitebertError, MissingExtraError, NotFiniteError
from litebert.export import export_model as export_module
from litebert.export import reference_outputs
from litebert.export.export_model import export_model
from litebert.export.model_graph import build_graph
from litebert.model.config import ModelConfig
from litebert.model.io.model_directory import load_model, save_model
from litebert.model.models import ForPretraining
from litebert.model.presets import preset
from litebert.runtime.export_metadata import KEY
from litebert.tokenization.tokenizer import Tokenizer
from support.models.saved_models import save_models

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


CARD = """\
# A card

## How to use

```
litebert finetune default --model .
```

```python
from litebert import Predictor

Predictor.load(".").predict(["a"])
```

transformers loads it too:

```python
from transformers import AutoModel
```

## Evaluation

scores
"""


@pytest.fixture(scope="module")
def saved(tiny_tokenizer, small_config, tmp_path_factory):
    return save_models(tmp_path_factory.mktemp("models"), tiny_tokenizer, small_config)


def test_export_has_the_files_of_transformers_js(saved, tmp_path):
    graphs = export_model(saved["classifier"], tmp_path / "out", precisions=("fp32", "int8"))
    assert {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")} == {
        *("config.json", "spiece.model", "tokenizer.json", "tokenizer_config.json"),
        *("onnx/model.onnx", "onnx/model_quantized.onnx"),
    }
    assert [each.size for each in graphs] == [each.path.stat().st_size for each in graphs]
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert list(config["id2label"].values()) == ["bad", "fair", "good"]
    for each in graphs:
        onnx.checker.check_model(onnx.load(each.path), full_check=True)


def test_export_has_the_model_card_with_the_differences_of_its_files(saved, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(saved["classifier"], source)
    (source / "SHA256SUMS").unlink()
    (source / "README.md").write_text(CARD)
    graphs = export_model(source, tmp_path / "out", precisions=("fp32", "int8"))
    card = (tmp_path / "out" / "README.md").read_text()
    use, _, rest = card.partition("## Evaluation\n\nscores\n\n## ONNX files\n")
    assert use.startswith("# A card\n\n## How to use\n\nThis directory holds ONNX files")
    assert '```python\nfrom litebert.runtime import Predictor\n\nPredictor.load(".").predict(["a"])\n```' in use
    assert "litebert finetune" not in use
    assert "AutoModel" not in use
    assert rest
    for each in graphs:
        name = each.path.relative_to(tmp_path / "out").as_posix()
        assert f"| `{name}` | {each.comparison.largest_difference:.2g} |" in card
    export_model(source, tmp_path / "encoder", as_model="SentenceEmbedder")
    assert not (tmp_path / "encoder" / "README.md").exists(), "the card is that of a classifier"


def test_metadata_describe_the_model(saved, tiny_tokenizer, tmp_path):
    (graph,) = export_model(saved["classifier"], tmp_path / "out")
    properties = {each.key: each.value for each in onnx.load(graph.path).metadata_props}
    metadata = json.loads(properties[KEY])
    assert metadata["task"] == "classification"
    assert metadata["labels"] == ["bad", "fair", "good"]
    assert metadata["settings"]["max_length"] == metadata["max_length"] == 96
    assert metadata["tokenizer"] == tiny_tokenizer.fingerprint


def test_tokenizer_of_an_export_truncates_to_the_length_of_the_task(saved, tiny_tokenizer, tmp_path):
    """transformers and transformers.js truncate to `model_max_length`."""
    task = tmp_path / "task"
    shutil.copytree(saved["classifier"], task)
    (task / "input_settings.json").write_text('{"max_length": 12}')
    for source, expected in ((task, 12), (saved["classifier"], 96)):
        export_model(source, tmp_path / "out")
        assert json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())["model_max_length"] == expected


def test_model_of_an_export_is_not_loaded_as_weights(saved, tmp_path):
    export_model(saved["classifier"], tmp_path / "out")
    with pytest.raises(CheckpointError, match="a directory of `litebert export`, which only `litebert predict`"):
        load_model(tmp_path / "out")


def test_model_that_resolves_pronouns_is_exported_only_to_fill_masks(saved, tmp_path):
    task = tmp_path / "task"
    shutil.copytree(saved["masked"], task)
    (task / "task.json").write_text('{"task_type": "pronoun_resolution"}')
    with pytest.raises(ConfigError, match="models for pronoun_resolution cannot be exported; as_model=ForMaskedLM"):
        export_model(task, tmp_path / "out")
    assert len(export_model(task, tmp_path / "out", as_model="ForMaskedLM")) == 1


def test_number_of_layers_is_an_input_with_a_default(saved, tmp_path):
    (graph,) = export_model(saved["masked"], tmp_path / "out")
    loaded = onnx.load(graph.path).graph
    (default,) = [each for each in loaded.initializer if each.name == "num_hidden_layers"]
    assert "num_hidden_layers" in [each.name for each in loaded.input]
    assert onnx.numpy_helper.to_array(default) == np.array(1)


def test_export_writes_nothing_if_the_outputs_differ(saved, tmp_path, monkeypatch):
    monkeypatch.setitem(reference_outputs.TOLERANCES, "fp32", -1.0)
    with pytest.raises(LitebertError, match=r"outputs in fp32 differ from torch's by .* nothing was written"):
        export_model(saved["masked"], tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("damaged", [0, -1], ids=["states", "logits"])
def test_export_writes_nothing_if_an_output_is_no_number(saved, tmp_path, monkeypatch, precision, damaged):
    run = reference_outputs.run_session

    def with_nan(*given):
        outputs = [*run(*given)]
        outputs[damaged] = np.full_like(outputs[damaged], np.nan)
        return outputs

    monkeypatch.setattr(reference_outputs, "run_session", with_nan)
    with pytest.raises(
        LitebertError, match=rf"outputs in {precision} differ from torch's by nan, .* nothing was written"
    ):
        export_model(saved["masked"], tmp_path / "out", precisions=(precision,))
    assert not list(tmp_path.iterdir())


def test_export_of_a_model_that_has_diverged_is_refused(saved, tmp_path):
    model = load_model(saved["classifier"])
    torch.nn.init.constant_(model.classifier.weight, math.nan)
    save_model(model, tmp_path / "diverged", extra_files=Tokenizer.load(saved["classifier"]).files())
    with pytest.raises(NotFiniteError, match=r"diverged: scores that are not finite; its weights have diverged"):
        export_model(tmp_path / "diverged", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_graph_too_large_for_one_file_is_refused(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(export_module, "LARGEST_FILE", 1000)
    with pytest.raises(ConfigError, match=r"an ONNX file holds 1,000; export in int8"):
        export_model(saved["masked"], tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_export_without_the_extra_names_it(saved, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[export\]"):
        export_model(saved["masked"], tmp_path / "out")


def test_export_replaces_an_export_and_nothing_else(saved, tmp_path, caplog):
    export_model(saved["masked"], tmp_path / "out")
    assert "removed" not in caplog.text
    export_model(saved["masked"], tmp_path / "out", precisions=("int8",))
    assert not (tmp_path / "out" / "onnx" / "model.onnx").exists()
    assert (
        "model.onnx: removed, as the new export replaces the earlier one; --precision fp32 int8 writes" in caplog.text
    )
    with pytest.raises(CheckpointError, match="holds other files"):
        export_model(saved["masked"], saved["classifier"])


def test_export_never_deletes_the_model_that_is_exported(saved, tmp_path):
    source = shutil.copytree(saved["masked"], tmp_path / "m")
    export_model(source, tmp_path / "out")
    shutil.copytree(tmp_path / "out" / "onnx", source / "onnx")
    for out in (source, tmp_path):
        with pytest.raises(ConfigError, match=r"m lies there and would be deleted; choose another directory"):
            export_model(source, out)
    assert (source / "model.safetensors").is_file()


@pytest.mark.parametrize("other", ["model.safetensors", "index.html", "onnx/mine.onnx"])
def test_export_does_not_replace_an_export_with_other_files(saved, tmp_path, other):
    export_model(saved["masked"], tmp_path / "out")
    (tmp_path / "out" / other).write_text("mine")
    with pytest.raises(CheckpointError, match=f"holds other files, such as {other}, which would be deleted; choose"):
        export_model(saved["masked"], tmp_path / "out")
    assert (tmp_path / "out" / other).read_text() == "mine"


def test_another_head_of_the_model_can_be_exported(saved, tmp_path):
    (graph,) = export_model(saved["classifier"], tmp_path / "out", as_model="SentenceEmbedder")
    names = [each.name for each in onnx.load(graph.path).graph.output]
    assert names == ["last_hidden_state", "sentence_embedding"]


def test_head_that_the_model_lacks_cannot_be_exported(saved, tmp_path):
    with pytest.raises(CheckpointError, match=r"as ForMaskedLM: lacks .* 'mlm"):
        export_model(saved["classifier"], tmp_path / "out", as_model="ForMaskedLM")


def test_int8_file_of_base_has_at_most_12_mb():
    assert build_graph(ForPretraining(preset("albert-base-v2")), "int8").ByteSize() <= 12_000_000


def test_int8_file_of_the_tiny_recipe_has_at_most_2_mb():
    recipe = load_recipe("tiny", command="pretrain")
    config = ModelConfig(**resolved_model(recipe.settings["model"], vocab_size=8000))
    assert build_graph(ForPretraining(config), "int8").ByteSize() <= 2_000_000
