"""The page of `litebert export --page` from a plain file server, in a headless browser."""

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from litebert.commands.export import ExportRun, export
from litebert.export.browser_page import RUNTIME_FILES
from litebert.runtime import Predictor
from support.models.saved_models import save_models
from support.programs.page_driver import MODULES, drive_page

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format, *arguments):
        pass


@contextmanager
def file_server(directory):
    """The URL of a directory, served as `python -m http.server` does."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(directory)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def percents(probabilities):
    return [f"{100 * each:.1f} %" for each in probabilities]


@pytest.mark.skipif(not all((MODULES / each).is_file() for each in RUNTIME_FILES), reason=f"no runtime in {MODULES}")
def test_page_without_a_server_gives_the_answers_of_python(tiny_tokenizer, small_config, tmp_path):
    saved = save_models(tmp_path / "models", tiny_tokenizer, small_config)
    page = tmp_path / "page"
    for name in ("masked", "classifier", "reader"):
        export(ExportRun(model=str(saved[name]), page=page, node_modules=MODULES))
    with file_server(page) as url:
        devices = drive_page(url)
    (candidates,) = Predictor.load(page / "models" / "masked").fill_mask(
        "The function returns the [MASK] of the list.", top_k=8
    )
    (answer,) = Predictor.load(page / "models" / "classifier").classify(["A warm, funny and wonderfully acted film."])
    labels = sorted(answer.probabilities, key=answer.probabilities.__getitem__, reverse=True)
    for seen in devices.values():
        assert seen["errors"] == seen["elsewhere"] == []
        tabs = seen["tabs"]
        assert set(tabs) == {"Fill mask", "Classify", "Compare", "Answer questions"}
        filled = tabs["Fill mask"]["answer"].split("\n")
        assert filled[::2] == [each.piece for each in candidates]
        assert filled[1::2] == percents(each.probability for each in candidates)
        scores = percents(answer.probabilities[label] for label in labels)
        assert tabs["Classify"]["answer"].split("\n") == [text for pair in zip(labels, scores) for text in pair]
        assert tabs["Compare"]["answer"].count("1.00") >= 4
        assert "litebert serve" in tabs["Answer questions"]["message"]
        assert all(tab["overflow"] <= 0 for tab in tabs.values())
        assert "has no [MASK]" in seen["message"]
