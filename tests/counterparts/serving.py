"""Starts an ASGI application on a free loopback port and says where."""

import socket

import uvicorn


def serve(app, port: int = 0) -> None:
    """Prints `READY <URL>` when connections are taken, and serves until it is ended."""
    listener = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    print(f"READY http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])
