"""Instances made up from published distributions: a family, a size, a load and a seed give one instance."""
