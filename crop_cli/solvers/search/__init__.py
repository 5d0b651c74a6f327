"""Local search at scale: parts of the cluster solved anew as small integer programs (model.md, sections 8 and 9)."""
