"""What the tests share: small environments, a small controller, the command."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# A learner of a tenth of a second, whatever the library's default is.
SMALL = {"preset": "direct", "members": 1, "washout": 0, "sweeps": 0, "units": 30, "gamma": 0.9}


@pytest.fixture(scope="session")
def command() -> str:
    """The waggle command, to compare with."""
    path = os.environ.get("WAGGLE_COMMAND", str(ROOT / "build/release/bin/waggle"))
    if not os.access(path, os.X_OK):
        pytest.skip(f"the waggle command is not at {path}")
    return path


@pytest.fixture(scope="session")
def cartpole():
    """A small controller of CartPole."""
    gymnasium = pytest.importorskip("gymnasium")
    import waggle

    return waggle.learn(gymnasium.make("CartPole-v1"), steps=1000, seed=0, **SMALL)


@pytest.fixture(scope="session")
def bee_columns() -> dict[str, np.ndarray]:
    """A log of Bee World: nectar seen, move chosen."""
    from waggle import _core

    environment = _core.Environment("bee-world", {})
    rng = np.random.default_rng(0)
    _, reward, _, _ = environment.reset(0)
    nectar, moves = [], []
    for _ in range(600):
        move = rng.uniform(-0.1, 0.1, 1)
        nectar.append(reward)
        moves.append(move[0])
        _, reward, _, _ = environment.step(move)
    return {"nectar": np.array(nectar), "move": np.array(moves)}


class Counter:
    """An environment that subclasses nothing: the action moves a number, which is rewarded near 0."""

    def __init__(self, length: int = 20, cut: int | None = None) -> None:
        from gymnasium import spaces

        self.observation_space = spaces.Box(-100.0, 100.0, (2,), np.float64)
        self.action_space = spaces.Discrete(3)
        self.length, self.cut = length, cut
        self.resets, self.steps = [], 0

    def reset(self, seed=None, options=None):
        self.resets.append(seed)
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.t = 0
        self.x = float(self.rng.normal())
        return np.array([self.x, 0.0]), {}

    def step(self, action):
        self.steps += 1
        self.t += 1
        self.x += (int(action) - 1) * 0.5 + 0.1 * float(self.rng.normal())
        return (
            np.array([self.x, float(self.t)]),
            -abs(self.x),
            self.t >= self.length,
            self.cut is not None and self.t >= self.cut,
            {},
        )


@pytest.fixture
def counter() -> Counter:
    pytest.importorskip("gymnasium")
    return Counter()
