"""Stands in for vLLM on a server: answers what trl's client asks of one, on a port of this machine. Weights are taken by `broadcast`,
which allocates nothing; the trainer's own part is in the modules that the client imports."""
from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = dict[str, Any]
_LOGPROB = -1.0


def _completions(request: Answer, completion_of: Callable[[int], list[int]]) -> list[tuple[list[int], list[int]]]:
    """A prompt with a completion for each row: the n completions of a prompt come before those of the next one."""
    prompts = request.get("prompt") or request.get("prompts") or []
    rows = [prompt for prompt in prompts for _ in range(request["n"])]
    return [(prompt, completion_of(row)) for row, prompt in enumerate(rows)]


def _choices(request: Answer, completion_of: Callable[[int], list[int]]) -> Answer:
    """vllm serve /v1/completions, as the client of trl 1.16 reads it."""
    def of(tokens: list[int]) -> Answer:
        words = [f"token_id:{token}" for token in tokens]
        return {"tokens": words, "token_logprobs": [_LOGPROB] * len(words), "top_logprobs": [{word: _LOGPROB} for word in words]}

    return {"choices": [{"prompt_token_ids": prompt, "token_ids": tokens, "logprobs": of(tokens)}
                        for prompt, tokens in _completions(request, completion_of)]}


def _lists(request: Answer, completion_of: Callable[[int], list[int]]) -> Answer:
    """trl vllm-serve /generate/, as the client of trl 1.9 reads it."""
    rows = _completions(request, completion_of)
    return {"prompt_ids": [prompt for prompt, _ in rows[::request["n"]]], "completion_ids": [tokens for _, tokens in rows],
            "logprobs": [[[_LOGPROB] for _ in tokens] for _, tokens in rows],
            "logprob_token_ids": [[[token] for token in tokens] for _, tokens in rows]}


_FACTS: Answer = {
    "/v1/models": {"data": [{"id": "traced"}]},
    "/server_info": {"vllm_config": {"weight_transfer_config": {"backend": "nccl"}, "model_config": {"logprobs_mode": "processed_logprobs"}}},
    "/get_world_size": {"world_size": 1},
    "/reset_prefix_cache": {"success": True},
}


def start(completion_of: Callable[[int], list[int]]) -> str:
    """Serves in a thread until the process ends; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self, request: Answer) -> None:
            path = self.path.split("?")[0].rstrip("/")
            if path in ("/v1/completions", "/generate"):
                answer = (_choices if path == "/v1/completions" else _lists)(request, completion_of)
            else:
                answer = _FACTS.get(path, {})
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:  # noqa: N802 (the library's name)
            self._answer({})

        def do_POST(self) -> None:  # noqa: N802
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(json.loads(sent) if sent else {})

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
