import contextlib
import json
import logging
import os
import pickle
import random
import struct
from typing import get_args

import pytest
import torch
from safetensors.torch import save_file

from litebert.errors import CheckpointError, ConfigError
from litebert.model.io.model_spec import SavedDtype
from litebert.model.io.weight_files import (
    OWN,
    PICKLE,
    SAFETENSORS,
    SHARDED,
    has_weights,
    in_dtype,
    read_tensors,
    write_tensors,
)

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([1, 2])}


def assert_tensors(found) -> None:
    assert set(found) == set(TENSORS)
    assert all(torch.equal(found[name], tensor) for name, tensor in TENSORS.items())


@pytest.mark.parametrize("name", [OWN, SAFETENSORS])
def test_weight_file_is_read_back(tmp_path, name):
    assert not has_weights(tmp_path)
    write_tensors(tmp_path / name, TENSORS)
    assert has_weights(tmp_path)
    assert_tensors(read_tensors(tmp_path))


def test_weight_file_of_views_and_shared_memory_is_read_back(tmp_path):
    whole = torch.arange(12.0).view(3, 4)
    write_tensors(tmp_path / SAFETENSORS, {"turned": whole.T, "part": whole[1:], "again": whole})
    found = read_tensors(tmp_path)
    assert torch.equal(found["turned"], whole.T)
    assert torch.equal(found["part"], whole[1:])


@pytest.mark.parametrize("dtype", get_args(SavedDtype))
def test_weights_in_another_dtype_are_rounded_to_it(dtype):
    values = torch.randn(100, generator=torch.Generator().manual_seed(0))
    found = in_dtype({"a": values}, dtype)["a"]
    assert str(found.dtype) == f"torch.{dtype}"
    assert torch.allclose(found.float(), values, atol=0, rtol=torch.finfo(found.dtype).eps / 2)


def test_weights_that_are_infinite_stay_so_in_another_dtype():
    infinite = torch.tensor([float("inf"), float("-inf")])
    assert torch.equal(in_dtype({"a": infinite}, "float16")["a"].float(), infinite)


def test_weights_too_large_for_a_dtype_are_refused():
    tensors = {"a": torch.tensor([1.0, float("nan"), -70_000.0])}
    with pytest.raises(ConfigError, match=r"dtype: a has the number -70000, float16 ends at 65504; choose .* float32"):
        in_dtype(tensors, "float16")
    assert in_dtype(tensors, "bfloat16")["a"][2] == -70_144


def test_weights_in_an_unknown_dtype_are_refused():
    with pytest.raises(ConfigError, match="'int8' is unknown; expected one of float32, float16, bfloat16"):
        in_dtype(TENSORS, "int8")


def write_shards(tmp_path, weight_map) -> None:
    for name, tensor in TENSORS.items():
        save_file({name: tensor}, tmp_path / f"{name}.safetensors")
    (tmp_path / SHARDED).write_text(json.dumps({"weight_map": weight_map}))


def test_weight_files_in_shards_are_read_together(tmp_path):
    write_shards(tmp_path, {"a": "a.safetensors", "b": "b.safetensors"})
    assert_tensors(read_tensors(tmp_path))


@pytest.mark.parametrize(
    ("weight_map", "complaint"),
    [
        ({"a": "../a.safetensors"}, "outside its directory"),
        ({"a": "none.safetensors"}, "missing"),
        ({"z": "a.safetensors"}, "lists 'z'"),
        (5, "not an index"),
        ({"a": 5}, "outside its directory"),
        ({"a": ["b"]}, "not an index"),
    ],
)
def test_weight_file_index_with_errors_is_refused(tmp_path, weight_map, complaint):
    write_shards(tmp_path, weight_map)
    with pytest.raises(CheckpointError, match=complaint):
        read_tensors(tmp_path)


def header(text: str, *, size: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if size is None else size) + text.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 8,
        header("{}", size=2**62),
        header("{" * 1000, size=2**40),
        header('{"a":' * 10_000),
        header('{"a":{"dtype":"F32","shape":[9223372036854775807,4],"data_offsets":[0,4]}}') + b"aaaa",
        header('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,99]}}') + b"aaaa",
        header('{"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}') + b"aaaa",
    ],
    ids=range(8),
)
def test_weight_file_with_malformed_safetensors_is_refused(tmp_path, content):
    (tmp_path / SAFETENSORS).write_bytes(content)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: not a complete safetensors file"):
        read_tensors(tmp_path)


def test_weight_file_pickle_is_read_with_a_warning(tmp_path, caplog):
    torch.save(TENSORS, tmp_path / PICKLE)
    with caplog.at_level(logging.WARNING):
        assert_tensors(read_tensors(tmp_path))
    assert "reading a pickle" in caplog.text


class Evil:
    """An object that runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("writer", ["torch", "pickle"])
def test_weight_file_pickle_with_code_is_refused_and_not_run(tmp_path, writer):
    trace = tmp_path / "trace"
    evil = {"a": Evil(f"touch {trace}")}
    if writer == "torch":
        torch.save(evil, tmp_path / PICKLE)
    else:
        (tmp_path / PICKLE).write_bytes(pickle.dumps(evil, protocol=2))
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin: not a plain file"):
        read_tensors(tmp_path)
    assert not trace.exists()


@pytest.mark.parametrize("value", [[1, 2], {"a": 5}, torch.ones(2)], ids=str)
def test_weight_file_pickle_of_other_objects_is_refused(tmp_path, value):
    torch.save(value, tmp_path / PICKLE)
    with pytest.raises(CheckpointError, match="other objects than named tensors"):
        read_tensors(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x02.", b"PK\x03\x04nothing"])
def test_weight_file_that_is_not_a_pickle_is_refused(tmp_path, content):
    (tmp_path / PICKLE).write_bytes(content)
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin: not a plain file"):
        read_tensors(tmp_path)


def test_weight_file_reads_or_refuses_1000_mutated_pickles(tmp_path):
    rng = random.Random(0)
    torch.save(TENSORS, tmp_path / PICKLE, _use_new_zipfile_serialization=False)
    whole = (tmp_path / PICKLE).read_bytes()
    for _ in range(1_000):
        mutant = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            mutant[rng.randrange(len(mutant))] = rng.randrange(256)
        (tmp_path / PICKLE).write_bytes(mutant)
        with contextlib.suppress(CheckpointError):
            read_tensors(tmp_path)


def test_weight_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"no weights; expected .*model\.safetensors"):
        read_tensors(tmp_path)
