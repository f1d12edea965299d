"""Vectors of environments: every autoreset mode, side by side or in processes."""

from __future__ import annotations

import numpy as np
import pytest

import waggle
from conftest import SMALL, Counter

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv  # noqa: E402


class Cut(gymnasium.Env):
    """Counter as Gymnasium's vector environments want it."""

    def __init__(self, length=7):
        self.inner = Counter(length=length)
        self.observation_space = self.inner.observation_space
        self.action_space = self.inner.action_space

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed)

    def step(self, action):
        return self.inner.step(action)


MODES = list(AutoresetMode)


@pytest.mark.parametrize("length", [7, 3])
def test_the_three_autoreset_modes_are_one_experience(length):
    results = []
    for mode in MODES:
        env = SyncVectorEnv([lambda: Cut(length)] * 3, autoreset_mode=mode)
        controller = waggle.learn(env, steps=240, seed=4, rounds=3, epsilon=0.2, **SMALL)
        results.append(controller.experience)
    for rows in results[1:]:
        shared = min(len(rows), len(results[0]))
        assert shared >= 240
        if len(rows) == len(results[0]):
            assert (rows.observations == results[0].observations).all()
            assert (rows.rewards == results[0].rewards).all()
            assert (rows.ends == results[0].ends).all()
    rows = results[0]
    begins = np.concatenate([[True], rows.ends[:-1] != 0])
    assert (rows.rewards[begins] == 0.0).all()
    assert (rows.observations[begins, 1] == 0.0).all()
    inside = ~begins
    assert (np.diff(rows.observations[:, 1])[inside[1:]] == 1.0).all()


@pytest.mark.parametrize("mode", MODES)
def test_copies_are_judged_in_every_autoreset_mode(mode):
    controller = waggle.learn(Counter(), steps=300, seed=0, **SMALL)
    made = [lambda length=length: Cut(length) for length in (3, 7, 4)]
    result = controller.evaluate(SyncVectorEnv(made, autoreset_mode=mode), episodes=7, seed=2)
    assert result.lengths.tolist() == [3, 3, 3, 7, 7, 4, 4]
    # Each copy has earned what it would have alone.
    alone = [
        controller.evaluate(Cut(length), episodes=count, seed=2 + i).returns
        for i, (length, count) in enumerate([(3, 3), (7, 2), (4, 2)])
    ]
    assert result.returns == pytest.approx(np.concatenate(alone))
    cut = controller.evaluate(
        SyncVectorEnv(made, autoreset_mode=mode), episodes=5, seed=2, max_steps=2
    )
    assert cut.lengths.tolist() == [2] * 5
    assert cut.terminated == 0.0
    one = controller.evaluate(SyncVectorEnv(made[:1], autoreset_mode=mode), episodes=2, seed=2)
    assert one.lengths.tolist() == [3, 3]


def test_copies_do_side_by_side_what_each_does_alone():
    """Given the same seeds and the same actions: the first round is random ones."""
    vector = SyncVectorEnv([lambda: Cut(6)] * 3)
    together = waggle.learn(vector, steps=300, seed=10, **SMALL).experience
    first = 0
    for i in range(3):
        alone = waggle.learn(Cut(6), steps=100, seed=10 + i, **SMALL).experience
        rows = slice(first, first + 100)
        assert (together.observations[rows] == alone.observations).all()
        assert (together.actions[rows] == alone.actions).all()
        first += 100


def test_processes_beside_this_one():
    env = AsyncVectorEnv([Cut, Cut])
    try:
        controller = waggle.learn(env, steps=100, seed=1, **SMALL)
    finally:
        env.close()
    sync = waggle.learn(SyncVectorEnv([Cut, Cut]), steps=100, seed=1, **SMALL)
    assert controller.experience.rewards.tolist() == sync.experience.rewards.tolist()
