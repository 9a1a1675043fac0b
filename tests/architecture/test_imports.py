"""The import table of the house: data walks in one direction."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "litebert"
FLOOR_0 = {"errors", "settings", "files", "randomness", "logs"}
ALLOWED: dict[str, set[str]] = {
    "tokenization": set(),
    "model": set(),
    "training": set(),
    "corpus": {"tokenization"},
    "tasks": {"tokenization", "model"},
    "interop": {"model", "tokenization"},
    "analysis": {"model"},
    "inference": {"tokenization", "model", "tasks"},
    "runs": {"tokenization", "model", "training", "corpus", "tasks", "interop", "analysis", "inference"},
    "cli": {"tokenization", "model", "training", "corpus", "tasks", "interop", "analysis", "inference", "runs"},
}
ONLY_IN = {
    "torch.distributed": ("training/",),
    "matplotlib": ("analysis/plots.py",),
    "transformers": (),
    "tyro": ("cli/",),
    "datasets": ("corpus/hub_datasets.py", "tasks/hub_datasets.py"),
    "datatrove": ("corpus/executors.py",),
    "tensorboard": ("training/trackers.py",),
    "wandb": ("training/trackers.py",),
    "trackio": ("training/trackers.py",),
    "tokenizers": ("tokenization/wordpiece_model.py",),
}
FILES = sorted(SOURCE.rglob("*.py"))


def imported_modules(path: Path) -> set[str]:
    """Every module that a file imports, at the top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def rooms_of(path: Path) -> set[str]:
    """Rooms of the house that a file imports."""
    inside = {name.split(".")[1] for name in imported_modules(path) if name.startswith("litebert.")}
    return inside & {folder.name for folder in SOURCE.iterdir() if folder.is_dir()}


def test_the_house_has_no_room_outside_the_table():
    found = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert found <= set(ALLOWED)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_table(path):
    parts = path.relative_to(SOURCE).parts
    if parts == ("__main__.py",):
        return  # the second door of the command: imports cli
    if len(parts) == 1:
        assert rooms_of(path) == set(), "floor 0 imports no room"
        return
    room = parts[0]
    assert rooms_of(path) - {room} <= ALLOWED[room]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_libraries_stay_in_the_file_that_adapts_them(path):
    relative = path.relative_to(SOURCE).as_posix()
    for library, places in ONLY_IN.items():
        used = any(name == library or name.startswith(library + ".") for name in imported_modules(path))
        assert not used or relative.startswith(places), f"{relative} imports {library}"


@pytest.mark.parametrize("name", sorted(FLOOR_0))
def test_floor_0_does_not_import_torch(name):
    assert "torch" not in imported_modules(SOURCE / f"{name}.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_global_randomness(path):
    """Randomness is an argument: no module-level generator, no global seed outside the one place that keys torch's."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not {call for call in calls if call.startswith(("random.", "np.random.seed", "np.random.rand"))}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_stay_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350
