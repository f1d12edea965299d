"""Deciding, keeping, showing."""

from __future__ import annotations

import json
import pickle
import resource
import shutil
import subprocess
import threading

import numpy as np
import pytest

import waggle
from conftest import SMALL, Counter

gymnasium = pytest.importorskip("gymnasium")


def test_a_file_and_a_pickle_hold_the_same_bits(cartpole, tmp_path):
    path = tmp_path / "cartpole.safetensors"
    cartpole.save(path)
    assert path.read_bytes() == cartpole.to_bytes()
    for other in (waggle.load(path), pickle.loads(pickle.dumps(cartpole))):
        assert other.to_bytes() == cartpole.to_bytes()
        state = other_state = None
        for k in range(20):
            seen = np.sin(np.arange(4.0) + k)
            action, state = cartpole.predict(seen, state)
            other_action, other_state = other.predict(seen, other_state)
            assert action == other_action


def test_what_the_disk_refuses_is_an_os_error(cartpole, tmp_path):
    for write in (cartpole.save, cartpole.export_c):
        with pytest.raises(OSError, match="cannot write"):
            write(tmp_path / "missing" / "model.safetensors")


def test_damaged_files_are_refused(cartpole, tmp_path):
    data = cartpole.to_bytes()
    with pytest.raises(waggle.Error, match="the bytes"):
        waggle.Controller.from_bytes(data[:1000])
    with pytest.raises(waggle.Error):
        waggle.load(tmp_path / "nothing.safetensors")
    for old, new in [
        (b'{\\"observation\\":{\\"kind\\":\\"box\\"', b'{\\"observation\\":{\\"kind\\":\\"bax\\"'),
        (b'\\"shape\\":[4]', b'\\"shape\\":[5]'),
        (b'{\\"observation\\"', b'{\\"observatiun\\"'),
    ]:
        assert old in data
        with pytest.raises(waggle.Error, match="interface is damaged"):
            waggle.Controller.from_bytes(data.replace(old, new))


def test_predict_takes_one_or_many(cartpole):
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(30, 8, 4)).astype(np.float32)
    states = None
    alone = [None] * 8
    for k in range(30):
        starts = rng.random(8) < 0.1
        actions, states = cartpole.predict(seen[k], states, starts)
        assert actions.shape == (8,)
        assert actions.dtype == np.int64
        for i in range(8):
            action, alone[i] = cartpole.predict(seen[k, i], alone[i], starts[i])
            assert isinstance(action, np.int64)
            assert action == actions[i], (k, i)
    assert len(states) == 8
    assert "8 copies" in repr(states)


def test_predict_takes_arrays_of_any_kind(cartpole):
    seen = np.array([0.1, -0.2, 0.3, 0.4])
    expected = pickle.dumps(cartpole.predict(seen)[1])
    for same in (seen.tolist(), tuple(seen), seen.astype(">f8"), np.repeat(seen, 2)[::2]):
        assert pickle.dumps(cartpole.predict(same)[1]) == expected
    actions, state = cartpole.predict(np.zeros((0, 4)))
    assert actions.shape == (0,)
    assert len(state) == 0
    whole = cartpole.predict(np.arange(4))[1]
    assert pickle.dumps(whole) == pickle.dumps(cartpole.predict(np.arange(4.0))[1])


def test_predict_leaves_its_state_alone(cartpole):
    seen = np.ones(4)
    _, state = cartpole.predict(seen)
    before = pickle.dumps(state)
    first = cartpole.predict(-seen, state)[0]
    for _ in range(3):
        assert cartpole.predict(-seen, state)[0] == first
    assert pickle.dumps(state) == before
    assert cartpole.predict(-seen, pickle.loads(before))[0] == first


def bee(columns, **options):
    return waggle.learn_log(
        columns, reward="nectar", action="move", preset="direct", units=30, gamma=0.5, **options
    )


