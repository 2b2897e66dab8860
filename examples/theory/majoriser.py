r"""
A curve above the loss
======================

A boosting round looks at the loss of each row as a parabola: it takes slope and curvature at the score of today, and
steps to the lowest point. The loss is no parabola, so the step can be too long. This example shows why the curvature
matters, and what ``hessian="majorized"`` does about it.

A patient is of class 2 of the classes 0 to 4. The all-threshold loss adds a logistic loss for each threshold, which
should lie on the right side of the score. Far from the right score the loss is almost a straight line: its curvature
there (``"exact"``) is small, and the parabola is wide and ends far below the loss. The majorised curvature is that of
the narrowest parabola that touches the loss at today's score and at its mirror image, and lies above the loss
everywhere. Its lowest point is a shorter step, which can only lower the loss.

The row is made up, and the data of the trainings below are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

from ordinal_objectives.losses import get_loss

loss = get_loss("all_threshold", "logit")
thresholds = np.array([-3.0, -1.0, 1.0, 3.0])
today, y = 7.0, 2
scores = np.linspace(-12, 12, 400)
value, slope = (
    float(of([today], [y], thresholds)[0])
    for of in (loss.value, loss.gradient)
)

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(
    scores,
    loss.value(scores, np.full(scores.shape, y), thresholds),
    color="black",
    label="loss of the row",
)
for kind, color in (("exact", "tab:orange"), ("majorized", "tab:blue")):
    curvature = float(loss.hessian([today], [y], thresholds, kind)[0])
    away = scores - today
    ax.plot(
        scores,
        value + slope * away + curvature * away**2 / 2,
        color=color,
        label=f'parabola, "{kind}"',
    )
    step = today - slope / curvature
    if scores[0] < step:
        ax.plot(
            step,
            loss.value([step], [y], thresholds)[0],
            "o",
            color=color,
            label=f'loss after the step, "{kind}"',
        )
    else:
        print(
            f'The step "{kind}" ends at the score {step:.0f}, far beyond the left edge.'
        )
ax.plot(today, value, "ks", label="today")
ax.set(xlabel="score f", ylabel="loss", ylim=(-5, 40))
ax.legend(frameon=False)

# %%
# In a training
# -------------
#
# Three trainings with the learning rate 1 and the loss of proportional odds. Two of them have no penalty, and leaves
# may hold few rows. ``diagnostics_["n_raised"]`` counts the rounds after which the loss of the training rows was higher
# than before. A step that goes too far lands where the curvature is smaller still, so the next one is longer.

from ordinal_objectives import XGBOrdinalClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 5))
score = X[:, 0] + np.sin(3 * X[:, 1]) + rng.logistic(size=1000)
grades = np.searchsorted(np.quantile(score, np.linspace(0, 1, 9)[1:-1]), score)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for kind, penalty, color, style in (
    ("exact", 0.0, "tab:orange", "-"),
    ("majorized", 0.0, "tab:blue", "-"),
    ("exact", 1.0, "tab:orange", "--"),
):
    rounds = {
        "n_estimators": 40,
        "learning_rate": 1.0,
        "max_depth": 6,
        "subsample": 1.0,
        "min_child_weight": 0.0,
    }
    model = XGBOrdinalClassifier(
        hessian=kind, loss="cumulative_link", reg_lambda=penalty, **rounds
    ).fit(X, grades)
    name = f'"{kind}", penalty {penalty:g}: {model.diagnostics_["n_raised"]} rounds raised the loss'
    ax.plot(model.training_loss_, color=color, linestyle=style, label=name)
ax.set(xlabel="rounds", ylabel="mean loss of the training rows", ylim=(0, 4))
ax.legend(frameon=False)

# %%
# Which one to take
# -----------------
#
# ``"exact"`` is the default. With a penalty, or a learning rate well below 1, its steps are seldom too long, and being
# longer they need fewer rounds. Take ``"majorized"`` where the training loss must not rise.
