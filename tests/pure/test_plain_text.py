"""Text of others: whatever it has in it, nothing of it acts."""

import json
import sys
import unicodedata
from typing import Final

import msgspec
import pytest
import yaml

from netclaim.errors import HostError, NetclaimError, RequestError
from netclaim.framework.telemetry.logs import brief
from netclaim.plain_text import one_line, plain_json, printable, sentence

HOSTILE: Final = (
    "a\x1b[2J\x9b2J\r\nOK: all is well\u2028b\x85c\u202e\u2066\u200b\ufeff\x7f\x00\ud800d"
)


def test_no_character_that_is_not_printable_is_left() -> None:
    """In a message and a cell none, in a text only newlines and tabs."""
    for start in range(0, sys.maxunicode + 1, 256):
        text = "".join(map(chr, range(start, start + 256)))
        for shown in (one_line(text), sentence(text), printable(text).translate({9: "", 10: ""})):
            assert shown.isprintable()
        kept = "".join(filter(str.isprintable, text))
        assert one_line(kept) == sentence(kept) == printable(kept) == kept


def test_a_message_is_one_line() -> None:
    """Where a line ended there is a space; what is no end of a line is a code."""
    assert sentence(HOSTILE) == (
        r"a\x1b[2J\x9b2J OK: all is well b c\u202e\u2066\u200b\ufeff\x7f\x00\ud800d"
    )
    assert one_line("a\nb\tc") == r"a\nb\tc"


@pytest.mark.parametrize("kind", [NetclaimError, RequestError, HostError])
def test_every_error_is_one_line_of_printable_characters(kind: type[NetclaimError]) -> None:
    """This holds for any text in an error, and for what a status and an event say."""
    error = kind(f"unknown key {HOSTILE}")
    for text in (str(error), f"{error}", brief(f"unknown key {HOSTILE}")):
        assert text.isprintable()
    wrong_path = RequestError("unknown key", path=("spec", HOSTILE.replace("\ud800", "")))
    assert str(wrong_path).isprintable()


def test_json_says_the_same_by_printable_characters() -> None:
    """Each character of Unicode is read back as it was, by a reader of JSON and one of YAML."""
    codes = [c for c in range(0x10000) if unicodedata.category(chr(c)) != "Cs"]
    text = "".join(map(chr, [*codes, 0x1F600, 0xE0001]))
    encoded = plain_json(msgspec.json.encode({"text": text}))
    assert json.loads(encoded)["text"] == text
    assert yaml.load(encoded, yaml.CSafeLoader)["text"] == text
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0x202E, 0xFEFF, 0xFFFE, 0xFFFF):
        assert chr(code) not in encoded.decode()
