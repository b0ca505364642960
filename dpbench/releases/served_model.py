"""A released model as MLflow loads it: it reads model.json, and predicts as ``python -m dpbench predict`` does.

MLflow copies this file into the model and runs it when the model is loaded, so nothing is pickled.
"""

from __future__ import annotations

from typing import Any

import pandas
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from dpbench.base.errors import Refused
from dpbench.releases.prediction_file import predict_new_rows, prediction_names
from dpbench.releases.release_file import load_release

RELEASE = "release"
"""The name of model.json among the files of the model."""


class ServedRelease(PythonModel):
    """A release behind MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Read the release."""
        self._release = load_release(context.artifacts[RELEASE])

    def predict(self, context: Any, model_input: pandas.DataFrame, params: dict[str, Any] | None = None) -> pandas.DataFrame:
        """Return one row per row of the input; the parameter ``interval=0.95`` adds the ends of an interval."""
        interval = (params or {}).get("interval")
        try:
            predicted = predict_new_rows(self._release, model_input, interval)
        except Refused as refusal:
            raise MlflowException.invalid_parameter_value(str(refusal)) from None
        columns = predicted.reshape(len(predicted), -1)
        return pandas.DataFrame(columns, columns=prediction_names(self._release, interval))


set_model(ServedRelease())
