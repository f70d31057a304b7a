"""From a reply that Locust's client got to its ending: pure, and free of Locust.

It is judged by the same rules and the same code as the engine's own replies.
"""

from typing import Any

from loadgen.classify import Classifier
from loadgen.endings import Ending, Endings, fault_of
from loadgen.failures import NO_REPLY
from loadgen.outcomes import ERROR_CLASS, OutcomeRule


class Judge:
    """Judges replies by one rule."""

    def __init__(self, rule: OutcomeRule) -> None:
        self._endings = Endings()
        self._classifier = Classifier(rule, self._endings)

    def ending_of(self, reply: Any, failure: str) -> Ending:  # noqa: ANN401 - has no type
        """Return how a request ended.

        Args:
            reply: `status_code` (None or 0 where no status line came), `headers` and `content`,
                decompressed.
            failure: why there is no complete reply, or empty.
        """
        status: int | None = reply.status_code or None
        headers = {
            name.lower().encode(): value.encode("latin-1", errors="replace")
            for name, value in (reply.headers or {}).items()
        }
        if status is None or failure:
            return Ending(ERROR_CLASS, status, failure or NO_REPLY, fault_of(headers))
        headers.pop(b"content-encoding", None)  # it has been taken off
        code = self._classifier.judge_of(status, headers)(reply.content or b"")
        return list(self._endings)[code]


def label_of(ending: Ending) -> str:
    """Return `fresh`, `error 503`, `error body` or `error no reply`: few, whatever happens."""
    if ending.outcome != ERROR_CLASS:
        return ending.outcome
    if ending.status is None:
        return "error no reply"
    is_success = 200 <= ending.status < 300  # noqa: PLR2004 - as in RFC 9110
    return "error body" if is_success else f"error {ending.status}"


def is_whole(failure: object) -> bool:
    """Tell whether what Locust takes for a failure is a whole reply all the same.

    Its client raises an exception for a status of 400 and above, and hands the reply over in it.
    """
    return failure is None or hasattr(failure, "response")
