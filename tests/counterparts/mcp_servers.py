"""Two MCP servers over streamable HTTP on a free port: one of the Python SDK (`sdk`), one of FastMCP (`fastmcp`)."""

import socket
import sys


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def add(a: int, b: int) -> int:
    """Adds two integers."""
    return a + b


def pick(id: int) -> dict:
    """Finds an order."""
    raise KeyError(f"no order {id}")


def fail() -> str:
    """Fails."""
    raise ValueError("boo")


def main() -> None:
    if sys.argv[1] == "sdk":
        from mcp.server import MCPServer

        server = MCPServer("sdk")
        for tool in (add, pick, fail):
            server.tool()(tool)
        server.run(transport="streamable-http", port=free_port())
    else:
        from fastmcp import FastMCP

        server = FastMCP("fastmcp")
        for tool in (add, pick, fail):
            server.tool(tool)
        server.run(transport="http", host="127.0.0.1", port=free_port(), show_banner=False)


main()
