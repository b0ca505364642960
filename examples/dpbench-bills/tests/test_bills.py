"""The laws that every component must keep; `python -m dpbench check dpbench-bills` lists them."""

from dpbench_bills import PINBALL, AveragedDescent, Bills, ByError, Upper

from dpbench.testing import conformance

test_mechanism = conformance(AveragedDescent)
test_model = conformance(Upper)
test_dataset = conformance(Bills)
test_attack = conformance(ByError)
test_metric = conformance(PINBALL)
