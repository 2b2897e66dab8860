"""What LightGBM would take in silence, and read otherwise than it was meant."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinal_objectives.column_types import refuse_text_and_dates


def check_rows(data: Any, name: str) -> None:
    """Raise ValueError if rows hold text, dates or durations.

    Parameters
    ----------
    data : object
        Whatever LightGBM takes as the rows of a data set or of a prediction. What is no array, frame or table, as a
        file, is left to LightGBM.
    name : str
        The argument's name in messages.
    """
    rows = np.asarray(data) if isinstance(data, list) and data and isinstance(data[0], (list, tuple)) else data
    for part in rows if isinstance(rows, list) else [rows]:
        refuse_text_and_dates(part, name=name)
