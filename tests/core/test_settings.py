import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from litebert.errors import ConfigError
from litebert.settings import (
    NameOrNames,
    Settings,
    as_override,
    changed_names,
    flatten,
    read_yaml,
    validate_not_given,
    with_overrides,
    write_yaml,
)


class Inner(Settings):
    learning_rate: float = Field(default=0.1, gt=0)
    """Rate."""


class Outer(Settings):
    name: str
    """Name."""
    train: Inner = Inner()
    """Inner settings."""


def test_validate_not_given_names_what_has_no_effect():
    validate_not_given({"a": None, "b": ()}, "no use")
    with pytest.raises(ConfigError, match=r"^b, c, d: no use; leave it out$"):
        validate_not_given({"a": None, "b": ("x",), "c": 0, "d": ""}, "no use; leave it out")


def test_settings_parse_inverts_to_dict():
    settings = Outer(name="x", train=Inner(learning_rate=0.5))
    assert Outer.parse(settings.to_dict(), where="test") == settings


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": "x", "trian": {}}, "unknown setting 'trian'; did you mean 'train'?"),
        ({"name": "x", "zzzz": 1}, "unknown setting 'zzzz'; expected one of name, train"),
        ({"name": "x", "train": {"learning_rat": 1}}, "did you mean 'train.learning_rate'?"),
        ({"name": "x", "learning_rate": 1}, "unknown setting 'learning_rate'; did you mean 'train.learning_rate'?"),
        ({"name": "x", "lr": 1}, "unknown setting 'lr'; did you mean 'train.learning_rate'?"),
        ({"name": "x", "train": {"name": 1}}, "unknown setting 'train.name'; did you mean 'name'?"),
        ({}, "setting 'name' is missing"),
        ({"name": "x", "train": {"learning_rate": "fast"}}, "train.learning_rate"),
        ({"name": "x", "train": {"learning_rate": "fast"}}, "train.learning_rate: must be a number (found 'fast')"),
        ({"name": "x", "train": {"learning_rate": -1}}, "must be greater than 0 (found -1)"),
        ({"name": "x" * 300, "train": 3}, "train: must be a group of settings (found 3)"),
        ({"name": ["x"] * 300}, "name: must be text (found ['x', 'x',"),
        ({"name": "x", "train": {"learning_rate": float("nan")}}, "train.learning_rate"),
    ],
)
def test_settings_parse_names_the_wrong_setting(values, sentence):
    with pytest.raises(ConfigError) as caught:
        Outer.parse(values, where="file.yaml")
    assert str(caught.value).startswith("file.yaml: ")
    assert sentence in str(caught.value)


class Straight(Settings):
    shape: Literal["straight"] = "straight"
    """Shape."""


class Bent(Settings):
    shape: Literal["bent"] = "bent"
    """Shape."""
    by: float = 1.0
    """Angle."""


class Line(Settings):
    line: Annotated[Straight | Bent, Field(discriminator="shape")] = Straight()
    """One or the other."""


def test_settings_in_a_union_need_their_tag():
    with pytest.raises(ConfigError, match=r"line: give 'shape' too, .* \(found {'by': 2}\)"):
        Line.parse({"line": {"by": 2}}, where="test")


def test_a_setting_of_another_type_is_not_suggested_again():
    with pytest.raises(ConfigError, match=r"^test: unknown setting 'line\.by'; only another type of line has it$"):
        Line.parse({"line": {"shape": "straight", "by": 2}}, where="test")


def test_settings_in_a_union_are_suggested_without_its_tag():
    with pytest.raises(ConfigError, match=r"^test: unknown setting 'line\.b'; did you mean 'line\.by'\?$"):
        Line.parse({"line": {"shape": "bent", "b": 2}}, where="test")


@pytest.mark.parametrize("build", [lambda: Inner(rate=1), lambda: Outer(name="x", train={"rate": 1}), lambda: Outer()])
def test_settings_constructor_raises_a_config_error_in_words(build):
    with pytest.raises(ConfigError, match=r"^(Inner|Outer): (unknown setting|setting 'name' is missing)") as caught:
        build()
    assert "pydantic" not in str(caught.value)


def test_settings_name_unknown_settings_before_missing_ones():
    with pytest.raises(ConfigError, match=r"^Outer: unknown setting 'nam'; did you mean 'name'\?; setting 'name' is"):
        Outer(nam="x")


def test_settings_in_a_union_need_a_known_tag():
    with pytest.raises(ConfigError, match=r"line: must be one of 'straight', 'bent' \(found 'round'\)$"):
        Line.parse({"line": {"shape": "round"}}, where="test")


class Split(Settings):
    dev: Path | Inner = Inner()
    """A file, or settings."""
    duration: str = ""
    """Length."""


def test_settings_beside_a_path_are_explained_without_the_path():
    with pytest.raises(ConfigError, match=r"^test: dev\.learning_rate: must be greater than 0 \(found -1\)$"):
        Split.parse({"dev": {"learning_rate": -1}}, where="test")


class OtherSplit(Settings):
    dev: str
    """A name."""


class TwoKinds(Settings):
    kind: Split | OtherSplit
    """Two groups of settings that share the name of a setting."""


