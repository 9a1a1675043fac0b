import contextlib
import random
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from litebert.errors import CheckpointError
from litebert.interop.sstable import masked_crc, read_table, write_table
from litebert.interop.tensor_bundle import DTYPES, index_file, open_bundle, read_index, write_bundle
from litebert.protobuf_wire import DamagedBytesError, bytes_field, fixed32_field, number_field
from support.data.tf_checkpoints import NAMES, checkpoint_prefix

ANY_ARRAY = st.sampled_from(sorted(DTYPES.values(), key=str)).flatmap(
    lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)


def read_all(prefix):
    bundle = open_bundle(prefix)
    return {name: bundle.read(name) for name in bundle.entries}


@given(st.dictionaries(st.text("ab/_é", min_size=1, max_size=8), ANY_ARRAY, max_size=6))
def test_tensor_bundle_is_read_back(tmp_path_factory, tensors):
    prefix = tmp_path_factory.mktemp("bundle") / "model.ckpt"
    write_bundle(prefix, tensors)
    found = read_all(prefix)
    assert found.keys() == tensors.keys()
    for name, array in tensors.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_tensor_bundle_of_big_endian_numbers_is_read_back(tmp_path):
    write_bundle(tmp_path / "model.ckpt", {"a": np.array([1.0, 2.5], ">f4")})
    assert read_all(tmp_path / "model.ckpt")["a"].tolist() == [1.0, 2.5]


@pytest.mark.parametrize("name", NAMES)
def test_tensor_bundle_of_tensorflow_is_written_byte_for_byte(tmp_path, name):
    write_bundle(tmp_path / "model.ckpt-best", read_all(checkpoint_prefix(name)))
    for ending in (".index", ".data-00000-of-00001"):
        written = (tmp_path / f"model.ckpt-best{ending}").read_bytes()
        assert written == checkpoint_prefix(name).with_name(f"model.ckpt-best{ending}").read_bytes()


def test_tensor_bundle_is_found_by_prefix_index_or_directory():
    prefix = checkpoint_prefix("relu")
    assert open_bundle(prefix) == open_bundle(index_file(prefix)) == open_bundle(prefix.parent)


def test_tensor_bundle_directory_with_two_checkpoints_is_ambiguous(tmp_path):
    for name in ("a", "b"):
        write_bundle(tmp_path / name, {})
    with pytest.raises(CheckpointError, match="holds 2 TensorFlow checkpoints"):
        open_bundle(tmp_path)


def test_tensor_bundle_that_is_missing_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"none\.index: no such file"):
        open_bundle(tmp_path / "none")


def write_index(prefix, entry: bytes, *, header: bytes = number_field(1, 1)) -> None:
    index_file(prefix).write_bytes(write_table({b"": header, b"x": entry}))


def entry(*, dtype=1, shape=(2,), content=b"\0" * 8, shard=0, offset=0, extra=b"") -> bytes:
    dimensions = b"".join(bytes_field(2, number_field(1, dimension)) for dimension in shape)
    place = number_field(3, shard) + number_field(4, offset) + number_field(5, len(content))
    return number_field(1, dtype) + bytes_field(2, dimensions) + place + fixed32_field(6, masked_crc(content)) + extra


def test_tensor_bundle_reads_several_data_files(tmp_path):
    prefix, content = tmp_path / "m", np.array([1.5, -2.0], "<f4").tobytes()
    write_index(prefix, entry(content=content, shard=1, offset=3), header=number_field(1, 2))
    (tmp_path / "m.data-00001-of-00002").write_bytes(b"abc" + content)
    assert read_all(prefix)["x"].tolist() == [1.5, -2.0]


def test_tensor_bundle_reads_bfloat16_as_float32(tmp_path):
    content = np.array([1.0, -3.5], "<f4").tobytes()
    upper = content[2:4] + content[6:8]
    write_index(tmp_path / "m", entry(dtype=14, content=upper))
    (tmp_path / "m.data-00000-of-00001").write_bytes(upper)
    assert read_all(tmp_path / "m")["x"].tolist() == [1.0, -3.5]


@pytest.mark.parametrize(
    ("forged", "complaint"),
    [
        (entry(dtype=7), "dtype 7"),
        (entry(shape=(3,)), "is inconsistent"),
        (entry(shape=(2**30, 2**30)), "is inconsistent"),
        (entry(shape=(2**62,)), "a dimension of"),
        (entry(shard=1), "is inconsistent"),
        (entry(offset=1), "another size or checksum"),
        (entry(offset=2**60), "another size or checksum"),
        (entry(content=b"\1" * 8), "another size or checksum"),
        (entry(extra=bytes_field(7, b"")), "stored in slices"),
        (number_field(2, 5), "holds the integer 5 instead of bytes"),
        (bytes_field(2, number_field(2, 5)), "holds the integer 5 instead of bytes"),
        (bytes_field(1, b"x"), "holds 1 bytes instead of an integer"),
    ],
)
def test_tensor_bundle_refuses_malformed_entries(tmp_path, forged, complaint):
    write_index(tmp_path / "m", forged)
    (tmp_path / "m.data-00000-of-00001").write_bytes(bytes(8))
    with pytest.raises(CheckpointError, match=complaint):
        read_all(tmp_path / "m")


