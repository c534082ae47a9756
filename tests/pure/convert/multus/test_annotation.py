"""The annotation by which pods ask Multus for networks: every form, and every refusal."""

import pytest

from netclaim.convert.multus.annotation import (
    NETWORKS_MAX,
    Selection,
    default_ifnames,
    read_annotation,
)
from netclaim.errors import RequestError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        ("media", [("", "media", {})]),
        ("media, storage", [("", "media", {}), ("", "storage", {})]),
        ("media,media", [("", "media", {}), ("", "media", {})]),
        ("infra/media", [("infra", "media", {})]),
        ("media@video0", [("", "media", {"interface": "video0"})]),
        (" infra / media @ video0 ", [("infra", "media", {"interface": "video0"})]),
        ("media.v2", [("", "media.v2", {})]),
        ('[{"name": "media"}]', [("", "media", {})]),
        ('{"name": "media", "interface": "net0"}', [("", "media", {"interface": "net0"})]),
        ('[{"Name": "media", "NAMESPACE": "infra"}]', [("infra", "media", {})]),
        ('[{"name": "media", "interfaceRequest": "n0"}]', [("", "media", {"interface": "n0"})]),
        ('[{"name": "media", "ips": null, "mac": "", "cni-args": {}}]', [("", "media", {})]),
        ('[{"name": "media", "default-route": []}]', [("", "media", {"default-route": []})]),
        (
            '[{"name": "m", "ips": ["10.1.1.7/24"], "mac": "02:00:00:00:00:07"}]',
            [("", "m", {"ips": ["10.1.1.7/24"], "mac": "02:00:00:00:00:07"})],
        ),
        (
            '[{"name": "m", "bandwidth": {"ingressRate": 1000}, "deviceID": "0000:3b:00.1"}]',
            [("", "m", {"bandwidth": {"ingressRate": 1000}, "deviceID": "0000:3b:00.1"})],
        ),
        ("[]", []),
    ],
)
def test_forms(text: str, expected: list[tuple[str, str, dict[str, object]]]) -> None:
    """Names and JSON are read as Multus reads them, a single object as a list of one."""
    found = [(one.namespace, one.name, dict(one.choices)) for one in read_annotation(text)]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Media", "'Media' cannot be the name of the network"),
        ("media,", "the name of the network is missing"),
        ("a/b/c", "'a/b' cannot be the name of the namespace"),
        ("/media", "the name of the namespace is missing"),
        ("media@", "the name of the interface is missing"),
        ("media@a@b c", "'a@b c' cannot be the name of the interface"),
        ("media@a-name-of-16-chr", "cannot be the name of the interface"),
        ("me\x1b[31mdia", "is not JSON"),
        ("me\x07dia", r"'me\x07dia' cannot be the name of the network"),
        ("[", "is not JSON"),
        ('"media"', "is not a list of networks"),
        ('["media"]', "[0]: is not an object"),
        ("[{}]", "[0].name: the name of the network is missing"),
        ('[{"name": 7}]', "[0].name: is not a string"),
        ('[{"name": "a"}, {"name": "b", "ips": "10.1.1.7"}]', "[1].ips: is not a list"),
        ('[{"name": "a", "bandwidth": 7}]', "[0].bandwidth: is not an object"),
        ('[{"name": "a", "interface": "a b"}]', "cannot be the name of the interface"),
        ('[{"name": "a", "name": "b"}]', 'the key "name" appears twice'),
        ('[{"name": "a", "Name": "b"}]', '"name" and "Name" are the same key'),
        ("[" * 100_000, "is not JSON"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, "is not JSON"),
        (",".join(["media"] * (NETWORKS_MAX + 1)), "has 33 networks"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    """What Multus refuses is refused with its place, in one line, however hostile it is."""
    with pytest.raises(RequestError) as refusal:
        read_annotation(text)
    assert words in str(refusal.value)
    assert str(refusal.value).isprintable()


def test_unknown_keys_are_kept_apart() -> None:
    """A key that Multus passes over is reported by the reader, not refused."""
    (found,) = read_annotation('[{"name": "media", "gateway": ["10.1.1.1"]}]')
    assert found.unknown == ("gateway",)
    assert not found.choices


def test_default_names_follow_the_position() -> None:
    """An interface without a name is called after its place among the pod's networks."""
    found = read_annotation("a, b@video0, c")
    assert default_ifnames(found) == ("net1", "video0", "net3")


def test_place_of_a_network() -> None:
    """Each network of a JSON annotation knows its place there."""
    assert [one.at for one in read_annotation('[{"name": "a"}, {"name": "b"}]')] == [(0,), (1,)]
    assert read_annotation("a") == (Selection("a"),)
