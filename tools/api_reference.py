"""The text of docs/reference/python-api.md: signatures, fields and docstrings, read from the source.

Plain Markdown, so that the page is the same in a clone, on GitHub and in the site.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MAX_LINE = 100
"""Longer signatures have one parameter a line."""
OTHERS = {
    "Arguments": {
        "litebert.api.data_sources": ("Data",),
        "litebert.api.training_runs": ("Files", "Metric"),
        "litebert.api.model_use": ("Model",),
        "litebert.tasks.readers.columns": ("Columns",),
        "litebert.inference.method_inputs": ("Text", "Options"),
        "litebert.hub_download": ("HubOptions",),
    },
    "Results": {
        "litebert.commands.finetune.finetune_result": ("FinetuneResult",),
        "litebert.commands.finetune.best_evaluation": ("BestEvaluation",),
        "litebert.commands.pretrain.pretrain_result": ("PretrainResult",),
        "litebert.commands.pretrain.validation": ("ValidationScores", "Accuracy"),
        "litebert.corpus.build.build_corpus": ("CorpusReport",),
        "litebert.tasks.metrics.evaluation": ("Evaluation", "Part"),
        "litebert.tasks.metrics.metrics": ("Calibration",),
        "litebert.model.io.push": ("PushResult",),
    },
    "A single prediction": {
        "litebert.tasks.results": (
            *("Classification", "Regression", "MultiLabelPrediction", "Choice", "TokenPrediction", "Entity"),
            *("FilledMasks", "Candidate"),
        ),
        "litebert.tasks.types.extractive_qa.span_scores": ("Answer", "SpanAnswer"),
    },
    "Outputs of models": {
        "litebert.model.outputs": (
            *("EncoderOutput", "PretrainingOutput", "MaskedLMOutput", "ClassifierOutput", "SpanOutput"),
            "QuestionAnsweringWithNoAnswerOutput",
        ),
    },
    "Base classes, and what callbacks see": {
        "litebert.inference.prediction_methods": ("PredictionMethods",),
        "litebert.model.io.hub_model": ("HubModel",),
        "litebert.training.callbacks.callback": ("RunState", "StepRecord"),
    },
}
"""Heading → module → names that the public ones take, return or inherit from; they are not in `litebert` itself."""

NO_BASES = {"ABC", "DecodedPrediction", "Exception", "NamedTuple", "Settings", "Result"}
"""Bases that say nothing to a reader."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """The source of a module."""

    name: str
    text: str
    body: list[ast.stmt]

    @classmethod
    def read(cls, name: str) -> "Module":
        text = SOURCE.joinpath(*name.split(".")).with_suffix(".py").read_text("utf-8")
        return cls(name, text, ast.parse(text).body)

    def source(self, node: ast.AST) -> str:
        """The code of an expression, in one line."""
        return " ".join((ast.get_source_segment(self.text, node) or "").split())

    def type_of(self, annotation: ast.expr) -> str:
        """An annotation, with the values of a `Literal` that the module has a name for, and without `Annotated`."""
        if isinstance(annotation, ast.Subscript) and self.source(annotation.value) == "Annotated":
            assert isinstance(annotation.slice, ast.Tuple)
            annotation = annotation.slice.elts[0]
        text = self.source(annotation)
        assigned = [each for each in self.body if isinstance(each, ast.Assign) and self.source(each.targets[0]) == text]
        values = [self.source(each.value) for each in assigned]
        return values[0] if values and values[0].startswith("Literal[") else text

    def entry(self, name: str, *, level: int, place: str = "") -> str:
        """Heading, signature, docstring and members of a function, class or type."""
        heading = blocks(f"{'#' * level} `{name}`", place)
        for number, node in enumerate(self.body):
            if isinstance(node, Function) and node.name == name:
                return blocks(heading, signature(self, node, name), markdown(ast.get_docstring(node)))
            if isinstance(node, ast.ClassDef) and node.name == name:
                return blocks(heading, *class_parts(self, node, level=level))
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return blocks(heading, fenced(self.source(node)), markdown(docstring_after(self.body, number)))
        raise SystemExit(f"{self.name}: no {name}; correct OTHERS in {__file__}")


def api_text(public: dict[str, str]) -> str:
    """The page, without its title; `public` has the names in `litebert` with their modules."""
    about = (
        "Everything up to [Arguments](#arguments) is imported as `litebert.NAME`, and loaded when it is first used. "
        "What follows is given or returned there, so it is rarely imported."
    )
    names = sorted(public.items(), key=lambda item: not item[1].startswith("litebert.api"))  # functions come first
    parts = [Module.read(module).entry(name, level=2) for name, module in names]
    for heading, modules in OTHERS.items():
        parts.append(f"## {heading}")
        for module, members in modules.items():
            parts += [Module.read(module).entry(name, level=3, place=f"In `{module}`.") for name in members]
    return blocks(about, *parts)


def blocks(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def class_parts(module: Module, node: ast.ClassDef, *, level: int) -> Iterator[str]:
    """Signature, bases, docstring, attributes and methods of a class."""
    functions = [each for each in node.body if isinstance(each, Function)]
    start = next((each for each in functions if each.name == "__init__"), None)
    if start:
        yield signature(module, start, node.name)
    bases = [base for base in map(module.source, node.bases) if base not in NO_BASES]
    if bases:
        yield f"Bases: {', '.join(f'`{base}`' for base in bases)}."
    yield markdown(ast.get_docstring(node))
    yield markdown(ast.get_docstring(start)) if start else ""
    properties = [each for each in functions if is_property(each) and not each.name.startswith("_")]
    yield attribute_table(module, [*fields(node.body), *(fields(start.body) if start else [])], properties)
    for each in functions:
        if each not in properties and (not each.name.startswith("_") or each.name == "__call__"):
            name = f"{node.name}.{each.name}"
            called = node.name.lower() if each.name == "__call__" else name
            heading = f"{'#' * (level + 1)} `{name}`"
            yield blocks(heading, signature(module, each, called), markdown(ast.get_docstring(each)))


def is_property(function: Function) -> bool:
    return any("property" in ast.unparse(each) for each in function.decorator_list)


def signature(module: Module, function: Function, name: str) -> str:
    """`name(parameters) -> result` as code, without `self` and `cls`."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    parameters = [parameter(module, each, default) for each, default in zip(positional, defaults, strict=True)]
    if positional and positional[0].arg in ("self", "cls"):
        parameters = parameters[1:]
    if arguments.vararg:
        parameters.append("*" + parameter(module, arguments.vararg, None))
    elif arguments.kwonlyargs:
        parameters.append("*")
    parameters += map(parameter, [module] * len(arguments.kwonlyargs), arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg:
        parameters.append("**" + parameter(module, arguments.kwarg, None))
    result = f" -> {module.source(function.returns)}" if function.returns and function.name != "__init__" else ""
    line = f"{name}({', '.join(parameters)}){result}"
    if len(line) > MAX_LINE:
        line = "\n".join([f"{name}(", *(f"    {each}," for each in parameters), f"){result}"])
    return fenced(line)


def parameter(module: Module, argument: ast.arg, default: ast.expr | None) -> str:
    annotation = f": {module.source(argument.annotation)}" if argument.annotation else ""
    equals = " = " if annotation else "="
    return f"{argument.arg}{annotation}" + (f"{equals}{module.source(default)}" if default else "")


def fields(body: list[ast.stmt]) -> Iterator[tuple[str, ast.AnnAssign, str]]:
    """Name, statement and docstring of the public attributes in a class, and of those that `__init__` documents."""
    for number, node in enumerate(body):
        if isinstance(node, ast.AnnAssign):
            name, about = ast.unparse(node.target), docstring_after(body, number)
            is_documented = "." not in name or (name.startswith("self.") and about)
            if is_documented and not name.removeprefix("self.").startswith("_"):
                yield name.removeprefix("self."), node, about


def docstring_after(body: list[ast.stmt], number: int) -> str:
    """The string below a statement."""
    after = body[number + 1].value if number + 1 < len(body) and isinstance(body[number + 1], ast.Expr) else None
    return inspect.cleandoc(after.value) if isinstance(after, ast.Constant) and isinstance(after.value, str) else ""


def attribute_table(
    module: Module, attributes: list[tuple[str, ast.AnnAssign, str]], properties: list[Function]
) -> str:
    """A row for each field, then for each property."""
    rows = [
        (name, module.type_of(node.annotation), default_of(module, node), " ".join(about.split()))
        for name, node, about in attributes
    ]
    for each in properties:
        about = " ".join((ast.get_docstring(each) or "").split())
        rows.append((each.name, module.source(each.returns) if each.returns else "", "", about))
    if not rows:
        return ""
    lines = [
        f"| `{name}` | `{in_cell(kind)}` | {f'`{in_cell(default)}`' if default else ''} | {in_cell(about)} |"
        for name, kind, default, about in rows
    ]
    return "\n".join(["| attribute | type | default | meaning |", "| --- | --- | --- | --- |", *lines])


def default_of(module: Module, node: ast.AnnAssign) -> str:
    """The default of a field as code; empty without one, and for an attribute that `__init__` sets."""
    value = node.value
    if value is None or isinstance(node.target, ast.Attribute):
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("Field", "field"):
        given = {each.arg: module.source(each.value) for each in value.keywords}
        return given.get("default") or (f"{given['default_factory']}()" if "default_factory" in given else "")
    return module.source(value)


def in_cell(text: str) -> str:
    return text.replace("|", "\\|")


def markdown(docstring: str | None) -> str:
    """A docstring with its Google sections as lists."""
    lines: list[str] = []
    section = False
    for line in (docstring or "").splitlines():
        if re.fullmatch(r"(Args|Raises):", line):
            section = True
            lines += [] if line == "Args:" else ["Raises:", ""]
        elif section and (item := re.fullmatch(r" {4}(\w+): (.*)", line)):
            lines.append(f"- `{item[1]}`: {item[2]}")
        elif section and line:
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
    return "\n".join(lines).strip()
