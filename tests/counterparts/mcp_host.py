"""A host in Python: drives a gateway with the client of the MCP SDK, and prints what it saw as one JSON document.

    mcp_host.py stdio PROGRAM ARGUMENT…
    mcp_host.py http URL TOKEN
"""

import asyncio
import json
import sys

import httpx2 as httpx
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

CALLS = [
    ("get_order", {"order_id": "A-1001"}),
    ("get_order", {"order_id": "1001"}),
    ("get_order", {}),
    ("get_ordr", {"order_id": "A-1001"}),
    ("refund_order", {"order_id": "A-1001", "amount": 5, "reason": "damaged"}),
]


async def drive(transport) -> None:
    async with Client(transport) as client:
        tools = (await client.list_tools()).tools
        results = []
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            error = (result.meta or {}).get("dev.backstop/error", {})
            results.append(
                {
                    "tool": name,
                    "error": bool(result.is_error),
                    "text": "\n".join(block.text for block in result.content),
                    "kind": error.get("kind"),
                    "applied": error.get("applied"),
                    "retryable": error.get("retryable"),
                }
            )
        hints = {tool.name: tool.annotations.model_dump(exclude_none=True) for tool in tools}
        print(json.dumps({"tools": hints, "results": results}))


async def main() -> None:
    if sys.argv[1] == "stdio":
        await drive(stdio_client(StdioServerParameters(command=sys.argv[2], args=sys.argv[3:])))
    else:
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {sys.argv[3]}"}) as http:
            await drive(streamable_http_client(sys.argv[2], http_client=http))


asyncio.run(main())
