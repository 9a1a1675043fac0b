"""Settings: strict pydantic models, recipe files and `key.path=value` overrides.

Unknown keys, wrong types and values out of range raise a ConfigError with the key, the value and what was expected.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_args, get_origin

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from litebert.errors import ConfigError, similar_names
from litebert.files import expand_home, read_json_object

NameOrNames = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
"""Names; a single one needs no list."""
Leaf = str | int | float | bool | None
"""A value that is not a mapping."""
TrainingPrecision = Literal["auto", "fp32", "bf16", "fp16"]
"""`auto`: the fastest of fp32 and bf16, measured on the processor; bf16 on GPUs that compute it, otherwise fp32.
The other two are mixed precision with weights in fp32."""
DeviceName = Literal["auto", "cpu", "cuda"]
"""`auto`: a CUDA device if there is one, otherwise the processor."""
MAX_THREADS: Final = 1024
"""Most threads that can be asked for: more would only exhaust the machine."""
MAX_SEEDS: Final = 10_000
"""Most runs with other seeds that can be asked for by their number."""
InferencePrecision = Literal["auto", "fp32", "bf16", "fp16", "int8"]
"""`auto`: the fastest of fp32, bf16 and fp16, measured on the processor, as for training on GPUs; `int8`: on CPUs,
8-bit weights and activations."""
RECIPES: Final = Path(__file__).parent / "recipes"
"""Recipes and tables of the package."""


class Settings(BaseModel):
    """Base of every settings class: frozen, no unknown keys, each field documented by the string below it.

    Raises ConfigError for wrong values.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=True, allow_inf_nan=False
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _config_error(type(self), error, where=type(self).__name__) from None

    __init__.__pydantic_base_init__ = True  # pyrefly: ignore[missing-attribute]  # nested settings keep their paths

    @model_validator(mode="before")
    @classmethod
    def _expand_home(cls, value: Any) -> Any:
        return expand_home(value)

    @classmethod
    def parse(cls, values: Mapping[str, Any], *, where: str) -> Self:
        """Validated settings from plain values; raises ConfigError that begins with `where`."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise _config_error(cls, error, where=where) from None

    @classmethod
    def read_json(cls, path: Path) -> Self | None:
        """The settings in a JSON file; None if it does not exist."""
        if not path.exists():
            return None
        return cls.parse(read_json_object(path, if_missing="take a fresh copy"), where=str(path))

    @property
    def no_effect(self) -> tuple[str, ...]:
        """Names of settings, or of groups of them, on which no weight of a run with these settings depends."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON or YAML; `parse` is the inverse."""
        return self.model_dump(mode="json")

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated again."""
        return type(self).parse({**self.to_dict(), **changes}, where=type(self).__name__)


def flatten(values: Mapping[str, Any]) -> dict[str, Leaf]:
    """Nested values with dotted names; values are as after a round trip through JSON."""
    result: dict[str, Leaf] = {}
    for name, value in values.items():
        if isinstance(value, Mapping | Settings):
            nested = value.to_dict() if isinstance(value, Settings) else value
            result |= {f"{name}.{inner}": leaf for inner, leaf in flatten(nested).items()}
        elif isinstance(value, Leaf):
            result[name] = value
        else:
            result[name] = json.dumps(value, sort_keys=True, default=str)
    return result


def merged_settings(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes`, group by group."""
    result = dict(base)
    for name, value in changes.items():
        inner = result.get(name)
        both = isinstance(inner, Mapping) and isinstance(value, Mapping)
        result[name] = merged_settings(inner, value) if both else value
    return result


def changed_names(before: Mapping[str, Leaf], now: Mapping[str, Leaf]) -> list[str]:
    """Names whose flat values differ; a missing value is None."""
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def is_permitted(name: str, permitted: Iterable[str]) -> bool:
    """Whether the dotted name of a setting, or a group that it is in, is among those permitted."""
    return any(f"{name}.".startswith(f"{each}.") for each in permitted)


def validate_not_given(given: Mapping[str, Any], why: str) -> None:
    """Raise ConfigError with `why` if any of these is not None or empty, because it would have no effect."""
    names = [name for name, value in given.items() if value not in (None, ())]
    if names:
        raise ConfigError(f"{', '.join(names)}: {why}")