@pytest.mark.parametrize("limits", [{}, {"max_change": 0.02}, {"hold": 3}])
def test_what_was_applied_is_told_as_to_the_command(bee_columns, tmp_path, command, limits):
    controller = bee(bee_columns, **limits)
    controller.save(tmp_path / "bee.safetensors")
    rng = np.random.default_rng(3)
    lines = [{"nectar": float(nectar)} for nectar in bee_columns["nectar"][:60]]
    for line in lines[1:]:
        if rng.random() < 0.5:
            line["applied"] = float(rng.uniform(-0.1, 0.1))
    told = subprocess.run(
        [command, "act", str(tmp_path / "bee.safetensors"), "--hold=false"],
        input="\n".join(json.dumps(line) for line in lines) + "\n",
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    state, last = None, None
    for line, answer in zip(lines, told, strict=True):
        done = line.get("applied")
        action, state = controller.predict(
            np.zeros(0), state, reward=line["nectar"], applied=None if done is None else [done]
        )
        assert action[0] == json.loads(answer)["action"]
        if last is not None and "max_change" in limits:
            assert abs(action[0] - (last if done is None else done)) <= 0.02 + 1e-12
        last = action[0]


def test_every_system_of_a_batch_is_told_its_own(cartpole):
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(30, 4, 4))
    states, alone, done = None, [None] * 4, None
    for k in range(30):
        actions, states = cartpole.predict(seen[k], states, applied=done)
        for i in range(4):
            own = None if done is None else done[i]
            action, alone[i] = cartpole.predict(seen[k, i], alone[i], applied=own)
            assert action == actions[i], (k, i)
        done = [1 - actions[0], None, actions[2], rng.integers(2)]
    before = pickle.dumps(cartpole.predict(seen[0], states)[1])
    chosen = actions
    for same in (chosen, chosen.tolist(), [None, *chosen[1:]]):
        assert pickle.dumps(cartpole.predict(seen[0], states, applied=same)[1]) == before
    other = cartpole.predict(seen[0], states, applied=1 - chosen)[1]
    assert pickle.dumps(other) != before
    # Where an episode starts no action came before.
    starts = np.ones(4, dtype=bool)
    fresh = cartpole.predict(seen[0], states, starts)[1]
    again = cartpole.predict(seen[0], states, starts, applied=1 - chosen)[1]
    assert pickle.dumps(fresh) == pickle.dumps(again)


def test_what_cannot_have_been_applied_is_refused(cartpole, bee_columns):
    seen = np.zeros((3, 4))
    _, states = cartpole.predict(seen)
    for applied, message in [
        ([0, 1], "applied: 2 actions for 3 observations"),
        (0, "applied = 0: must be an action for each of 3"),
        ([0, 1, 2], r"applied\[2\] = 2: must be a whole number in \[0, 1\]"),
        ([0, 0.5, 1], r"applied\[1\] = 0.5: must be a whole number"),
    ]:
        with pytest.raises(waggle.Error, match=message):
            cartpole.predict(seen, states, applied=applied)
    with pytest.raises(waggle.Error, match="applied: no action was chosen before this one"):
        cartpole.predict(seen[0], None, applied=0)
    with pytest.raises(waggle.Error, match="the state is of 3 copies, the observations are of 1"):
        cartpole.predict(seen[0], states, applied=0)
    controller = bee(bee_columns)
    _, state = controller.predict(np.zeros((2, 0)), reward=np.ones(2))
    for applied, message in [
        ([[0.0], [np.nan]], "copy 1: applied: action 0 is nan"),
        ([[0.0], [1e200]], "copy 1: applied: action 0 is 1e"),
        ([[0.0], [0.0, 1.0]], r"applied\[1\]: an action of shape \(2,\) .* must be .* \(1,\)"),
        ([[0.0], ["x"]], r"applied\[1\]: an action of shape"),
    ]:
        with pytest.raises(waggle.Error, match=message):
            controller.predict(np.zeros((2, 0)), state, reward=np.ones(2), applied=applied)


