import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.protobuf_wire import (
    DamagedBytesError,
    bytes_field,
    fields,
    fixed32_field,
    number_field,
    read_varint,
    varint,
)


@given(st.integers(0, 2**64 - 1), st.binary())
def test_varint_is_read_back_with_the_position_after_it(value, rest):
    content = varint(value)
    assert read_varint(content + rest, 0) == (value, len(content))


@given(st.integers(1, 2**40), st.binary(), st.integers(1, 2**32 - 1))
def test_fields_are_read_back_in_order(number, text, crc):
    message = number_field(1, number) + bytes_field(2, text) + fixed32_field(6, crc)
    assert list(fields(message)) == [(1, number), (2, text), (6, crc)]


def test_number_field_omits_zero():
    assert number_field(1, 0) == fixed32_field(6, 0) == b""


@pytest.mark.parametrize(
    ("message", "message_part"),
    [
        (b"\x80", "no complete integer"),
        (b"\xff" * 12, "no complete integer"),
        (b"\x12\x05ab", "5 bytes expected"),
        (b"\x35\x01\x02", "4 bytes expected"),
        (b"\x31\x01\x02", "8 bytes expected"),
        (b"\x0b", "wire type 3"),
    ],
)
def test_fields_raise_a_typed_error_for_damaged_messages(message, message_part):
    with pytest.raises(DamagedBytesError, match=message_part):
        list(fields(message))


@given(st.binary(max_size=200))
def test_fields_of_any_bytes_are_read_or_raise_a_typed_error(message):
    with contextlib.suppress(DamagedBytesError):
        assert all(number >= 0 for number, _ in fields(message))
