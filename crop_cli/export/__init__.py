"""Placements and models in the words of other programs: Slurm, Kubernetes, spreadsheets, solvers."""
