import json
import shutil
from pathlib import Path

import pytest

from litebert.errors import DataError
from litebert.manifest import MANIFEST, read_manifest, verify_manifest
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.tokenizer import Tokenizer
from support.data.damage import DAMAGES, damaged_files, delete
from support.runs.full_mode import trials

FILES = ("spiece.model", "tokenizer.json", "tokenizer_config.json")


@pytest.fixture
def directory(numbers_directory, tmp_path):
    return shutil.copytree(numbers_directory, tmp_path / "tokenizer")


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("keep_accents", [True, False])
@pytest.mark.parametrize("digit_comma", [True, False])
def test_tokenizer_directory_is_loaded_as_it_was_saved(rebuilt, tmp_path, lowercase, keep_accents, digit_comma):
    saved = rebuilt(lowercase=lowercase, keep_accents=keep_accents, digit_comma=digit_comma)
    saved.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.settings == saved.settings
    assert loaded.fingerprint == saved.fingerprint


def test_tokenizer_of_the_hub_is_downloaded_by_its_name(directory, monkeypatch):
    def snapshot(name, *, allow_patterns, **_):
        assert (name, "*.model" in allow_patterns) == ("someone/tokenizer", True)
        return str(directory)

    monkeypatch.setattr("litebert.hub_download.snapshot_download", snapshot)
    assert Tokenizer.load("someone/tokenizer").fingerprint == Tokenizer.load(directory).fingerprint
    with pytest.raises(DataError, match="no such file or directory"):
        Tokenizer.load(Path("someone/tokenizer"))


def test_tokenizer_directory_is_complete_and_its_manifest_valid(directory):
    assert {path.name for path in directory.iterdir()} == {*FILES, MANIFEST}
    verify_manifest(directory)


def test_tokenizer_save_keeps_other_files_and_their_sums(numbers, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / MANIFEST).write_text(f"{'0' * 64}  model.safetensors\n")
    numbers.save(tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"
    assert read_manifest(tmp_path)["model.safetensors"] == "0" * 64
    assert Tokenizer.load(tmp_path).fingerprint == numbers.fingerprint


def test_tokenizer_of_a_model_file_has_the_default_settings(directory):
    assert Tokenizer.load(directory / "spiece.model").settings == TextSettings()


def test_tokenizer_loads_a_directory_of_google_research_albert(directory, tmp_path):
    release = tmp_path / "albert_base"
    release.mkdir()
    shutil.copy(directory / "spiece.model", release / "30k-clean.model")
    assert Tokenizer.load(str(release)).settings == TextSettings()


def test_tokenizer_loads_a_directory_of_transformers(directory):
    (directory / MANIFEST).unlink()
    published = {
        "tokenizer_class": "AlbertTokenizer",
        "do_lower_case": False,
        "keep_accents": True,
        "remove_space": True,
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(published))
    expected = TextSettings(lowercase=False, keep_accents=True, digit_comma=True)
    assert Tokenizer.load(directory).settings == expected


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [*FILES, MANIFEST])
def test_tokenizer_directory_detects_any_damage_and_names_the_file(directory, numbers, name, damage):
    if (name, damage) == (MANIFEST, delete):
        pytest.skip("a directory without a manifest is read unchecked, as those of other libraries are")
    for path in damaged_files([directory / name], damage, number=trials(10, 200)):
        with pytest.raises(DataError, match=path.name):
            Tokenizer.load(directory)
    assert Tokenizer.load(directory).fingerprint == numbers.fingerprint


def test_tokenizer_directory_without_a_manifest_is_read_unchecked(directory, numbers):
    (directory / MANIFEST).unlink()
    assert Tokenizer.load(directory).fingerprint == numbers.fingerprint


def test_tokenizer_directory_without_a_vocabulary_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no tokenizer here: expected spiece\.model, vocab\.txt or tokenizer\.json"):
        Tokenizer.load(tmp_path)


def test_tokenizer_directory_without_the_vocabulary_file_is_read_from_tokenizer_json(directory, numbers):
    for name in ("spiece.model", MANIFEST):
        (directory / name).unlink()
    assert Tokenizer.load(directory).has_ids_of(numbers)


def test_tokenizer_with_other_settings_or_pieces_has_other_ids(rebuilt, tiny_tokenizer):
    assert rebuilt().has_ids_of(rebuilt())
    assert not rebuilt().has_ids_of(rebuilt(digit_comma=False))
    assert not rebuilt().has_ids_of(tiny_tokenizer)


def test_tokenizer_path_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(DataError, match="no such file or directory"):
        Tokenizer.load(tmp_path / "nothing")


def test_tokenizer_directory_with_a_damaged_manifest_is_refused(directory):
    (directory / MANIFEST).write_text("nonsense\n")
    with pytest.raises(DataError, match=f"{MANIFEST}: damaged"):
        Tokenizer.load(directory)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("{", "not a JSON file"),
        ("[1]", "expected a JSON object, found list"),
        ('{"do_lower_case": "perhaps"}', "lowercase"),
    ],
)
def test_tokenizer_config_with_errors_is_refused_by_name(directory, config, problem):
    (directory / MANIFEST).unlink()
    (directory / "tokenizer_config.json").write_text(config)
    with pytest.raises(DataError, match=rf"tokenizer_config\.json: .*{problem}"):
        Tokenizer.load(directory)


@pytest.mark.parametrize(
    ("function", "file"),
    [("pathlib.Path.read_bytes", r"tokenizer_config\.json"), ("litebert.manifest.sha256", r"\w+\.(json|model)")],
)
def test_tokenizer_files_that_cannot_be_read_are_named(directory, monkeypatch, function, file):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(function, refuse)
    with pytest.raises(DataError, match=rf"{file}: cannot be read \(Permission denied\)"):
        Tokenizer.load(directory)