def test_an_episode_starts_from_nothing(cartpole):
    state = None
    for k in range(10):
        _, state = cartpole.predict(np.full(4, float(k)), state)
    fresh = cartpole.predict(np.full(4, 0.1))[1]
    again = cartpole.predict(np.full(4, 0.1), state, np.array([True]))[1]
    assert pickle.dumps(fresh) == pickle.dumps(again)


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (np.zeros(3), r"shape \(3,\) .* must be of 4 numbers"),
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        (np.array([0.0, np.nan, 0.0, 0.0]), "observation 1 is nan"),
        (np.array([0.0, 0.0, 1e300, 0.0]), "observation 2 is 1e"),
        ([0.0, 0.0], "must be of 4 numbers"),
        ("text", "must be of 4 numbers"),
        ({"x": 1.0}, "the observation has no 'observation_0'"),
    ],
)
def test_bad_observations_are_refused(cartpole, observation, message):
    with pytest.raises(waggle.Error, match=message):
        cartpole.predict(observation)
    assert cartpole.predict(np.zeros(4))[0] in (0, 1)


def test_bad_states_are_refused(cartpole):
    _, two = cartpole.predict(np.zeros((2, 4)))
    with pytest.raises(waggle.Error, match="the state is of 2 copies, the observations are of 3"):
        cartpole.predict(np.zeros((3, 4)), two)
    with pytest.raises(waggle.Error, match="3 episode starts for 2 observations"):
        cartpole.predict(np.zeros((2, 4)), two, [True, False, True])
    with pytest.raises(TypeError):
        cartpole.predict(np.zeros((2, 4)), "state")
    other = waggle.learn(
        Counter(), steps=100, preset="direct", members=1, washout=0, sweeps=0, units=7
    )
    with pytest.raises(waggle.Error, match="another controller's: it has 13 numbers"):
        cartpole.predict(np.zeros(4), other.predict(np.zeros(2))[1])


def test_evaluate(cartpole):
    result = cartpole.evaluate(gymnasium.make("CartPole-v1"), episodes=5, seed=1)
    assert result.returns.shape == (5,)
    assert result.mean == pytest.approx(result.returns.mean())
    assert result.standard_error == pytest.approx(result.returns.std(ddof=1) / np.sqrt(5))
    assert (result.lengths == result.returns).all()  # a reward of 1 each step
    again = cartpole.evaluate(gymnasium.make("CartPole-v1"), episodes=5, seed=1)
    assert (again.returns == result.returns).all()
    assert "5 episodes" in repr(result)
    # The same by hand.
    env = gymnasium.make("CartPole-v1")
    seen, _ = env.reset(seed=1)
    total, state, ended = 0.0, None, False
    while not ended:
        action, state = cartpole.predict(seen, state)
        seen, reward, terminated, truncated, _ = env.step(action)
        total, ended = total + reward, terminated or truncated
    assert total == result.returns[0]
    with pytest.raises(waggle.Error, match="shows 2 numbers and takes 3"):
        cartpole.evaluate(Counter())
    with pytest.raises(waggle.Error, match="episodes = 0"):
        cartpole.evaluate(env, episodes=0)


def test_it_shows_itself(cartpole):
    assert "CartPole-v1" in repr(cartpole)