@pytest.mark.parametrize(
    ("header", "complaint"),
    [(number_field(1, 1) + number_field(2, 1), "big-endian"), (b"", "claims 0"), (number_field(1, 2**40), "claims 1")],
)
def test_tensor_bundle_refuses_malformed_headers(tmp_path, header, complaint):
    write_index(tmp_path / "m", entry(), header=header)
    with pytest.raises(CheckpointError, match=complaint):
        open_bundle(tmp_path / "m")


def test_tensor_bundle_without_header_is_refused(tmp_path):
    (tmp_path / "m.index").write_bytes(write_table({b"x": entry()}))
    with pytest.raises(CheckpointError, match="no header"):
        open_bundle(tmp_path / "m")


def test_tensor_bundle_names_a_missing_data_file(tmp_path):
    write_index(tmp_path / "m", entry())
    with pytest.raises(CheckpointError, match=r"m\.data-00000-of-00001: missing"):
        read_all(tmp_path / "m")


def test_tensor_bundle_refuses_unsupported_dtypes(tmp_path):
    with pytest.raises(CheckpointError, match="cannot hold complex"):
        write_bundle(tmp_path / "m", {"x": np.zeros(2, complex)})


def test_tensor_bundle_detects_200_random_corruptions(tmp_path):
    rng = random.Random(0)
    whole = checkpoint_prefix("relu")
    for trial in range(200):
        directory = tmp_path / str(trial)
        directory.mkdir()
        for path in whole.parent.glob("model.*"):
            shutil.copyfile(path, directory / path.name)
        victim = rng.choice(sorted(directory.iterdir()))
        injure(victim, rng)
        assert refusal(directory / whole.name).startswith(f"{victim}: ")
        shutil.rmtree(directory)


def injure(path, rng: random.Random) -> None:
    """Flip a bit, truncate, or delete."""
    content = bytearray(path.read_bytes())
    kind = rng.choice(["flip", "flip", "truncate", "delete"])
    if kind == "delete":
        path.unlink()
    elif kind == "truncate":
        path.write_bytes(content[: rng.randrange(len(content))])
    else:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)


def refusal(prefix) -> str:
    """The error message of a checkpoint; empty if it is read."""
    try:
        read_all(prefix)
    except CheckpointError as error:
        return str(error)
    return ""


def test_tensor_bundle_reads_or_refuses_10000_mutated_indexes(tmp_path):
    """Half of the mutants get new checksums, so that the damage reaches the parsers too."""
    rng = random.Random(1)
    prefix = tmp_path / "m"
    write_bundle(prefix, {"bert/a": np.zeros((2, 3), "f4"), "bert/b": np.zeros(4, "f4"), "c": np.int64(3)[None]})
    whole = index_file(prefix).read_bytes()
    values = read_table(whole)
    for trial in range(10_000):
        mutant = mutated(whole, rng) if trial % 2 else write_table({**values, **mutated_value(values, rng)})
        with contextlib.suppress(DamagedBytesError):
            assert read_index(mutant)[0] > 0


def test_tensor_bundle_names_the_file_of_a_mutated_index(tmp_path):
    rng = random.Random(2)
    prefix = tmp_path / "m"
    write_bundle(prefix, {"bert/a": np.zeros((2, 3), "f4"), "c": np.int64(3)[None]})
    values = read_table(index_file(prefix).read_bytes())
    for _ in range(300):
        index_file(prefix).write_bytes(write_table({**values, **mutated_value(values, rng)}))
        sentence = refusal(prefix)
        assert not sentence or sentence.startswith((f"{prefix}.index: ", f"{prefix}.data-"))


def test_tensor_bundle_refuses_names_that_are_not_utf_8(tmp_path):
    index_file(tmp_path / "m").write_bytes(write_table({b"": number_field(1, 1), b"\xff": entry()}))
    with pytest.raises(CheckpointError, match="not UTF-8"):
        open_bundle(tmp_path / "m")


def mutated(content: bytes, rng: random.Random) -> bytes:
    result = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(result) + 1)
        edit = rng.choice(["flip", "set", "insert", "delete"])
        if edit == "insert" or at == len(result):
            result[at:at] = rng.randbytes(rng.randint(1, 8))
        elif edit == "flip":
            result[at] ^= 1 << rng.randrange(8)
        elif edit == "set":
            result[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        else:
            del result[at : at + rng.randint(1, 8)]
    return bytes(result)


def mutated_value(values: dict[bytes, bytes], rng: random.Random) -> dict[bytes, bytes]:
    key = rng.choice(sorted(values))
    return {key: mutated(values[key], rng)}
