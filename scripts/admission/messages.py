"""What the API server says of claims that it refuses: CEL expressions that make the messages.

Each has the name of the variable that lists what is wrong.
"""

from netclaim.network.policy.levels import LABEL, Level
from netclaim.network.policy.table import IPAM_TYPES, TYPES
from netclaim.network.request.ifnames import TAKEN_IFNAMES
from netclaim.network.request.layers import MISPLACED
from scripts.admission.cel import cel

GRANT = (
    "leave it out, or ask a cluster admin to set it in the DeviceClass or to label the "
    f"namespace {LABEL}={Level.PRIVILEGED}"
)


def mistakes() -> dict[str, str]:
    """Return what is wrong at every level, with the message of each."""
    name = "variables.wrongIfNames[0]"
    return {
        "unknownParameters": _unknown_parameter("unknownParameters", "parameters"),
        "unknownPlainParameters": _unknown_parameter("unknownPlainParameters", "plainParameters"),
        "unknownDranetParameters": (
            _unknown("variables.unknownDranetParameters[0]", "the parameters")
            + " + "
            + _meant("variables.unknownDranetParameters[0]", "variables.dranetParameters")
        ),
        "unknownInterfaceKeys": (
            _unknown("variables.unknownInterfaceKeys[0]", "interface in the parameters")
            + " + "
            + _meant("variables.unknownInterfaceKeys[0]", "variables.interfaceKeys")
        ),
        "unknownSettingKeys": (
            _unknown("variables.unknownSettingKeys[0][1]", "variables.unknownSettingKeys[0][0]")
            + " + ' in the parameters' + "
            + _meant(
                "variables.unknownSettingKeys[0][1]",
                "variables.settingKeys[variables.unknownSettingKeys[0][0]]",
            )
        ),
        "wrongSettingAddresses": (
            "variables.wrongSettingAddresses[0][1] + ' of ' + variables.wrongSettingAddresses[0][0]"
            " + ' in the parameters is neither an IP address nor a network; write for example "
            "10.10.1.7 or 10.10.1.0/24'"
        ),
        "wrongIfNames": (
            f"type({name}) != string ? 'the name of the interface in the parameters must be a "
            f"string; for example net1' : {name} in {cel(list(TAKEN_IFNAMES))} ? 'the pod already "
            f"has an interface named ' + {name} + '; choose another name, for example net1' : 'the "
            f"name \"' + {name} + '\" in the parameters cannot be the name of an interface: 1 to "
            "15 characters, without slashes, colons and spaces, and with a % only as %d; for "
            "example net1'"
        ),
        "wrongIps": (
            "(type(variables.wrongIps[0]) == string ? '\"' + variables.wrongIps[0] + '\"' : "
            "'one of the addresses') + ' in the parameters is not an IP address; write for example "
            "10.10.1.7/24'"
        ),
        "unknownNetworkKeys": (
            _unknown("variables.unknownNetworkKeys[0]", "the network in the parameters")
            + " + "
            + _meant("variables.unknownNetworkKeys[0]", "variables.networkKeys")
        ),
        "wrongAddresses": (
            "'an address or subnet in the ipam of ' + variables.wrongAddresses[0] + ' in the "
            "parameters is not in CIDR notation; write for example 10.10.1.0/24'"
        ),
    }


def refusals() -> dict[str, str]:
    """Return what is wrong below `privileged`, with the message of each."""
    needs = (
        f"' in the parameters needs the policy level {Level.PRIVILEGED}, but the namespace has ' "
        f"+ variables.level + '; {GRANT}'"
    )
    higher = cel([name for name, rule in TYPES.items() if rule.level > Level.BASELINE])
    wrong_type, wrong_ipam = "variables.wrongTypes[0]", "variables.wrongIpamTypes[0]"
    return {
        "wrongTypes": (
            f"{wrong_type} in {higher} ? 'the CNI plugin ' + {wrong_type} + {needs} : "
            f"{_unknown_type(wrong_type, 'variables.types')}"
        ),
        "unknownKeys": _unknown("variables.unknownKeys[0][1]", "variables.unknownKeys[0][0]")
        + " + "
        + _meant("variables.unknownKeys[0][1]", "variables.names[variables.unknownKeys[0][0]]"),
        "wrongKeys": f"'the key ' + variables.wrongKeys[0] + {needs}",
        "unknownIpamKeys": _unknown("variables.unknownIpamKeys[0][1]", "ipam")
        + " + "
        + _meant(
            "variables.unknownIpamKeys[0][1]",
            "variables.ipamNames[variables.unknownIpamKeys[0][0]]",
        ),
        "wrongIpam": f"'the key ' + variables.wrongIpam[0] + {needs}",
        "wrongIpamTypes": _unknown_type(wrong_ipam, cel(sorted(IPAM_TYPES))),
        "wrongModes": (
            "'the mode ' + variables.wrongModes[0][1] + ' of ' + variables.wrongModes[0][0] + ' in "
            "the parameters is not one of those for claims: ' + "
            "variables.modes[variables.wrongModes[0][0]].join(', ')"
        ),
        "wrongSysctls": f"'the ' + variables.wrongSysctls[0] + {needs}",
    }


def _unknown(key: str, where: str) -> str:
    """Return the beginning of a message about a key, in CEL."""
    place = where if where.startswith("variables.") else f"'{where}'"
    return f"'unknown key \"' + {key} + '\" in ' + {place}"


def _meant(key: str, known: str, *, otherwise: str = "; known keys are ", end: str = "") -> str:
    """Return the end of that message: a guess at what was meant, or all that there is.

    A guess differs in one letter, in two that change places, or in case.
    """
    skipped = "(size(w) > size(n) ? 1 : size(w) < size(n) ? 0 : size(w) > 4 ? 2 : 1)"
    alike = (
        f"w == n || (size(w) - size(n) in [-1, 0, 1] && variables.places.exists(i, i + {skipped} "
        f"<= size(w) && n.startsWith(w.substring(0, i)) && n.endsWith(w.substring(i + {skipped}))))"
    )
    compared = f"[{key}.lowerAscii()].exists(w, [c.lowerAscii()].exists(n, {alike}))"
    guesses = f"{known}.filter(c, {compared})"
    return (
        f"[{guesses}].map(g, size(g) > 0 ? '; did you mean \"' + g[0] + '\"?' : '{otherwise}' + "
        f"{known}.join(', ') + '{end}')[0]"
    )


def _unknown_parameter(name: str, known: str) -> str:
    """Return the message for a key beside the network that nobody knows, or not there."""
    key = f"variables.{name}[0]"
    misplaced = cel({key: f"; {text}" for key, text in MISPLACED.items()})
    return (
        f"{_unknown(key, 'the parameters')} + ({key} in {misplaced} ? {misplaced}[{key}] : "
        f"{_meant(key, f'variables.{known}')})"
    )


def _unknown_type(name: str, known: str) -> str:
    """Return the message for a type that is not in the table: an admin's program, or a mistake."""
    meant = _meant(name, known, otherwise="; claims may use ", end=".")
    return (
        f"'netclaim has no CNI plugin ' + {name} + {meant} + ' If it is a program on the nodes, "
        "ask a cluster admin to set it in the DeviceClass, to allow it by --claim-plugins, or to "
        f"label the namespace {LABEL}={Level.PRIVILEGED}'"
    )
