"""Learning from tables of any kind."""

from __future__ import annotations

import pickle
import subprocess

import numpy as np
import pytest

import waggle
from conftest import SMALL, Counter

BEE = {"reward": "nectar", "action": "move", **SMALL}


def kinds(columns, folder):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(columns)
    np.savez(folder / "log.npz", **columns)
    text = [",".join(columns)]
    text += [",".join(repr(float(x)) for x in row) for row in zip(*columns.values(), strict=True)]
    (folder / "log.csv").write_text("\n".join(text) + "\n")
    return {
        "dict": columns,
        "lists": {name: values.tolist() for name, values in columns.items()},
        "pandas": frame,
        "pandas rows": pandas.DataFrame(
            np.stack(list(columns.values()), axis=1), columns=list(columns)
        ),
        "nullable": frame.convert_dtypes(),
        "polars": polars.DataFrame(columns),
        "arrow": pyarrow.table(columns),
        "chunked": pyarrow.concat_tables(
            [pyarrow.table(columns).slice(0, 100), pyarrow.table(columns).slice(100)]
        ),
        "csv": folder / "log.csv",
        "npz": str(folder / "log.npz"),
        "list of files": [str(folder / "log.csv")],
    }


def same_controller(a, b) -> bool:
    """But for where it came from."""
    seen = np.zeros((3, a._size))
    rewards = np.array([0.3, 1.0, 1.7])
    if a.summary["fit"] != b.summary["fit"] or a.summary["ranges"] != b.summary["ranges"]:
        return False
    first, second = a.predict(seen, reward=rewards), b.predict(seen, reward=rewards)
    return (first[0] == second[0]).all()


def test_every_kind_of_table_is_the_same_log(bee_columns, tmp_path):
    tables = kinds(bee_columns, tmp_path)
    expected = waggle.learn_log(tables["csv"], **BEE)
    for name, table in tables.items():
        assert same_controller(waggle.learn_log(table, **BEE), expected), name


