"""A model endpoint on loopback that speaks what agents speak, and keeps what reaches the model.

It answers OpenAI chat completions and responses, Gemini's generateContent and Anthropic's messages, whole or as a stream. It is no model:
it calls the tools of a list one after the other, each once, and then says that it is done. A request that has the result of a call is
where one sees what the client handed to its model.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "probe-model"
DONE = "All tools were called."


class ChatCompletions:
    """OpenAI's older API, and that of nearly everybody who is compatible with it."""

    def tools(self, request):
        return [(tool["function"]["name"], None) for tool in request.get("tools") or [] if tool.get("type") == "function"]

    def result(self, request, call):
        messages = request.get("messages") or []
        for at, message in enumerate(messages):
            if message.get("role") == "tool" and message.get("tool_call_id") == call:
                # Pictures cannot stand in a tool message; some clients add a message of the user's.
                after = [later for later in messages[at + 1:] if later.get("role") == "user"]
                return [message.get("content"), *(later.get("content") for later in after)]
        # smolagents writes calls and results as plain messages: the result is what comes after the call.
        told = [at for at, message in enumerate(messages) if message.get("role") == "assistant" and call in json.dumps(message)]
        after = [later.get("content") for later in messages[told[-1] + 1:]] if told else []
        shown = json.dumps(after)
        return after if "Observation:" in shown or "Error:" in shown else None

    def answer(self, request, said, call):
        message = {"role": "assistant", "content": said}
        if call:
            function = {"name": call["tool"][0], "arguments": call["arguments"]}
            message["tool_calls"] = [{"index": 0, "id": call["id"], "type": "function", "function": function}]
        finish = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        base = {"id": "chatcmpl-1", "created": int(time.time()), "model": MODEL}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}, None
        chunk = {**base, "object": "chat.completion.chunk"}
        return None, [
            (None, {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
            (None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
            (None, {**chunk, "choices": [], "usage": usage}),
            (None, "[DONE]"),
        ]


class Responses:
    """OpenAI's newer API. Tools may stand in namespaces."""

    def tools(self, request):
        found = []
        for tool in request.get("tools") or []:
            if tool.get("type") == "namespace":
                found += [(inner["name"], tool["name"]) for inner in tool.get("tools", []) if "name" in inner]
            elif "name" in tool:
                found.append((tool["name"], None))
        return found

    def result(self, request, call):
        items = request.get("input")
        items = items if isinstance(items, list) else []
        for at, item in enumerate(items):
            if item.get("type") == "function_call_output" and item.get("call_id") == call:
                after = [later.get("content") for later in items[at + 1:] if later.get("role") == "user"]
                return [item.get("output"), *after]
        return None

    def answer(self, request, said, call):
        if call:
            item = {"type": "function_call", "id": "fc_" + call["id"], "call_id": call["id"], "name": call["tool"][0], "arguments": call["arguments"], "status": "completed"}
            if call["tool"][1]:
                item["namespace"] = call["tool"][1]
        else:
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": said or "", "annotations": []}]}
        usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}
        response = {"id": "resp_1", "object": "response", "created_at": int(time.time()), "status": "completed", "model": MODEL, "error": None,
                    "incomplete_details": None, "instructions": None, "metadata": {}, "output": [item], "parallel_tool_calls": False,
                    "temperature": 1, "top_p": 1, "tool_choice": "auto", "tools": [], "usage": usage}
        if not request.get("stream"):
            return response, None
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        events = [("response.created", {"response": begun}), ("response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress"}})]
        if call:
            events.append(("response.function_call_arguments.done", {"item_id": item["id"], "output_index": 0, "name": item["name"], "arguments": call["arguments"]}))
        else:
            events.append(("response.output_text.delta", {"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": said or "", "logprobs": []}))
        events += [("response.output_item.done", {"output_index": 0, "item": item}), ("response.completed", {"response": response})]
        return None, [(name, {"type": name, "sequence_number": at, **data}) for at, (name, data) in enumerate(events)]


class Messages:
    """Anthropic's API."""

    def tools(self, request):
        return [(tool["name"], None) for tool in request.get("tools") or [] if "name" in tool]

    def result(self, request, call):
        for message in request.get("messages") or []:
            blocks = message.get("content")
            for block in blocks if isinstance(blocks, list) else []:
                if block.get("type") == "tool_result" and block.get("tool_use_id") == call:
                    return [block.get("content")]
        return None

    def answer(self, request, said, call):
        block = {"type": "tool_use", "id": call["id"], "name": call["tool"][0], "input": json.loads(call["arguments"])} if call else {"type": "text", "text": said or ""}
        stop = "tool_use" if call else "end_turn"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [block], "stop_reason": stop,
                   "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5}}
        if not request.get("stream"):
            return message, None
        delta = {"type": "input_json_delta", "partial_json": call["arguments"]} if call else {"type": "text_delta", "text": said or ""}
        empty = {**block, "input": {}} if call else {"type": "text", "text": ""}
        events = [("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
                  ("content_block_start", {"index": 0, "content_block": empty}), ("content_block_delta", {"index": 0, "delta": delta}),
                  ("content_block_stop", {"index": 0}), ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}}),
                  ("message_stop", {})]
        return None, [(name, {"type": name, **data}) for name, data in events]


