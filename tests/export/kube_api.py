"""A stand-in for the API server: it lists pods by selectors, and keeps the patches that kubectl sends."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

Thing = dict[str, Any]

_KINDS = (("v1", "pods", "Pod"), ("batch/v1", "jobs", "Job"), ("ray.io/v1", "rayjobs", "RayJob"))


class Cluster:
    """Objects, and the patches of each by "namespace/name"."""

    def __init__(self, things: list[Thing]) -> None:
        self.things = things
        self.patches: dict[str, Thing] = {}

    def get(self, path: str, query: dict[str, list[str]]) -> Thing | None:
        """What the API has there."""
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            versions = [{"groupVersion": version, "version": "v1"} for version, *_ in _KINDS[1:]]
            groups = [
                {"name": v["groupVersion"].split("/")[0], "versions": [v], "preferredVersion": v} for v in versions
            ]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        for version, plural, kind in _KINDS:
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            if path == root:
                resource = {"name": plural, "singularName": kind.lower(), "kind": kind, "namespaced": True}
                resources = [{**resource, "verbs": ["get", "list", "patch"]}]
                return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
            found = re.fullmatch(rf"{root}/namespaces/([^/]+)/{plural}(?:/([^/]+))?", path)
            if found:
                inside = [t for t in self.things if (t["kind"], t["metadata"]["namespace"]) == (kind, found[1])]
                if found[2]:
                    return next((t for t in inside if t["metadata"]["name"] == found[2]), None)
                items = [t for t in inside if _selected(t, query)]
                return {"kind": f"{kind}List", "apiVersion": version, "metadata": {}, "items": items}
        return None


def _selected(thing: Thing, query: dict[str, list[str]]) -> bool:
    labels = [one.split("=") for text in query.get("labelSelector", []) for one in text.split(",")]
    fields = [one.split("=") for text in query.get("fieldSelector", []) for one in text.split(",")]
    assert all(field == "spec.nodeName" for field, _ in fields)
    return all(thing["metadata"].get("labels", {}).get(label) == value for label, value in labels) and all(
        thing["spec"].get("nodeName", "") == value for _, value in fields
    )


@contextmanager
def serving(folder: Path, things: list[Thing]) -> Iterator[tuple[Cluster, Path]]:
    """A cluster that listens, and the configuration by which kubectl finds it."""
    cluster = Cluster(things)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keep quiet."""

        def do_GET(self) -> None:
            at = urlparse(self.path)
            self.answer(cluster.get(at.path, parse_qs(at.query)))

        def do_PATCH(self) -> None:
            path = urlparse(self.path).path
            patch = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            _, space, _, name = path.rsplit("/", 3)
            cluster.patches[f"{space}/{name}"] = patch
            thing = cluster.get(path, {})
            self.answer({**thing, **patch} if thing else None)

        def answer(self, document: Thing | None) -> None:
            body = json.dumps(document or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})
            self.send_response(200 if document else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": here}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
        "current-context": "c",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config), encoding="utf-8")
    try:
        yield cluster, path
    finally:
        server.shutdown()
        server.server_close()
