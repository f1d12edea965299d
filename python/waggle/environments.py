"""waggle's own environments with Gymnasium's interface.

    gymnasium.make("waggle/BeeWorld-v0")
    gymnasium.make("waggle/CartPole-v0", noise=0.1)

They are registered when waggle is imported after gymnasium, or else with this module. Options are
those of the library; `waggle.environments.describe(name)` lists them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from waggle import _core
from waggle._core import Error
from waggle._options import nested, option_text
from waggle._registration import register

try:
    import gymnasium
except ImportError as error:
    raise ImportError("waggle.environments needs gymnasium: pip install gymnasium") from error

register()


def names() -> list[str]:
    """The built-in environments, as the library calls them."""
    return _core.environment_names()


def describe(name: str) -> str:
    """The options of one, with their values and a line of help each."""
    return option_text(_core.environment_options(name))


class Environment(gymnasium.Env):
    """A built-in environment. Where the reward is part of what is seen, as in Bee World, where it is
    all there is, it is the first number of the observation."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, name: str, render_mode: str | None = None, **options: Any) -> None:
        if render_mode is not None:
            raise Error(f"render_mode = {render_mode!r}: there is nothing to render")
        self.render_mode = None
        given = nested(options, _core.environment_options(name))
        self._environment = _core.Environment(name, given)
        spec = self._environment.spec()
        self._reward_seen = bool(spec["reward_is_input"])
        size = len(spec["observation_names"]) + self._reward_seen
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self._discrete = spec["choices"] > 0
        if self._discrete:
            self.action_space = gymnasium.spaces.Discrete(spec["choices"])
        else:
            self.action_space = gymnasium.spaces.Box(spec["lower"], spec["upper"], dtype=np.float64)
        self.discount = spec["discount"]
        """γ that suits it."""

    def _seen(self, observation: np.ndarray, reward: float) -> np.ndarray:
        return np.concatenate([[reward], observation]) if self._reward_seen else observation

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts an episode."""
        super().reset(seed=seed)
        observation, reward, _, _ = self._environment.reset(int(self.np_random.integers(2**63)))
        return self._seen(observation, reward), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Takes a step."""
        numbers = np.atleast_1d(np.asarray(action, dtype=np.float64)).ravel()
        observation, reward, terminated, truncated = self._environment.step(numbers)
        return self._seen(observation, reward), reward, terminated, truncated, {}
