"""What decides, and what is known of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from waggle import _core, _page, _spaces
from waggle._core import Error, State
from waggle._options import check_seed
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
        self._read_interface()

    def _read_interface(self) -> None:
        text = self._model.interface
        environment = self.summary["environment"]
        self._sees_reward = bool(environment["reward_is_input"])
        self._size = len(environment["observation_names"])
        if text:
            try:
                interface = json.loads(text)
                observation, action = interface["observation"], interface["action"]
            except (ValueError, KeyError, TypeError):
                raise Error("the model's interface is damaged: it is no JSON of spaces") from None
            self._observation = _spaces.check(observation)
            if _spaces.size_of(self._observation) != self._size:
                raise Error(
                    f"the model's interface is damaged: {_spaces.size_of(self._observation)} "
                    f"numbers are observed, the model has {self._size}"
                )
            self._action = _spaces.check(action)
            try:
                np.dtype(self._action.get("dtype", "float64"))
            except TypeError:
                raise Error("the model's interface is damaged: no such dtype") from None
            self._action.setdefault("dtype", "float64")
        else:
            # Learnt from a table: a row of numbers in, the action as the table has it out.
            self._observation = {"kind": "box", "shape": [self._size]}
            width = len(environment["action_names"])
            if environment["choices"] > 0:
                self._action = {"kind": "discrete", "n": environment["choices"], "start": 0}
            else:
                self._action = {"kind": "box", "shape": [width], "dtype": "float64"}
        self._labels = None if text else _values(environment["choice_names"])
        self._shape = (
            tuple(self._observation["shape"]) if self._observation["kind"] == "box" else None
        )
        self._write = _spaces.writer(self._observation)
        self._act = _spaces.action_maker(self._action)
        self._act_all = _spaces.batch_action_maker(self._action)
        self._made = self._maker()
        self._width = 1 if self._action["kind"] == "discrete" else _spaces.size_of(self._action)
        self._done = (
            _spaces.action_reader(self._action)
            if self._labels is None
            else _spaces.label_reader(self._labels)
        )

    def _maker(self) -> Callable[[Any], Any]:
        """A function that makes an action of what the library decided."""
        if self._action["kind"] != "discrete":
            return self._act
        if self._labels is not None:
            return self._labels.__getitem__
        start, whole = self._action["start"], np.int64
        return (lambda choice: whole(choice + start)) if start else whole

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

        `reward` is what the last action has earned, for controllers that see it (those learnt from
        tables, unless told otherwise); where an episode starts it counts as 0.

        What may be missing, of a controller that was learnt with `missing="hold"`, may be NaN, None
        or, given by name, not there: what was seen last goes on.
        """
        shape = self._shape
        if type(observation) is np.ndarray and observation.dtype in _REAL:
            if observation.shape == shape and not self._sees_reward and applied is None:
                action, after = self._model.decide(observation, 0.0, state, episode_start)
                return self._made(action), after
            rows, single = self._rows(observation)
        else:
            rows, single = self._flatten(observation)
        starts = None
        if episode_start is not None:
            starts = np.atleast_1d(np.asarray(episode_start, dtype=bool))
        rewards = None
        if self._sees_reward:
            rewards = self._rewards(reward, len(rows), state, starts)
        done = None if applied is None else self._applied(applied, len(rows), single, state)
        actions, after = self._model.predict(
            rows, rewards=rewards, state=state, starts=starts, applied=done
        )
        if self._labels is not None:
            chosen = [self._labels[int(i)] for i in actions[:, 0]]
            return (chosen[0] if single else np.asarray(chosen)), after
        return (self._act(actions[0]) if single else self._act_all(actions)), after

    def _rows(self, observation: np.ndarray) -> tuple[np.ndarray, bool]:
        """An array of one observation, or of several, as rows; and whether it is one."""
        shape = self._shape
        if shape is None:
            return self._flatten(observation)
        single = observation.shape == shape
        if not single and observation.shape[1:] != shape:
            raise Error(f"an observation of shape {observation.shape}, must be {shape}, or several")
        count = 1 if single else len(observation)
        rows = np.ascontiguousarray(observation, dtype=np.float64)
        return rows.reshape(count, self._size), single

    def _flatten(self, observation: Any) -> tuple[np.ndarray, bool]:
        names = self.summary["environment"]["observation_names"]
        if isinstance(observation, Mapping) and self._observation["kind"] != "dict":
            observation = _spaces.by_name(observation, names)
        count = _spaces.batch_of(self._observation, observation)
        rows = np.empty((1 if count is None else count, self._size))
        self._write(observation, rows)
        return rows, count is None

    def _rewards(self, reward: Any, copies: int, state: State | None, starts: Any) -> np.ndarray:
        if reward is None:
            if state is None or (starts is not None and starts.all()):
                return np.zeros(copies)
            raise Error("this controller sees the reward: give reward, what the last action earned")
        rewards = np.atleast_1d(np.asarray(reward, dtype=np.float64))
        if starts is not None and len(starts) == len(rewards):
            rewards = np.where(starts, 0.0, rewards)
        return np.zeros(copies) if state is None else rewards

    def _applied(self, applied: Any, copies: int, single: bool, state: State | None) -> np.ndarray:
        """What was done, as rows of numbers; of those that are None, what was chosen."""
        actions = [applied] if single else applied
        if isinstance(actions, str) or not isinstance(actions, (Sequence, np.ndarray)):
            raise Error(
                f"applied = {applied!r}: must be an action for each of {copies} observations"
            )
        if len(actions) != copies:
            raise Error(f"applied: {len(actions)} actions for {copies} observations")
        done = _core.chosen(state) if isinstance(state, State) else None
        if done is None or len(done) != copies:  # which is refused, as is no state at all
            done = np.zeros((copies, self._width))
        for i, action in enumerate(actions):
            if action is not None:
                done[i] = self._done(action, "applied" if single else f"applied[{i}]")
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
        given = {"episodes": episodes, "discount": discount, "max_steps": max_steps}
        with bar(progress) as tell:
            result = _core.evaluate_env(
                self._model,
                adapter,
                spec=adapter.spec(self._sees_reward),
                options=given,
                seed=seed,
                progress=tell,
            )
        result["lengths"] = np.asarray(result["lengths"], dtype=np.int64)
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
        options = {
            "precision": precision,
            "guarded": guarded,
            "guard": guard if isinstance(guard, dict) else {},
            "fallback": fallback,
        }
        return self._model.export_c(os.fspath(path), options)

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
            {"observation": self._observation, "action": self._action},
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

    def _repr_html_(self) -> str:
        return _page.fragment(self.summary)

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page of it: everything above and all options, as one HTML file. Returns its text, and
        writes it to `path` if one is given."""
        text = _page.whole(self.summary)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text


_REAL = (np.dtype(np.float64), np.dtype(np.float32))


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
