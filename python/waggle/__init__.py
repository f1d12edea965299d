"""Controllers for systems you can only partly observe, in milliseconds.

    import gymnasium as gym, waggle

    controller = waggle.learn(gym.make("CartPole-v1"), steps=10_000, seed=0)
    action, state = controller.predict(observation, state, episode_start)

An echo state network remembers what happened, linear least squares make a value function of it,
and the greedy action on that is the controller. All of that is C++; this package drives
environments and reads tables.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waggle._controller import Controller, load
    from waggle._core import Error, State
    from waggle._learn import learn, learn_log
    from waggle._options import describe, options, presets
    from waggle._reservoir import Reservoir
    from waggle._results import Evaluation, Experience, LogEvaluation
    from waggle._sklearn import Forecaster, ReservoirRegressor

    __version__: str

# Modules and their names. Each is imported when it is first used, so that `import waggle` costs next
# to nothing and needs nothing; after Gymnasium it registers the environments, too.
_NAMES = {
    "_controller": ["Controller", "load"],
    "_core": ["Error", "State", "__version__"],
    "_learn": ["learn", "learn_log"],
    "_options": ["describe", "options", "presets"],
    "_reservoir": ["Reservoir"],
    "_results": ["Evaluation", "Experience", "LogEvaluation"],
    "_sklearn": ["Forecaster", "ReservoirRegressor"],
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Controller",
    "Error",
    "Evaluation",
    "Experience",
    "Forecaster",
    "LogEvaluation",
    "Reservoir",
    "ReservoirRegressor",
    "State",
    "describe",
    "learn",
    "learn_log",
    "load",
    "options",
    "presets",
]

if "gymnasium" in sys.modules:
    from waggle._registration import register

    register()
    del register


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'waggle' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"waggle.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_WHERE))
