"""Requests and responses on their way: connections, proxies, and what bodies are encoded in."""
