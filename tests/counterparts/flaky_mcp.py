"""A bank as an MCP server on stdin and stdout that fails as servers do, written without an SDK so that it can.

The first two reads of the balance fail for a moment; the first transfer is made, and the server dies before it says so.
Each call is a line in the file that is named. What happened before a restart is read from there.
"""

import json
import os
import sys

LOG = sys.argv[1]
SCHEMA = {"type": "object", "properties": {"cents": {"type": "integer", "minimum": 1}}, "required": ["cents"]}
NONE = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "balance", "description": "The balance, in euros.", "inputSchema": NONE},
    {"name": "transfer", "description": "Sends money.", "inputSchema": SCHEMA},
    {"name": "list_transfers", "description": "Lists what was sent, in cents.", "inputSchema": NONE},
]


def done(name: str) -> int:
    """How often a tool was called before."""
    try:
        with open(LOG, encoding="utf-8") as log:
            return log.read().split().count(name)
    except FileNotFoundError:
        return 0


def call(name: str) -> dict:
    before = done(name)
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(f"{name}\n")
    text = lambda words: {"content": [{"type": "text", "text": words}]}  # noqa: E731
    if name == "balance":
        # As many do: a failure that is no error.
        return text("100" if before >= 2 else "The ledger is temporarily unavailable")
    if name == "transfer":
        if before == 0:
            os._exit(1)
        return text("sent")
    if name == "list_transfers":
        return text(json.dumps([500] * done("transfer")))
    raise LookupError(name)


def answer(message: dict) -> dict:
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        info = {"name": "bank", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"])
    raise LookupError(method)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message)
    except LookupError as error:
        reply["error"] = {"code": -32601, "message": f"Unknown: {error}"}
    print(json.dumps(reply), flush=True)
