"""Simulations as one HTML page that opens without network: figures, series over time, distributions."""