def test_same_bytes_as_the_command(bee_columns, tmp_path, command):
    kinds(bee_columns, tmp_path)
    for preset in ("direct", "predictive"):
        out = tmp_path / "model.safetensors"
        subprocess.run(
            [command, "learn", "log.csv", "--reward", "nectar", "--action", "move", "--gamma", "0.5",
             "--units", "20", "--seed", "7", "--preset", preset, "-o", str(out)],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            controller = waggle.learn_log(
                "log.csv",
                reward="nectar",
                action="move",
                gamma=0.5,
                units=20,
                seed=7,
                preset=preset,
            )
        assert controller.to_bytes() == out.read_bytes(), preset
        assert waggle.load(out).summary == {**controller.summary, "rounds": []}


def test_actions_that_are_words(tmp_path):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    words = rng.choice(["off", "on"], 200)
    columns = {
        "heat": rng.normal(size=200),
        "reward": rng.normal(size=200),
        "button": words.tolist(),
    }
    frame = pandas.DataFrame(columns)
    controllers = [
        waggle.learn_log(data, action="button", **SMALL)
        for data in (
            columns,
            frame,
            frame.astype({"button": "category"}),
            polars.DataFrame(columns),
        )
    ]
    for controller in controllers:
        action, state = controller.predict({"heat": 0.5})
        assert action in ("off", "on")
        actions, _ = controller.predict(np.zeros((3, 1)))
        assert set(actions) <= {"off", "on"}
        assert len(controller.predict({"heat": 0.5}, state, reward=0.0, applied="off")[1]) == 1
        with pytest.raises(waggle.Error, match="applied = 'of': must be one of off, on"):
            controller.predict({"heat": 0.5}, state, reward=0.0, applied="of")
        assert controller.summary["fit"] == controllers[0].summary["fit"]


def test_observations_that_are_words():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    columns = {
        "sound": rng.choice(["left", "right"], 200).tolist(),
        "mode": rng.choice([1, 3], 200),
        "reward": rng.normal(size=200),
        "action": rng.choice([0, 1], 200),
    }
    frame = pandas.DataFrame(columns)
    asked = {"reward_input": False, "labelled": ["mode"], **SMALL}
    controllers = [
        waggle.learn_log(data, **asked)
        for data in (columns, frame, frame.astype({"sound": "category"}))
    ]
    names = controllers[0].summary["environment"]["observation_names"]
    assert names == ["sound=left", "sound=right", "mode=1", "mode=3"]
    for controller in controllers:
        _, state = controller.predict({"sound": "right", "mode": 1})
        _, same = controller.predict(np.array([0.0, 1.0, 1.0, 0.0]))
        _, other = controller.predict({"sound": "left", "mode": 1})
        assert pickle.dumps(same) == pickle.dumps(state) != pickle.dumps(other)
    with pytest.raises(waggle.Error, match="'middle': must be one of left, right"):
        controllers[0].predict({"sound": "middle", "mode": 1})
    with pytest.raises(waggle.Error, match="has no 'mode=1'"):
        controllers[0].predict({"sound": "left"})


def test_actions_that_are_few_numbers_come_out_as_they_were():
    rng = np.random.default_rng(0)
    columns = {"reward": rng.normal(size=99), "action": rng.choice([-2, 0, 5], 99)}
    action, _ = waggle.learn_log(columns, **SMALL).predict(np.zeros(0))
    assert action in (-2, 0, 5)
    action, _ = waggle.learn_log(columns, kind="continuous", **SMALL).predict(np.zeros(0))
    assert action.shape == (1,)


def test_episodes_and_bounds():
    rng = np.random.default_rng(0)
    columns = {
        "state": rng.normal(size=(120, 2)),
        "reward": rng.normal(size=120),
        "action": rng.uniform(-1, 1, 120),
        "terminated": np.arange(120) % 10 == 9,
    }
    columns["action"][9::10] = np.nan  # never taken
    controller = waggle.learn_log(columns, bounds=(-2, 2), **SMALL)
    assert controller.summary["provenance"]["episodes"] == 12
    assert controller.summary["lower"] == [-2.0]
    assert controller.summary["environment"]["observation_names"] == ["state_0", "state_1"]
    other = waggle.learn_log(
        {**columns, "action": np.nan_to_num(columns["action"])},
        observe=["state_1"],
        terminated=None,
        reward_input=False,
        **SMALL,
    )
    assert other.summary["provenance"]["episodes"] == 1
    assert other.predict(np.zeros(1))[0].shape == (1,)
    result = controller.evaluate_log(columns)
    assert result.rows == 120
    assert result.lowest_value < result.highest_value
    assert set(result.off_policy) >= {"episodic", "support", "level"}
    assert "rows judged" in repr(result)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"reward": "nectr"}, "no column 'nectr'; did you mean 'nectar'"),
        ({"nectar": np.r_[np.nan, np.ones(599)]}, {}, "row 1, column 'nectar': the cell is empty"),
        ({"nectar": np.r_[np.inf, np.ones(599)]}, {}, "'inf' is not finite"),
        ({"move": np.ones(599)}, {}, "column 'move' has 599 rows"),
        ({"move": np.ones((600, 2, 2))}, {}, "an array of 3 dimensions"),
        ({"nectar": np.ones(600)}, {}, "the reward 'nectar' is 1 in every row"),
        ({"when": np.datetime64("2020-01-01") + np.arange(600)}, {}, "if it is the time"),
        ({"z": np.ones(600, complex)}, {}, "must be numbers or text"),
        ({}, {"bounds": (1, -1)}, r"\[1, -1\]"),
        ({}, {"bounds": 3}, "bounds = 3: must be a pair"),
        ({}, {"kind": "other"}, "action_kind = 'other'"),
        ({}, {"observe": ["x"]}, "no column 'x'"),
        ({}, {"gamma": "0,5"}, "^gamma = '0,5': must be a number"),
    ],
)
def test_bad_tables_are_refused(bee_columns, change, options, message):
    with pytest.raises(waggle.Error, match=message):
        waggle.learn_log({**bee_columns, **change}, **{**BEE, **options})


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(waggle.Error, match="a log cannot be read from int"):
        waggle.learn_log(5)
    with pytest.raises(waggle.Error):
        waggle.learn_log(tmp_path / "nothing.csv")
    with pytest.raises(waggle.Error, match="there are no columns"):
        waggle.learn_log({})


def test_arrays_are_not_copied(bee_columns):
    from waggle._logs import open_log

    columns = dict(open_log(bee_columns, None).data)
    assert columns["move"] is bee_columns["move"]


