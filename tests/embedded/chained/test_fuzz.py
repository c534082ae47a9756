"""netclaim-attach's reader of JSON against a hundred thousand broken configurations.

The sanitizers watch a build of it that reads them all in one process; Python's own reader says what
is well-formed.
"""

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[3] / "native"
INPUTS = 100_000
CLAIM = {"ClaimUID": "c1", "PodUIDs": {"139cdb46-f989-4f17-9561-ca10cfb509a6": {}}}
CONFIGURATIONS: list[dict[str, object]] = [
    {"cniVersion": "1.0.0", "type": "netclaim-attach", "prevResult": {"ips": [{"a": -1.5e3}]}},
    {"prevResult": {}, "name": 'a"\\\u0001\u20ac\U0001f600', "x": [[], {}, [{}], None, True]},
    {"prevResult": None, "list": [0, 1, 2e10, False, "", {"prevResult": [1]}]},
    {"Data": json.dumps({"ClaimInfoStateList": [CLAIM, CLAIM]}), "Checksum": 2570581864},
]
SEEDS = [json.dumps(seed).encode() for seed in CONFIGURATIONS]
BYTES = b'{}[]",:\\u0d8f /\x00\n\x7f\x80\xc3\xed-+.eEtn'
DEEP = [b"[" * 9_999 + b"]" * 9_999, b"[" * 10_001 + b"]" * 10_001, b'{"a":' * 500_000]


def mutated(chance: random.Random) -> bytes:
    """A seed with one to four places changed, cut or doubled."""
    text = bytearray(chance.choice(SEEDS))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        to = min(len(text), at + chance.randint(0, 8))
        match chance.randrange(4):
            case 0:
                text[at:to] = b""
            case 1:
                text[at:at] = text[at:to]
            case 2:
                text[at : at + 1] = bytes([chance.choice(BYTES)])
            case _:
                text[at:at] = bytes([chance.choice(BYTES)])
    return bytes(text)


def python_reads(text: bytes) -> tuple[bool, object]:
    """Whether this is JSON, and what its prevResult is."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)  # NaN and Infinity are no JSON

    try:
        value = json.loads(text.decode(), parse_constant=refuse)
    except ValueError:
        return False, None
    return True, value.get("prevResult") if isinstance(value, dict) else None


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build with sanitizers."""
    program = tmp_path_factory.mktemp("fuzz") / "fuzz"
    sources = [NATIVE / name for name in ("fuzz/fuzz.c", "json.c", "files.c", "bytes.c")]
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *options, *sanitize, "-o", program, *sources], check=True)
    return program


def answers(harness: Path, inputs: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """Each input with its line of the answer."""
    stdin = b"".join(b"%d\n%s" % (len(text), text) for text in inputs)
    # Leaks are no fault of a program that lives for one call.
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([harness], input=stdin, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return zip(inputs, done.stdout.decode().splitlines(), strict=True)


def test_no_input_breaks_the_reader_and_python_agrees(harness: Path) -> None:
    """What is well-formed, and which bytes prevResult has, is what Python says; nothing crashes."""
    chance = random.Random(20250917)  # the same inputs each time: a failure can be looked at
    inputs = [*SEEDS, *(mutated(chance) for _ in range(INPUTS))]
    formed = 0
    for text, answer in answers(harness, inputs):
        try:
            text.decode()
        except UnicodeDecodeError:
            continue  # the reader passes bytes on as they are; Python does not
        well_formed, expected = python_reads(text)
        assert (answer != "-") == well_formed, text
        if well_formed:
            formed += 1
            at, length = map(int, answer.split())
            member = text[at : at + length] or b"null"
            _, found = python_reads(b'{"prevResult":%s}' % member)
            assert found == expected, text
    assert formed > INPUTS // 50  # mutations leave enough of them whole to compare


def test_nesting_is_bounded(harness: Path) -> None:
    """Ten thousand levels are read, more are malformed; neither uses up the stack."""
    assert [answer for _, answer in answers(harness, DEEP)] == ["0 0", "-", "-"]
