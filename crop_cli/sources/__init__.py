"""Where instances come from: live clusters (Slurm, Kubernetes), public traces, generators."""
