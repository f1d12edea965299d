"""Minari datasets, read and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from waggle import _spaces
from waggle._core import Error

if TYPE_CHECKING:
    from waggle._logs import OpenLog
    from waggle._results import Experience


def _minari():
    try:
        import minari
    except ImportError:
        raise Error("Minari datasets need minari: pip install 'minari[hdf5,arrow]'") from None
    return minari


def open_path(path: str, asked: dict[str, Any] | None) -> OpenLog:
    """A dataset in a folder, or an HDF5 file: a dataset's own, or one with an array for each
    column."""
    place = Path(path)
    if place.is_file() and not _has_episodes(path):
        return _columns_of(path, asked)
    folder = place.parent if place.is_file() else place
    return read(
        _minari().MinariDataset(folder / "data" if (folder / "data").is_dir() else folder), asked
    )


def _h5py():
    try:
        import h5py
    except ImportError:
        raise Error("HDF5 files need h5py: pip install 'minari[hdf5]'") from None
    return h5py


def _has_episodes(path: str) -> bool:
    h5py = _h5py()
    try:
        with h5py.File(path, "r") as file:
            return "episode_0" in file
    except OSError as error:
        raise Error(f"{path!r}: {error}") from None


def _columns_of(path: str, asked: dict[str, Any] | None) -> OpenLog:
    from waggle._logs import open_log

    h5py = _h5py()
    with h5py.File(path, "r") as file:
        columns = {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset)}
    log = open_log(columns, asked)
    log.name = path
    return log


def read(dataset: Any, asked: dict[str, Any] | None) -> OpenLog:
    """The dataset as columns. An episode of T steps is T rows, and one more if it terminated: of the
    last observation of another nobody knows the action, so it is left out."""
    from waggle._logs import OpenLog

    if asked and asked["reward_next"]:
        raise Error("reward_next is not for Minari datasets, whose rewards are moved in any case")
    observation = _spaces.describe_observation(dataset.observation_space)
    action = _spaces.describe_action(dataset.action_space)
    write = _spaces.writer(observation)
    size = _spaces.size_of(observation)
    discrete = action["kind"] == "discrete"
    names = _spaces.names_of(observation)
    parts: list[tuple[np.ndarray, ...]] = []
    for number, episode in enumerate(dataset.iterate_episodes()):
        parts.append(_rows(number, episode, write, size, action))
    if not parts:
        raise Error("the Minari dataset has no episodes")
    seen, actions, rewards, episodes, terminated, truncated = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    width = actions.shape[1]
    labels = ["action"] if width == 1 else [f"action_{i}" for i in range(width)]
    columns = [(name, seen[:, i]) for i, name in enumerate(names)]
    columns += [(name, actions[:, i]) for i, name in enumerate(labels)]
    columns += [("reward", rewards), ("episode", episodes)]
    columns += [("terminated", terminated), ("truncated", truncated)]
    reading: dict[str, Any] = {
        "reward": "reward",
        "actions": labels,
        "observations": names,
        "reward_is_input": bool(asked and asked["reward_is_input"]),
    }
    if discrete:
        reading["choices"] = [str(i) for i in range(action["n"])]
    else:
        space = dataset.action_space
        reading["action_kind"] = "continuous"
        reading["lower"] = np.asarray(space.low, dtype=np.float64).ravel().tolist()
        reading["upper"] = np.asarray(space.high, dtype=np.float64).ravel().tolist()
    name = str(getattr(getattr(dataset, "spec", None), "dataset_id", None) or "the Minari dataset")
    return OpenLog(columns, name, reading, {"observation": observation, "action": action})


def _rows(
    number: int, episode: Any, write: Any, size: int, action: dict[str, Any]
) -> tuple[np.ndarray, ...]:
    rewards = np.asarray(episode.rewards, dtype=np.float64)
    ended = bool(np.any(episode.terminations))
    steps = len(rewards)
    seen = np.empty((steps + 1, size))
    try:
        write(_cut(episode.observations, steps + 1), seen)
    except Error as error:
        raise Error(f"episode {number}: {error}") from None
    actions = np.asarray(_cut(episode.actions, steps), dtype=np.float64).reshape(steps, -1)
    if action["kind"] == "discrete":
        actions = actions - action["start"]
    if ended:
        actions = np.concatenate([actions, np.full((1, actions.shape[1]), np.nan)])
    rows = steps + 1 if ended else steps
    before = np.concatenate([[0.0], rewards])[:rows]
    terminated = np.zeros(rows)
    truncated = np.zeros(rows)
    (terminated if ended else truncated)[-1:] = 1.0
    return seen[:rows], actions, before, np.full(rows, float(number)), terminated, truncated


def _cut(values: Any, count: int) -> Any:
    """The first of them: some formats pad what is shorter."""
    if isinstance(values, dict):
        return {key: _cut(inner, count) for key, inner in values.items()}
    if isinstance(values, tuple):
        return tuple(_cut(inner, count) for inner in values)
    return values[:count]


def write(experience: Experience, dataset_id: str, options: dict[str, Any]) -> Any:
    """The experience as a dataset of Minari's own making."""
    minari = _minari()
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer

    action = experience.interface["action"]
    size = experience.observations.shape[1]
    seen = spaces.Box(-np.inf, np.inf, (size,), np.float64)
    if action["kind"] == "discrete":
        acts = spaces.Discrete(action["n"], start=action["start"])
    else:
        acts = spaces.Box(-np.inf, np.inf, tuple(action["shape"]), np.dtype(action["dtype"]))
    make = _spaces.batch_action_maker(action)
    ends = np.flatnonzero(experience.ends)
    buffers = []
    first = 0
    for last in ends:
        if last > first:  # an episode of one row has no step
            buffers.append(
                EpisodeBuffer(
                    id=len(buffers),
                    observations=experience.observations[first : last + 1],
                    actions=make(experience.actions[first:last]),
                    rewards=experience.rewards[first + 1 : last + 1],
                    terminations=experience.ends[first + 1 : last + 1] == 1,
                    truncations=experience.ends[first + 1 : last + 1] == 2,
                    infos={},
                )
            )
        first = last + 1
    if not buffers:
        raise Error("the experience has no whole episode to write")
    return minari.create_dataset_from_buffers(
        dataset_id=dataset_id,
        buffer=buffers,
        observation_space=seen,
        action_space=acts,
        **options,
    )
