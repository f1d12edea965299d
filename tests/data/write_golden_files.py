"""Writes the files of this folder: see README.md."""

import numpy as np

k = np.arange(40)
reward = (k % 7) / 4
action = ((3 * k) % 5) / 8 - 0.25
np.savez_compressed(
    "numpy.npz",
    reward=reward.astype("f4"),
    action=action.astype(">f8"),
    obs=np.asfortranarray(np.column_stack([1.5 * k, 100.0 - k])),
    step=k.astype(">i2"),
    truncated=k % 20 == 19,
)
np.save("numpy.npy", np.asfortranarray(np.column_stack([reward, action]).astype(">f4")))
