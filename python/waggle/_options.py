"""The options there are, as the library describes them."""

from __future__ import annotations

from typing import Any

from waggle import _core
from waggle._core import Error


def presets() -> dict[str, str]:
    """The presets by name, and what each is for; `learn` and `learn_log` take one."""
    return _core.presets()


def options(preset: str = "predictive") -> dict[str, Any]:
    """All options of a preset with their values, as nested dictionaries."""
    return _core.preset_options(preset)


def describe(preset: str = "predictive") -> str:
    """The keyword arguments `learn` takes, with their values and a line of help each."""
    return option_text(_core.learn_options(preset))


def option_text(entries: list[tuple[str, str, str, str]]) -> str:
    lines = []
    table = None
    for name, where, initial, text in entries:
        if where != table and where:
            lines.append(f"  in {where}:")
        table = where
        value = f" = {initial}" if initial else ""
        lines.append(f"    {name}{value}: {text}")
    return "\n".join(lines)


def documented(text: str, entries: list[tuple[str, str, str, str]]):
    """A decorator that appends options to a docstring."""

    def decorate(function):
        function.__doc__ = f"{function.__doc__.rstrip()}\n\n    {text}\n\n{option_text(entries)}\n"
        return function

    return decorate


def check_seed(seed: Any) -> int:
    """The seed, or Error unless it is a whole number that Gymnasium takes too."""
    try:
        whole = int(seed.__index__())
    except (AttributeError, TypeError):
        raise Error(f"seed = {seed!r}: must be a whole number") from None
    if not 0 <= whole < 2**63:
        raise Error(f"seed = {whole}: must be at least 0 and below 2^63")
    return whole
