"""The import table: packages depend on each other in one direction. Each test lists every offender."""

import ast
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "litebert"
CORE = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
TORCH_IN_CORE = {"device", "loss_sums"}
ALLOWED: dict[str, set[str]] = {
    "tokenization": set(),
    "model": set(),
    "training": set(),
    "corpus": {"tokenization"},
    "tasks": {"tokenization", "model"},
    "interop": {"model", "tokenization"},
    "analysis": set(),
    "inference": {"tokenization", "model", "tasks"},
    "api": {"tokenization", "model", "training", "corpus", "tasks", "analysis", "inference", "commands"},
    "runtime": {"tokenization", "tasks", "inference"},
    "export": {"tokenization", "model", "tasks", "inference", "runtime"},
    "serving": {"tokenization", "model", "tasks", "inference", "runtime"},
    "commands": {
        *("tokenization", "model", "training", "corpus", "tasks", "interop", "analysis", "inference", "export"),
        *("runtime", "serving"),
    },
    "cli": {
        *("tokenization", "model", "training", "corpus", "tasks", "interop", "analysis", "inference", "serving"),
        "commands",
    },
}
ONLY_IN = {
    "torch.distributed": ("training/",),
    "matplotlib": ("analysis/plots.py",),
    "pandas": ("api/api_results.py",),
    "transformers": ("model/io/remote_code/",),
    "tyro": ("cli/",),
    "datasets": ("hub_datasets.py",),
    "datatrove": ("datatrove_stages.py",),
    "tensorboard": ("training/callbacks/metric_logger.py",),
    "wandb": ("training/callbacks/metric_logger.py",),
    "trackio": ("training/callbacks/metric_logger.py",),
    **dict.fromkeys(("fastapi", "starlette", "prometheus_client", "opentelemetry"), ("serving/",)),
    "uvicorn": ("serving/http/http_protocol.py", "serving/server_workers.py", "commands/serve.py"),
    "onnx": ("export/",),
    "onnxruntime": ("runtime/onnx_model.py",),
    "tokenizers": ("tokenization/wordpiece_model.py",),
}
FILES = {path.relative_to(SOURCE): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def imported_modules(tree: ast.Module) -> set[str]:
    """Every module that a file imports, at the top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported_packages(tree: ast.Module) -> set[str]:
    """Packages of litebert that a file imports."""
    inside = {name.split(".")[1] for name in imported_modules(tree) if name.startswith("litebert.")}
    return inside & {folder.name for folder in SOURCE.iterdir() if folder.is_dir()}


def test_import_table_names_every_package():
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert packages == set(ALLOWED)


def test_import_table_has_no_cycles():
    TopologicalSorter(ALLOWED).prepare()


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_folders_of_a_package_depend_on_each_other_in_one_direction(package):
    folders = {folder.name for folder in (SOURCE / package).iterdir() if folder.is_dir()}
    imports: dict[str, set[str]] = defaultdict(set)
    for path, tree in FILES.items():
        if path.parts[0] == package and path.parts[1] in folders:
            names = [name.split(".") for name in imported_modules(tree)]
            inside = {name[2] for name in names if name[:2] == ["litebert", package] and len(name) > 2}
            imports[path.parts[1]] |= inside & folders - {path.parts[1]}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"{package}: {' imports '.join(reversed(error.args[1]))}")


PREDICT = {"predict", "embed", "evaluate", "ensemble", "compare", "glue_submission"}


def test_commands_that_predict_do_not_import_each_other():
    offenders = []
    for path, tree in FILES.items():
        if path.parts[0] == "commands" and path.parts[1] in PREDICT:
            others = tuple(f"litebert.commands.{name}." for name in PREDICT - {path.parts[1]})
            offenders += [f"{path} imports {name}" for name in imported_modules(tree) if name.startswith(others)]
    assert not offenders, "move what they share to row_files or several_models:\n" + "\n".join(offenders)


def test_imports_follow_the_table():
    offenders = []
    for path, tree in FILES.items():
        if path.as_posix() == "__main__.py":
            continue  # `python -m litebert`: imports cli
        package = path.parts[0] if len(path.parts) > 1 else None
        allowed = {package, *ALLOWED[package]} if package else set()
        offenders += [f"{path} imports {name}" for name in sorted(imported_packages(tree) - allowed)]
    assert not offenders, "imports that the table does not allow:\n" + "\n".join(offenders)


def test_libraries_are_imported_only_by_the_file_that_adapts_them():
    offenders = []
    for path, tree in FILES.items():
        names = imported_modules(tree)
        for library, places in ONLY_IN.items():
            used = any(name == library or name.startswith(library + ".") for name in names)
            if used and not path.as_posix().startswith(places):
                offenders.append(f"{path} imports {library}")
    assert not offenders, "import these where ONLY_IN says:\n" + "\n".join(offenders)


def test_core_imports_no_package_and_no_torch():
    offenders = []
    for name in sorted(CORE):
        tree = FILES[Path(f"{name}.py")]
        offenders += [f"{name} imports {package}" for package in imported_packages(tree)]
        if name not in TORCH_IN_CORE and "torch" in imported_modules(tree):
            offenders.append(f"{name} imports torch")
    assert not offenders


KEYED = {"step.py": {"torch.default_generator.manual_seed"}}
"""Module → the global seed that it may set: torch's dropout takes no generator."""


def test_no_module_uses_global_randomness():
    """Randomness is an argument: no module-level generator, no global seed outside the one place that keys torch's."""
    offenders = []
    for path, tree in FILES.items():
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        banned = ("random.", "np.random.seed", "np.random.rand", "torch.manual_seed", "torch.default_generator")
        found = {call for call in calls if call.startswith(banned)} - KEYED.get(path.name, set())
        offenders += [f"{path}: {call}" for call in sorted(found)]
    assert not offenders, "pass a generator from rng_for instead:\n" + "\n".join(offenders)
