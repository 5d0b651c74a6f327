"""Slurm: what `scontrol`, `sinfo` and `squeue` print, and `topology.conf`, to an instance."""
