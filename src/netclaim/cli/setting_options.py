"""Options for a driver's settings, made from where the settings are declared.

Promise: a command that takes settings has an option for each, with the variable, the default and
the text that `framework/settings.py` says, and is called with the `Settings` that they make.
Limit: whether a value makes sense is for the command to say.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import typer

from netclaim.framework.settings import Setting, Settings, declared

__all__ = ["takes_settings"]

Command: TypeAlias = Callable[..., None]


def takes_settings(*names: str) -> Callable[[Command], Command]:
    """Call a command with `settings`, read from options; without names, from one for each setting.

    What there is no option for has its default.
    """
    chosen = [each for each in declared() if not names or each.name in names]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**options: Any) -> None:
            given = {each.name: options.pop(each.name) for each in chosen}
            command(settings=Settings(**{"node_name": "", **given}), **options)

        own = inspect.signature(command).parameters.values()
        # What typer reads a command's options from.
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*(each for each in own if each.name != "settings"), *map(_parameter, chosen)]
        )
        return run

    return decorate


def _parameter(setting: Setting) -> inspect.Parameter:
    option = typer.Option(
        setting.default,
        setting.option,
        *setting.also,
        envvar=setting.variable,
        help=setting.text,
        show_default=setting.default != "",  # what an empty one means is in the text
    )
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=setting.kind
    )
