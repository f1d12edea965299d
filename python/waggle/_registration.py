"""waggle's own environments, as Gymnasium registers them: gymnasium.make("waggle/BeeWorld-v0")."""

from __future__ import annotations

from typing import Any

# Names in the library, and episodes that are cut after so many steps where they do not end by
# themselves.
IDS = {
    "waggle/BeeWorld-v0": ("bee-world", 2000),
    "waggle/MarketMaker-v0": ("market-maker", 2000),
    "waggle/CartPole-v0": ("cart-pole", None),
    "waggle/Pendulum-v0": ("pendulum", None),
    "waggle/MountainCar-v0": ("mountain-car", None),
    "waggle/Acrobot-v0": ("acrobot", None),
    "waggle/Recall-v0": ("recall", None),
    "waggle/Tiger-v0": ("tiger", None),
    "waggle/Tanks-v0": ("tanks", 1000),
}


def register() -> None:
    """Called when waggle is imported after Gymnasium, and by waggle.environments."""
    from gymnasium.envs.registration import register as add
    from gymnasium.envs.registration import registry

    for name, (environment, limit) in IDS.items():
        if name in registry:
            continue
        arguments: dict[str, Any] = {"kwargs": {"name": environment}}
        if limit is not None:
            arguments["max_episode_steps"] = limit
        add(id=name, entry_point="waggle.environments:Environment", **arguments)
