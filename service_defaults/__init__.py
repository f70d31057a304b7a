"""service_defaults."""
