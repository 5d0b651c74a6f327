"""Kubernetes: what `kubectl get -o json` and `-o yaml` print, to an instance."""
