"""A whole resolver in Python's standard library: a form, a question, a message, stop, pause and resume.

It answers the platform's calls on stdin and stdout, and does its work in the files of $RESOLVE_DIR.
"""

import json
import os
import pathlib
import sys
import threading
import time

MANIFEST = json.loads(pathlib.Path(__file__).with_name("manifest.json").read_text())
NAME = MANIFEST["name"]  # its events begin with it

CHANNEL = sys.stdout
sys.stdout = sys.stderr  # print() must not reach the channel
CHANNEL_LOCK = threading.Lock()

GREETING_FORM = {
    "type": "form",
    "components": [
        {"type": "text", "id": "greeting", "label": "Greeting", "placeholder": "Hello"},
    ],
}
NAME_FORM = {
    "type": "form",
    "components": [
        {
            "type": "text",
            "id": "name",
            "label": "Name",
            "checks": [
                {
                    "condition": {"call": "required", "args": [{"path": "/name"}]},
                    "message": "Name is required",
                }
            ],
        }
    ],
}
NOTE = {
    "name": "note",
    "label": "Note",
    "description": "Is added to the greeting",
    "schema": {"type": "form", "components": [{"type": "text", "id": "text", "label": "Text"}]},
}


def send(frame):
    with CHANNEL_LOCK:
        CHANNEL.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
        CHANNEL.flush()


class Instance:
    """One instance: its directory, its events and its run."""

    def __init__(self, config):
        self.config = config
        self.dir = pathlib.Path(config.get("resolve_path") or os.environ["RESOLVE_DIR"])
        self.stop_reason = None
        self.answered = threading.Event()
        self.seen_messages = set()
        self.notes = []
        self.thread = None

    def emit(self, event_type, **data):
        line = json.dumps(
            {
                "schema_version": 1,
                "event_type": event_type,
                "instance_id": self.config["instance_id"],
                "data": data,
                "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".000Z",
            }
        )
        # One write in append mode: readers see the whole line or nothing.
        handle = os.open(self.dir / "events.jsonl", os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        try:
            os.write(handle, line.encode() + b"\n")
            size = os.fstat(handle).st_size
        finally:
            os.close(handle)
        send({"method": "resolver.event", "params": {"offset": size}})

    def write(self, name, value):
        """Replaces a file whole: never let a reader see half of it."""
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(json.dumps(value))
        os.replace(temporary, path)

    def read(self, name):
        try:
            return json.loads((self.dir / name).read_text())
        except FileNotFoundError:
            return None

    def start(self, resume):
        if self.thread is None:  # a new host may call run again
            self.thread = threading.Thread(target=self.run, args=(resume,), daemon=True)
            self.thread.start()

    def run(self, resume):
        started = time.monotonic()
        checkpoint = (self.read("checkpoint.json") or {}) if resume else {}
        self.notes = checkpoint.get("notes", []) + self.notes
        if not resume:
            secret = self.config.get("secret_fields", [])
            self.emit(
                "resolver:created",
                resolver_name=NAME,
                resolver_version=MANIFEST["version"],
                instance_id=self.config["instance_id"],
                # The events file is kept as it is, so the values of secret fields stay out of it.
                params={field: value for field, value in self.config["params"].items() if field not in secret},
                capabilities_granted=self.config.get("capabilities", []),
            )
        try:
            result, error = self.greet(), None
        except Exception as failure:  # every way out ends with resolver:completed
            error = {"code": "unexpected_error", "detail": str(failure)}
            result = {"status": "failed", "output": None, "error": str(failure)}
        if result["status"] == "cancelled":
            error = {"code": "cancelled", "detail": self.stop_reason}
        self.emit(
            "resolver:completed",
            outcome="failed" if error else "success",
            summary=result["output"] or result["error"],
            duration_s=round(time.monotonic() - started, 3),
            artifact_count=0,
            **({"error": error} if error else {}),
        )
        self.write("status.json", result)  # first the file, then the news of it
        send({"method": "resolver.finished", "params": {"result": result}})

    def greet(self):
        self.emit("resolver:phase", name="asking")
        self.write("state.json", {"phase": "asking"})
        answer = self.read("input-requests/name.response.json")
        if answer is None:
            request = {"id": "name", "prompt": "Who are you?", "schema": NAME_FORM, "status": "pending"}
            self.write("input-requests/name.json", request)
            self.emit(f"{NAME}.asked", request_id="name")
            self.answered.wait()
            if self.stop_reason is not None:
                return self.stopped()
            answer = self.read("input-requests/name.response.json")
        greeting = self.config["params"].get("greeting") or "Hello"
        output = f"{greeting}, {answer['name']}!"
        if self.notes:
            output += f" ({', '.join(self.notes)})"
        return {"status": "completed", "output": output, "error": None}

    def stopped(self):
        if self.stop_reason in ("pause_requested", "lifetime_exceeded"):
            self.write("checkpoint.json", {"notes": self.notes})
            return {"status": "paused", "output": "paused at the question", "error": None}
        return {"status": "cancelled", "output": None, "error": self.stop_reason}

    def stop(self, reason):
        if self.stop_reason is None:
            self.stop_reason = reason
            self.answered.set()

    def message(self, number, payload):
        if number not in self.seen_messages:  # a new host may send it again
            self.seen_messages.add(number)
            self.notes.append(payload.get("text", ""))
            self.emit(f"{NAME}.noted", number=number)


instance = None


def answer(method, params):
    global instance
    if method == "resolver.initialize":
        if instance is None:
            instance = Instance(params["config"])
        return {"status": "ready"}
    if method == "resolver.run":
        instance.start(params.get("resume", False))
        return {"status": "started"}
    if method == "resolver.stop":
        instance.stop(params.get("reason", ""))
        return {"acknowledged": True}
    if method == "resolver.inputResponse":
        instance.answered.set()  # the payload is in the response file as well
        return None
    if method == "resolver.message":
        instance.message(params.get("number"), params["payload"])
        return None
    if method == "resolver.getInstantiationSchema":
        return GREETING_FORM
    if method == "resolver.getWorkspaceSpec":
        return None
    if method == "resolver.getMessageTypes":
        return [NOTE]
    raise LookupError(f"There is no method {method}")


def main():
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        frame = json.loads(line)
        if frame.get("method") == "resolver.shutdown":
            os._exit(0)
        if "id" not in frame or "method" not in frame:
            continue
        try:
            send({"id": frame["id"], "result": answer(frame["method"], frame.get("params") or {})})
        except Exception as failure:
            send({"id": frame["id"], "error": {"code": -32603, "message": str(failure)}})
    if instance is not None and instance.thread is not None:
        instance.thread.join()


main()