def test_a_reward_is_read_as_it_is_given(bee_columns):
    controller = bee(bee_columns)
    none, two = np.zeros(0), np.zeros((2, 0))

    def state_after(observation, *arguments, **given):
        return pickle.dumps(controller.predict(observation, *arguments, **given)[1])

    assert state_after(none) == state_after(none, reward=0.0) != state_after(none, reward=1.0)
    _, state = controller.predict(none, reward=0.5)
    assert state_after(none, state, True, reward=1.0) == state_after(none, reward=1.0)
    assert state_after(none, state, True) == state_after(none)
    with pytest.raises(waggle.Error, match="sees the reward: give reward"):
        controller.predict(none, state)
    _, states = controller.predict(two, reward=[0.5, 0.25])
    with pytest.raises(waggle.Error, match="sees the reward: give reward"):
        controller.predict(two, states, [True, False])
    with pytest.raises(waggle.Error, match="1 rewards for 2 observations"):
        controller.predict(two, states, reward=1.0)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_exported_c_decides_the_same(cartpole, tmp_path):
    needs = cartpole.export_c(tmp_path / "pole")
    assert needs["name"] == "pole"
    assert needs["ram_bytes"] > 0
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "pole.h"\n'
        "int main(void) {\n  pole_state s; pole_reset(&s); double o[4], action;\n"
        '  while (scanf("%lf %lf %lf %lf", o, o + 1, o + 2, o + 3) == 4)\n'
        '    if (pole_step(&s, 0.0, o, &action)) printf("%d\\n", (int)action);\n}\n'
    )
    subprocess.run(["gcc", "-o", "main", "main.c", "pole.c", "-lm"], cwd=tmp_path, check=True)
    seen = np.random.default_rng(1).normal(size=(50, 4))
    text = "\n".join(" ".join(repr(float(x)) for x in row) for row in seen)
    out = subprocess.run(
        [tmp_path / "main"], input=text, capture_output=True, text=True, check=True
    ).stdout.split()
    state = None
    for row, choice in zip(seen, out, strict=True):
        action, state = cartpole.predict(row, state)
        assert int(choice) == action
    with pytest.raises(waggle.Error, match="precision = 'half'"):
        cartpole.export_c(tmp_path / "pole", precision="half")


def test_exported_c_is_guarded_if_asked(cartpole, bee_columns, tmp_path):
    cartpole.export_c(tmp_path / "pole")
    assert "#define pole_GUARDED 0" in (tmp_path / "pole.h").read_text()
    cartpole.export_c(tmp_path / "pole", guard=True)
    header = (tmp_path / "pole.h").read_text()
    assert "#define pole_GUARDED 4" in header
    assert "#define pole_FALLBACK 0" in header
    given = {"reward": "nectar", "action": "move", "preset": "direct", "units": 30}
    unsure = waggle.learn_log(bee_columns, confidence=False, **given)
    with pytest.raises(waggle.Error, match="has no baseline"):
        unsure.export_c(tmp_path / "pole", guard=True, fallback="hold")
    bee = waggle.learn_log(bee_columns, **given)
    wide, narrow = (
        bee.export_c(tmp_path / "pole", guard={"novelty_limit": limit}, fallback="zero")
        and (tmp_path / "pole.c").read_text()
        for limit in (1.5, 3.0)
    )
    assert "#define pole_FALLBACK 1" in (tmp_path / "pole.h").read_text()
    assert wide != narrow
    with pytest.raises(waggle.Error, match="fallback = 'zero': needs guard=True"):
        cartpole.export_c(tmp_path / "pole", fallback="zero")
    with pytest.raises(waggle.Error, match=r"guard\.novelty_limits: no such option"):
        cartpole.export_c(tmp_path / "pole", guard={"novelty_limits": 1.0})
    with pytest.raises(waggle.Error, match="fallback"):
        cartpole.export_c(tmp_path / "pole", guard=True, fallback="pray")


def test_memory_stays_flat(cartpole):
    seen = np.zeros(4)
    state = None

    def work(count):
        nonlocal state
        for _ in range(count):
            _, state = cartpole.predict(seen, state)

    work(5_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(100_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 4_000  # KiB


def test_threads_get_the_same_bits():
    def learn(results, i):
        results[i] = waggle.learn(Counter(), steps=800, seed=3, **SMALL).to_bytes()

    alone = [None]
    learn(alone, 0)
    results = [None, None]
    threads = [threading.Thread(target=learn, args=(results, i)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == alone * 2


def test_threads_may_share_a_controller(cartpole):
    seen = np.random.default_rng(0).normal(size=(200, 4))

    def walk():
        actions, state = [], None
        for row in seen:
            action, state = cartpole.predict(row, state)
            actions.append(int(action))
        return actions

    expected = walk()
    results = []
    threads = [threading.Thread(target=lambda: results.append(walk())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_summary_is_plain_data(cartpole):
    assert json.loads(json.dumps(cartpole.summary))["seed"] == 0
    assert cartpole.summary["options"]["value"]["discount"] == 0.9
