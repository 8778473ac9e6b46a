"""A DIAL application made with the DIAL SDK, with a deployment for each way to answer or fail: dial_app.py [PORT].

GET /seen lists the names of the deployments that were called, in order.
"""

import asyncio
import json
import sys

from aidial_sdk import DIALApp, HTTPException
from aidial_sdk.chat_completion import Attachment, ChatCompletion, Request, Response, Role, Status

from serving import serve

seen: list[str] = []


def last_said(request: Request) -> str:
    return str(request.messages[-1].content)


class Deployment(ChatCompletion):
    """Notes that it is called."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def chat_completion(self, request: Request, response: Response) -> None:
        seen.append(self.name)
        await self.answer(request, response)

    async def answer(self, request: Request, response: Response) -> None:
        raise NotImplementedError


class Echo(Deployment):
    """Says what it was told, word by word."""

    async def answer(self, request: Request, response: Response) -> None:
        with response.create_single_choice() as choice:
            choice.append_content("Echo:")
            for word in last_said(request).split():
                choice.append_content(f" {word}")
                await asyncio.sleep(0.01)
        response.set_usage(prompt_tokens=3, completion_tokens=4)


class Rich(Deployment):
    """Sends everything that DIAL has beside text."""

    async def answer(self, request: Request, response: Response) -> None:
        with response.create_single_choice() as choice:
            stage = choice.create_stage("Thinking")
            stage.open()
            stage.append_content("not part of the answer")
            stage.add_attachment(Attachment(type="text/plain", title="notes", data="x"))
            stage.close(Status.COMPLETED)
            choice.append_content("Done.")
            choice.add_attachment(Attachment(type="text/plain", title="report", url="files/b/report.txt"))
            choice.set_state({"step": 1})


class Tools(Deployment):
    """Calls the first tool, and then repeats its result and the state that was kept of the call."""

    async def answer(self, request: Request, response: Response) -> None:
        with response.create_single_choice() as choice:
            if request.messages[-1].role == Role.TOOL:
                kept = request.messages[-2].custom_content
                state = json.dumps(kept.state) if kept else "lost"
                choice.append_content(f"It says: {last_said(request)} (state {state})")
                return
            choice.set_state({"round": 1})
            name = request.tools[0].function.name
            call = choice.create_function_tool_call("call_1", name)
            for piece in ('{"order_', 'id": "A-', '9999"}'):
                call.append_arguments(piece)


class LateError(Deployment):
    """Fails after its first words."""

    async def answer(self, request: Request, response: Response) -> None:
        with response.create_single_choice() as choice:
            choice.append_content("I begin")
            await asyncio.sleep(0.05)
            raise HTTPException(
                "upstream died in pod 7", status_code=503, display_message="The service is down, try later."
            )


class EarlyError(Deployment):
    """Refuses as too busy, each time or only the first."""

    def __init__(self, name: str, once: bool) -> None:
        super().__init__(name)
        self.once = once

    async def answer(self, request: Request, response: Response) -> None:
        if self.once and seen.count(self.name) > 1:
            with response.create_single_choice() as choice:
                choice.append_content("Now I can.")
            return
        raise HTTPException(
            "429 from the pool",
            status_code=429,
            type="rate_limit_error",
            display_message="You have used up this minute's tokens.",
            headers={"Retry-After": "1"},
        )


class Bug(Deployment):
    """Has a bug."""

    async def answer(self, request: Request, response: Response) -> None:
        raise KeyError("a detail that nobody outside may read")


app = DIALApp()
for deployment in (
    Echo("echo"),
    Rich("rich"),
    Tools("tools"),
    LateError("late_error"),
    EarlyError("early_error", once=False),
    EarlyError("busy_once", once=True),
    Bug("bug"),
):
    app.add_chat_completion(deployment.name, deployment)


@app.get("/seen")
async def list_seen() -> list[str]:
    return seen


if __name__ == "__main__":
    serve(app, *map(int, sys.argv[1:]))
