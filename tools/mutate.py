"""Mutation check: how many small faults in the source the tests find.

    python tools/mutate.py --mutations 200 --seed 0 --jobs 2 --out mutations.jsonl

Draws single-node mutations of the files in `TARGETS` (a comparison, an arithmetic operator, a constant, a boolean, a
condition, a deleted statement), applies each to a copy of the source, and runs the tests that stand for that file. A
mutation is killed when a test fails or the run exceeds its time limit. The tests must pass without a mutation, which is
checked first. Outcomes are written one by one. The same command continues after an interruption and, after a test was
added, runs the survivors again; `--only KEY` runs one mutation of the draw (the shell
needs single quotes around it). Exit code 1 below `--minimum`.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/litebert")
TARGETS: dict[str, tuple[str, ...]] = {
    "corpus/sampling/masking.py": ("tests/corpus/sampling/test_masking.py", "tests/corpus/sampling"),
    "corpus/sampling/pairing.py": ("tests/corpus/sampling/test_pairing.py", "tests/corpus/sampling"),
    "training/optim/lamb.py": (
        "tests/training/optim",
        "tests/parity/test_lamb.py",
        "tests/distributed/test_two_ranks.py",
    ),
    "training/loop/step.py": (
        *("tests/training/loop", "tests/training/test_trainer.py"),
        *("tests/distributed/test_two_ranks.py", "tests/distributed/test_uneven_ranks.py"),
    ),
    "training/checkpointing/checkpoint.py": ("tests/training/checkpointing", "tests/training/test_resume.py"),
    "tasks/metrics/squad_metrics.py": ("tests/tasks/metrics",),
    "tasks/metrics/metrics.py": ("tests/tasks/metrics",),
    "tokenization/tokenizer.py": ("tests/tokenization",),
    "tokenization/sentencepiece_model.py": ("tests/tokenization",),
    "model/layers/block.py": (
        *("tests/model/layers", "tests/model/test_encoder.py", "tests/model/test_gradients.py"),
        "tests/model/layers/test_modern_block.py",
    ),
    "model/kernels/attention_kernels.py": ("tests/model/kernels", "tests/model/test_encoder.py"),
}
"""Source file → tests that should notice a fault in it, the most specific first."""
EQUIVALENT: dict[str, str] = {
    "corpus/sampling/masking.py `1 / n`: 1 → 2": "the weights are divided by their sum",
    "corpus/sampling/masking.py `1 / n[::-1]`: 1 → 2": "the weights are divided by their sum",
    "corpus/sampling/masking.py mask_tokens `np.where(exists, grid.draws.ngram_order[:, :width], 1)`: 1 → 2": (
        "draws are below 1, so both numbers sort the absent words last"
    ),
    "corpus/sampling/masking.py choose_ngrams `(0, 0)`: 0 → 1 (2)": (
        "pads a row after the last one, which no index reads"
    ),
    "corpus/sampling/pairing.py ExampleSource.__init__ `lru_cache(maxsize=2)`: 2 → 3": (
        "the size of a cache of a pure function"
    ),
    "corpus/sampling/pairing.py ExampleSource._random_sentences `max(1, max_tokens)`: 1 → 2": (
        "reads a sentence more than the next line keeps"
    ),
    "corpus/sampling/pairing.py truncate_pair `difference < 0`: 0 → 1": "without a difference, `to_equal` is 0",
    "training/loop/step.py TrainStep._accumulate "
    "`set_last_backward(self.model, last=index == len(microbatches) - 1)`: statement deleted": (
        "says only when FSDP communicates; the gradients are equal"
    ),
    "training/loop/step.py _outcome `zip(sums.correct, means[len(losses):], strict=True)`: True → False": (
        "the lengths are equal by the slice before"
    ),
    "training/checkpointing/checkpoint.py AsyncCheckpointer.__init__ "
    "`ThreadPoolExecutor(max_workers=1, thread_name_prefix='litebert-checkpoint')`: 1 → 2": (
        "`start` needs a `finish` before, so one write is in flight"
    ),
    "tasks/metrics/squad_metrics.py _best `zip(order, [*order[1:], None], strict=True)`: True → False": (
        "both lists have the length of `order`"
    ),
    "tasks/metrics/squad_metrics.py word_f1 `not found or not expected`: Or → And": (
        "with one side empty no word is shared, which scores 0 as well"
    ),
    "tasks/metrics/metrics.py roc_auc `-1`: 1 → 2": "of two labels both have the same area, so their mean is it too",
    "tokenization/sentencepiece_model.py `range(128)`: 128 → 129": "ASCII has no byte 128 to look up",
    "tokenization/sentencepiece_model.py CharacterAligner.__init__ `super().__init__()`: statement deleted": (
        "a dict is empty without `dict.__init__` too"
    ),
    "model/kernels/attention_kernels.py attend_by_length `zip(indices, context, strict=True)`: True → False": (
        "the context has one row for each index"
    ),
}
"""Key of a mutation → why no test can tell the mutation from the source."""
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE}
COMPARISONS |= {ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
COMPARISONS |= {ast.In: ast.NotIn, ast.NotIn: ast.In}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div}
ARITHMETIC |= {ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult}
ARITHMETIC |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
BOOLEANS: dict[type[ast.boolop], type[ast.boolop]] = {ast.And: ast.Or, ast.Or: ast.And}
LIMIT_SECONDS = 900
TEST_LIMIT_SECONDS = 280


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One changed node of one file."""

    file: str
    key: str
    """Its name in reports and in `EQUIVALENT`: file, function, text and change, so that it stays when lines move."""
    node: int
    """Place of the node in `ast.walk`."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a mutation: `killed`, `survived` or `equivalent`."""

    mutation: str
    state: str


