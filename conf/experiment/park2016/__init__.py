"""Park and Welling 2016: their figure as a preset."""
