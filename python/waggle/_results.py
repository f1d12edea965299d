"""What judging a controller gives, and what it was learnt from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from waggle._core import Error


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What a controller earned in whole episodes."""

    mean: float
    """Mean return: the sum of an episode's rewards, discounted if that was asked for."""
    standard_error: float
    """Of that mean."""
    worst: float
    best: float
    mean_length: float
    """Steps of an episode."""
    terminated: float
    """Share of the episodes that ended by themselves."""
    diverged: bool
    """It lost the system; only the episodes before that are here."""
    returns: np.ndarray
    """By episode."""
    lengths: np.ndarray
    """By episode."""

    def __repr__(self) -> str:
        return (
            f"<waggle.Evaluation: {self.mean:.6g} ± {self.standard_error:.2g} over "
            f"{len(self.returns)} episodes, from {self.worst:.6g} to {self.best:.6g}>"
        )


@dataclass(frozen=True, repr=False)
class LogEvaluation:
    """A controller held against a log; see `waggle/evaluation.h` for each number."""

    rows: int
    episodes: int
    judged: int
    mean_reward: float
    bellman_error: float
    greedy_bellman_error: float
    lowest_value: float
    """Of the value over the rows judged."""
    highest_value: float
    slope: float
    intercept: float
    correlation: float
    with_return: int
    same_share: float
    action_difference: list[float]
    action_deviation: list[float]
    off_policy: dict[str, Any]
    """What the controller and the logged policy would earn, by this log: `learnt`, `logged` and
    `difference` with their intervals, or why it cannot tell, in `unknown`."""
    warnings: list[str]

    def __repr__(self) -> str:
        return (
            f"<waggle.LogEvaluation: {self.judged} rows judged, Bellman error "
            f"{self.bellman_error:.4g}, greedy {self.greedy_bellman_error:.4g}, value against "
            f"return: correlation {self.correlation:.3g}>"
        )


@dataclass(frozen=True, repr=False)
class Experience:
    """Rows (r, a, o): what was seen, the action then chosen, and where episodes ended."""

    rewards: np.ndarray
    actions: np.ndarray
    observations: np.ndarray
    ends: np.ndarray
    """0: it goes on, 1: terminated, 2: truncated."""
    interface: dict[str, Any] = field(repr=False)
    environment: dict[str, Any] = field(repr=False)

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        episodes = int(np.count_nonzero(self.ends))
        return f"<waggle.Experience: {len(self)} rows, {episodes} episodes ended>"

    def to_dict(self) -> dict[str, np.ndarray]:
        """Columns by name, as `learn_log` takes them."""
        columns: dict[str, np.ndarray] = {}
        starts = np.concatenate([[0], self.ends[:-1] != 0])
        columns["episode"] = np.cumsum(starts)
        for i, name in enumerate(self.environment["observation_names"]):
            columns[name] = self.observations[:, i]
        columns[self.environment["reward_name"]] = self.rewards
        for i, name in enumerate(self.environment["action_names"]):
            columns[name] = self.actions[:, i]
        columns["terminated"] = self.ends == 1
        columns["truncated"] = self.ends == 2
        return columns

    def to_pandas(self):
        """The same as a DataFrame."""
        try:
            import pandas
        except ImportError:
            raise Error("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(self.to_dict())

    def to_minari(self, dataset_id: str, **options: Any):
        """Writes it as a Minari dataset, observations flattened, and returns that. `options` are
        those of `minari.create_dataset_from_buffers`, such as data_format."""
        from waggle._minari import write

        return write(self, dataset_id, options)
