"""Column generation for the placement LP: bounds, prices and columns (model.md, section 8)."""
