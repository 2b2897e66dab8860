"""Training on a Dask cluster, with the conventions of ``xgboost.dask``."""

from ordinal_objectives.adapters.xgb.cluster.train import train

__all__ = ["train"]
