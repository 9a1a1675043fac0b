"""A server on localhost that answers uploads as the Hugging Face hub does, and remembers the requests."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class FakeHub:
    url: str
    created: list[dict[str, Any]] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    files: dict[str, bytes] = field(default_factory=dict)
    revision: str = ""
    refuse: bool = False


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            hub.tokens.add(self.headers.get("authorization"))
            if hub.refuse:
                self.answer({"error": "forbidden"}, status=403)
            elif self.path.endswith("/repos/create"):
                hub.created.append(json.loads(body))
                self.answer({"url": f"{hub.url}/{json.loads(body)['organization']}/{json.loads(body)['name']}"})
            elif "/branch/" in self.path:
                hub.branches.append(self.path.rpartition("/")[2])
                self.answer({})
            elif "/preupload/" in self.path:
                files = [{"path": file["path"], "uploadMode": "regular"} for file in json.loads(body)["files"]]
                self.answer({"files": [{**file, "shouldIgnore": False} for file in files]})
            elif "/commit/" in self.path:
                hub.revision = self.path.rpartition("/")[2]
                lines = [json.loads(line) for line in body.splitlines()]
                values = [line["value"] for line in lines if line["key"] == "file"]
                for deleted in (line["value"]["path"] for line in lines if line["key"] == "deletedFile"):
                    del hub.files[deleted]
                hub.files |= {value["path"]: b64decode(value["content"]) for value in values}
                self.answer(
                    {"commitUrl": f"{hub.url}/someone/tiny/commit/0", "commitOid": "0" * 40, "pullRequestUrl": None}
                )
            else:
                self.answer({"errors": [], "warnings": []})

        def do_GET(self):
            if "/tree/" in self.path:
                entries = hub.files.items()
                self.answer([{"type": "file", "path": name, "size": len(each), "oid": "0"} for name, each in entries])
                return
            owner = {"id": "someone/tiny", "sha": "0" * 40, "siblings": [], "tags": [], "private": False}
            self.answer({**owner, "downloads": 0, "likes": 0, "modelId": "someone/tiny"})

        def answer(self, values, status=200):
            content = json.dumps(values).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub = FakeHub(f"http://127.0.0.1:{server.server_port}")
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
