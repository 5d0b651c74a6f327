"""Public forms of cluster topologies, one module per source: `read(data, file, nodes) -> Draft`."""
