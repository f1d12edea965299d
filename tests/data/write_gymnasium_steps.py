"""Writes gymnasium-*.csv, steps of Gymnasium's own environments: see README.md."""

import csv

import gymnasium
import numpy as np

PENDULUM = ["angle", "angular_velocity"]
CAR = ["position", "velocity"]
CART = ["position", "velocity", "angle", "angular_velocity"]
ACROBOT = ["shoulder", "elbow", "shoulder_velocity", "elbow_velocity"]


def wave(k):
    return 2.6 * np.sin(0.37 * k)


# Environment, names of its state, and episodes: the first state, the action of step k given the
# state, and the length after which the record is cut.
RECORDS = {
    "cart-pole": (
        "CartPole-v1",
        CART,
        [
            ([0.01, -0.03, 0.02, 0.04], lambda k, s: int(s[2] + 0.3 * s[3] > 0), 30),
            ([0.0, 0.0, 0.05, 0.3], lambda k, s: k % 3 // 2, 30),
            ([-2.3, -1.0, -0.02, 0.1], lambda k, s: k % 2, 30),
        ],
    ),
    "pendulum": (
        "Pendulum-v1",
        PENDULUM,
        [
            ([3.0, 0.2], lambda k, s: [wave(k)], 25),
            ([-9.5, -7.8], lambda k, s: [-1.5], 15),
        ],
    ),
    "mountain-car": (
        "MountainCarContinuous-v0",
        CAR,
        [
            ([-0.5, 0.0], lambda k, s: [0.9 * np.sin(0.2 * k)], 20),
            ([-1.1, -0.05], lambda k, s: [1.0], 10),
            ([0.3, 0.03], lambda k, s: [0.75], 10),
            ([-0.7, 0.069], lambda k, s: [1.0], 5),
        ],
    ),
    "acrobot": (
        "Acrobot-v1",
        ACROBOT,
        [
            ([0.05, -0.08, 0.02, 0.09], lambda k, s: 2 if s[3] > 0 else 0, 25),
            ([-1.5, 1.0, -6.0, 9.0], lambda k, s: k % 3, 20),
            ([0.4, 0.3, 12.0, 27.5], lambda k, s: 1, 12),
            ([1.6, 0.4, 2.5, 0.5], lambda k, s: 2, 12),
        ],
    ),
}

for name, (identifier, names, episodes) in RECORDS.items():
    with open(f"gymnasium-{name}.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["episode", *names, "action", "reward", "terminated", "truncated"]
            + [f"next_{n}" for n in names]
        )
        for episode, (state, choose, length) in enumerate(episodes):
            env = gymnasium.make(identifier, max_episode_steps=length, disable_env_checker=True)
            env.reset(seed=0)
            env.unwrapped.state = np.array(state, dtype=np.float64)
            over = False
            k = 0
            while not over:
                # In double precision where the environment rounds to single.
                before = env.unwrapped.state = np.array(env.unwrapped.state, dtype=np.float64)
                action = choose(k, before)
                taken = np.array(action, dtype=np.float64) if isinstance(action, list) else action
                _, reward, terminated, truncated, _ = env.step(taken)
                after = np.array(env.unwrapped.state, dtype=np.float64)
                number = action[0] if isinstance(action, list) else action
                writer.writerow(
                    [episode, *(repr(float(x)) for x in before), repr(float(number))]
                    + [repr(float(reward)), int(terminated), int(truncated)]
                    + [repr(float(x)) for x in after]
                )
                over = terminated or truncated
                k += 1
