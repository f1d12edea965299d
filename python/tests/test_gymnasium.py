"""Learning in Gymnasium's environments, and what others get wrong there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import waggle
from conftest import SMALL, Counter

gymnasium = pytest.importorskip("gymnasium")
from gymnasium import spaces  # noqa: E402
from gymnasium.vector import SyncVectorEnv  # noqa: E402
from test_vector import Cut  # noqa: E402

from waggle import _spaces  # noqa: E402


class Shown(gymnasium.Env):
    """Shows samples of any space, for five steps; the reward is the sum of the action."""

    def __init__(self, observation, action=None):
        self.observation_space = observation
        self.action_space = spaces.Discrete(2) if action is None else action
        self.seen = []

    def _show(self):
        self.seen.append(self.observation_space.sample())
        return self.seen[-1]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.t = 0
        return self._show(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.t += 1
        return self._show(), float(np.sum(action)), self.t >= 5, False, {}


SPACES = {
    "box": spaces.Box(-1, 1, (2, 3)),
    "number": spaces.Box(0, 255, (), np.uint8),
    "infinite": spaces.Box(-np.inf, np.inf, (2,)),
    "discrete": spaces.Discrete(4),
    "shifted": spaces.Discrete(4, start=-2),
    "binary": spaces.MultiBinary([2, 2]),
    "several": spaces.MultiDiscrete([2, 4]),
    "dict": spaces.Dict({"b": spaces.Discrete(3), "a": spaces.Box(-1, 1, (2,))}),
    "tuple": spaces.Tuple((spaces.MultiBinary(2), spaces.Dict({"x": spaces.Discrete(2)}))),
}


@pytest.mark.parametrize("name", SPACES)
def test_observations_are_flattened_as_gymnasium_does(name):
    space = SPACES[name]
    env = Shown(space)
    controller = waggle.learn(env, steps=60, seed=0, **SMALL)
    rows = controller.experience.observations
    expected = np.array([spaces.flatten(space, seen) for seen in env.seen], dtype=np.float64)
    assert len(rows) == 60
    assert (rows == expected[: len(rows)]).all()
    names = controller.summary["environment"]["observation_names"]
    assert len(names) == rows.shape[1] == len(set(names))
    # One as it comes, and several as a vector environment batches them.
    one, _ = controller.predict(env.seen[0])
    vector = SyncVectorEnv([lambda: Shown(space)] * 3)
    many, _ = controller.predict(vector.reset(seed=0)[0])
    assert many.shape == (3,)
    again, _ = waggle.Controller.from_bytes(controller.to_bytes()).predict(env.seen[0])
    assert one == again


def test_spaces_that_cannot_be_flattened_are_named():
    env = Shown(spaces.Dict({"words": spaces.Text(5)}))
    with pytest.raises(waggle.Error, match="observation.words: a space Text cannot be flattened"):
        waggle.learn(env, steps=50)
    for action, message in [
        (spaces.MultiDiscrete([2, 2]), "action: a space MultiDiscrete, must be Discrete or Box"),
        (spaces.Box(0, 5, (1,), np.int64), "action: a Box of int64"),
        (spaces.Box(0, 1, (0,)), "must hold a number"),
    ]:
        with pytest.raises(waggle.Error, match=message):
            waggle.learn(Shown(spaces.Discrete(2), action), steps=50)


def test_observations_outside_their_space():
    class Wrong(Counter):
        def __init__(self, space, seen):
            super().__init__()
            self.observation_space, self.shown = space, seen

        def step(self, action):
            _, *rest = super().step(action)
            return self.shown, *rest

        def reset(self, seed=None, options=None):
            super().reset(seed=seed)
            return self.observation_space.sample(), {}

    box = spaces.Box(-1, 1, (2,), np.float64)
    for seen, message in [
        (np.array([np.nan, 0.0]), "observation 'observation_0' is nan, must be finite"),
        (np.array([0.0, np.inf]), "observation 'observation_1' is inf"),
        (np.zeros(3), r"an array of shape \(3,\)"),
        (None, "must be of 2 numbers"),
    ]:
        with pytest.raises(waggle.Error, match=message):
            waggle.learn(Wrong(box, seen), steps=50, **SMALL)
    with pytest.raises(waggle.Error, match=r"observation is 7: must be in \[0, 3\]"):
        waggle.learn(Wrong(spaces.Discrete(4), 7), steps=50, **SMALL)
    # A Box is what was declared, not what is checked: numbers beyond it are taken as they are.
    controller = waggle.learn(Wrong(box, np.array([5.0, -9.0])), steps=50, **SMALL)
    assert controller.experience.observations.max() == 5.0


@pytest.mark.parametrize("reward", [None, "much", np.zeros(2)])
@pytest.mark.parametrize("space", [spaces.Box(-1, 1, (2,)), spaces.Discrete(2)])
def test_a_reward_that_is_no_number_is_refused(space, reward):
    class Odd(Shown):
        def step(self, action):
            observation, _, *rest = super().step(action)
            return observation, reward, *rest

    with pytest.raises(waggle.Error, match="Odd: step returned the reward .* must be a number"):
        waggle.learn(Odd(space), steps=50, **SMALL)


def test_terminated_and_truncated_mean_what_they_mean():
    for env, end in [(Counter(length=4), 1), (Counter(length=99, cut=4), 2)]:
        rows = waggle.learn(env, steps=50, **SMALL).experience
        assert (np.flatnonzero(rows.ends) == np.arange(4, 50, 5)).all()
        assert set(rows.ends[rows.ends != 0]) == {end}
        assert (rows.rewards[::5] == 0.0).all()  # nothing was earned before the first step
        assert (rows.observations[::5, 1] == 0.0).all()
        assert (rows.observations[4::5, 1] == 4.0).all()
        assert env.resets[0] == 0
        assert set(env.resets[1:]) == {None}


def test_float32_actions_stay_within_their_box():
    low, high = np.float32([[-0.1, -0.3]]), np.float32([[0.1, 0.7]])
    env = Shown(spaces.Box(-1, 1, (2,)), spaces.Box(low, high))  # asserts that actions are in it
    controller = waggle.learn(env, steps=200, rounds=4, epsilon=0.3, seed=0, **SMALL)
    action, _ = controller.predict(np.zeros(2, np.float32))
    assert action.dtype == np.float32
    assert action.shape == (1, 2)
    assert env.action_space.contains(action)
    batch, _ = controller.predict(np.zeros((5, 2), np.float32))
    assert batch.shape == (5, 1, 2)


def test_unbounded_actions_need_a_limit():
    space = spaces.Box(np.float32([-np.inf]), np.float32([np.inf]))
    env = Shown(spaces.Discrete(2), space)
    with pytest.raises(
        waggle.Error, match=r"action 0: \[-inf, inf\] is unbounded; give action_limit"
    ):
        waggle.learn(env, steps=60, **SMALL)
    controller = waggle.learn(env, steps=60, action_limit=2.0, **SMALL)
    assert abs(controller.experience.actions).max() <= 2.0
    assert abs(controller.predict(1)[0][0]) <= 2.0


def test_discrete_actions_that_do_not_start_at_zero():
    env = Shown(spaces.Discrete(2), spaces.Discrete(3, start=5))
    controller = waggle.learn(env, steps=60, **SMALL)
    assert controller.predict(0)[0] in (5, 6, 7)
    assert set(np.unique(controller.experience.actions)) <= {0.0, 1.0, 2.0}


def test_same_seed_same_bits():
    a, b, c = (waggle.learn(Counter(), steps=300, seed=seed, **SMALL) for seed in (5, 5, 6))
    assert a.to_bytes() == b.to_bytes() != c.to_bytes()


def test_an_exception_of_the_environment_comes_out_as_itself():
    class Mine(Exception):
        pass

    error = Mine("of my own")

    class Raises(Counter):
        def step(self, action):
            if self.steps == 30:
                raise error
            return super().step(action)

    for make in (Raises, lambda: SyncVectorEnv([lambda: Wrapped(Raises())])):
        with pytest.raises(Mine) as caught:
            waggle.learn(make(), steps=500, rounds=5, **SMALL)
        assert caught.value is error
    with pytest.raises(Mine):
        waggle.learn(Counter(), steps=50, **SMALL).evaluate(Raises(), episodes=9)


class Wrapped(Cut):
    def __init__(self, inner):
        self.inner = inner
        self.observation_space = inner.observation_space
        self.action_space = inner.action_space


def test_what_is_no_environment_is_refused():
    for env, message in [
        (object(), r"object is no environment: it has no reset\(\)"),
        ("CartPole-v1", r"give gymnasium.make\('CartPole-v1'\)"),
        (Counter, r"Counter is a class: give an environment, Counter\("),
    ]:
        with pytest.raises(waggle.Error, match=message):
            waggle.learn(env, steps=50)

    class Old(Counter):
        def step(self, action):
            return super().step(action)[:4]

    with pytest.raises(waggle.Error, match="step returned a tuple of 4, must be a tuple"):
        waggle.learn(Old(), steps=50, **SMALL)

    class Older(Counter):
        def reset(self, seed=None):
            return super().reset(seed)[0]

    with pytest.raises(waggle.Error, match="reset returned ndarray, must be a tuple"):
        waggle.learn(Older(), steps=50, **SMALL)
    with pytest.raises(waggle.Error, match="steps = 0"):
        waggle.learn(Counter(), steps=0, **SMALL)


def test_ctrl_c_ends_a_long_call_soon():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from conftest import Counter; import waggle\n"
        "c = Counter(length=10**9); print('go', flush=True)\n"
        "waggle.learn(c, steps=int(sys.argv[2]), seed=0, units=400, preset='direct', members=1, sweeps=50)\n"
    )
    for steps, wait in (("100000000", 0.5), ("60000", 3.0)):
        process = subprocess.Popen(
            [sys.executable, "-c", code, os.path.dirname(__file__), steps],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, errors = process.communicate(timeout=60)
        assert "KeyboardInterrupt" in errors
        assert time.monotonic() - began < 5.0


def test_progress_is_told():
    seen = []
    waggle.learn(Counter(), steps=300, progress=lambda *now: seen.append(now), **SMALL)
    assert seen
    assert all(isinstance(what, str) and done <= total for what, done, total in seen if total)

    class Mine(Exception):
        pass

    def stop(what, done, total):
        raise Mine

    with pytest.raises(Mine):
        waggle.learn(Counter(), steps=300, progress=stop, **SMALL)
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            "import waggle, numpy as np\n"
            "rows = {'reward': np.sin(np.arange(99.)), 'action': np.cos(np.arange(99.))}\n"
            "waggle.learn_log(rows, preset='direct', units=5)\n"
            "waggle.learn_log(rows, preset='direct', units=5, progress=True)\n",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0
    assert result.stdout == ""


def test_the_gil_is_free_while_it_fits():
    counted = 0
    stop = threading.Event()

    def count():
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    rows = np.random.default_rng(0).normal(size=(20_000, 2))
    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    waggle.Reservoir(units=400, seed=0).run(rows)
    took = time.monotonic() - began
    stop.set()
    thread.join()
    assert counted > 100 * took


def test_a_memory_of_ones_own():
    plain = {"preset": "direct", "members": 1, "washout": 0, "sweeps": 0}

    def step(x, z):
        assert x.shape == (4,)
        assert z.shape == (5,)  # three choices, one-hot, and two numbers seen
        return np.tanh(0.5 * x + z[[0, 2, 3, 4]])

    controller = waggle.learn(Counter(), steps=200, reservoir=step, units=4, **plain)
    assert controller.summary["kind"] == "a memory of your own"
    action, state = controller.predict(np.zeros(2))
    assert action in (0, 1, 2)
    assert controller.evaluate(Counter(), episodes=3).mean < 0
    with pytest.raises(waggle.Error, match="no file format"):
        controller.to_bytes()
    with pytest.raises(waggle.Error, match="units = None: a reservoir of your own needs units"):
        waggle.learn(Counter(), steps=200, reservoir=step)
    for wrong, message in [
        (lambda x, z: np.zeros(3), "step returned 3 numbers, must be 4"),
        (lambda x, z: np.full(4, np.nan), "step returned a number 0 that is nan"),
        (lambda x, z: [0.0, 1.0, 0.0, 1.0][:2], "step returned 2 numbers"),
    ]:
        with pytest.raises(waggle.Error, match=message):
            waggle.learn(Counter(), steps=200, reservoir=wrong, units=4, **plain)

    def fails(x, z):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        waggle.learn(Counter(), steps=200, reservoir=fails, units=4, **plain)


def test_the_reward_may_be_seen():
    controller = waggle.learn(Counter(), steps=200, reward_input=True, **SMALL)
    action, state = controller.predict(np.zeros(2))
    with pytest.raises(waggle.Error, match="sees the reward: give reward"):
        controller.predict(np.zeros(2), state)
    controller.predict(np.zeros(2), state, reward=1.0)
    assert controller.evaluate(Counter(), episodes=2).returns.shape == (2,)


def test_it_learns_something():
    """Not the numbers of the benchmarks, but far from chance."""
    env = gymnasium.make("CartPole-v1")
    controller = waggle.learn(env, steps=2000, seed=0, preset="predictive", units=100)
    assert controller.evaluate(env, episodes=10).mean > 60  # random: 22


def test_popgym():
    popgym = pytest.importorskip("popgym")
    env = popgym.envs.repeat_previous.RepeatPreviousEasy()
    controller = waggle.learn(env, steps=400, seed=0, **SMALL)
    assert controller.evaluate(env, episodes=2).lengths.min() > 10


def test_own_environments_are_registered():
    from gymnasium.utils.env_checker import check_env

    from waggle._registration import ids
    from waggle.environments import describe, names

    for lines in ("import gymnasium, waggle", "import waggle.environments, gymnasium"):
        code = f"{lines}; gymnasium.make('waggle/BeeWorld-v0').reset(seed=0)"
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert list(ids().values()) == names()
    assert {"waggle/BeeWorld-v0", "waggle/MountainCar-v0", "waggle/Tiger-v0"} < set(ids())
    for gymnasium_id, name in ids().items():
        env = gymnasium.make(gymnasium_id)
        check_env(env.unwrapped, skip_render_check=True)
        assert describe(name)
    # What does not end by itself is cut; what does is left alone.
    assert gymnasium.spec("waggle/MarketMaker-v0").max_episode_steps == 2000
    assert gymnasium.spec("waggle/Tanks-v0").max_episode_steps is None
    env = gymnasium.make("waggle/CartPole-v0", noise=0.1)
    controller = waggle.learn(env, steps=300, seed=0, **SMALL)
    assert controller.evaluate(env, episodes=2).lengths.min() >= 1
    bee = gymnasium.make("waggle/BeeWorld-v0")
    assert bee.observation_space.shape == (1,)  # the nectar is all there is to see
    with pytest.raises(waggle.Error, match="no such option|no option"):
        gymnasium.make("waggle/BeeWorld-v0", nose=1)
    with pytest.raises(waggle.Error, match="reset must be called before step"):
        gymnasium.make("waggle/BeeWorld-v0").unwrapped.step(np.zeros(1))
    with pytest.raises(waggle.Error, match=r"action 0 is 5, must be in"):
        unwrapped = bee.unwrapped
        unwrapped.reset(seed=0)
        unwrapped.step(np.array([5.0]))


def test_descriptions_from_files_are_not_trusted():
    for wrong in [
        None,
        {},
        {"kind": "box"},
        {"kind": "box", "shape": [-1]},
        {"kind": "box", "shape": ["4"]},
        {"kind": "discrete", "n": 0, "start": 0},
        {"kind": "tuple", "spaces": [{"kind": "?"}]},
        {"kind": "multidiscrete", "counts": [2], "starts": [], "shape": [1]},
    ]:
        with pytest.raises(waggle.Error, match="interface is damaged"):
            _spaces.check(
                {"observation": wrong, "action": {"kind": "discrete", "n": 2, "start": 0}}, 4
            )
