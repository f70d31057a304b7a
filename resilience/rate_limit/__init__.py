"""How often a source may be called."""