def main() -> int:
    """Draw, run and report."""
    arguments = _arguments()
    drawn = draw(arguments.mutations, seed=arguments.seed)
    drawn = [mutation for mutation in drawn if not arguments.only or mutation.key in arguments.only]
    outcomes = run_all(drawn, jobs=arguments.jobs, out=arguments.out)
    counted = [outcome for outcome in outcomes if outcome.state != "equivalent"]
    killed = sum(outcome.state == "killed" for outcome in counted)
    share = killed / max(1, len(counted))
    for outcome in outcomes:
        if outcome.state != "killed":
            print(f"{outcome.state}: {outcome.mutation}")
    print(f"{killed} of {len(counted)} mutations killed ({share:.1%})")
    return int(share < arguments.minimum)


def draw(count: int, *, seed: int) -> list[Mutation]:
    """A fixed number of mutations a file, as even as possible, without repetition."""
    rng = random.Random(seed)
    shares = [count // len(TARGETS) + (place < count % len(TARGETS)) for place in range(len(TARGETS))]
    drawn = []
    for file, share in zip(TARGETS, shares, strict=True):
        candidates = list(mutations_of(file))
        drawn += rng.sample(candidates, min(share, len(candidates)))
    return drawn


def mutations_of(file: str) -> Iterator[Mutation]:
    """Every single-node mutation of a source file; docstrings, annotations and messages stay as they are.

    From top to bottom; further ones with the same text and change in one function are numbered.
    """
    tree = ast.parse((ROOT / SOURCE / file).read_text(encoding="utf-8"))
    skipped = _untested_nodes(tree)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    counts: Counter[str] = Counter()
    nodes = [(place, node) for place, node in enumerate(ast.walk(tree)) if isinstance(node, ast.expr | ast.stmt)]
    for place, node in sorted(nodes, key=lambda each: (each[1].lineno, each[1].col_offset)):
        if node not in skipped and (change := _change(node)):
            name = f"{' '.join([file, *_function(node, parents)])} `{_text(node, parents)}`: {change[0]}"
            counts[name] += 1
            key = name if counts[name] == 1 else f"{name} ({counts[name]})"
            yield Mutation(file=file, key=key, node=place)


def mutated(source: str, place: int) -> str:
    """The source with the mutation of the node at `place` in `ast.walk`."""
    tree = ast.parse(source)
    target = list(ast.walk(tree))[place]
    change = _change(target)
    assert change is not None, f"node {place} cannot be mutated"
    return ast.unparse(ast.fix_missing_locations(_Replace(target, change[1]).visit(tree)))


def _function(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> list[str]:
    """The qualified name of the function around a node, if there is one."""
    names = []
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.insert(0, node.name)
    return [".".join(names)] if names else []


def _text(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> str:
    """The first line of the code that changes; of a constant, of the code around it."""
    while isinstance(node, ast.Constant | ast.keyword):
        node = parents[node]
    return ast.unparse(node).strip().splitlines()[0]


def _change(node: ast.AST) -> tuple[str, ast.AST] | None:
    """Description and replacement of one node, if it can be mutated."""
    match node:
        case ast.Compare(ops=[first, *others]) if other := COMPARISONS.get(type(first)):
            return _replaced(first, other), _with(node, ops=[other(), *others])
        case ast.BinOp(op=operator) if other := ARITHMETIC.get(type(operator)):
            return _replaced(operator, other), _with(node, op=other())
        case ast.BoolOp(op=operator):
            other = BOOLEANS[type(operator)]
            return _replaced(operator, other), _with(node, op=other())
        case ast.Constant(value=bool(value)):
            return f"{value} → {not value}", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            return f"{value} → {value + 1}", ast.Constant(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            return "condition negated", _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Expr() | ast.AugAssign():
            return "statement deleted", ast.Pass()
        case _:
            return None


def _replaced(operator: ast.AST, other: type[ast.AST]) -> str:
    return f"{type(operator).__name__} → {other.__name__}"


def _with(node: ast.AST, **fields: object) -> ast.AST:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def _untested_nodes(tree: ast.Module) -> set[ast.AST]:
    """Docstrings, annotations, raised messages, log calls, definitions of slots and decorators."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr) or (isinstance(node, ast.Expr) and _says_something(node)):
            roots.append(node)
        elif isinstance(node, ast.FunctionDef):
            roots += [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        elif isinstance(node, ast.ClassDef):
            roots += node.decorator_list
        elif isinstance(node, ast.AnnAssign):
            roots.append(node.annotation)
    return {node for root in roots for node in ast.walk(root)}


def _says_something(node: ast.Expr) -> bool:
    return isinstance(node.value, ast.Constant) or ast.unparse(node).startswith(("logger.", "warnings."))


class _Replace(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, target: ast.AST, replacement: ast.AST) -> None:
        self._target, self._replacement = target, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        return self._replacement if node is self._target else super().generic_visit(node)


def run_all(drawn: Sequence[Mutation], *, jobs: int, out: Path) -> list[Outcome]:
    """Run each mutation that `out` does not call killed in one of `jobs` copies of the project."""
    known = {outcome.mutation: outcome for outcome in _read(out) if outcome.state == "killed"}
    with tempfile.TemporaryDirectory() as directory:
        copies: Queue[Path] = Queue()
        for number in range(jobs):
            copies.put(_copy(Path(directory) / str(number)))

        def run(mutation: Mutation) -> Outcome:
            tree = copies.get()
            try:
                outcome = _run_one(mutation, tree)
            finally:
                copies.put(tree)
            with out.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(outcome)) + "\n")
            return outcome

        with ThreadPoolExecutor(jobs) as pool:
            _check_baseline(Path(directory) / "0", {mutation.file for mutation in drawn if mutation.key not in known})
            return list(pool.map(lambda mutation: known.get(mutation.key) or run(mutation), drawn))


def _read(out: Path) -> list[Outcome]:
    return [Outcome(**json.loads(line)) for line in out.read_text().splitlines()] if out.exists() else []


def _check_baseline(tree: Path, files: set[str]) -> None:
    each = sorted({tests for file in files for tests in TARGETS[file]})
    failing = [tests for tests in each if not _passes(tests, tree)]
    if failing:
        sys.exit(f"these tests fail without a mutation: {', '.join(failing)}")


def _copy(target: Path) -> Path:
    for name in ("src", "tests", "docs", "examples", "tools", "benchmarks"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, target / name)
    return target


def _run_one(mutation: Mutation, tree: Path) -> Outcome:
    if mutation.key in EQUIVALENT:
        return Outcome(mutation=mutation.key, state="equivalent")
    file = tree / SOURCE / mutation.file
    whole = file.read_text(encoding="utf-8")
    file.write_text(mutated(whole, mutation.node), encoding="utf-8")
    try:
        killed = any(not _passes(tests, tree) for tests in TARGETS[mutation.file])
    finally:
        file.write_text(whole, encoding="utf-8")
    return Outcome(mutation=mutation.key, state="killed" if killed else "survived")


def _passes(tests: str, tree: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", f"--timeout={TEST_LIMIT_SECONDS}", tests]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=200, help="how many to draw over all files")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=2, help="mutations at once")
    parser.add_argument("--only", nargs="*", default=(), help="mutations of the draw, as they are reported")
    parser.add_argument("--minimum", type=float, default=0.95, help="smallest share that must be killed")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines, one outcome a line")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
