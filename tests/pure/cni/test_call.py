"""What a plugin is told, and which endpoints can be."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.cni import (
    CniCall,
    Command,
    Endpoint,
    check_container_id,
    check_ifname,
    parse_network,
    pod_args,
)
from netclaim.cni.call import execution_config
from netclaim.errors import RequestError

ENDPOINT = Endpoint("c0ffee", "/run/netns/pod", "net1", (("IgnoreUnknown", "1"), ("K", "v")))


def test_an_add_is_told_all_six_variables() -> None:
    """CNI_ARGS are pairs joined by semicolons, CNI_PATH directories joined by colons."""
    call = CniCall(Command.ADD, "macvlan", ("/opt/a", "/opt/b"), {}, ENDPOINT)
    assert call.environment() == {
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": "c0ffee",
        "CNI_NETNS": "/run/netns/pod",
        "CNI_IFNAME": "net1",
        "CNI_ARGS": "IgnoreUnknown=1;K=v",
        "CNI_PATH": "/opt/a:/opt/b",
    }


@pytest.mark.parametrize("command", [Command.GC, Command.STATUS])
def test_a_command_about_no_container_is_told_two_variables(command: Command) -> None:
    """GC and STATUS have a command and a path."""
    call = CniCall(command, "macvlan", ("/opt/a",), {})
    assert call.environment() == {"CNI_COMMAND": str(command), "CNI_PATH": "/opt/a"}


def test_pod_args_are_what_runtimes_send() -> None:
    """The five arguments of a pod come in the runtimes' order, IgnoreUnknown first."""
    args = pod_args(namespace="default", name="demo-a", uid="2bd4", sandbox_id="c0ffee")
    endpoint = Endpoint("c0ffee", "/run/netns/pod", "net1", args)
    assert CniCall(Command.ADD, "x", (), {}, endpoint).environment()["CNI_ARGS"] == (
        "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=demo-a;"
        "K8S_POD_INFRA_CONTAINER_ID=c0ffee;K8S_POD_UID=2bd4"
    )


@pytest.mark.parametrize("name", ["net1", "a", "eth0.100", "abcdefghijklmno", "é" * 7])
def test_names_that_the_kernel_takes_are_valid(name: str) -> None:
    """1 to 15 bytes are a name."""
    check_ifname(name)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "a:b", "a b", "a\tb", "a\n", "\0", "net%d", "abcdefghijklmnop", "é" * 8],
)
def test_names_that_the_kernel_refuses_or_changes_are_not(name: str) -> None:
    """A bad name is an error at the path that the caller names."""
    with pytest.raises(RequestError) as caught:
        check_ifname(name, path=("parameters", "ifName"))
    assert caught.value.path == ("parameters", "ifName")


@pytest.mark.parametrize("container_id", ["", "-a", "a/b", "a b", "a\n", "é"])
def test_a_container_id_must_be_a_plain_name(container_id: str) -> None:
    """The specification's rule holds for container ids."""
    with pytest.raises(RequestError):
        check_container_id(container_id)


@pytest.mark.parametrize("pair", [("a;b", "c"), ("a", "b;c"), ("a", "b=c"), ("", "b"), ("a", "\0")])
def test_arguments_that_would_read_as_others_are_refused(pair: tuple[str, str]) -> None:
    """A value cannot smuggle in a second argument."""
    with pytest.raises(RequestError) as caught:
        Endpoint("c0ffee", "/run/netns/pod", "net1", (pair,))
    assert caught.value.path == ("args",)


any_text = st.text(st.characters(codec=None))  # lone surrogates too


@settings(deadline=None)
@given(st.text() | st.just("c0ffee"), any_text, any_text | st.just("net1"), any_text)
def test_an_endpoint_is_valid_or_a_request_error(cid: str, netns: str, name: str, arg: str) -> None:
    """Every endpoint that can be made can be sent through an environment."""
    try:
        endpoint = Endpoint(cid, netns, name, (("key", arg),))
    except RequestError:
        return
    for value in CniCall(Command.ADD, "x", (), {}, endpoint).environment().values():
        assert b"\0" not in os.fsencode(value)


def test_the_list_decides_name_and_version() -> None:
    """A plugin's own name and version give way to those of its list."""
    network = parse_network(
        {
            "cniVersion": "1.0.0",
            "name": "net",
            "plugins": [{"type": "x", "name": "mine", "cniVersion": "0.2.0", "mtu": 9000}],
        }
    )
    told = execution_config(network, network.plugins[0])
    assert told == {"cniVersion": "1.0.0", "name": "net", "type": "x", "mtu": 9000}


def test_a_plugin_gets_the_capability_arguments_that_it_switched_on() -> None:
    """`runtimeConfig` holds what is both switched on and offered, and is absent when empty."""
    plugins = [
        {"type": "x", "capabilities": {"mac": True, "ips": True, "bandwidth": False}},
        {"type": "y", "capabilities": {"portMappings": True}},
    ]
    network = parse_network({"cniVersion": "1.0.0", "name": "net", "plugins": plugins})
    offered = {"mac": "02:00:00:00:00:01", "bandwidth": {"ingressRate": 1}, "other": 1}
    x, y = (
        execution_config(network, plugin, capability_args=offered) for plugin in network.plugins
    )
    assert x["runtimeConfig"] == {"mac": "02:00:00:00:00:01"}
    assert "runtimeConfig" not in y