def validate_not_empty(name: str, value: str, *, otherwise: str) -> None:
    """Raise ConfigError for an empty value, such as that of an unset variable of a shell; it is not null."""
    if not value.strip():
        raise ConfigError(f"{name}: the value is empty, as that of an unset variable; give one, or {otherwise}")


def validate_undecided(where: str, names: Iterable[str], *, decided: Mapping[str, str]) -> None:
    """Raise ConfigError if one of the names is a setting, or a group with one, that something else decides.

    `decided` has what decides it, such as an argument of the command, by the dotted name of the setting.
    """
    for name in names:
        for setting, by in decided.items():
            if is_permitted(setting, [name]) or is_permitted(name, [setting]):
                raise ConfigError(f"{where}: {name} is decided by {by}; remove it")


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file, read by the safe loader; those of the package are read once."""
    return deepcopy(_read_once(path)) if RECIPES in path.parents else _read_yaml(path)


@cache
def _read_once(path: Path) -> dict[str, Any]:
    return _read_yaml(path)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {str(error.strerror).lower()}; give the path of a settings file") from None
    except RecursionError:
        raise ConfigError(f"{path}: not a file of settings (its values are nested too deeply)") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a YAML file ({' '.join(str(error).split())})") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of settings, found {type(content).__name__}")
    return content


def write_yaml(values: Mapping[str, Any]) -> str:
    """YAML text with the keys in their given order."""
    return yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)


def with_overrides(values: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """`values` with `key.path=value` overrides applied; the values are read as YAML scalars or lists."""
    result, before = dict(values), ""
    for override in overrides:
        path, equals, text = override.partition("=")
        if not equals or not all(path.split(".")):
            raise ConfigError(f"{override!r}: expected setting=value, {_advice(before, override)}")
        validate_not_empty(path, text, otherwise=f"write {path}=null for none")
        before = override
        try:
            _set(result, path.split("."), yaml.safe_load(text))
        except (yaml.YAMLError, RecursionError):
            raise ConfigError(f"{_shortened(override)}: the value is not valid YAML; quote it") from None
    return result


def _advice(before: str, word: str) -> str:
    """What to write instead of a word that is no setting and follows the setting `before` it."""
    path, equals, value = before.partition("=")
    if equals and "=" not in word and value.replace(".", "", 1).isdecimal():
        return f"or put the value in quotes: {path}={shlex.quote(f'{value} {word}')}"
    return "such as train.learning_rate=0.001"


def _set(values: dict[str, Any], path: list[str], value: Any) -> None:
    key, rest = path[0], path[1:]
    if not rest:
        values[key] = value
        return
    inner = values.get(key)
    inner = {} if inner is None else inner
    if not isinstance(inner, Mapping):
        raise ConfigError(f"{'.'.join(path)}: {key} is a single value, it has no setting {rest[0]!r}")
    values[key] = dict(inner)
    _set(values[key], rest, value)


_EXPECTED: Final = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "path": "a path",
    **dict.fromkeys(("list", "tuple"), "a list, such as [a, b]"),
    **dict.fromkeys(("dict", "mapping", "model"), "a group of settings"),
}
"""Beginning of a pydantic error type → what was expected, where pydantic names Python types."""
_NAMES_ELSEWHERE: Final = {
    **dict.fromkeys(("epochs", "num_epochs", "num_train_epochs"), "duration='{} epochs'"),
    **dict.fromkeys(("steps", "max_steps", "num_steps"), "duration='{} steps'"),
    "lr": "learning_rate",
    "per_device_train_batch_size": "microbatch_size",
    "max_seq_length": "max_length",
    "warmup_ratio": "warmup",
    "warmup_steps": "warmup='{} steps'",
    "eval_steps": "evaluate_every='{} steps'",
    "save_steps": "checkpoint_every='{} steps'",
}
"""Names of other libraries → the setting here, with `{}` for the given value."""


def _config_error(cls: type[BaseModel], error: ValidationError, *, where: str) -> ConfigError:
    """All problems in one message, unknown settings first."""
    found = [(_path(cls, problem["loc"]), problem) for problem in error.errors()]
    # Of the members of a union, the one that reads further is meant.
    found = [each for each in found if not any(path.startswith(f"{each[0]}.") for path, _ in found)] or found
    found.sort(key=lambda each: each[1]["type"] != "extra_forbidden")
    return ConfigError(f"{where}: " + "; ".join(_explain(cls, path, problem) for path, problem in found))


def _explain(cls: type[BaseModel], path: str, problem: Any) -> str:
    """One sentence for one pydantic problem."""
    kind, value = problem["type"], problem["input"]
    if kind == "extra_forbidden":
        return f"unknown setting {path!r}; {_suggestion(cls, path, value)}"
    if kind == "missing":
        return f"setting {path!r} is missing"
    message = problem["msg"].removeprefix("Value error, ")
    if kind == "union_tag_not_found":
        message = f"give {problem['ctx']['discriminator']} too, which decides what else there is"
    elif kind == "union_tag_invalid":
        message, value = f"must be one of {problem['ctx']['expected_tags']}", problem["ctx"]["tag"]
    elif expected := _EXPECTED.get(kind.partition("_")[0]):
        message = f"must be {expected}"
    elif " should " in message and kind != "value_error":
        message = f"must {message.partition(' should ')[2].partition(' after ')[0]}"
    # A message of our own says what was found where it matters, and may be about a whole group of settings.
    is_own = kind == "value_error" and (isinstance(value, Mapping) or _shortened(value) in message)
    return f"{path}: {message}" + ("" if is_own else f" (found {_shortened(value)})") if path else message


def _shortened(value: object, most: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}…"


def _path(cls: type[BaseModel], loc: tuple[Any, ...]) -> str:
    """The dotted path of a setting; pydantic's names for the members of a union are left out."""
    path, models, in_union = [], [cls], False
    for part in map(str, loc):
        fields = {name: field for model in models for name, field in model.model_fields.items()}
        is_member = part.startswith("(") or "[" in part or part in {model.__name__ for model in models}
        if part not in fields and (in_union or is_member):
            models, in_union = [model for model in models if model.__name__ == part] or models, False
            continue
        path.append(part)
        models = _models_in(fields[part].annotation) if part in fields else []
        in_union = len(models) > 1
    return ".".join(path)


