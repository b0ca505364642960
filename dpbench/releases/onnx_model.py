"""A released model as an ONNX file, for runtimes without Python: one input per attribute, the prediction as output.

The graph computes in float64, as ``predict`` does. In float32 a value could fall on the other side of a step of the grid that
scaled rows lie on (2^-16), and predictions would differ in the fifth digit. (So they may, rarely, for a column with a logarithm,
whose last digit is the runtime's.) Where ``predict`` refuses a row, a file can only fail (an unknown level) or answer NaN (a
missing number that nothing stands for).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbench.base.errors import PackageMissing
from dpbench.base.version import __version__
from dpbench.data.column_format import ColumnFormat
from dpbench.data.scaling import FRACTION_BITS, scale
from dpbench.data.table import Column
from dpbench.data.transforms import Transform
from dpbench.files.cells import NULLS, null_numbers
from dpbench.releases.onnx_check import check_predictions
from dpbench.releases.prediction_file import prediction_names
from dpbench.releases.release_file import Release
from dpbench.releases.release_inputs import ReleaseInput, inputs_of

INSTALL = "pip install 'dp-regression-bench[onnx]' (onnx, onnxruntime)"
OPSETS = {"": 17, "ai.onnx.ml": 3}
"""The versions of the operators: old enough for the runtimes of 2022."""
IR_VERSION = 8
METADATA_KEYS = ("epsilon", "delta", "neighbours", "noise")


def require() -> None:
    """Refuse to go on without the package, with the line that installs it."""
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise PackageMissing(f"An ONNX file needs the package onnx, which is not installed: {INSTALL}.") from None


def onnx_bytes(release: Release) -> bytes:
    """Return the file, after its predictions were compared with the release's own on made-up rows."""
    require()
    model = _model(release)
    check_predictions(release, model)
    return bytes(model.SerializeToString())


def _model(release: Release) -> Any:
    from onnx import TensorProto, checker, helper

    inputs = inputs_of(release)
    graph = _Graph(_unused("step", [each.name for each in inputs]))
    features = _scaled_features(graph, release, inputs)
    output = prediction_names(release)[0]
    _predict(graph, release, features, output)
    types = {True: TensorProto.STRING, False: TensorProto.DOUBLE}
    declared = [helper.make_tensor_value_info(each.name, types[bool(each.levels)], ["rows", 1]) for each in inputs]
    outputs = [helper.make_tensor_value_info(output, TensorProto.DOUBLE, ["rows", 1])]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "released_model", declared, outputs, graph.constants),
        producer_name="dpbench",
        producer_version=__version__,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in OPSETS.items()],
        doc_string=release.statement,
    )
    facts = {key: str(release.privacy[key]) for key in METADATA_KEYS} | {"made_by": release.made_by}
    helper.set_model_props(model, facts)
    checker.check_model(model)
    return model


@dataclass
class _Graph:
    """The nodes of a graph in the order in which they compute, and its constants."""

    prefix: str
    """What the names of values begin with, and no input's name does."""
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        from onnx import helper

        name = output or f"{self.prefix}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, values: Any, kind: Any = float) -> str:
        """Add a constant and return its name."""
        from onnx import numpy_helper

        name = f"{self.prefix}_constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def arithmetic(self, value: str, *steps: tuple[str, float]) -> str:
        """Apply operators with a number on their right, one after the other."""
        for operator, number in steps:
            value = self.add(operator, value, self.constant(number))
        return value

    def clip(self, value: str, low: float, high: float) -> str:
        """Clip values to a range."""
        return self.add("Clip", value, self.constant(low), self.constant(high))


def _scaled_features(graph: _Graph, release: Release, inputs: tuple[ReleaseInput, ...]) -> str:
    """Return the matrix of scaled features, in the order of the release's columns: the same steps as data/scaling.py."""
    table = release._table(np.empty((0, len(release.columns))))
    geometry = scale(table, release.scaling, release.intercept, release.kind).geometry
    by_norm = release.scaling == "ball" and release.radius is not None
    parts: dict[str, str] = {}
    for each in inputs:
        if each.levels:
            parts |= _levels(graph, each)
        else:
            (column,) = each.columns
            value = _number(graph, each)
            if column.group is not None:
                parts[column.name] = value if by_norm else graph.clip(value, 0.0, 1.0)
            else:
                parts[column.name] = value if by_norm else _to_box(graph, column, value)
    features = graph.add("Concat", *(parts[column.name] for column in release.columns), axis=1)
    if by_norm:
        assert release.radius is not None
        norms = graph.add("ReduceL2", features, axes=[1], keepdims=1)
        longest = graph.add("Max", norms, graph.constant(release.radius))
        share = float(np.sqrt(2)) if release.intercept else 1.0
        features = graph.add("Div", features, graph.arithmetic(longest, ("Mul", share)))
    elif release.scaling == "corner":
        features = graph.arithmetic(features, ("Add", 1.0), ("Div", 2 * float(np.sqrt(len(release.columns)))))
    elif release.scaling == "ball":
        features = graph.arithmetic(
            features, ("Div", float(np.sqrt(geometry.numeric + len(geometry.groups) + release.intercept)))
        )
    steps = graph.arithmetic(features, ("Mul", 2.0**FRACTION_BITS))
    # there is no operator that truncates towards zero
    whole = graph.add("Mul", graph.add("Sign", steps), graph.add("Floor", graph.add("Abs", steps)))
    features = graph.arithmetic(whole, ("Mul", 2.0**-FRACTION_BITS))
    weights = np.array([[release.weights[column.name]] for column in release.columns])
    score = graph.add("MatMul", features, graph.constant(weights))
    return graph.arithmetic(score, ("Add", release.weights["intercept"] * geometry.constant)) if release.intercept else score


