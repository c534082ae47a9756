"""The keeper's relay against a hundred thousand broken connections, watched by the sanitizers."""

import subprocess
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes
from hpack import Encoder

from tests.support.fuzzing import INPUTS, inputs, seed_of_today

# Windows, streams and header blocks at their limits, with queues that double: see relay.c.
HELD_MAX = 32 << 20
REQUEST = [(":method", "POST"), (":path", "/v1.DRAPlugin/NodePrepareResources"),
           (":scheme", "http"), (":authority", "localhost"), ("te", "trailers")]  # fmt: skip
GREETING = [*REQUEST[:1], (":path", "/pluginregistration.Registration/GetInfo"), *REQUEST[2:]]
ANSWER = [(":status", "200"), ("content-type", "application/grpc")]
WORDS = [bytes(head) for head in (
    [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8],  # RST_STREAM of the first call
    [0, 0, 4, 8, 0, 0, 0, 0, 0, 127, 255, 255, 255],  # WINDOW_UPDATE, too large
    [0, 0, 0, 4, 1, 0, 0, 0, 0],  # SETTINGS, acknowledged
    [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0],  # SETTINGS: no window at all
    [0, 0, 1, 9, 4, 0, 0, 0, 3, 0x82],  # CONTINUATION
    [255, 255, 255, 0, 0, 0, 0, 0, 1],  # DATA, of 16 MiB
    [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8],  # PING
    *([*letter.encode(), 0, 0] for letter in "jlrt"),
)]  # fmt: skip


def step(letter: str, content: bytes = b"") -> bytes:
    """One step of a script."""
    return letter.encode() + len(content).to_bytes(2, "big") + content


def prepared() -> bytes:
    """An answer to the greeting, as the driver hands it over."""
    path = Encoder().encode([GREETING[1]])[1:]
    return bytes([len(path)]) + path + bytes(5)


def played(program: Path, tried: list[bytes]) -> list[tuple[str, int]]:
    """The outcome of each script, and how much was held at most."""
    stdin = b"".join(b"%d\n%s" % (len(script), script) for script in [prepared(), *tried])
    done = subprocess.run([program], input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    return [(outcome, int(held)) for outcome, held in lines]


def greetings() -> bytes:
    """A call that is answered while there is no driver, and one that comes when there is one."""
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    script = step("c", client.data_to_send())
    for call in (1, 3):
        client.send_headers(call, GREETING)
        client.send_data(call, bytes(5), end_stream=True)
        script += step("c", client.data_to_send()) + step("j") + step("r") + step("l")
    return script


def scripts() -> list[bytes]:
    """Calls that are answered, cut, lost and made again, by a real implementation of HTTP/2."""
    client = H2Connection(H2Configuration(client_side=True))
    client.initiate_connection()
    begin = step("c", client.data_to_send())
    for call in (1, 3, 5):
        client.send_headers(call, REQUEST)
        client.send_data(call, bytes(300), end_stream=True, pad_length=3 if call == 3 else None)
    asked = step("c", client.data_to_send())
    client.reset_stream(5)
    reset = step("c", client.data_to_send())
    driver = H2Connection(H2Configuration(client_side=False))
    driver.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100})
    driver.initiate_connection()
    greeting = step("d", driver.data_to_send())
    feeder = H2Connection(H2Configuration(client_side=True))
    feeder.initiate_connection()
    for call in (1, 3):
        feeder.send_headers(call, REQUEST, end_stream=True)
    driver.receive_data(feeder.data_to_send())
    driver.clear_outbound_data_buffer()
    driver.send_headers(1, ANSWER)
    driver.send_data(1, bytes(200))
    half = step("d", driver.data_to_send())
    driver.send_headers(1, [("grpc-status", "0")], end_stream=True)
    driver.reset_stream(3)
    whole = step("d", driver.data_to_send())
    join, lose, read, tick = (step(letter) for letter in "jlrt")
    return [
        begin + asked + join + greeting + read + half + whole + read,
        join + greeting + begin + asked + half + lose + join + greeting + half + whole + read,
        begin + asked + reset + join + greeting + half + tick + read + lose + read,
        begin + join + greeting + asked + lose + join + greeting + lose + join + greeting + lose,
        greetings(),
    ]


def test_nothing_breaks_the_relay(fuzz_program: Path) -> None:
    """No bytes of either side make the relay touch what is not its own, leak, or hold much."""
    tried = list(inputs(scripts(), seed_of_today(), WORDS))
    lines = played(fuzz_program, tried)
    assert len(lines) == INPUTS
    assert [outcome for outcome, _ in lines[:5]] == ["ok"] * 5
    assert {outcome for outcome, _ in lines} == {"ok", "client", "driver"}
    assert max(held for _, held in lines) < HELD_MAX


def test_memory_is_bounded(fuzz_program: Path) -> None:
    """A peer that sends as much as it is allowed to, and reads nothing, is cut off in time."""
    begin = scripts()[0]
    ping = bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + bytes(8)
    opened = b"".join(
        bytes([0, 0, 5, 1, 4]) + call.to_bytes(4, "big") + b"\x83\x86\x84\x41\x00"
        + bytes([0, 0x40, 0, 0, 0]) + call.to_bytes(4, "big") + bytes(16384)
        for call in range(101, 1601, 2)
    )  # fmt: skip
    floods = [ping * 200_000, opened]
    for flood in floods:
        chunks = [flood[at : at + 30_000] for at in range(0, len(flood), 30_000)]
        script = begin + b"".join(step("c", chunk) for chunk in chunks)
        [(outcome, held)] = played(fuzz_program, [script])
        assert outcome == "client"
        assert held < HELD_MAX