def name_here(name: str, value: object) -> str:
    """The setting that other libraries call `name`, with its value where it is given in another way, or `name`."""
    return _NAMES_ELSEWHERE[name].format(value) if name in _NAMES_ELSEWHERE else name


def as_override(cls: type[BaseModel], name: str, words: Sequence[str]) -> str | None:
    """`key.path=value` for the setting with this path or name, here or in other libraries; None if there is none.
    `words` are the value as it stands on a command line: one word, several of a list, or none.
    """
    meant, equals, value = name_here(name, words[0] if words else "…").partition("=")
    annotations = dict(_annotations(cls))
    found = [path for path in annotations if meant in (path, path.rpartition(".")[2])]
    if not found:
        return None
    path = min(found, key=lambda each: each.count("."))
    return f"{path}={value if equals else _value_of(annotations[path], words)}"


def _value_of(annotation: Any, words: Sequence[str]) -> str:
    """The value of a setting, from the words after an option of its name, quoted for a shell."""
    if any(get_origin(each) is tuple for each in (annotation, *get_args(annotation))):
        return f"[{','.join(words) or '…'}]"
    if annotation is bool:  # a flag; the word after it is then a positional one
        return words[0] if words and words[0] in ("true", "false") else "true"
    return shlex.quote(words[0]) if words else "…"


def _suggestion(cls: type[BaseModel], path: str, value: object) -> str:
    """The dotted paths of settings with a similar name, at the same level if there are any."""
    parent, _, name = path.rpartition(".")
    paths = {known: known.rpartition(".") for known, _ in _annotations(cls)}
    if path in paths:  # of another member of a union
        return f"only another type of {parent} has it"
    level = {leaf: known for known, (head, _, leaf) in paths.items() if head == parent}
    anywhere = {leaf: known for known, (_, _, leaf) in reversed(paths.items())}
    meant, equals, example = name_here(name, value).partition("=")
    if meant in anywhere:
        return f"did you mean {(anywhere[meant] + equals + example)!r}?"
    for names in (level, anywhere):
        if similar := [names[each] for each in similar_names(name, names)]:
            return f"did you mean {' or '.join(map(repr, similar))}?"
    return f"expected one of {', '.join(level)}"


def _annotations(cls: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted path and annotation of every setting inside `cls`."""
    for name, field in cls.model_fields.items():
        yield f"{prefix}{name}", field.annotation
        for inner in _models_in(field.annotation):
            yield from _annotations(inner, f"{prefix}{name}.")


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The settings classes that an annotation allows, such as the members of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
