# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A gRPC client that knows nothing beforehand but server reflection, as tools do.

The messages of reflection itself, and of health, are described here in a few lines; everything of
Keymill's is built from the descriptors that the server sends.
"""

import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
TEXT, BYTES, NUMBER, MESSAGE = FIELD.TYPE_STRING, FIELD.TYPE_BYTES, FIELD.TYPE_INT32, \
    FIELD.TYPE_MESSAGE

# name: ((field, number, type, message or None, repeated), …)
STANDARD = {
    "Request": (("host", 1, TEXT, None, False), ("file_by_filename", 3, TEXT, None, False),
                ("file_containing_symbol", 4, TEXT, None, False),
                ("list_services", 7, TEXT, None, False)),
    "Response": (("file_descriptor_response", 4, MESSAGE, "Files", False),
                 ("list_services_response", 6, MESSAGE, "Services", False),
                 ("error_response", 7, MESSAGE, "Error", False)),
    "Files": (("file_descriptor_proto", 1, BYTES, None, True),),
    "Services": (("service", 1, MESSAGE, "Service", True),),
    "Service": (("name", 1, TEXT, None, False),),
    "Error": (("error_code", 1, NUMBER, None, False), ("error_message", 2, TEXT, None, False)),
    "HealthRequest": (("service", 1, TEXT, None, False),),
    "HealthResponse": (("status", 1, NUMBER, None, False),),
    # google.rpc, as it is in grpc-status-details-bin.
    "Status": (("code", 1, NUMBER, None, False), ("message", 2, TEXT, None, False),
               ("details", 3, MESSAGE, "Detail", True)),
    "Detail": (("type_url", 1, TEXT, None, False), ("value", 2, BYTES, None, False)),
    "ErrorInfo": (("reason", 1, TEXT, None, False), ("domain", 2, TEXT, None, False),
                  ("metadata", 3, MESSAGE, "Pair", True)),
    "Pair": (("key", 1, TEXT, None, False), ("value", 2, TEXT, None, False)),
    "RetryInfo": (("retry_delay", 1, MESSAGE, "Duration", False),),
    "Duration": (("seconds", 1, NUMBER, None, False),),
}


def standard_messages():
    file = descriptor_pb2.FileDescriptorProto(name="standard.proto", package="standard",
                                              syntax="proto3")
    for name, fields in STANDARD.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of, repeated in fields:
            message.field.add(name=field, number=number, type=kind,
                              type_name=f".standard.{of}" if of else None,
                              label=FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"standard.{name}"))
            for name in STANDARD}


MESSAGES = standard_messages()


class Problem(Exception):
    """What a call has failed with."""

    def __init__(self, error):
        super().__init__(f"{error.code()}: {error.details()}")
        self.code = error.code().name
        self.text = error.details()
        self.reason = self.slug = self.domain = None
        self.retry_seconds = 0
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                self._read(MESSAGES["Status"].FromString(value))

    def _read(self, status):
        for detail in status.details:
            if detail.type_url.endswith("/google.rpc.ErrorInfo"):
                info = MESSAGES["ErrorInfo"].FromString(detail.value)
                self.reason, self.domain = info.reason, info.domain
                self.slug = {pair.key: pair.value for pair in info.metadata}.get("slug")
            if detail.type_url.endswith("/google.rpc.RetryInfo"):
                delay = MESSAGES["RetryInfo"].FromString(detail.value).retry_delay
                self.retry_seconds = delay.seconds


class Reflection:
    """Asks a server what it has."""

    def __init__(self, channel, version="v1"):
        self._ask = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=MESSAGES["Request"].SerializeToString,
            response_deserializer=MESSAGES["Response"].FromString)

    def ask(self, *requests):
        return list(self._ask(iter([MESSAGES["Request"](**each) for each in requests]),
                              timeout=30))

    def services(self):
        answer = self.ask({"list_services": "*"})[0]
        return [service.name for service in answer.list_services_response.service]

    def pool_for(self, symbol):
        """A pool with the file of this name in it, and all that it needs."""
        answer = self.ask({"file_containing_symbol": symbol})[0]
        if answer.HasField("error_response"):
            raise LookupError(answer.error_response.error_message)
        files = {}
        for data in answer.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            files[file.name] = file
        pool = descriptor_pool.DescriptorPool()

        def add(file):
            for name in file.dependency:
                if name in files:
                    add(files.pop(name))
            pool.Add(file)

        while files:
            add(files.pop(next(iter(files))))
        return pool


class Client:
    """Calls methods of keymill.v1.Keymill by name: client.call("Mint", keyspace="links")."""

    SERVICE = "keymill.v1.Keymill"

    def __init__(self, port, version="v1", options=()):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=list(options))
        self.reflection = Reflection(self.channel, version)
        pool = self.reflection.pool_for(self.SERVICE)
        factory = message_factory.MessageFactory(pool)
        self.service = pool.FindServiceByName(self.SERVICE)
        self._calls = {}
        for method in self.service.methods:
            request = factory.GetPrototype(method.input_type)
            response = factory.GetPrototype(method.output_type)
            proto = descriptor_pb2.MethodDescriptorProto()
            method.CopyToProto(proto)
            make = self.channel.unary_stream if proto.server_streaming else \
                self.channel.unary_unary
            self._calls[method.name] = request, make(
                f"/{self.SERVICE}/{method.name}", request_serializer=request.SerializeToString,
                response_deserializer=response.FromString)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def call(self, method, timeout=30, **fields):
        request, function = self._calls[method]
        try:
            return function(request(**fields), timeout=timeout)
        except grpc.RpcError as error:
            raise Problem(error) from None

    def begin(self, method, timeout=None, **fields):
        """The call itself, which may be read from, cancelled, or left alone."""
        request, function = self._calls[method]
        return function(request(**fields), timeout=timeout)

    def stream(self, timeout=None, **fields):
        """Yields lists of keys."""
        try:
            for message in self.begin("MintStream", timeout=timeout, **fields):
                yield message.keys
        except grpc.RpcError as error:
            raise Problem(error) from None

    def health(self, service=""):
        check = self.channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=MESSAGES["HealthRequest"].SerializeToString,
            response_deserializer=MESSAGES["HealthResponse"].FromString)
        return {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING"}[
            check(MESSAGES["HealthRequest"](service=service), timeout=30).status]


def main():
    """PORT KEYSPACE COUNT BATCH FILE: streams keys into a file, one on each line."""
    port, keyspace, count, batch, path = sys.argv[1:]
    with Client(int(port)) as client, open(path, "w", encoding="utf-8") as file:
        for keys in client.stream(keyspace=keyspace, count=int(count), batch=int(batch)):
            file.write("\n".join(keys) + "\n")


if __name__ == "__main__":
    main()
