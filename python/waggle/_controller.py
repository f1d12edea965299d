"""What decides, and what is known of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from waggle import _core, _spaces
from waggle._core import Error, State
from waggle._options import check_seed, nested
from waggle._progress import bar
from waggle._results import Evaluation, Experience, LogEvaluation


def load(path: str | os.PathLike[str]) -> Controller:
    """Reads a controller from a safetensors file, as `Controller.save` or the command writes it."""
    return Controller(_core.Model.load(os.fspath(path)))


class Controller:
    """A learnt controller: it sees, remembers and decides.

    Made by `waggle.learn`, `waggle.learn_log` or `waggle.load`.
    """

    def __init__(self, model: _core.Model) -> None:
        self._model = model
        self._summary: dict[str, Any] | None = None
        environment = self.summary["environment"]
        self._sees_reward = bool(environment["reward_is_input"])
        self._size = len(environment["observation_names"])
        self._labels = None
        if model.interface:
            try:
                interface = json.loads(model.interface)
            except ValueError:
                interface = None
            _spaces.check(interface, self._size)
        else:
            # Learnt from a table: a row of numbers in, the action as the table has it out.
            action = {"kind": "discrete", "n": environment["choices"], "start": 0}
            if environment["choices"] == 0:
                action = {"kind": "box", "shape": [len(environment["action_names"])]}
            interface = {"observation": {"kind": "box", "shape": [self._size]}, "action": action}
            self._labels = _values(environment["choice_names"])
        self._observation = interface["observation"]
        action = {"dtype": "float64", **interface["action"]}
        self._interface = {"observation": self._observation, "action": action}
        self._write = _spaces.writer(self._observation)
        self._make = _spaces.batch_action_maker(action)
        labels = self._labels
        self._read = _spaces.label_reader(labels) if labels else _spaces.action_reader(action)

    # Deciding.

    def predict(
        self,
        observation: Any,
        state: State | None = None,
        episode_start: Any = None,
        deterministic: bool = True,
        *,
        reward: Any = None,
        applied: Any = None,
    ) -> tuple[Any, State]:
        """The best action, and what is remembered for the next call.

        As stable-baselines3 has it: `observation` is one, or a batch of several systems side by
        side; `state` is what the last call returned, None at first; `episode_start` says which of
        them begin an episode. `deterministic` makes no difference: it always does what it thinks
        best.

        `applied` is what was done instead of the last action, if something else was: an operator
        decided otherwise, an actuator could not follow. What is not told was done as chosen. Of a
        batch there is one for each, None for those that were done as chosen; where an episode starts
        it counts for nothing.

        `reward` is what was earned last, for controllers that see it (those learnt from tables, unless
        told otherwise). It is read as it is given. Where an episode starts nothing was earned yet:
        there it may be left out, which counts as 0.

        What may be missing, of a controller that was learnt with `missing="hold"`, may be NaN, None
        or, given by name, not there: what was seen last goes on.
        """
        by_name = isinstance(observation, Mapping) and self._observation["kind"] != "dict"
        if by_name:
            names = self.summary["environment"]["observation_names"]
            observation = _spaces.by_name(observation, names)
        count = _spaces.batch_of(self._observation, observation)
        single = count is None
        rows = np.empty((1 if single else count, self._size))
        self._write(observation, rows)
        starts = None
        if episode_start is not None:
            starts = np.atleast_1d(np.asarray(episode_start, dtype=bool))
        rewards = None
        if self._sees_reward:
            rewards = self._rewards(reward, len(rows), state is None or _all(starts))
        done = None if applied is None else self._applied(applied, len(rows), single, state)
        numbers, after = self._model.predict(
            rows, rewards=rewards, state=state, starts=starts, applied=done
        )
        if self._labels is None:
            actions = self._make(numbers)
        else:
            actions = [self._labels[int(choice)] for choice in numbers[:, 0]]
        if single:
            return actions[0], after
        return np.asarray(actions), after

    def _rewards(self, reward: Any, copies: int, all_start: bool) -> np.ndarray:
        if reward is not None:
            return np.atleast_1d(np.asarray(reward, dtype=np.float64))
        if not all_start:
            raise Error("this controller sees the reward: give reward, what the last action earned")
        return np.zeros(copies)

    def _applied(self, applied: Any, copies: int, single: bool, state: State | None) -> np.ndarray:
        """What was done, as rows of numbers; of those that are None, what was chosen."""
        actions = [applied] if single else applied
        if isinstance(actions, str) or not isinstance(actions, (Sequence, np.ndarray)):
            raise Error(
                f"applied = {applied!r}: must be an action for each of {copies} observations"
            )
        if len(actions) != copies:
            raise Error(f"applied: {len(actions)} actions for {copies} observations")
        if state is None:
            raise Error(
                "applied: no action was chosen before this one: give the state it was chosen in, too"
            )
        done = _core.chosen(state)
        for i, action in enumerate(actions[: len(done)]):  # a state of others is refused below
            if action is not None:
                done[i] = self._read(action, "applied" if single else f"applied[{i}]")
        return done

    # Judging.

    def evaluate(
        self,
        env: Any,
        episodes: int = 100,
        seed: int = 0,
        *,
        discount: float = 1.0,
        max_steps: int = 10_000,
        progress: Any = None,
    ) -> Evaluation:
        """Lets it act for whole episodes of a Gymnasium environment: what it earned in each.

        Copies in a vector environment play an equal share of the episodes each, which come copy by
        copy. An episode that does not end is cut after `max_steps`.
        """
        from waggle._envs import adapt

        adapter = adapt(env, check_seed(seed))
        with bar(progress) as tell:
            result = _core.evaluate_env(
                self._model,
                adapter,
                spec=adapter.spec(self._sees_reward),
                episodes=episodes,
                discount=discount,
                max_steps=max_steps,
                seed=seed,
                progress=tell,
            )
        for key, dtype in (("returns", np.float64), ("lengths", np.int64)):
            result[key] = np.asarray(result[key], dtype=dtype)
        return Evaluation(**result)

    def evaluate_log(
        self,
        data: Any,
        seed: int = 0,
        *,
        reward_next: bool = False,
        episode: str | None = "episode",
        terminated: str | None = "terminated",
        truncated: str | None = "truncated",
        time: str | None = None,
        progress: Any = None,
    ) -> LogEvaluation:
        """Holds it against a log it was not learnt from, without acting: off-policy. How the log has
        rewards, episodes and times is said as to `learn_log`, since it may be another's."""
        from waggle._logs import open_log

        log = open_log(data, None)
        reading = {
            "reward_next": bool(reward_next),
            "episode": episode or "",
            "terminated": terminated or "",
            "truncated": truncated or "",
            "time": time or "",
        }
        with bar(progress) as tell:
            result = _core.evaluate_log(
                self._model,
                log.data,
                name=log.name,
                reading=reading,
                seed=check_seed(seed),
                progress=tell,
            )
        return LogEvaluation(**result)

    # Keeping.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file, whole or not at all; `waggle.load` reads it, bit for bit."""
        self._model.save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """The same as bytes."""
        return self._model.to_bytes()

    @staticmethod
    def from_bytes(data: bytes) -> Controller:
        """From what `to_bytes` returned."""
        return Controller(_core.Model.from_bytes(bytes(data), "the bytes"))

    def __reduce__(self):
        return Controller.from_bytes, (self.to_bytes(),)

    def export_c(
        self,
        path: str | os.PathLike[str],
        *,
        precision: str = "double",
        guard: bool | dict[str, Any] = False,
        fallback: str = "none",
    ) -> dict[str, Any]:
        """Writes PATH.h and PATH.c: the same decisions in C99, without dependencies or malloc.

        `precision` is "double" or "float". With `guard` what is read is held within what was learnt
        from, counted, and it is told how new a situation is; a dict says how (`margin`,
        `stuck_steps`, `novelty_limit`, `calm_steps`). `fallback`, "hold" or "zero", acts where
        novelty is above its limit. Returns what it takes: bytes of constants and of a state,
        multiplications in a step.
        """
        guarded = isinstance(guard, dict) or bool(guard)
        if fallback != "none" and not guarded:
            raise Error(f"fallback = {fallback!r}: needs guard=True, which knows when it is to act")
        options = {"precision": precision, "guarded": guarded, "fallback": fallback}
        options["guard"] = guard if isinstance(guard, dict) else {}
        return self._model.export_c(os.fspath(path), nested(options, _core.export_options()))

    @property
    def tuning(self) -> dict[str, Any] | None:
        """What `learn_log(..., tune=...)` tried, which of it was taken, and why; else None."""
        return self._model.tuning()

    @property
    def experience(self) -> Experience | None:
        """What it was learnt from, or None if it was loaded or learnt from a log."""
        if self._model.experience_rows() == 0:
            return None
        rewards, actions, observations, ends = self._model.experience()
        return Experience(
            rewards,
            actions,
            observations,
            ends.astype(np.int8),
            self._interface,
            self.summary["environment"],
        )

    # Showing.

    @property
    def summary(self) -> dict[str, Any]:
        """All there is to say of it: environment, options, ranges, fit, warnings, where from."""
        if self._summary is None:
            self._summary = self._model.summary()
        return self._summary

    @property
    def warnings(self) -> list[str]:
        """What a person should know: too little data, no convergence, divergence."""
        return list(self.summary["warnings"])

    def __repr__(self) -> str:
        s = self.summary
        environment = s["environment"]
        seen = len(environment["observation_names"])
        does = (
            f"{environment['choices']} choices"
            if environment["choices"]
            else f"{len(environment['action_names'])} continuous"
        )
        return (
            f"<waggle.Controller of {environment['name']}: {s['kind']}, {s['units']} numbers of "
            f"memory, sees {seen + self._sees_reward}, acts on {does}, learnt from "
            f"{s['provenance']['rows']} rows, γ {s['discount']:g}>"
        )


def _all(starts: np.ndarray | None) -> bool:
    return starts is not None and bool(starts.all())


def _values(labels: list[str]) -> list[Any] | None:
    """The choices as a table had them: numbers if all of them are."""
    if not labels:
        return None
    for number in (int, float):
        try:
            return [number(label) for label in labels]
        except ValueError:
            continue
    return list(labels)
