"""What is asked of a claim beside each of its DeviceClasses, as CEL."""

from netclaim.network.devices.shares import ATTACHMENTS, WHOLE_LINK
from netclaim.network.policy.levels import LABEL, Level
from netclaim.network.request.keys import ALLOWABLE, PARAMETERS
from netclaim.plugins.registry import PLUGIN_CLASSES
from scripts.admission.cel import DRANETS, LEVEL, SPEC, as_validation, as_variables, cel

# Whether the namespace has the labels that a class's `namespaces` selects.
_SELECTED = (
    "p.namespaces.?matchLabels.orValue({}).all(k, k in variables.labels && "
    "variables.labels[k] == p.namespaces.matchLabels[k]) && "
    "p.namespaces.?matchExpressions.orValue([]).all(e, [e.key in variables.labels].all(there, "
    "e.operator == 'Exists' ? there : e.operator == 'DoesNotExist' ? !there : "
    "[there && variables.labels[e.key] in e.values].all(among, "
    "e.operator == 'In' ? among : !among)))"
)


def class_policy() -> str:
    """Return what is asked of a claim and one DeviceClass, `params`.

    A claim that would be refused with one of its alternatives is refused: nobody knows yet which of
    them is chosen, and what it was allocated is kept from others until its pod is evicted.
    """
    takes = cel([name for name, kind in PLUGIN_CLASSES.items() if kind.moves_link])
    # Whatever is asked of `wholeLink` is rounded up to all of it, and so is the second attachment.
    alone = " || ".join(
        f"((k == '{name}' || k.endsWith('/{name}')) && "
        f"quantity(string(r.capacity.requests[k])).isGreaterThan(quantity('{most}')))"
        for name, most in ((WHOLE_LINK, 0), (ATTACHMENTS, 1))
    )
    variables = {
        "level": LEVEL,
        "spec": SPEC,
        # What may be of this class: for each request a list, of one or of its alternatives; each
        # with the names by which a configuration is for it.
        "requests": (
            "variables.spec.?devices.?requests.orValue([]).map(r, has(r.firstAvailable) ? "
            "r.firstAvailable.map(s, [dyn([dyn(r.name), dyn(r.name + '/' + s.name)]), dyn(s)]) : "
            "[[dyn([r.name]), dyn(has(r.exactly) ? r.exactly : r)]]).map(l, l.filter(x, "
            "x[1].?deviceClassName.orValue('') == params.metadata.name)).filter(l, size(l) > 0)"
        ),
        "ours": (
            "variables.spec.?devices.?config.orValue([]).filter(c, has(c.opaque) && "
            "c.opaque.driver in variables.drivers && size(variables.requests) > 0 && "
            "(size(c.?requests.orValue([])) == 0 || c.requests.exists(name, "
            "variables.requests.exists(l, l.exists(x, name in x[0]))))).map(c, "
            "c.opaque.parameters)"
        ),
        "ofClass": (
            "params.?spec.?config.orValue([]).filter(c, has(c.opaque) && c.opaque.driver in "
            "variables.drivers).map(c, c.opaque.parameters)"
        ),
        "labels": "namespaceObject.metadata.?labels.orValue({})",
        "notFor": (
            "variables.ofClass.filter(p, size(variables.requests) > 0 && has(p.namespaces) && "
            f"!({_SELECTED}))"
        ),
        "hasNetwork": "variables.ofClass.exists(p, has(p.config) || has(p.allow))",
        "refused": (
            f"{cel(list(ALLOWABLE))}.filter(k, variables.ours.exists(p, k in p || "
            f"(k == 'config' && {DRANETS})) && "
            "!variables.ofClass.exists(p, has(p.allow) && k in p.allow) && (variables.hasNetwork "
            f"|| (variables.level == '{Level.RESTRICTED}' && k in "
            f"{cel(_parameters_above(Level.RESTRICTED))}) || "
            f"k in {cel(_parameters_above(Level.BASELINE))}))"
        ),
        "alone": (
            f"variables.requests.filter(l, l.map(x, x[1]).exists(r, has(r.capacity) && has("
            f"r.capacity.requests) && r.capacity.requests.exists(k, {alone})))"
        ),
        "takesLinks": (
            "variables.ofClass.exists(p, has(p.config) && (type(p.config) == string || "
            "(has(p.config.plugins) ? p.config.plugins : [p.config]).exists(one, one.type in "
            f"{takes} || one.?mode.orValue('') == 'passthru')))"
        ),
    }
    lines = [*as_variables(variables), "  validations:"]
    lines += as_validation(
        "size(variables.notFor) == 0",
        "'the namespace ' + namespaceObject.metadata.name + ' may not use ' + "
        "(has(variables.notFor[0].podNetwork) ? 'the network ' + variables.notFor[0].podNetwork + "
        "'; ask a cluster admin to give it the labels that spec.namespaces of the PodNetwork ' + "
        "variables.notFor[0].podNetwork : 'the DeviceClass ' + params.metadata.name + '; ask a "
        "cluster admin to give it the labels that `namespaces` of the class') + ' selects'",
    )
    lines += as_validation(
        f"variables.level == '{Level.PRIVILEGED}' || size(variables.refused) == 0",
        "variables.hasNetwork ? 'the DeviceClass ' + params.metadata.name + ' does not let claims "
        "set ' + variables.refused[0] + '; leave it out, or ask a cluster admin to add ' + "
        "variables.refused[0] + ' to the allow of the class' : variables.refused[0] + ' in the "
        f"parameters needs the policy level {Level.BASELINE}, but the namespace has ' + "
        "variables.level + '; leave it out, or ask a cluster admin to set it in the DeviceClass or "
        f"to label the namespace {LABEL}={Level.BASELINE}'",
    )
    lines += as_validation(
        f"variables.level != '{Level.RESTRICTED}' || variables.takesLinks || "
        "size(variables.alone) == 0",
        "'a request asks for a link alone, but the namespace has the policy level "
        f"{Level.RESTRICTED}, at which only the DeviceClass decides that; leave out wholeLink and "
        "attachments in the capacity of the request, or ask a cluster admin for a class whose "
        "network takes the link, such as host-device, or to label the namespace "
        f"{LABEL}={Level.BASELINE}'",
    )
    return "\n".join(lines) + "\n"


def _parameters_above(level: Level) -> list[str]:
    """Return the parameters that a claim at a level may set only if its class allows them."""
    return [name for name in ALLOWABLE if PARAMETERS[name].level > level]
