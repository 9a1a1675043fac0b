import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litebert.interop import sstable as table
from litebert.interop.sstable import MAX_KEY_BYTES, masked_crc, read_table, write_table
from litebert.interop.tensor_bundle import index_file
from litebert.protobuf_wire import DamagedBytesError, varint
from support.data.tf_checkpoints import NAMES, checkpoint_prefix

KEYS = st.one_of(st.binary(max_size=12), st.text("ab\xff", max_size=6).map(lambda text: text.encode("latin1")))


@given(st.dictionaries(KEYS, st.binary(max_size=30), max_size=80))
def test_sstable_is_read_back(entries):
    assert read_table(write_table(entries)) == entries


@given(st.dictionaries(KEYS, st.binary(max_size=30), max_size=80), st.integers(30, 300))
@settings(max_examples=50)
def test_sstable_of_many_blocks_is_read_back(entries, block_size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "BLOCK_SIZE", block_size)
        assert read_table(write_table(entries)) == entries


@given(st.sets(KEYS, min_size=2, max_size=2))
def test_index_key_lies_between_the_keys_of_its_blocks(keys):
    last, following = sorted(keys)
    assert last <= table._separator(last, following) < following


@pytest.mark.parametrize(("following", "key"), [(b"ac", b"ab"), (b"ad", b"ac"), (b"abc", b"ab")])
def test_index_key_is_the_last_one_of_its_block_if_no_shorter_one_fits(following, key):
    assert table._separator(b"ab", following) == key


@pytest.mark.parametrize("name", NAMES)
def test_sstable_of_tensorflow_is_written_byte_for_byte(name):
    content = index_file(checkpoint_prefix(name)).read_bytes()
    assert write_table(read_table(content)) == content


def test_crc_is_masked_as_in_leveldb():
    assert google_crc32c.value(b"123456789") == 0xE3069283
    assert masked_crc(b"foo") != google_crc32c.value(b"foo")
    unmasked = (masked_crc(b"foo") - 0xA282EAD8) & 0xFFFFFFFF
    assert (unmasked >> 17 | unmasked << 15) & 0xFFFFFFFF == google_crc32c.value(b"foo")


def block(content: bytes, *, compression: int = 0) -> bytes:
    body = content + bytes([compression])
    return body + masked_crc(body).to_bytes(4, "little")


def one_block_table(content: bytes, *, compression: int = 0) -> bytes:
    """A file of one block with any content and correct checksums."""
    first = block(content, compression=compression)
    handle = varint(0) + varint(len(content))
    index = b"\0\x01" + varint(len(handle)) + b"z" + handle + bytes(4) + b"\x01\0\0\0"
    footer = varint(0) + varint(len(content)) + varint(len(first)) + varint(len(index))
    return first + block(index) + footer.ljust(40, b"\0") + table.MAGIC


NO_RESTARTS = bytes(4) + b"\x01\0\0\0"


@pytest.mark.parametrize(
    ("content", "compression", "message"),
    [
        (b"", 1, "snappy"),
        (b"", 9, "number 9"),
        (b"\x01\0\0", 0, "4 bytes expected"),
        (b"\xff\0\0\0", 0, "255 restart points"),
        (b"\x01\0\0" + NO_RESTARTS, 0, "exceeds its block"),
        (b"\0\x7f\0ab" + NO_RESTARTS, 0, "exceeds its block"),
        (b"\0\x01\0b" + b"\0\x01\0a" + NO_RESTARTS, 0, "comes after"),
        (b"\0\x01\0b" + b"\x01\0\0" + NO_RESTARTS, 0, "comes after"),
        (b"\0" + varint(MAX_KEY_BYTES + 1) + b"\0" + b"a" * (MAX_KEY_BYTES + 1) + NO_RESTARTS, 0, "exceeds its block"),
    ],
)
def test_malformed_blocks_raise_a_typed_error(content, compression, message):
    with pytest.raises(DamagedBytesError, match=message):
        read_table(one_block_table(content, compression=compression))


def test_sstable_with_too_many_keys_is_refused(monkeypatch):
    monkeypatch.setattr(table, "MAX_ENTRIES", 2)
    with pytest.raises(DamagedBytesError, match="more than 2 keys"):
        read_table(write_table({b"a": b"", b"b": b"", b"c": b""}))


def test_sstable_footer_with_more_than_two_handles_is_refused():
    content = bytearray(write_table({}))
    content[-9] = 1
    with pytest.raises(DamagedBytesError, match="more than two handles"):
        read_table(bytes(content))


def test_sstable_reader_refuses_other_files():
    with pytest.raises(DamagedBytesError, match="no table footer"):
        read_table(b"hello" * 20)
