"""A page that runs exported models in a browser: the page of `litebert serve` with another back end."""

import json
import shutil
from pathlib import Path
from typing import Final

from litebert.errors import ConfigError
from litebert.files import write_json, write_text
from litebert.runtime import Predictor
from litebert.runtime.export_metadata import GRAPH_FILES

PAGE: Final = Path(__file__).parents[1] / "serving" / "page"
PAGE_FILES: Final = ("page.js", "page.css", "tabs.js", "views.js", "browser.js", "icon.svg")
MODELS: Final = "models"
MODEL_LIST: Final = "models.json"
"""In `MODELS`: the names of the models with what the page needs to know of them."""
RUNTIME: Final = "runtime"
PACKAGES: Final = ("onnxruntime-web", "@huggingface/tokenizers")
RUNTIME_FILES: Final = (
    *(f"onnxruntime-web/dist/{name}" for name in ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs")),
    "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm",
    "@huggingface/tokenizers/dist/tokenizers.min.mjs",
)


def check_node_modules(node_modules: Path) -> None:
    """Raise ConfigError if a file of the npm packages is missing."""
    missing = [name for name in RUNTIME_FILES if not (node_modules / name).is_file()]
    if missing:
        raise ConfigError(
            f"node_modules: {node_modules} has no {missing[0]}; run `npm install {' '.join(PACKAGES)}` and give the "
            "folder node_modules that it makes"
        )


def add_to_page(page: Path, model: str, *, node_modules: Path) -> None:
    """Write the page for the export in `page`/models/`model` and those that it has already."""
    for name in PAGE_FILES:
        _copy(PAGE / name, page / "page" / name)
    for name in RUNTIME_FILES:
        _copy(node_modules / name, page / RUNTIME / Path(name).name)
    listed = page / MODELS / MODEL_LIST
    models = json.loads(listed.read_text(encoding="utf-8")) if listed.is_file() else []
    write_json(listed, [*(each for each in models if each["name"] != model), _description(page / MODELS / model)])
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    write_text(page / "index.html", index.replace("./server.js", "./browser.js"))


def _description(directory: Path) -> dict[str, object]:
    """What the page needs to know of an export. The smallest of its files is the one to download."""
    model = Predictor.load(directory)
    graph = next(GRAPH_FILES[each] for each in ("int8", "fp32") if (directory / GRAPH_FILES[each]).is_file())
    return {
        "name": directory.name,
        "task": model.task,
        "labels": model.labels,
        "max_length": model.metadata.settings.get("max_length", model.metadata.max_length),
        "long_texts": model.metadata.settings.get("long_texts", "truncate"),
        "graph": graph,
    }


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
