"""The evaluation of the CROP paper (IWQoS 2025), as far as its abstract describes it, made reproducible."""
