"""The Language Server Protocol as pygls implements it, with two changes.

First, Hearth stores the texts itself, and only the line ends of the protocol separate lines.
Second, every request gets a response, even if its parameters are invalid, if it comes before
`initialize` or after `shutdown`, or if the message itself is invalid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from hearth.authoring.lsp.wire import Ready

UNREADABLE = object()
"""A placeholder for an invalid message that was already responded to."""


class Protocol(LanguageServerProtocol):
    """The protocol handler for the connection to one editor."""

    text_opened: Callable[[types.DidOpenTextDocumentParams], None]
    text_changed: Callable[[types.DidChangeTextDocumentParams], None]
    text_closed: Callable[[types.DidCloseTextDocumentParams], None]

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self.text_opened(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self.text_changed(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self.text_closed(params)

    def _serialize_message(self, data: Any) -> Any:
        """Convert an object to the form in which it is sent."""
        return data.json if isinstance(data, Ready) else super()._serialize_message(data)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Convert a decoded message to an object.

        An invalid request is refused. The result for any invalid message is UNREADABLE. The JSON
        decoder also calls this for each map inside a message.
        """
        try:
            return super().structure_message(data)
        except JsonRpcException as problem:
            if "id" in data and "method" in data:
                self.refuse(data["id"], problem)
            return UNREADABLE

    def handle_message(self, message: Any) -> None:
        """Handle a message if it is valid and allowed now; otherwise respond with an error."""
        if message is UNREADABLE:
            return
        if not hasattr(message, "jsonrpc"):
            self.refuse(None, JsonRpcInvalidRequest("not a JSON-RPC 2.0 message"))
            return
        method = getattr(message, "method", None)
        request = getattr(message, "id", None) if method is not None else None
        if method not in (None, types.INITIALIZE, types.EXIT) and self._workspace is None:
            if request is not None:
                self.refuse(
                    request, JsonRpcServerNotInitialized("the first request must be initialize")
                )
        elif self._shutdown and request is not None:
            self.refuse(request, JsonRpcInvalidRequest("the server has been shut down"))
        elif method == types.INITIALIZE and self._workspace is not None:
            self.refuse(request, JsonRpcInvalidRequest("the server is initialized already"))
        else:
            super().handle_message(message)

    def refuse(self, request: str | int | None, error: JsonRpcException) -> None:
        """Respond with an error to a request, or to an invalid message (`request` is None)."""
        response = types.ResponseErrorMessage(id=request, error=error.to_response_error())
        self._send_data(response)

    @property
    def was_shut_down(self) -> bool:
        """Whether the editor has sent `shutdown`, as it must before `exit`."""
        return self._shutdown
