"""What methods are called in tables and pictures. Runs keep short names; one place says what a reader sees."""

from __future__ import annotations

import re

NAMES = {
    "xgb multiclass": "XGBoost multiclass",
    "xgb rounded": "XGBoost rounded",
    "hgb multiclass": "scikit-learn multiclass",
    "hgb rounded": "scikit-learn rounded",
    "lgbm multiclass": "LightGBM multiclass",
    "lgbm rounded": "LightGBM rounded",
    "mord LogisticAT": "mord (linear)",
    "OrderedModel": "statsmodels (linear)",
}
# Pictures stand alone, so there a name says more.
IN_PICTURES = NAMES | {
    "ordinal shifts": "ordinal shifts (ours, the default)",
    "ordinal": "ordinal (ours, one score)",
    "native joint": "native joint (ours, one score)",
    "LightGBM shifts": "ordinal shifts in LightGBM (ours)",
    "native shifts": "ordinal shifts in our own engine",
}
FAMILIES = {"ours": "#c1272d", "multiclass": "#1f5fa8", "rounded": "#2e7d32", "others": "#7a5195"}
_SHORT = re.compile(r"\b(" + "|".join(map(re.escape, NAMES)) + r")\b")


def readable(text: str) -> str:
    """Return a text with the short names of methods written out."""
    return _SHORT.sub(lambda found: NAMES[found[0]], text)


def color(method: str) -> str:
    """Return the colour of a method in pictures: ours, multiclass, rounded regression, all others."""
    kinds = ("multiclass", "rounded")
    ours = method in IN_PICTURES and method not in NAMES
    return FAMILIES["ours" if ours else next((kind for kind in kinds if kind in method), "others")]
