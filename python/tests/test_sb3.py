"""stable-baselines3's own evaluation, unchanged. ./dev test sb3 installs it; elsewhere skipped."""

from __future__ import annotations

import numpy as np
import pytest

import waggle
from conftest import SMALL

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip(
    "stable_baselines3", reason="stable-baselines3 is not installed (./dev test sb3)"
)
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402


def test_evaluate_policy_with_one_environment(cartpole):
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=1)
    returns, lengths = evaluate_policy(
        cartpole, env, n_eval_episodes=5, return_episode_rewards=True, warn=False
    )
    assert len(returns) == 5
    assert (np.array(returns) == np.array(lengths)).all()
    own = cartpole.evaluate(gymnasium.make("CartPole-v1"), episodes=200)
    assert abs(np.mean(returns) - own.mean) < 6 * own.returns.std() / np.sqrt(5)


def test_evaluate_policy_with_several(cartpole):
    env = make_vec_env("CartPole-v1", n_envs=4, seed=0)
    mean, deviation = evaluate_policy(cartpole, env, n_eval_episodes=12)
    own = cartpole.evaluate(gymnasium.make("CartPole-v1"), episodes=200)
    assert abs(mean - own.mean) < 6 * own.returns.std() / np.sqrt(12)
    assert deviation >= 0.0


def test_continuous_actions():
    controller = waggle.learn(gymnasium.make("Pendulum-v1"), steps=400, seed=0, **SMALL)
    env = make_vec_env("Pendulum-v1", n_envs=3, seed=0)
    mean, _ = evaluate_policy(controller, env, n_eval_episodes=3)
    assert mean < 0.0
