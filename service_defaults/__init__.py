"""What each service has: settings from the environment, health, problems, logs, a clean shutdown.

And what each control over HTTP has. Take each name from its module: a control, of which there is
one in each fault proxy, starts without FastAPI.

    settings        the environment and the flags, read once into one immutable object
    logs            structured lines: JSON unless a person is watching
    problems        every error as application/problem+json
    health          /alive and /health
    server          listeners, and uvicorn on them
    serving         a service as a process: its port, its server, its exit code
    control_server  a control over HTTP: who may call it, what it reads, how it refuses
"""