@pytest.fixture
def minari(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return minari


def collect(minari, env, name, data_format, steps=150):
    collector = minari.DataCollector(env, data_format=data_format)
    collector.action_space.seed(3)
    collector.reset(seed=1)
    for k in range(steps):
        _, _, terminated, truncated, _ = collector.step(collector.action_space.sample())
        if terminated or truncated:
            collector.reset(seed=k)
    return collector.create_dataset(dataset_id=name, algorithm_name="random")


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_minari_in_its_three_formats(minari, env_id):
    gymnasium = pytest.importorskip("gymnasium")
    controllers = {}
    for data_format in ("hdf5", "arrow", "parquet"):
        name = f"test/{env_id.partition('-')[0].lower()}-{data_format}-v0"
        dataset = collect(minari, gymnasium.make(env_id, max_episode_steps=40), name, data_format)
        controllers[data_format] = waggle.learn_log(dataset, **SMALL)
        rows = sum(
            len(episode.rewards) + bool(episode.terminations[-1])
            for episode in dataset.iterate_episodes()
        )
        assert controllers[data_format].summary["provenance"]["rows"] == rows
        folder = dataset.storage.data_path
        again = waggle.learn_log(
            folder.parent,
            **SMALL,
            reward_input=False,
            **({"kind": "continuous"} if env_id[0] == "P" else {}),
        )
        assert again.summary["provenance"]["rows"] == rows
        assert again.summary["ranges"]["mean"][0] == pytest.approx(
            controllers[data_format].summary["ranges"]["mean"][0]
        )
    fits = [controller.summary["fit"] for controller in controllers.values()]
    assert fits[0] == fits[1] == fits[2]
    env = gymnasium.make(env_id)
    seen, _ = env.reset(seed=0)
    assert env.action_space.contains(controllers["arrow"].predict(seen)[0])


def test_minari_and_hdf5_as_csv(minari, tmp_path):
    gymnasium = pytest.importorskip("gymnasium")
    h5py = pytest.importorskip("h5py")
    from waggle.convert import main

    dataset = collect(minari, gymnasium.make("CartPole-v1"), "test/cart-v0", "hdf5")
    folder = dataset.storage.data_path
    out = tmp_path / "log.csv"
    expected = waggle.learn_log(dataset, **SMALL)
    for source in (folder.parent, folder / "main_data.hdf5", "test/cart-v0"):
        assert main([str(source), str(out)]) == 0
        again = waggle.learn_log(out, choices=[0, 1], reward_input=False, **SMALL)
        assert again.summary["fit"] == expected.summary["fit"]
    columns = {"reward": np.arange(50.0), "action": np.arange(50) % 2, "x": np.ones((50, 2))}
    with h5py.File(tmp_path / "flat.hdf5", "w") as file:
        for name, values in columns.items():
            file[name] = values
    flat = waggle.learn_log(tmp_path / "flat.hdf5", **SMALL)
    assert flat.summary["fit"] == waggle.learn_log(columns, **SMALL).summary["fit"]
    assert main([str(tmp_path / "flat.hdf5"), str(tmp_path / "flat.csv")]) == 0
    assert main([str(tmp_path / "none.hdf5"), str(out)]) == 2


def test_minari_of_dictionaries(minari):
    gymnasium = pytest.importorskip("gymnasium")
    from test_gymnasium import SPACES, Shown

    for name in ("dict", "discrete"):
        env = gymnasium.wrappers.TimeLimit(Shown(SPACES[name]), 50)
        dataset = collect(minari, env, f"test/{name}-v0", "hdf5")
        controller = waggle.learn_log(dataset, **SMALL)
        assert controller.predict(SPACES[name].sample())[0] in (0, 1)


@pytest.mark.parametrize("data_format", ["hdf5", "arrow", "parquet"])
def test_experience_is_written_as_minari(minari, data_format):
    pytest.importorskip("gymnasium")
    controller = waggle.learn(Counter(length=9), steps=300, seed=0, **SMALL)
    rows = controller.experience
    dataset = rows.to_minari(f"test/own-{data_format}-v0", data_format=data_format)
    assert dataset.total_episodes == 30
    episode = dataset[0]
    assert (episode.observations == rows.observations[:10]).all()
    assert (episode.rewards == rows.rewards[1:10]).all()
    assert (episode.actions == rows.actions[:9, 0]).all()
    again = waggle.learn_log(dataset, **SMALL)
    assert again.summary["ranges"] == controller.summary["ranges"]
    assert again.summary["provenance"]["rows"] == 300


def test_experience_is_a_log():
    pytest.importorskip("pandas")
    pytest.importorskip("gymnasium")
    controller = waggle.learn(Counter(length=9), steps=300, seed=0, **SMALL)
    rows = controller.experience
    assert len(rows) == 300
    assert "30 episodes" in repr(rows)
    frame = rows.to_pandas()
    again = waggle.learn_log(frame, reward_input=False, choices=[0, 1, 2], **SMALL)
    assert again.summary["fit"] == controller.summary["fit"]
    assert waggle.Controller.from_bytes(controller.to_bytes()).experience is None


def holes(rows=400):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=rows), rng.normal(size=rows)
    action = rng.choice([0.25, 0.5, 0.75], size=rows)
    table = {
        "x": x,
        "y": y,
        "action": action,
        "reward": -((np.roll(x, 1) - np.roll(action, 1)) ** 2),
    }
    table["x"] = np.where(np.arange(rows) % 5 == 2, np.nan, x)
    return table


