"""The linearised problem and the solver libraries that prove its optimum."""
