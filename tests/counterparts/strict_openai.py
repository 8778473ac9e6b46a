"""A chat completions server that is as strict as the `openai` package's own types: strict_openai.py [PORT].

Every request is validated with the types that the package gives to its callers, and no field that they don't know
passes. The replies are the package's own response models, so what a client can't read of them is the client's fault.
What it says is scripted: the number of assistant messages in the conversation is the step. GET /seen lists what came.
"""

import re
import sys
import typing

import openai.types.chat as chat
import openai.types.shared_params as shared
import pydantic
from openai.types import CompletionUsage
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from serving import serve

FORBID = pydantic.ConfigDict(extra="forbid")
for module in (chat, shared):
    for kind in vars(module).values():
        if typing.is_typeddict(kind):
            kind.__pydantic_config__ = FORBID
for kind in (CompletionCreateParamsNonStreaming, CompletionCreateParamsStreaming):
    kind.__pydantic_config__ = FORBID
WHOLE = pydantic.TypeAdapter(CompletionCreateParamsNonStreaming)
STREAMED = pydantic.TypeAdapter(CompletionCreateParamsStreaming)
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# One reply a step: what is said, and the calls.
SCRIPT = [
    # Cut off in the middle of its arguments.
    ("I look.", [("call_cut", "get_order", '{"order_id": "A-10')]),
    (None, [("call_unknown", "fetch_order", '{"order_id": "A-1001"}')]),
    (None, [("call_left", "get_order", '{"order_id": "A-1001"}'), ("call_right", "get_order", '{"order_id": "A-1002"}')]),
    # No such order.
    (None, [("call_missing", "get_order", '{"order_id": "A-9999"}')]),
    # A name that no server takes back.
    (None, [("call_name", "get order!", '{"order_id": "A-1001"}'), ("call_empty", "list_orders", "")]),
    ("There are two orders.", []),
]

seen: list[dict] = []


class Refused(Exception):
    """What is wrong with a request."""


def exhausted(value: object) -> None:
    """Looks at everything: pydantic validates what is typed `Iterable` only when it is gone through."""
    if isinstance(value, dict):
        for item in value.values():
            exhausted(item)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for item in value:
            exhausted(item)


def check_types(body: dict) -> None:
    kind = STREAMED if body.get("stream") else WHOLE
    try:
        exhausted(kind.validate_python(body))
    except pydantic.ValidationError as error:
        raise Refused(f"not the types of the openai package: {error}") from error


def check_pairs(messages: list[dict]) -> None:
    """Directly after a message that makes calls stand their results, one each, in the order of the calls."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting or message["tool_call_id"] != waiting.pop(0):
                raise Refused(f"no call waits for the result {message['tool_call_id']}")
            if not message["content"]:
                raise Refused(f"the result of {message['tool_call_id']} is empty")
            continue
        if waiting:
            raise Refused(f"these calls have no result: {waiting}")
        waiting = [call["id"] for call in message.get("tool_calls", [])]
        if "tool_calls" in message and not waiting:
            raise Refused("`tool_calls` is empty")
    if waiting:
        raise Refused(f"these calls have no result: {waiting}")


def check_names(body: dict) -> None:
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    for message in body["messages"]:
        for call in message.get("tool_calls", []):
            names.append(call["function"]["name"])
            arguments = call["function"]["arguments"]
            if not isinstance(pydantic.TypeAdapter(pydantic.Json).validate_python(arguments), dict):
                raise Refused(f"the arguments of {call['id']} are not an object: {arguments}")
    for name in names:
        if not NAME.fullmatch(name):
            raise Refused(f"{name!r} is no name of a function")
    if "tools" in body and not body["tools"]:
        raise Refused("`tools` is empty")


def completion(step: int) -> chat.ChatCompletion:
    said, calls = SCRIPT[step]
    message = {"role": "assistant", "content": said, "refusal": None}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
    return chat.ChatCompletion.model_validate(
        {
            "id": f"chatcmpl-{step}",
            "object": "chat.completion",
            "created": 1,
            "model": "strict",
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "tool_calls" if calls else "stop",
                    "logprobs": None,
                }
            ],
            "usage": usage(),
        }
    )


def usage() -> CompletionUsage:
    return CompletionUsage(prompt_tokens=10, completion_tokens=5, total_tokens=15)


def chunks(step: int) -> typing.Iterator[chat.ChatCompletionChunk]:
    def chunk(delta: dict | None, finish: str | None = None, last: CompletionUsage | None = None):
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return chat.ChatCompletionChunk.model_validate(
            {
                "id": f"chatcmpl-{step}",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "strict",
                "choices": choices,
                "usage": last,
            }
        )

    said, calls = SCRIPT[step]
    yield chunk({"role": "assistant", "content": "" if said else None, "refusal": None})
    for word in re.findall(r"\S+\s*", said or ""):
        yield chunk({"content": word})
    for index, (id, name, arguments) in enumerate(calls):
        call = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"tool_calls": [call]})
        for start in range(0, len(arguments), 5):
            piece = {"index": index, "function": {"arguments": arguments[start : start + 5]}}
            yield chunk({"tool_calls": [piece]})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield chunk(None, None, usage())


async def completions(request: Request) -> Response:
    body = await request.json()
    record = {"stream": body.get("stream", False), "body": body, "refused": None}
    seen.append(record)
    try:
        check_types(body)
        check_pairs(body["messages"])
        check_names(body)
    except Refused as refused:
        record["refused"] = str(refused)
        error = {"message": str(refused), "type": "invalid_request_error", "param": None, "code": None}
        return JSONResponse({"error": error}, status_code=400)
    step = sum(message["role"] == "assistant" for message in body["messages"])
    if not body.get("stream"):
        return Response(completion(step).model_dump_json(), media_type="application/json")

    async def events():
        for chunk in chunks(step):
            yield f"data: {chunk.model_dump_json(exclude_unset=True)}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


async def list_seen(_: Request) -> Response:
    return JSONResponse(seen)


app = Starlette(
    routes=[
        Route("/v1/chat/completions", completions, methods=["POST"]),
        Route("/seen", list_seen, methods=["GET"]),
    ]
)

if __name__ == "__main__":
    serve(app, *map(int, sys.argv[1:]))
