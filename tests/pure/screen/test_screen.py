"""What people see: plain in a pipe, tables on a terminal; and the bytes of a ping."""

import io
import struct

from hypothesis import given
from hypothesis import strategies as st

from netclaim.local.ping import HEADER, checksum, echo_request, is_reply
from netclaim.screen import Screen, screen_for
from netclaim.screen.rich_screen import RichScreen


class Terminal(io.StringIO):
    """A stream that says that it is one."""

    def isatty(self) -> bool:
        """It is."""
        return True


def play(screen: Screen) -> None:
    """Show one of everything."""
    screen.title("Title")
    screen.command("kubectl get pods")
    screen.table(("NAME", "STATUS"), [("a-long-name", "Running"), ("b", "Pending")])
    screen.block("a: 1", "yaml")
    screen.line("fine", good=True)
    with screen.working("hold on"):
        pass


def test_pipe_gets_plain_text() -> None:
    """No control characters, no padding at the ends of lines, nothing of progress."""
    stream = io.StringIO()
    play(screen_for(stream))
    assert stream.getvalue().splitlines() == [
        "",
        "# Title",
        "",
        "$ kubectl get pods",
        "NAME          STATUS",
        "a-long-name   Running",
        "b             Pending",
        "a: 1",
        "fine",
    ]


HOSTILE = "eth0\x1b]0;mine\x07\x9b2J\u202e"
SHOWN = r"eth0\x1b]0;mine\x07\x9b2J\u202e"


def play_hostile(screen: Screen) -> None:
    """Show somebody else's text in every place."""
    screen.title(HOSTILE)
    screen.command(HOSTILE)
    screen.table(("NAME",), [(HOSTILE,)])
    screen.block(f"{HOSTILE}\r\n\tmore")
    screen.block(HOSTILE, "yaml")
    screen.line(HOSTILE)
    with screen.working(HOSTILE):
        pass


def test_text_of_others_controls_nothing() -> None:
    """An escape sequence in an object's text is seen, and not obeyed."""
    pipe, terminal = io.StringIO(), Terminal()
    play_hostile(screen_for(pipe))
    play_hostile(screen_for(terminal))
    assert pipe.getvalue().count(SHOWN) == 6
    assert terminal.getvalue().count(SHOWN) == 7
    for shown in (pipe.getvalue(), terminal.getvalue()):
        assert not set("\x07\x9b\u202e") & set(shown)
        assert "\x1b]" not in shown
        assert "more" in shown


def test_a_cell_is_no_row() -> None:
    """A line break in somebody else's text does not pass for another row of the table."""
    for stream in (io.StringIO(), Terminal()):
        screen = screen_for(stream)
        screen.table(("NODE", "STATE"), [("node-1", "Error\nnode-2\tReady")])
        shown = stream.getvalue().splitlines()
        assert sum("node-2" in line for line in shown) == 1
        assert not any(line.strip().startswith("node-2") for line in shown)
        assert r"Error\nnode-2\tReady" in stream.getvalue()


def test_terminal_gets_colour() -> None:
    """The same words, with escape sequences around them; the progress line is erased."""
    stream = Terminal()
    screen = screen_for(stream)
    assert isinstance(screen, RichScreen)
    play(screen)
    shown = stream.getvalue()
    for word in ("Title", "a-long-name", "fine", "hold on"):
        assert word in shown
    assert "\x1b[2K" in shown


@given(st.binary(max_size=64))
def test_checksum_makes_the_sum_right(message: bytes) -> None:
    """A message with its checksum in place sums to nothing (RFC 1071)."""
    padded = message + b"\0" * (len(message) % 2)
    assert checksum(padded + struct.pack("!H", checksum(padded))) == 0


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
def test_reply_is_known_by_its_numbers(identifier: int, sequence: int) -> None:
    """Only an echo reply with the same identifier and sequence answers a request."""
    request = echo_request(identifier, sequence)
    assert checksum(request) == 0
    header = b"\x45" + bytes(19)
    reply = header + HEADER.pack(0, 0, 0, identifier, sequence) + request[HEADER.size :]
    assert is_reply(reply, identifier, sequence)
    assert not is_reply(header + request, identifier, sequence)  # our own question, on loopback
    assert not is_reply(reply, identifier, (sequence + 1) & 0xFFFF)


@given(st.binary(max_size=40))
def test_any_packet_is_a_reply_or_not(packet: bytes) -> None:
    """Bytes of any kind do no harm."""
    assert is_reply(packet, 1, 1) in (True, False)
