"""Why jobs have no place."""
