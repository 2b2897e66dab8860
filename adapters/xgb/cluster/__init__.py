"""Training and predicting on a Dask cluster."""
