"""waggle's own environments, as Gymnasium registers them: gymnasium.make("waggle/BeeWorld-v0")."""

from __future__ import annotations

from typing import Any

from waggle import _core

RECORD_STEPS = 2000
"""After so many steps an episode is cut that does not end by itself."""


def ids() -> dict[str, str]:
    """What Gymnasium calls them, and what the library does."""
    return {
        f"waggle/{''.join(word.capitalize() for word in name.split('-'))}-v0": name
        for name in _core.environment_names()
    }


def register() -> None:
    """Called when waggle is imported after Gymnasium, and by waggle.environments."""
    from gymnasium.envs.registration import register as add
    from gymnasium.envs.registration import registry

    for gymnasium_id, name in ids().items():
        if gymnasium_id in registry:
            continue
        arguments: dict[str, Any] = {"kwargs": {"name": name}}
        if not _core.environment_is_episodic(name):
            arguments["max_episode_steps"] = RECORD_STEPS
        add(id=gymnasium_id, entry_point="waggle.environments:Environment", **arguments)
