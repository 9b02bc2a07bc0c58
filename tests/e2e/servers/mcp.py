# SPDX-License-Identifier: GPL-2.0-only
"""An MCP server of the test internet: Streamable HTTP and, with GET, the stream of the older
transport. ?as=json, ?as=sse or ?as=gzip says how it answers, whatever the client prefers."""
import gzip
import json

TOOLS = ["search", "delete_all", "read_file"]


def answer(message):
    method, params = message.get("method"), message.get("params", {})
    result = {"called": method}
    if method == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "called " + params.get("name", "?")}]}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def event(message):
    return b"event: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\n"


def send(conn, kind, body, encoding=""):
    conn.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                 f"{encoding}\r\n".encode() + body)


def do_mcp(conn, request, stream):
    if request.method == "GET":
        send(conn, "text/event-stream", b": hello\n\nevent: endpoint\ndata: /mcp?s=1\n\n" + event(
            answer({"method": "tools/list", "id": 1})))
        return
    said = json.loads(request.body)
    answers = [answer(m) for m in (said if isinstance(said, list) else [said]) if "id" in m]
    how = request.query.get("as", "json")
    if how == "sse":
        send(conn, "text/event-stream", b"".join(event(a) for a in answers))
    else:
        body = json.dumps(answers if isinstance(said, list) else answers[0]).encode()
        zipped = how == "gzip"
        send(conn, "application/json; charset=utf-8", gzip.compress(body) if zipped else body,
             "Content-Encoding: gzip\r\n" if zipped else "")
