"""The noise of private answers: the laws, and what joins a law with its scales and the bound they rest on.

Import them from here in a plugin.
"""

from dpbench.accounting.conversion import gdp_of_epsilon, gdp_of_pure, zcdp_of_epsilon
from dpbench.accounting.costs import Cost, Currency, Gdp, Pure, Zcdp
from dpbench.privacy.noise import Gaussian, Geometric, KNorm, Laplace, Law, Noise, gaussian, geometric, laplace

__all__ = [
    "Cost",
    "Currency",
    "Gaussian",
    "Gdp",
    "Geometric",
    "KNorm",
    "Laplace",
    "Law",
    "Noise",
    "Pure",
    "Zcdp",
    "gaussian",
    "gdp_of_epsilon",
    "gdp_of_pure",
    "geometric",
    "laplace",
    "zcdp_of_epsilon",
]
