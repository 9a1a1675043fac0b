"""The wheel and the source distribution: built, installed into a new environment, and used outside the repository."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from pkgutil import resolve_name

import pytest

import litebert
from litebert.cli.main import main

ROOT = Path(__file__).parents[2]


def call(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def test_every_extra_is_tried_by_the_tool_and_listed_on_the_page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    from try_extras import USES

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = settings["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "guides" / "installation.md").read_text(encoding="utf-8")
    assert set(USES) == set(extras)
    assert not [extra for extra in extras if f"| `{extra}` |" not in page]


def test_installed_command_is_that_of_python_m_litebert():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert {name: resolve_name(function) for name, function in scripts.items()} == {"litebert": main}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "hatchling", "build", "-d", str(out), cwd=ROOT)
    return {path.suffix: path for path in out.iterdir()}


@pytest.mark.slow
def test_wheel_has_the_recipes_the_types_and_the_licence(built):
    with zipfile.ZipFile(built[".whl"]) as archive:
        names = archive.namelist()
    for needed in ("litebert/py.typed", "litebert/__init__.pyi", "litebert/recipes/pretrain/tiny.yaml"):
        assert needed in names
    assert any(name.endswith("LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "docs/"))]
    assert litebert.__version__ in built[".whl"].name


@pytest.mark.slow
def test_source_distribution_has_the_source_and_the_citation(built):
    with tarfile.open(built[".gz"]) as archive:
        names = archive.getnames()
    assert any(name.endswith("src/litebert/__init__.py") for name in names)
    assert any(name.endswith("CITATION.cff") for name in names)


@pytest.mark.slow
def test_installed_wheel_runs_outside_the_repository(built, tmp_path):
    """The new environment sees the packages of this one; only litebert comes from the wheel."""
    call(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(tmp_path / "venv"))
    python = tmp_path / "venv" / "bin" / "python"
    place = call(str(python), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    call(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", place, str(built[".whl"]))
    own = Path(next(path for path in sys.path if path.endswith("site-packages")))
    environment = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{own}"}
    printed = call(str(python), "-c", "import litebert; print(litebert.__file__)", env=environment, cwd=tmp_path)
    assert printed.startswith(str(tmp_path))
    assert "albert-base-v2" in call(
        str(python), "-m", "litebert", "info", "albert-base-v2", env=environment, cwd=tmp_path
    )