class GenerateContent:
    """Gemini's API. A call has no id in it, so its result is found by the name of the tool."""

    def tools(self, request):
        return [(one["name"], None) for tool in request.get("tools") or [] for one in tool.get("functionDeclarations") or []]

    def result(self, request, call):
        found = None
        for content in request.get("contents") or []:
            parts = content.get("parts") or []
            if found is not None and content.get("role") == "user":
                found += parts
            for at, part in enumerate(parts):
                if part.get("functionResponse", {}).get("name", "").endswith(call.split("-")[1]):
                    found = [part["functionResponse"].get("response"), part["functionResponse"].get("parts"), *parts[at + 1:]]
        return found

    def answer(self, request, said, call):
        part = {"functionCall": {"name": call["tool"][0], "args": json.loads(call["arguments"])}} if call else {"text": said or ""}
        whole = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                 "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": MODEL}
        return whole, [(None, whole)]


def api_of(path):
    """The API that a path is of, and whether its answer is a stream whatever the request says."""
    path = path.split("?")[0]
    if path.endswith("/chat/completions"):
        return ChatCompletions(), False
    if path.endswith("/responses"):
        return Responses(), False
    if path.endswith("/messages"):
        return Messages(), False
    if path.endswith(":generateContent"):
        return GenerateContent(), False
    if path.endswith(":streamGenerateContent"):
        return GenerateContent(), True
    return None, False


class ModelEndpoint:
    """Serves on a free port of 127.0.0.1.

    `plan` are the names of tools to call, in this order; `give_size-8000` calls `give_size` for so many characters. `results` are what came back for them (name: parts of the request), `requests`
    everything. With a `bridge` (tool, prefix) the tools are not offered to the model, but called
    through the tool of this name, which takes their `name` with the prefix and their `arguments`. With a `namespace` they are called in it, offered or not.
    """

    def __init__(self, bridge=None, namespace=None):
        self.lock = threading.Lock()
        self.namespace = namespace
        self.bridge = bridge
        self.begin([])
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                endpoint.serve(self, json.loads(body or b"{}"))

            def do_GET(self):
                endpoint.send(self, 200, {"object": "list", "data": [{"id": MODEL, "object": "model"}], "models": []})

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def begin(self, plan):
        """Forgets the run before and begins one that calls the tools of `plan`."""
        with self.lock:
            self.plan, self.called, self.results, self.requests, self.other = list(plan), [], {}, [], []

    def serve(self, handler, request):
        api, stream = api_of(handler.path)
        with self.lock:
            if api is None:
                self.other.append(handler.path)
                return self.send(handler, 404, {"error": {"message": "not here", "type": "not_found"}})
            self.requests.append(request)
            said, call = self.next(api, request)
        whole, events = api.answer(request, said, call)
        if events is not None and (stream or whole is None):
            return self.send_events(handler, events)
        self.send(handler, 200, whole)

    def next(self, api, request):
        offered = api.tools(request)
        for name in self.called:
            parts = api.result(request, self.id(name))
            if parts is not None and name not in self.results:
                self.results[name] = parts
        waiting = [name for name in self.called if name not in self.results]
        for name in self.plan:
            base, _, characters = name.partition("-")
            wanted = self.bridge[0] if self.bridge else base
            tool = next((tool for tool in offered if tool[0].endswith(wanted)), None)
            if self.namespace and offered:
                tool = (base, self.namespace)
            if tool and name not in self.called and not waiting:
                self.called.append(name)
                arguments = {"characters": int(characters)} if characters else {}
                if self.bridge:
                    arguments = {"name": self.bridge[1] + base, "arguments": arguments}
                return None, {"id": self.id(name), "tool": tool, "arguments": json.dumps(arguments)}
        return DONE, None

    def id(self, name):
        return "call-" + name

    def send(self, handler, status, value):
        body = json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def send_events(self, handler, events):
        body = ""
        for name, data in events:
            body += f"event: {name}\n" if name else ""
            body += "data: " + (data if isinstance(data, str) else json.dumps(data)) + "\n\n"
        body = body.encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
