"""Public traces of job arrivals, one module per source: `read(data, file) -> Reading`."""
