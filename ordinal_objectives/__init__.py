"""Ordinal gradient boosting: ordered thresholds learned together with the trees.

An ordinal model is a score cut by ordered thresholds, P(y <= k | x) = G(theta_k - f(x)). The package
learns both parts inside XGBoost and LightGBM. Names are imported on first use, so that neither framework
is needed to import the package.
"""
