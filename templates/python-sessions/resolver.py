"""A whole resolver with LLM sessions in Python's standard library: one session plans, another works.

The platform runs the sessions beside this program. A pause, a new host and a lost worker lose no answer of a model.
"""

import json
import os
import pathlib
import sys
import threading
import time

MANIFEST = json.loads(pathlib.Path(__file__).with_name("manifest.json").read_text())
NAME = MANIFEST["name"]

CHANNEL = sys.stdout
sys.stdout = sys.stderr  # print() must not reach the channel
CHANNEL_LOCK = threading.Lock()

FORM = {
    "type": "form",
    "components": [
        {"type": "textarea", "id": "task", "label": "Task"},
        {"type": "text", "id": "model", "label": "Model", "placeholder": "that of the host"},
    ],
}


def send(frame):
    with CHANNEL_LOCK:
        CHANNEL.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
        CHANNEL.flush()


class PlatformError(Exception):
    """The platform refused a call: `code` is one of docs/errors.md."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = (error.get("data") or {}).get("code")


LOST = object()
NOT_COUNTED = ("session_call_refused", "input_too_large", "session_image_refused")  # the session has not seen the prompt


class Platform:
    """Calls of the platform, from any thread."""

    def __init__(self):
        self.changed = threading.Condition()
        self.token, self.epoch, self.calls, self.answers = None, None, 0, {}

    def begin(self, token, epoch):
        """resolver.initialize came: another host has another epoch, and knows nothing of earlier calls."""
        with self.changed:
            self.token, self.epoch = token, epoch
            self.changed.notify_all()

    def answered(self, frame):
        with self.changed:
            self.answers[frame["id"]] = frame
            self.changed.notify_all()

    def call(self, method, params):
        """The result, or LOST where the host that was called is gone."""
        with self.changed:
            self.calls += 1
            call, epoch = f"call-{self.calls}", self.epoch
            send({"id": call, "method": method, "params": {**params, "token": self.token, "epoch": epoch}})
            while call not in self.answers and self.epoch == epoch:
                self.changed.wait()
            frame = self.answers.pop(call, None)
        if frame is None:
            return LOST
        if "error" in frame:
            raise PlatformError(frame["error"])
        return frame["result"]


class Session:
    """An LLM session. Name and number say which one it is, and each prompt has its number: a repeated request is the same request."""

    def __init__(self, platform, name, number=1, **options):
        self.platform, self.prompts = platform, 0
        self.creation = {"name": name, "number": number, "options": options}

    def run(self, prompt, images=()):
        """Images are paths in the workspace, or `{"data": base64, "media_type": …}`."""
        while True:
            # Each host must have opened it. To open it again changes nothing.
            opened = self.platform.call("platform.session.create", self.creation)
            if opened is LOST:
                continue
            request = {"session_id": opened["session_id"], "number": self.prompts + 1, "prompt": prompt}
            if images:
                request["images"] = list(images)
            try:
                answer = self.platform.call("platform.session.run", request)
            except PlatformError as error:
                self.prompts += error.code not in NOT_COUNTED
                raise
            if answer is not LOST:
                self.prompts += 1
                return answer


class Instance:
    """One instance: its directory, its events and its run."""

    def __init__(self, config):
        self.config = config
        self.dir = pathlib.Path(config.get("resolve_path") or os.environ["RESOLVE_DIR"])
        self.platform = Platform()
        self.stop_reason = None
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
        # One write in append mode: the sessions append to the same file.
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
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(json.dumps(value))
        os.replace(temporary, path)

    def start(self, resume):
        if self.thread is None:  # a new host may call run again
            self.thread = threading.Thread(target=self.run, args=(resume,), daemon=True)
            self.thread.start()

    def run(self, resume):
        started = time.monotonic()
        # It says only that there is something to resume: the answers are in the transcripts.
        self.write("checkpoint.json", {})
        if not resume:
            self.emit(
                "resolver:created",
                resolver_name=NAME,
                resolver_version=MANIFEST["version"],
                instance_id=self.config["instance_id"],
                params=self.config["params"],
                capabilities_granted=self.config.get("capabilities", []),
            )
        try:
            result, error = self.work(), None
        except Exception as failure:  # every way out ends with resolver:completed
            result, error = self.failed(failure)
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

    def work(self):
        params = self.config["params"]
        options = {"model": params["model"]} if params.get("model") else {}
        self.emit("resolver:phase", name="planning")
        plan = Session(self.platform, "plan", read_only=True, **options)
        planned = plan.run(f"Plan this: {params.get('task')}")
        self.emit("resolver:phase", name="working")
        work = Session(self.platform, "work", instructions="Run the tests before you say that you are done.", **options)
        done = work.run(f"Do this:\n{planned['output']}")
        told = work.run("Tell in one sentence what you did.")
        self.emit(f"{NAME}.worked", steps=done["steps"], usage=done["usage"], cost_usd=done["cost_usd"])
        return {"status": "completed", "output": told["output"], "error": None, "sessions_used": 2}

    def failed(self, failure):
        if self.stop_reason in ("pause_requested", "lifetime_exceeded"):
            return {"status": "paused", "output": "paused", "error": None}, None
        if self.stop_reason is not None:
            error = {"code": "cancelled", "detail": self.stop_reason}
            return {"status": "cancelled", "output": None, "error": self.stop_reason}, error
        error = {"code": getattr(failure, "code", None) or "unexpected_error", "detail": str(failure)}
        return {"status": "failed", "output": None, "error": str(failure)}, error

    def stop(self, reason):
        """The sessions are stopped by the platform: the call that waits for one ends with an error."""
        self.stop_reason = self.stop_reason or reason


instance = None


def answer(method, params):
    global instance
    if method == "resolver.initialize":
        if instance is None:
            instance = Instance(params["config"])
        instance.platform.begin(instance.config["sub_container_token"], params["epoch"])
        return {"status": "ready"}
    if method == "resolver.run":
        instance.start(params.get("resume", False))
        return {"status": "started"}
    if method == "resolver.stop":
        instance.stop(params.get("reason", ""))
        return {"acknowledged": True}
    if method == "resolver.getInstantiationSchema":
        return FORM
    if method in ("resolver.getWorkspaceSpec", "resolver.inputResponse", "resolver.message"):
        return None
    if method == "resolver.getMessageTypes":
        return []
    raise LookupError(f"There is no method {method}")


def main():
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        frame = json.loads(line)
        if frame.get("method") == "resolver.shutdown":
            os._exit(0)
        if "method" not in frame:
            instance.platform.answered(frame)
        elif "id" in frame:
            try:
                send({"id": frame["id"], "result": answer(frame["method"], frame.get("params") or {})})
            except Exception as failure:
                send({"id": frame["id"], "error": {"code": -32603, "message": str(failure)}})
    if instance is not None and instance.thread is not None:
        instance.thread.join()


main()
