"""Environments with Gymnasium's reset and step, as the library drives them.

The library writes actions into an array and calls `step`; what the environment answers is written
into arrays that the library reads.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from waggle import _spaces
from waggle._core import Error


def is_vector(env: Any) -> bool:
    """Whether these are several copies of an environment."""
    return hasattr(env, "num_envs") and hasattr(env, "single_observation_space")


def name_of(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return str(getattr(spec, "id", None) or type(env).__name__)


class Adapter:
    """One environment."""

    def __init__(self, env: Any, seed: int, copies: int = 1) -> None:
        if isinstance(env, str):
            raise Error(f"{env!r} is the name of an environment: give gymnasium.make({env!r})")
        if isinstance(env, type):
            raise Error(f"{env.__name__} is a class: give an environment, {env.__name__}(...)")
        for method in ("reset", "step"):
            if not callable(getattr(env, method, None)):
                raise Error(f"{type(env).__name__} is no environment: it has no {method}()")
        prefix = "single_" if is_vector(env) else ""
        for space in ("observation_space", "action_space"):
            if getattr(env, prefix + space, None) is None:
                raise Error(f"{type(env).__name__} is no environment: it has no {prefix}{space}")
        self._env = env
        self._seed: int | None = seed
        self.name = name_of(env)
        self._actions_space = getattr(env, prefix + "action_space")
        self.action_space = _spaces.describe_action(self._actions_space)
        self.observation_space = _spaces.describe_observation(
            getattr(env, prefix + "observation_space")
        )
        self._write = _spaces.writer(self.observation_space)
        size = _spaces.size_of(self.observation_space)
        discrete = self.action_space["kind"] == "discrete"
        width = 1 if discrete else math.prod(self.action_space["shape"])
        self.observations = np.zeros((copies, size))
        self.actions = np.zeros((copies, width))
        self.rewards = np.zeros(copies)
        self.terminated = np.zeros(copies, dtype=bool)
        self.truncated = np.zeros(copies, dtype=bool)
        self._act = _spaces.action_maker(self.action_space)
        # What the library needs to call step by itself, where that is simple.
        simple = copies == 1 and not is_vector(env) and self.observation_space["kind"] == "box"
        self.direct = env.step if simple else None
        self.start = self.action_space.get("start", 0)

    def act(self) -> Any:
        """The action in the array, as the environment takes it."""
        return self._act(self.actions[0])

    def write(self, observation: Any) -> None:
        self._write(observation, self.observations)

    def spec(self, reward_is_input: bool) -> dict[str, Any]:
        """What the library has to know of it."""
        discrete = self.action_space["kind"] == "discrete"
        width = self.actions.shape[1]
        result = {
            "name": self.name,
            "choices": self.action_space["n"] if discrete else 0,
            "action_names": ["action"] if width == 1 else [f"action_{i}" for i in range(width)],
            "observation_names": _spaces.names_of(self.observation_space),
            "reward_is_input": reward_is_input,
        }
        if not discrete:
            space = self._actions_space
            for key, bound in (("lower", space.low), ("upper", space.high)):
                result[key] = np.ascontiguousarray(bound, dtype=np.float64).ravel()
        return result

    def interface(self) -> dict[str, Any]:
        """What a model keeps of it."""
        return {"observation": self.observation_space, "action": self.action_space}

    def _reset(self, **options: Any) -> Any:
        result = self._env.reset(**options)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise Error(
                f"{self.name}: reset returned {type(result).__name__}, must be a tuple "
                "(observation, info)"
            )
        return result[0]

    def _take_seed(self) -> dict[str, Any]:
        seed, self._seed = self._seed, None
        return {} if seed is None else {"seed": seed}

    def reset(self) -> None:
        self._write(self._reset(**self._take_seed()), self.observations)
        self.rewards[0] = 0.0
        self.terminated[0] = self.truncated[0] = False

    def step(self) -> None:
        result = self._env.step(self.act())
        try:
            observation, reward, terminated, truncated, _ = result
        except (TypeError, ValueError):
            self.refuse(result)
        self._write(observation, self.observations)
        try:
            self.rewards[0] = float(reward)
        except (TypeError, ValueError):
            self.refuse_reward(reward)
        self.terminated[0] = terminated
        self.truncated[0] = truncated

    def refuse(self, result: Any) -> None:
        raise Error(
            f"{self.name}: step returned {_shown(result)}, must be a tuple (observation, reward, "
            "terminated, truncated, info)"
        )

    def refuse_reward(self, reward: Any) -> None:
        raise Error(f"{self.name}: step returned the reward {reward!r}, must be a number")

    def restart(self, copies: list[int]) -> bool:
        self.reset()
        return True


def _shown(result: Any) -> str:
    if isinstance(result, tuple):
        return f"a tuple of {len(result)}"
    return type(result).__name__


class VectorAdapter(Adapter):
    """Copies of an environment that take their steps together, in any autoreset mode."""

    def __init__(self, env: Any, seed: int) -> None:
        super().__init__(env, seed, int(env.num_envs))
        mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
        # Gymnasium's own default, for environments that do not say.
        self._mode = "NEXT_STEP" if mode is None else str(getattr(mode, "name", mode)).upper()
        if self._mode not in ("NEXT_STEP", "SAME_STEP", "DISABLED"):
            raise Error(
                f"{self.name}: autoreset_mode is {mode!r}, must be NEXT_STEP, SAME_STEP or DISABLED"
            )
        self._act_all = _spaces.batch_action_maker(self.action_space)
        self._first = np.zeros_like(self.observations)

    def reset(self) -> None:
        self._write(self._reset(**self._take_seed()), self.observations)
        self.rewards[:] = 0.0
        self.terminated[:] = self.truncated[:] = False

    def step(self) -> None:
        fresh = self.terminated | self.truncated
        result = self._env.step(self._act_all(self.actions))
        try:
            observations, rewards, terminated, truncated, infos = result
        except (TypeError, ValueError):
            raise Error(
                f"{self.name}: step returned {_shown(result)}, must be a tuple (observations, "
                "rewards, terminations, truncations, infos)"
            ) from None
        self._write(observations, self.observations)
        self.rewards[:] = rewards
        self.terminated[:] = terminated
        self.truncated[:] = truncated
        if self._mode == "NEXT_STEP":
            # These were reset by this step: what they show begins an episode.
            self.rewards[fresh] = 0.0
            self.terminated[fresh] = self.truncated[fresh] = False
        elif self._mode == "SAME_STEP":
            ended = np.flatnonzero(self.terminated | self.truncated)
            if ended.size:
                self._take_final(infos, ended)

    def _take_final(self, infos: Any, ended: np.ndarray) -> None:
        """Copies that were reset within the step: what they showed before is in the infos."""
        final = infos.get("final_obs", infos.get("final_observation"))
        if final is None:
            raise Error(
                f"{self.name}: an episode ended in mode SAME_STEP, but there is no 'final_obs' in "
                "the infos"
            )
        self._first[ended] = self.observations[ended]
        for i in ended:
            self._write(_part(final, i), self.observations[i : i + 1])

    def restart(self, copies: list[int]) -> bool:
        if self._mode == "NEXT_STEP":
            return False
        if self._mode == "SAME_STEP":
            self.observations[copies] = self._first[copies]
        else:
            mask = np.zeros(len(self.rewards), dtype=bool)
            mask[copies] = True
            seen = np.empty_like(self.observations)
            self._write(self._reset(options={"reset_mask": mask}), seen)
            self.observations[copies] = seen[copies]
        self.rewards[copies] = 0.0
        self.terminated[copies] = self.truncated[copies] = False
        return True


def _part(value: Any, i: int) -> Any:
    """The i-th of observations that are batched in any way."""
    if isinstance(value, dict):
        return {key: _part(inner, i) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(_part(inner, i) for inner in value)
    return value[i]


def adapt(env: Any, seed: int) -> Adapter:
    return VectorAdapter(env, seed) if is_vector(env) else Adapter(env, seed)
