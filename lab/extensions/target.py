"""What a fault of a user's own may do to its service."""

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

    from lab.running import RunningSystem


class Target:
    """One service of a running system.

    Attributes:
        name: as in the system file.
        url: without a slash at its end.
        http: a client to ask it with; give each request a time-out.
    """

    def __init__(self, name: str, system: "RunningSystem") -> None:
        self.name = name
        self.url = system.url(name)
        self.http: httpx.AsyncClient = system.http
        self._system = system

    async def signal(self, number: signal.Signals) -> None:
        """Send a signal to the service's processes.

        Raises:
            NoValidData: the lab did not start the service, or it has no process now.
        """
        await self._system.signal(self.name, number)

    def is_alive(self) -> bool:
        """Tell whether the service has a process of the lab's, which has not ended."""
        process = self._system.process(self.name)
        return process is not None and process.exit_code is None

    async def answers(self) -> bool:
        """Tell whether something accepts connections on the service's port."""
        return await self._system.answers(self.name)
