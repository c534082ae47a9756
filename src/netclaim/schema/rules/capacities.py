"""The rules for a device's capacities, and for what claims may ask of those that are shared."""

from collections.abc import Iterator

from netclaim.model.api.limits import VALID_VALUES_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.model.quantity import Quantity
from netclaim.paths import Path
from netclaim.schema.refusal import Fault, forbidden, invalid, missing
from netclaim.schema.rules.lists import check_set


def check_capacity(capacity: JsonObject, at: Path, *, shared: bool) -> Iterator[Fault]:
    """One capacity; `shared` says that the device may be allocated several times."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    at = (*at, "requestPolicy")
    if not shared:
        yield forbidden(at, "allowMultipleAllocations must be true")
        return
    whole = Quantity.parse(capacity.get("value", "0"))
    values, span = policy.get("validValues"), policy.get("validRange")
    if values and span is not None:
        yield forbidden(at, "`validValues` and `validRange` exclude each other")
    elif (values or span is not None) and "default" not in policy:
        which = "validValues" if values else "validRange"
        yield missing((*at, "default"), f"required when {which} is defined")
    elif values:
        yield from _check_values(policy["default"], values, whole, (*at, "validValues"))
    elif span is not None:
        yield from _check_range(Quantity.parse(policy["default"]), span, whole, (*at, "validRange"))


def _check_values(default: str, values: list[str], whole: Quantity, at: Path) -> Iterator[Fault]:
    amounts = [Quantity.parse(value) for value in values]
    for index in range(1, len(amounts)):
        if amounts[index - 1] > amounts[index]:
            yield invalid((*at, index), values[index], "must be sorted in ascending order")

    def check(value: str, where: Path) -> Iterator[Fault]:
        if Quantity.parse(value) > whole:
            yield invalid(where, value, f"is larger than the capacity, {whole}")

    yield from check_set(
        values, VALID_VALUES_MAX, at, check, key=lambda value: str(int(Quantity.parse(value).value))
    )
    if Quantity.parse(default) not in amounts:
        yield invalid(at, default, "the default is not among the valid values")


def _check_range(default: Quantity, span: JsonObject, whole: Quantity, at: Path) -> Iterator[Fault]:
    if "min" not in span:
        yield missing((*at, "min"), "required when validRange is defined")
        return
    least = Quantity.parse(span["min"])
    most = Quantity.parse(span["max"]) if "max" in span else None
    if least > whole:
        yield invalid((*at, "min"), span["min"], f"is larger than the capacity, {whole}")
    if default < least:
        yield invalid((*at, "default"), str(default), f"is less than the minimum, {least}")
    if most is not None:
        yield from _check_max(default, least, most, whole, at)
    if "step" in span:
        yield from _check_step(span, [default, *([] if most is None else [most])], whole, at)


def _check_max(
    default: Quantity, least: Quantity, most: Quantity, whole: Quantity, at: Path
) -> Iterator[Fault]:
    if least > most:
        yield invalid((*at, "max"), str(least), f"the minimum is larger than {most}")
    if most > whole:
        yield invalid((*at, "max"), str(most), f"is larger than the capacity, {whole}")
    if default > most:
        yield invalid((*at, "default"), str(default), f"is more than the maximum, {most}")


def _check_step(
    span: JsonObject, values: list[Quantity], whole: Quantity, at: Path
) -> Iterator[Fault]:
    least, step = Quantity.parse(span["min"]), Quantity.parse(span["step"])
    if least.value + step.value > whole.value:
        yield invalid((*at, "step"), str(step), f"one step is larger than the capacity, {whole}")
    for value in values:
        if (value.value - least.value) % step.value:
            yield invalid((*at, "step"), str(value), f"is not a multiple of {step} from {least}")
