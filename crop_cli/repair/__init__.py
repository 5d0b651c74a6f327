"""Failures of nodes and switches: what they cost, and the placement that repairs them with the fewest moves."""
