"""Standard errors and confidence intervals of coefficients, as post-processing of what was released."""