def _levels(graph: _Graph, each: ReleaseInput) -> dict[str, str]:
    """Return a column of 0 and 1 for each level that is a column of the model."""
    form = each.format
    unknown = _unused("not a level", each.levels)  # which the encoder below refuses
    names = {level: level for level in each.levels}
    names |= dict.fromkeys([null for null in (*NULLS, *form.nulls) if null not in names], form.missing or unknown)
    known = graph.add(
        "LabelEncoder",
        each.name,
        domain="ai.onnx.ml",
        keys_strings=list(names),
        values_strings=list(names.values()),
        default_string=form.other or unknown,
    )
    encoded = graph.add("OneHotEncoder", known, domain="ai.onnx.ml", cats_strings=list(each.levels), zeros=0)
    flat = graph.add("Reshape", encoded, graph.constant([-1, len(each.levels)], np.int64))
    matrix = graph.add("Cast", flat, to=_double())
    positions = {column.name: each.levels.index(each.level_of(column)) for column in each.columns}
    return {
        name: graph.add("Gather", matrix, graph.constant([position], np.int64), axis=1) for name, position in positions.items()
    }


def _number(graph: _Graph, each: ReleaseInput) -> str:
    """Return the numbers of an input, with what stands for a missing one."""
    value, form = each.name, each.format
    for code in null_numbers(form.nulls):
        value = graph.add("Where", graph.add("Equal", value, graph.constant(code)), graph.constant(np.nan), value)
    return _filled(graph, value, form)


def _filled(graph: _Graph, value: str, form: ColumnFormat) -> str:
    if not form.missing:
        return value
    return graph.add("Where", graph.add("IsNaN", value), graph.constant(float(form.missing)), value)


def _to_box(graph: _Graph, column: Column, value: str) -> str:
    """Clip, transform and map values to [-1, 1]."""
    clipped = value = graph.clip(value, column.low, column.high)
    edges = np.array([column.low, column.high], dtype=float)
    low, high = edges
    if column.transform is not None:
        low, high = column.transform.apply(edges)
        value = _transform(graph, column.transform, value)
    scaled = graph.clip(graph.arithmetic(value, ("Sub", low), ("Mul", 2 / (high - low)), ("Sub", 1.0)), -1.0, 1.0)
    if column.transform is None:
        return scaled
    # many values are clipped to a bound, whose logarithm may have another last digit in the runtime
    for edge, in_box in zip(edges, column.to_box(edges), strict=True):
        at_edge = graph.add("Equal", clipped, graph.constant(edge))
        scaled = graph.add("Where", at_edge, graph.constant(in_box), scaled)
    return scaled


def _transform(graph: _Graph, transform: Transform, value: str) -> str:
    if transform.name == "quantile":
        return _piecewise(graph, value, np.array(transform.knots), np.arange(len(transform.knots), dtype=float))
    return graph.add("Log", value if transform.name == "log" else graph.arithmetic(value, ("Add", 1.0)))


def _piecewise(graph: _Graph, value: str, knots: np.ndarray, values: np.ndarray) -> str:
    """Return the function that is linear between knots: each piece adds its share of its rise."""
    shares = graph.clip(
        graph.add("Div", graph.add("Sub", value, graph.constant(knots[:-1])), graph.constant(np.diff(knots))), 0.0, 1.0
    )
    rises = graph.add("Mul", shares, graph.constant(np.diff(values)))
    # not a product of matrices: ONNX Runtime would fuse it with the next factor, in float32
    rise = graph.add("ReduceSum", rises, graph.constant([1], np.int64), keepdims=1)
    return graph.arithmetic(rise, ("Add", float(values[0])))


def _predict(graph: _Graph, release: Release, score: str, output: str) -> None:
    """Turn the weighted sum into the prediction in the target's unit, clipped to its bounds."""
    if release.kind == "binary":
        graph.add("Sigmoid", score, output=output)
        return
    target = release.target
    low, high = edges = np.array([target.low, target.high], dtype=float)
    if target.transform is not None:
        low, high = target.transform.apply(edges)
    value = graph.arithmetic(score, ("Add", 1.0), ("Div", 2.0), ("Mul", high - low), ("Add", low))
    if target.transform is not None:
        value = _invert(graph, target.transform, value)
    graph.add("Clip", value, graph.constant(target.low), graph.constant(target.high), output=output)


def _invert(graph: _Graph, transform: Transform, value: str) -> str:
    if transform.name == "quantile":
        return _piecewise(graph, value, np.arange(len(transform.knots), dtype=float), np.array(transform.knots))
    exponential = graph.add("Exp", value)
    return exponential if transform.name == "log" else graph.arithmetic(exponential, ("Sub", 1.0))


def _unused(text: str, names: Iterable[str]) -> str:
    """Return the text, or a longer one with which no name begins."""
    names = tuple(names)
    while any(name.startswith(text) for name in names):
        text += "_"
    return text


def _double() -> int:
    from onnx import TensorProto

    return int(TensorProto.DOUBLE)
