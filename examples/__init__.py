"""Programs that use the parts of the house."""
