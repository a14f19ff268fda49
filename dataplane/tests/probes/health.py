"""A gRPC server with grpc.health.v1.Health (C core), and on the next port one without.

The messages are written by hand: Debian has grpcio, but not its health-checking package.
"""
import sys
import threading
from concurrent import futures

import grpc

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
PORT = int(sys.argv[1])


def check(request, context):
    # HealthCheckRequest: field 1, the service.
    service = request[2:].decode()
    if service in ("", "well"):
        agent = dict(context.invocation_metadata()).get("user-agent", "")
        print("asked by", agent, "in", round(context.time_remaining()), flush=True)
        return SERVING
    if service == "ill":
        return NOT_SERVING
    if service == "slow":
        threading.Event().wait(30)
    if service == "long":
        context.set_trailing_metadata((("x-long", "y" * 6000),))
        return SERVING
    context.abort(grpc.StatusCode.NOT_FOUND, "no such service\n")


def serve(port, handlers):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers(handlers)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server


health = grpc.method_handlers_generic_handler(
    "grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(check)}
)
servers = [serve(PORT, (health,)), serve(PORT + 1, ())]
print("listening", flush=True)
for server in servers:
    server.wait_for_termination()
