"""Records learning curves of recurrent PPO on two problems of the control suite.

    python -m venv env
    env/bin/pip install gymnasium sb3-contrib          # CPU torch is enough
    env/bin/python paper/experiments/recurrent_ppo.py --seeds 0 1 2 --out web/recorded/recurrent_ppo.csv

The problems are Gymnasium's own Pendulum-v1 and CartPole-v1 without their velocities: the same
observation, reward, episode length and starts as waggle's `pendulum` and `cart-pole`. The learner is
sb3-contrib's RecurrentPPO with the hyperparameters that rl-baselines3-zoo has for PendulumNoVel-v1
and CartPoleNoVel-v1 (below; all else is sb3-contrib's default, an LSTM of 256 units for the policy and
one for the value). One thread. A row of the file is 20 fresh episodes of what was learnt so far, acting
without noise; `cpu_seconds` are those of training alone. The file is written after every row, so a
run that is stopped leaves what it has; seeds that the file has whole are not run again.
"""

import argparse
import csv
import os
import time
from pathlib import Path

import gymnasium
import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from sb3_contrib import RecurrentPPO
from sb3_contrib.ppo_recurrent import MlpLstmPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

STEPS = 100_000
EPISODES = 20
FRESH = 1_000_000  # added to the seed of episodes that judge
COLUMNS = ["problem", "seed", "steps", "score", "cpu_seconds"]

# name: Gymnasium's name, the observations that are kept, how many environments, hyperparameters
PROBLEMS = {
    "pendulum": (
        "Pendulum-v1",
        [0, 1],
        4,
        {
            "n_steps": 1024,
            "gae_lambda": 0.95,
            "gamma": 0.9,
            "n_epochs": 10,
            "ent_coef": 0.0,
            "learning_rate": 1e-3,
            "clip_range": 0.2,
            "use_sde": True,
            "sde_sample_freq": 4,
        },
    ),
    "cart-pole": (
        "CartPole-v1",
        [0, 2],
        8,
        {
            "n_steps": 32,
            "batch_size": 256,
            "gae_lambda": 0.8,
            "gamma": 0.98,
            "n_epochs": 20,
            "ent_coef": 0.0,
            "learning_rate": lambda left: 1e-3 * left,
            "clip_range": lambda left: 0.2 * left,
        },
    ),
}


class QuickLstmPolicy(MlpLstmPolicy):
    """The same numbers in less time: training's sequences begin where episodes do, so that a reset
    can only be at their first step, and the LSTM need not be called step by step."""

    @staticmethod
    def _process_sequence(features, lstm_states, episode_starts, lstm):
        starts = episode_starts.reshape((lstm_states[0].shape[1], -1))
        if starts.shape[1] > 1 and not starts[:, 1:].any():
            kept = (1.0 - starts[:, 0]).view(1, -1, 1)
            lstm_states = (kept * lstm_states[0], kept * lstm_states[1])
            episode_starts = torch.zeros_like(episode_starts)
        return MlpLstmPolicy._process_sequence(features, lstm_states, episode_starts, lstm)


class Seen(gymnasium.ObservationWrapper):
    """Only some of what there is to see."""

    def __init__(self, env: gymnasium.Env, kept: list[int]) -> None:
        super().__init__(env)
        self.kept = kept
        space = env.observation_space
        self.observation_space = gymnasium.spaces.Box(space.low[kept], space.high[kept], dtype=space.dtype)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        return observation[self.kept]


def judged(model: RecurrentPPO, make, seed: int) -> float:
    """The mean return of episodes side by side, each counted until it first ends."""
    envs = [make() for _ in range(EPISODES)]
    seen = np.stack([env.reset(seed=seed + i)[0] for i, env in enumerate(envs)])
    returns, running = np.zeros(EPISODES), np.ones(EPISODES, dtype=bool)
    state, starts = None, np.ones(EPISODES, dtype=bool)
    while running.any():
        actions, state = model.predict(seen, state=state, episode_start=starts, deterministic=True)
        starts[:] = False
        for i in np.flatnonzero(running):
            seen[i], reward, terminated, truncated, _ = envs[i].step(actions[i])
            returns[i] += reward
            running[i] = not (terminated or truncated)
    return float(returns.mean())


class Judge(BaseCallback):
    """Judges between two updates, at about the numbers of steps that are asked for."""

    def __init__(self, at: list[int], write, make, seed: int) -> None:
        super().__init__()
        self.at, self.write, self.make, self.seed = at, write, make, seed
        self.began, self.judging = time.process_time(), 0.0

    def judge(self) -> None:
        start = time.process_time()
        score = judged(self.model, self.make, self.seed + FRESH)
        self.write(self.num_timesteps, score, start - self.began - self.judging)
        self.judging += time.process_time() - start

    def _on_rollout_start(self) -> None:  # what was collected before has been learnt from
        if self.at and self.num_timesteps >= self.at[0]:
            self.judge()
            self.at = [steps for steps in self.at if steps > self.num_timesteps]

    def _on_training_end(self) -> None:
        self.judge()

    def _on_step(self) -> bool:
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[list] = []
    if options.out.exists():
        with options.out.open() as file:
            rows = list(csv.reader(line for line in file if not line.startswith("#")))[1:]
    done = {(problem, int(seed)) for problem, seed, steps, *_ in rows if int(steps) >= STEPS}
    rows = [row for row in rows if (row[0], int(row[1])) in done]

    for seed in options.seeds:
        for problem in options.problems:
            if (problem, seed) in done:
                continue
            name, kept, count, hyperparameters = PROBLEMS[problem]

            def make(name: str = name, kept: list[int] = kept) -> gymnasium.Env:
                return Seen(gymnasium.make(name), kept)

            def write(steps: int, score: float, seconds: float, of: tuple = (problem, seed)) -> None:
                rows.append([*of, steps, f"{score:.2f}", f"{seconds:.1f}"])
                part = options.out.with_suffix(".part")
                with part.open("w", newline="") as file:
                    file.write(
                        f"# sb3-contrib {sb3_contrib.__version__}, stable-baselines3 {stable_baselines3.__version__}, "
                        f"torch {torch.__version__.split('+')[0]}, gymnasium {gymnasium.__version__}, "
                        f"one thread; see recurrent_ppo.py\n"
                    )
                    csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
                os.replace(part, options.out)
                print(problem, seed, steps, f"{score:.1f} after {seconds:.0f} s", flush=True)

            model = RecurrentPPO(
                QuickLstmPolicy, make_vec_env(make, count, seed=seed), seed=seed, device="cpu", **hyperparameters
            )
            at = [0, 500, 1000, 2000, 4000, 8000, 12000, 16000, 24000, 32000, 48000, 64000, 80000]
            model.learn(STEPS, callback=Judge(at, write, make, seed))


if __name__ == "__main__":
    main()
