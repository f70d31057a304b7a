"""The circuit breaker: who may call, and what the results mean."""
