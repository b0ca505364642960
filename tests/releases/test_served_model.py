"""What MLflow runs when it loads a released model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from dpbench.releases.release_file import Release

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*Any type hint:UserWarning")]  # MLflow's own, when imported


def test_an_unknown_level_is_named_and_a_missing_number_is_refused(wages: Callable[..., Release], tmp_path: Path) -> None:
    from mlflow.exceptions import MlflowException

    from dpbench.releases.served_model import RELEASE, ServedRelease

    release = wages()
    release.save(tmp_path / "model.json")
    served, context = ServedRelease(), SimpleNamespace(artifacts={RELEASE: str(tmp_path / "model.json")})
    served.load_context(context)
    rows = pandas.DataFrame({"age": [30.0], "town": ["north"]})
    np.testing.assert_array_equal(served.predict(context, rows)["predicted_wage"], release.predict(rows))
    for wrong, words in ((rows.assign(town="nowhere"), "Row 1 holds 'nowhere'"), (rows.assign(age=np.nan), "no missing values")):
        with pytest.raises(MlflowException, match=words) as caught:
            served.predict(context, wrong)
        assert caught.value.error_code == "INVALID_PARAMETER_VALUE"
