"""The oracle of equality: two results are the same in value, type, dtype and order.

Nothing is sorted before it is compared: schedulers run the same graph, so that what came
out in another order was put together in another order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

#: Of floats. Vector units sum in another order where an array lies at another address.
RTOL = 1e-12


def assert_same(result: Any, expected: Any) -> None:
    """Fail unless `result` is what `expected` is."""
    assert type(result) is type(expected), (type(result), type(expected))
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(
            result, expected, rtol=RTOL, atol=0, check_freq=True, check_column_type=True
        )
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(result, expected, rtol=RTOL, atol=0)
    elif isinstance(expected, pd.Index):
        pd.testing.assert_index_equal(result, expected, exact=True, rtol=RTOL, atol=0)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert result.dtype == expected.dtype, (result.dtype, expected.dtype)
        assert result.shape == expected.shape, (result.shape, expected.shape)
        if expected.dtype.kind in "fc":
            # Sums that cancel to nothing are compared with what was summed.
            atol = RTOL * float(np.nanmax(np.abs(expected), initial=0))
            np.testing.assert_allclose(result, expected, rtol=RTOL, atol=atol, equal_nan=True)
        else:
            np.testing.assert_array_equal(result, expected)
    elif isinstance(expected, float):
        np.testing.assert_allclose(result, expected, rtol=RTOL, equal_nan=True)
    elif isinstance(expected, dict):
        assert list(result) == list(expected)
        for key, value in expected.items():
            assert_same(result[key], value)
    elif isinstance(expected, (list, tuple)):
        assert len(result) == len(expected), (result, expected)
        for ours, theirs in zip(result, expected, strict=True):
            assert_same(ours, theirs)
    else:
        assert result == expected
