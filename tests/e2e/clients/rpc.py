#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A gRPC server and client without generated code: messages are bytes.
`rpc.py serve PORT RUN SHARED` writes each call to world.log; `rpc.py call HOST METHOD...` makes the
calls unary, chat (both directions at once), fail, more (server streaming) and prints what came."""
import json
import pathlib
import sys
import time
from concurrent import futures

import grpc


def serve(port, run, shared):
    log = open(f"{run}/world.log", "a", buffering=1)

    def written(name, act):
        def work(request, context):
            log.write(json.dumps({"kind": "rpc", "method": name}) + "\n")
            return act(request, context)
        return work

    def chat(requests, context):
        for request in requests:
            yield b"echo " + request

    def fail(request, context):
        context.set_trailing_metadata([("why", "because"), ("raw-bin", b"\0\xff")])
        context.abort(grpc.StatusCode.NOT_FOUND, "no such thing: a%b")

    def more(request, context):
        for number in range(5):
            yield f"{number} {time.time()}".encode()
            time.sleep(0.1)

    methods = {
        "unary": grpc.unary_unary_rpc_method_handler(written("unary", lambda r, c: r[::-1])),
        "hidden": grpc.unary_unary_rpc_method_handler(written("hidden", lambda r, c: r)),
        "chat": grpc.stream_stream_rpc_method_handler(chat),
        "fail": grpc.unary_unary_rpc_method_handler(written("fail", fail)),
        "more": grpc.unary_stream_rpc_method_handler(more),
    }
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("nej.Echo", methods),))
    pair = [pathlib.Path(shared, name).read_bytes() for name in ("key.pem", "leaf.pem")]
    server.add_secure_port(f"[::]:{port}", grpc.ssl_server_credentials([tuple(pair)]))
    server.start()
    pathlib.Path(run, "rpc.ready").touch()
    server.wait_for_termination()


def chat(channel):
    """each message is sent when the answer to the one before has come"""
    import queue
    outbox, got = queue.Queue(), []
    answers = channel.stream_stream("/nej.Echo/chat")(iter(outbox.get, None), timeout=8)
    for number in range(5):
        outbox.put(f"{number}".encode())
        got.append(next(answers).decode())
    outbox.put(None)
    return ", ".join(got + [repr(answers.code())])


def more(channel):
    late = [time.time() - float(m.split()[1]) for m in channel.unary_stream("/nej.Echo/more")(b"", timeout=8)]
    return f"{len(late)} {'prompt' if sorted(late)[3] < 0.05 else late}"


def one(channel, name):
    if name in ("chat", "more"):
        return {"chat": chat, "more": more}[name](channel)
    answer, call = channel.unary_unary(f"/nej.Echo/{name}").with_call(b"x" * 30000 + b"abc", timeout=8)
    return f"{len(answer)} {answer[:3].decode()}"


def call(host, *names):
    with grpc.secure_channel(host, grpc.ssl_channel_credentials()) as channel:
        for name in names:
            try:
                print(name, one(channel, name))
            except grpc.RpcError as error:
                print(name, error.code().name, error.details(), error.trailing_metadata())


if __name__ == "__main__":
    {"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:])