@pytest.mark.parametrize(
    ("name", "problem"), [("learning_rate", "must be greater than 0"), ("lerning_rate", "unknown")]
)
def test_settings_of_one_of_two_groups_are_explained_by_their_own_path(name, problem):
    with pytest.raises(ConfigError, match=problem) as caught:
        TwoKinds.parse({"kind": {"dev": {name: -1}}}, where="test")
    assert f"kind.dev.{name}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("epochs", "\"duration='3 epochs'\""),
        ("max_steps", "\"duration='3 steps'\""),
        ("lr", "'dev.learning_rate'"),
    ],
)
def test_names_of_other_libraries_are_answered_with_the_setting(name, hint):
    with pytest.raises(ConfigError) as caught:
        Split.parse({name: 3}, where="test")
    assert str(caught.value) == f"test: unknown setting {name!r}; did you mean {hint}?"


def test_unknown_setting_with_braces_in_its_name_is_named_as_it_is():
    with pytest.raises(ConfigError, match=r"^test: unknown setting '\{a\}'; "):
        Split.parse({"{a}": 3}, where="test")
    assert as_override(Split, "{a}", ["3"]) is None


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Outer(name="x").name = "y"


def test_settings_replace_validates_again():
    assert Inner().replace(learning_rate=2).learning_rate == 2
    with pytest.raises(ConfigError):
        Inner().replace(learning_rate=0)


def test_overrides_change_inner_settings_of_a_copy():
    values = {"name": "x", "train": {"learning_rate": 0.1}}
    changed = with_overrides(values, ["train.learning_rate=1e-4", "name=y", "new.deep=[1, 2]"])
    assert Outer.parse({k: changed[k] for k in ("name", "train")}, where="t").train.learning_rate == 1e-4
    assert changed["name"] == "y"
    assert changed["new"] == {"deep": [1, 2]}
    assert values == {"name": "x", "train": {"learning_rate": 0.1}}


@pytest.mark.parametrize(
    "override", ["learning_rate", "=3", "name.first=1", "name={[", "a..b=1", ".a=1", "a=" + "[" * 20_000]
)
def test_overrides_with_errors_are_refused(override):
    with pytest.raises(ConfigError):
        with_overrides({"name": "x"}, [override])


@pytest.mark.parametrize("override", ["name=", "name= ", "train.learning_rate="])
def test_empty_override_is_not_null(override):
    path = override.partition("=")[0]
    with pytest.raises(ConfigError, match=rf"^{path}: the value is empty.*or write {path}=null for none"):
        with_overrides({"name": "x"}, [override])
    assert with_overrides({"name": "x"}, ["name=null"]) == {"name": None}


@pytest.mark.parametrize("content", [b"- 1\n- 2\n", b"a: [", b"\xff\xfe", b"a: " + b"[" * 20_000])
def test_settings_file_must_hold_a_mapping(tmp_path, content):
    file = tmp_path / "settings.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"settings\.yaml"):
        read_yaml(file)


def test_settings_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        read_yaml(tmp_path / "absent.yaml")


def test_settings_file_never_executes_code(tmp_path):
    file = tmp_path / "evil.yaml"
    file.write_text("x: !!python/object/apply:os.system ['touch pwned']\n")
    with pytest.raises(ConfigError):
        read_yaml(file)


WORDS = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=5)


@given(st.dictionaries(WORDS, st.integers() | WORDS | st.none(), max_size=4))
def test_yaml_round_trip(tmp_path_factory, values):
    file = tmp_path_factory.mktemp("yaml") / "file.yaml"
    file.write_text(write_yaml(values), encoding="utf-8")
    assert read_yaml(file) == values


LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())
NESTED = st.recursive(LEAVES, lambda inner: st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.dictionaries(st.text(), NESTED))
def test_flatten_is_unchanged_by_json(values):
    assert json.loads(json.dumps(flatten(values))) == flatten(values)


def test_flatten_gives_dotted_names():
    assert flatten({"a": {"b": {"c": 1}}, "d": (1, 2), "e": Inner()}) == {
        "a.b.c": 1,
        "d": "[1, 2]",
        "e.learning_rate": 0.1,
    }


def test_changed_names_treats_missing_values_as_none():
    assert changed_names({"a": 1, "b": 2, "c": None}, {"b": 3, "d": 4, "a": 1}) == ["b", "d"]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["train.duration=3", "epochs"], "or put the value in quotes: train.duration='3 epochs'"),
        (["warmup=0.5", "epochs"], "or put the value in quotes: warmup='0.5 epochs'"),
        (["name=x", "epochs"], "such as train.learning_rate=0.001"),
        (["epochs"], "such as train.learning_rate=0.001"),
        (["seed=3", "=4"], "such as train.learning_rate=0.001"),
    ],
)
def test_word_after_a_number_is_answered_with_quotes(words, advice):
    with pytest.raises(ConfigError) as found:
        with_overrides({}, words)
    assert str(found.value) == f"{words[-1]!r}: expected setting=value, {advice}"


class Named(Settings):
    names: NameOrNames = ()


@pytest.mark.parametrize(("value", "names"), [("f1", ("f1",)), (["f1", "a"], ("f1", "a")), ([], ())])
def test_one_name_needs_no_list(value, names):
    assert Named(names=value).names == names
    with pytest.raises(ConfigError, match="names: must be a list"):
        Named(names=5)