def test_what_is_missing_is_held_and_said():
    table = holes()
    with pytest.raises(waggle.Error, match="missing hold"):
        waggle.learn_log(table, **SMALL)
    controller = waggle.learn_log(table, missing="hold", **SMALL)
    assert controller.summary["environment"]["observation_names"] == ["x", "x=missing", "y"]
    _, state = controller.predict({"x": 0.5, "y": 1.0}, None, reward=0.0)
    told, _ = controller.predict(np.array([0.5, 1.0, 2.0]), state, reward=0.1)
    for observation in ({"y": 2.0}, {"x": None, "y": 2.0}, np.array([np.nan, 0.0, 2.0])):
        assert controller.predict(observation, state, reward=0.1)[0] == told
        again = pickle.loads(pickle.dumps(state))
        assert controller.predict(observation, again, reward=0.1)[0] == told
    with pytest.raises(waggle.Error):
        controller.predict({"x": 0.5, "y": None}, state, reward=0.1)


def test_what_is_masked_is_missing():
    table = holes()
    mask = np.isnan(table["x"])
    masked = {**table, "x": np.ma.masked_array(np.where(mask, 1e6, table["x"]), mask)}
    with pytest.raises(waggle.Error, match="missing hold"):
        waggle.learn_log(masked, **SMALL)
    expected = waggle.learn_log(table, missing="hold", **SMALL)
    controller = waggle.learn_log(masked, missing="hold", **SMALL)
    assert controller.summary["fit"] == expected.summary["fit"]
    labels = np.ma.masked_array(np.where(mask, "wrong", "right"), mask)
    labelled = waggle.learn_log({**table, "x": labels}, missing="hold", **SMALL)
    assert "x=missing" in labelled.summary["environment"]["observation_names"]
    assert "x=wrong" not in labelled.summary["environment"]["observation_names"]
    seen = np.ma.masked_array([1e6, 0.0, 2.0], [True, False, False])
    told = controller.predict(np.array([np.nan, 0.0, 2.0]), None, reward=0.0)[0]
    assert controller.predict(seen, None, reward=0.0)[0] == told
    with pytest.raises(waggle.Error, match="the cell is empty"):
        waggle.learn_log({**table, "reward": np.ma.masked_less(table["reward"], -1.0)}, **SMALL)


def test_a_log_is_read_as_it_is():
    table = holes()
    table["x"] = np.nan_to_num(table["x"])
    table["when"] = np.datetime64("2024-01-01") + np.arange(400).astype("timedelta64[s]")
    table["when"][200:] += np.timedelta64(60, "s")
    own = dict(table, reward=np.roll(table["reward"], -1))
    with pytest.warns(UserWarning, match="reward-next"):
        waggle.learn_log(own, ignore=["when"], **SMALL)
    with pytest.warns(UserWarning, match="1 gap"):
        controller = waggle.learn_log(own, time="when", reward_next=True, **SMALL)
    assert controller.summary["provenance"]["episodes"] == 2
    with pytest.warns(UserWarning, match="1 gap"):
        result = controller.evaluate_log(own, time="when", reward_next=True)
    assert result.episodes == 2
    with pytest.raises(waggle.Error, match="time"):
        waggle.learn_log(own, **SMALL)


def test_settings_are_searched_if_asked(bee_columns):
    rows = {name: np.tile(column, 2) for name, column in bee_columns.items()}  # 900 are needed

    def learnt(**how):
        return waggle.learn_log(rows, **{**BEE, **how})

    assert learnt().tuning is None
    controller = learnt(tune={"seconds": None, "trials": 3})
    tuning = controller.tuning
    assert len(tuning["trials"]) == 3
    assert tuning["trials"][0]["settings"] == "as given"
    assert tuning["trials"][1]["gain"]["standard_error"] > 0.0
    assert 0 <= tuning["taken"] < 3
    again = learnt(tune={"seconds": None, "trials": 3})
    assert again.to_bytes() == controller.to_bytes()
    # What is given is not searched, wherever it stands.
    dials = " ".join(trial["settings"] for trial in tuning["trials"])
    assert "units" not in dials
    few = learnt(
        tune={"seconds": None, "fixed": ["smoothing", "ridge"]},
        reservoir={"operator_norm": 0.9, "slowest_leak": 0.1, "bias_scaling": 0.1},
    )
    assert len(few.tuning["trials"]) <= 2
    with pytest.raises(waggle.Error, match="seconds = -1"):
        learnt(tune=-1)
    with pytest.raises(waggle.Error, match="no option 'trial'; did you mean 'trials'"):
        learnt(tune={"trial": 3})
    with pytest.raises(waggle.Error, match="fixed"):
        learnt(tune={"fixed": ["colour"]})
