"""The domain-configuration LP and its rounding (model.md, section 9)."""
