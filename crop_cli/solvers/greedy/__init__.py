"""The submodular greedy: arrangements of domains, fill and improvement, and the factor that they guarantee."""
