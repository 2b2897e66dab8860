"""
Patients day by day
===================

A patient is in one of four ordered states each day: at home, on the ward, in intensive care, dead. The state of the day
before says most about today's, so it is a feature: that is an ordinal Markov model. Its recursion gives the share of the
patients in each state on each day, which a treatment should move.

The data are simulated: the treatment lowers the score by 0.7 each day.
"""

import numpy as np
import pandas as pd

STATES = ["home", "ward", "intensive care", "dead"]
DEAD, N_DAYS = 3, 28
rng = np.random.default_rng(0)


def simulated(n):
    """Return a row for each day that a patient lives to see, with the state before and after."""
    age, treated = rng.normal(size=n), rng.integers(2, size=n)
    before, days = np.full(n, 1), []
    for day in range(1, N_DAYS + 1):
        pull = np.array([-4.5, 0.0, 3.5])[np.minimum(before, 2)]
        score = pull + 0.6 * age - 0.7 * treated - 0.03 * day
        cut = np.array([-1.5, 2.0, 6.5])
        now = np.sum((score + rng.logistic(size=n))[:, None] > cut, axis=1)
        now = np.where(before == DEAD, DEAD, now)
        days.append(
            pd.DataFrame(
                {"patient": np.arange(n), "age": age, "treated": treated}
            ).assign(day=day, before=before, now=now)
        )
        before = now
    return pd.concat(days, ignore_index=True)


panel = simulated(1_000)
alive = panel[panel["before"] != DEAD]
features = ["age", "treated", "day", "before"]

# %%
# One model of all transitions
# ----------------------------
#
# Who is dead stays dead, so those rows teach nothing. ``groups`` keeps the days of a patient together where rows are
# held out.

from ordinal_objectives import HistGradientBoostingOrdinalClassifier

model = HistGradientBoostingOrdinalClassifier(
    loss="cumulative_link", classes=range(4), random_state=0
)
model.fit(alive[features], alive["now"], groups=alive["patient"])


# %%
# The recursion
# -------------
#
# The shares of today are those of yesterday, each moved by its row of transition probabilities.


def occupancy(patients):
    """Return the mean share of each state on each day."""
    shares = np.zeros((len(patients), 4))
    shares[:, 1] = 1.0  # all begin on the ward
    days = [shares.mean(axis=0)]
    for day in range(1, N_DAYS + 1):
        after = np.zeros_like(shares)
        after[:, DEAD] = shares[:, DEAD]
        for state in range(DEAD):
            rows = patients.assign(day=day, before=state)[features]
            moves = model.predict_proba_ordered(rows)
            after += shares[:, [state]] * moves
        shares = after
        days.append(shares.mean(axis=0))
    return np.array(days)


patients = panel[panel["day"] == 1]
found = {arm: occupancy(patients.assign(treated=arm)) for arm in (0, 1)}

# %%
# Everybody is predicted with and without the treatment. The points are 20,000 other patients, who got either at random.

import matplotlib.pyplot as plt

others = simulated(20_000)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
for arm, ax in enumerate(axes):
    of_arm = others[others["treated"] == arm]
    seen = pd.crosstab(of_arm["day"], of_arm["now"], normalize="index")
    for state, name in enumerate(STATES):
        (line,) = ax.plot(found[arm][:, state], label=name)
        ax.plot(seen.index[::3], seen[state][::3], "o", color=line.get_color())
    ax.set(title=["untreated", "treated"][arm], xlabel="day")
axes[0].set_ylabel("share of the patients")
axes[1].legend()
figure.tight_layout()

# %%
# What the treatment is worth in days at home, by the model and in the other patients:

by_model = (found[1] - found[0])[1:, 0].sum()
at_home = (others["now"] == 0).groupby(others["treated"]).mean() * N_DAYS
print(f"model {by_model:.1f} days, others {at_home[1] - at_home[0]:.1f} days")
