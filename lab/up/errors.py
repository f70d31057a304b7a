"""Why a running lab refuses a request, with the status that says so over HTTP."""

from http import HTTPStatus

from lab.errors import UsageError


class RefusedError(UsageError):
    """The request makes no sense now; nothing changed.

    UsageError
    └── RefusedError
        ├── UnknownError     404: it names what there is not
        └── ConflictError    409: the service, or a fault on it, is in another state
    """

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class UnknownError(RefusedError):
    """The request names a service or a fault that there is not."""

    status = HTTPStatus.NOT_FOUND


class ConflictError(RefusedError):
    """What was asked for does not go with the present state, which the message names."""

    status = HTTPStatus.CONFLICT
