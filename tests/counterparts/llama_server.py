"""Serves a GGUF model with llama.cpp's OpenAI-compatible server: llama_server.py MODEL [PORT] [THREADS].

Prints `READY <base URL>` when it takes requests. With PORT 0, the default, it takes a free one.

The chat template inside the Qwen2.5-Coder files is broken: it tells the model to write calls in a form that the model
does not keep to, so llama.cpp finds none. Here the model is told to write a fenced JSON block, and past calls are
shown as one, which is what it does well and from which llama.cpp derives how to read them.
"""

import os
import signal
import sys

# Before the library starts: its threads wait asleep, or they take the cores away from the tests.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import xllamacpp  # noqa: E402
from gguf import GGUFReader  # noqa: E402

HOW_TO_CALL = (
    "For a function call, reply with only a JSON code block:\\n```json\\n"
    '{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n```\\n'
    "If no function fits the request, or the function result is already there, reply in plain text."
)


def repaired_template(model: str) -> str:
    template = GGUFReader(model).fields["tokenizer.chat_template"].contents()
    start = template.index('{{- "\\n</tools>')
    end = template.index("{%- else %}", start)
    told = '{{- "\\n</tools>\\n\\n' + HOW_TO_CALL + '<|im_end|>\\n" }}\n'
    template = template[:start] + told + template[end:]
    shown = {
        "{{- '\\n<tool_call>\\n{\"name\": \"' }}": "{{- '\\n```json\\n{\"name\": \"' }}",
        "{{- '}\\n</tool_call>' }}": "{{- '}\\n```' }}",
    }
    for stock, repaired in shown.items():
        assert stock in template, f"the model's template has no {stock}"
        template = template.replace(stock, repaired)
    return template


def main(model: str, port: str = "0", threads: str = "") -> None:
    # Half of the cores: more only get in the way of the tests and of each other.
    count = int(threads) if threads else max(1, (os.cpu_count() or 2) // 2)
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = 8192
    params.n_parallel = 1
    params.cpuparams.n_threads = count
    params.cpuparams_batch.n_threads = count
    params.use_jinja = True
    params.chat_template = repaired_template(model)
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.offline = True
    params.endpoint_slots = True
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    print(f"READY {server.listening_address}/v1", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
