"""The page in a headless browser."""

import pytest

from litebert.serving.routes.page_routes import FILES
from support.programs.page_driver import drive_page
from support.programs.serving import ServerProcess

TITLES = {"Fill mask", "Classify", "Answer questions", "Compare", "Tag words", "Choose"}


def test_page_answers_in_every_tab_with_the_keyboard_and_at_two_widths(saved):
    names = ("masked", "classifier", "reader", "tagger", "chooser")
    with ServerProcess(*(saved[name] for name in names), "--max-tokens-per-text", "400") as server:
        devices = drive_page(server.url)
    for seen in devices.values():
        assert seen["errors"] == seen["elsewhere"] == []
        assert set(seen["tabs"]) == TITLES
        for title, tab in seen["tabs"].items():
            assert tab["message"] == "", title
            assert tab["answer"], title
            assert " tokens, " in tab["cost"]
            assert f"curl {server.url}/" in tab["curl"]
            assert tab["overflow"] <= 0, f"{title} is wider than the window"
        assert sum(seen["tabs"]["Classify"]["bars"]) == pytest.approx(1, abs=0.03)
        assert "has no [MASK]" in seen["message"]
        assert "POST /question-answering" in seen["routes"]
        assert seen["docsOverflow"] <= 0


def test_page_files_name_no_other_host():
    for path in FILES.iterdir():
        hosts = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "").count("://")
        assert hosts == 0, path.name
