"""An agent of LangGraph with the tools of an MCP server, and a model that does what it reads: prints how the run ended.

    mcp_agent.py PROGRAM ARGUMENT…
"""

import asyncio
import json
import sys

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.prebuilt import create_react_agent


def text(message: ToolMessage) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")


class Obedient(BaseChatModel):
    """Reads the balance, sends 5 euros, and says what it knows: as a model does, it goes by what it is told."""

    @property
    def _llm_type(self) -> str:
        return "obedient"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.reply(messages))])

    def reply(self, messages) -> AIMessage:
        results = [message for message in messages if isinstance(message, ToolMessage)]
        if not results:
            return self.call("balance", {}, 1)
        last = results[-1]
        said, number = text(last), len(results) + 1
        if last.name == "balance":
            return self.call("transfer", {"cents": 500}, number)
        if last.name == "transfer" and "check with list_transfers" in said:
            return self.call("list_transfers", {}, number)
        balance = text(results[0])
        if last.name == "list_transfers":
            return AIMessage(f"The balance is {balance}, and 5 were sent {'once' if said == '[500]' else said}.")
        if last.name == "transfer" and said == "sent":
            return AIMessage(f"The balance is {balance}, and 5 were sent.")
        # Nothing it was told says what to do: it tries again, three times.
        if sum(message.name == "transfer" for message in results) < 3:
            return self.call("transfer", {"cents": 500}, number)
        return AIMessage(f"The balance is {balance}. It did not work.")

    def call(self, name: str, arguments: dict, number: int) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{number}"}])


async def main() -> None:
    server = {"transport": "stdio", "command": sys.argv[1], "args": sys.argv[2:]}
    client = MultiServerMCPClient({"bank": server})
    read, answer, failure = [], None, None
    try:
        async with client.session("bank") as session:
            from langchain_mcp_adapters.tools import load_mcp_tools

            agent = create_react_agent(Obedient(), await load_mcp_tools(session))
            try:
                async with asyncio.timeout(60):
                    async for state in agent.astream({"messages": [("user", "Send 5 euros.")]}, stream_mode="values"):
                        last = state["messages"][-1]
                        if isinstance(last, ToolMessage):
                            read.append(f"{last.name}: {text(last)}")
                        elif isinstance(last, AIMessage) and not last.tool_calls:
                            answer = last.content
            except BaseException as error:  # noqa: BLE001
                failure = type(error).__name__
    except BaseException as error:  # noqa: BLE001
        failure = failure or type(error).__name__
    print(json.dumps({"answer": answer, "failure": failure, "read": read}))


asyncio.run(main())
