"""The placement problem: files, arrays, formulas, and the judge of every solution."""
