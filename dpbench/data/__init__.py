"""Tables with public bounds, scaling, splits and additive statistics."""
