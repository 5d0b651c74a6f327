"""A bench as one HTML page that opens without network: tables, plots, every instance, the placements drawn."""
