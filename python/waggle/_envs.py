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


class Adapter:
    """One environment."""

    def __init__(self, env: Any, seed: int, copies: int | None = None) -> None:
        for method in ("reset", "step"):
            if not callable(getattr(env, method, None)):
                raise Error(f"{type(env).__name__} is no environment: it has no {method}()")
        prefix = "" if copies is None else "single_"
        for space in ("observation_space", "action_space"):
            if getattr(env, prefix + space, None) is None:
                raise Error(f"{type(env).__name__} is no environment: it has no {prefix}{space}")
        self._env = env
        self._seed: int | None = seed
        spec = getattr(env, "spec", None)
        self.name = str(getattr(spec, "id", None) or type(env).__name__)
        self._actions = getattr(env, prefix + "action_space")
        self.action_space = _spaces.describe_action(self._actions)
        self.observation_space = _spaces.describe_observation(
            getattr(env, prefix + "observation_space")
        )
        self._write = _spaces.writer(self.observation_space)
        self._act = _spaces.batch_action_maker(self.action_space)
        self._discrete = self.action_space["kind"] == "discrete"
        width = 1 if self._discrete else math.prod(self.action_space["shape"])
        count = 1 if copies is None else copies
        self.observations = np.zeros((count, _spaces.size_of(self.observation_space)))
        self.actions = np.zeros((count, width))
        self.rewards = np.zeros(count)
        self.terminated = np.zeros(count, dtype=bool)
        self.truncated = np.zeros(count, dtype=bool)

    def spec(self, reward_is_input: bool) -> dict[str, Any]:
        """What the library has to know of it."""
        width = self.actions.shape[1]
        result = {
            "name": self.name,
            "choices": self.action_space["n"] if self._discrete else 0,
            "action_names": ["action"] if width == 1 else [f"action_{i}" for i in range(width)],
            "observation_names": _spaces.names_of(self.observation_space),
            "reward_is_input": reward_is_input,
        }
        if not self._discrete:
            for key, bound in (("lower", self._actions.low), ("upper", self._actions.high)):
                result[key] = np.ascontiguousarray(bound, dtype=np.float64).ravel()
        return result

    def interface(self) -> dict[str, Any]:
        """What a model keeps of it."""
        return {"observation": self.observation_space, "action": self.action_space}

    def _observed(self, **options: Any) -> Any:
        """What a reset shows."""
        result = self._env.reset(**options)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise Error(
                f"{self.name}: reset returned {type(result).__name__}, must be a tuple "
                "(observation, info)"
            )
        return result[0]

    def reset(self) -> None:
        seed, self._seed = self._seed, None
        self._write(self._observed(**({} if seed is None else {"seed": seed})), self.observations)
        self._begin(slice(None))

    def _begin(self, copies: Any) -> None:
        """What is seen first is no action's reward, and no end."""
        self.rewards[copies] = 0.0
        self.terminated[copies] = self.truncated[copies] = False

    def step(self) -> None:
        self._take(self._env.step(self._act(self.actions)[0]))

    def _take(self, result: Any) -> dict[str, Any]:
        """Reads what a step returned, but for the infos, which it returns."""
        if not (isinstance(result, tuple) and len(result) == 5):
            shown = type(result).__name__
            shown = f"a tuple of {len(result)}" if shown == "tuple" else shown
            raise Error(
                f"{self.name}: step returned {shown}, must be a tuple (observation, reward, "
                "terminated, truncated, info)"
            )
        observation, reward, self.terminated[:], self.truncated[:], infos = result
        self._write(observation, self.observations)
        numbers = np.asarray(reward)
        if numbers.size != len(self.rewards) or numbers.dtype.kind not in "fiub":
            raise Error(f"{self.name}: step returned the reward {reward!r}, must be a number")
        self.rewards[:] = numbers.ravel()
        return infos

    def restart(self, copies: list[int]) -> bool:
        """Begins episodes anew; False if the next step does."""
        self.reset()
        return True


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
        self._first = np.zeros_like(self.observations)

    def step(self) -> None:
        fresh = self.terminated | self.truncated
        infos = self._take(self._env.step(self._act(self.actions)))
        if self._mode == "NEXT_STEP":
            self._begin(fresh)  # these were reset by this step
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
            self._write(self._observed(options={"reset_mask": mask}), seen)
            self.observations[copies] = seen[copies]
        self._begin(copies)
        return True


def _part(value: Any, i: int) -> Any:
    """The i-th of observations that are batched in any way."""
    if isinstance(value, dict):
        return {key: _part(inner, i) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(_part(inner, i) for inner in value)
    return value[i]


def adapt(env: Any, seed: int) -> Adapter:
    if isinstance(env, str):
        raise Error(f"{env!r} is the name of an environment: give gymnasium.make({env!r})")
    if isinstance(env, type):
        raise Error(f"{env.__name__} is a class: give an environment, {env.__name__}(...)")
    several = hasattr(env, "num_envs") and hasattr(env, "single_observation_space")
    return VectorAdapter(env, seed) if several else Adapter(env, seed)
