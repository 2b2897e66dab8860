"""One module for each framework: `xgb` for XGBoost, `lgbm` for LightGBM."""
