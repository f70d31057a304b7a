"""The same call made through several libraries, under the same faults.

budget              what each caller is told to keep to
transient           which errors are worth another attempt
pipeline            this project's `resilience`
stamina_pybreaker, tenacity_purgatory, hyx, httpx_retries
                    the same from the libraries that they are named after
no_policy           one attempt and a long time-out
variants            all of them by name
app, __main__       a service that makes the call through one of them
stage, breaker_probes, pool_probe, probes
                    small direct experiments on cancellation and half-open circuits
"""
