"""Fixtures of pytest: a Stator server for the session, and boto3 clients with an empty server for each test.

The binary is that of the option --stator, else of the environment's STATOR_BIN, else `stator` of the PATH. With the
environment's STATOR_ENDPOINT no server is started, and the tests use that one.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest

READY_SECONDS = 20
STOP_SECONDS = 15
REGION = "us-east-1"


class StatorError(RuntimeError):
    """The server does not start, or refuses a management call."""


class Server:
    """A server that listens at `endpoint`. `process` is None if another program has started it."""

    def __init__(self, endpoint, process=None):
        self.endpoint = endpoint
        self.process = process

    def manage(self, call, body=None, method="POST"):
        """Sends METHOD /_stator/CALL and returns the decoded answer."""
        request = urllib.request.Request(
            f"{self.endpoint}/_stator/{call}", data=json.dumps(body or {}).encode(), method=method,
            headers={"X-Stator-Management": "true", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                text = reply.read()
        except urllib.error.HTTPError as error:
            raise StatorError(f"{method} /_stator/{call}: {error.code} {error.read().decode(errors='replace')}") from error
        return json.loads(text) if text else None

    def reset(self):
        """Drops all tables."""
        self.manage("reset")

    def advance_clock(self, duration):
        """Moves the clock of a server with --clock=manual by a duration such as "90s", and waits until its work is done."""
        self.manage("clock", {"advance": duration})

    def snapshot(self, name="default"):
        """Remembers the state of the default account under a name."""
        self.manage(f"snapshot?name={urllib.parse.quote(name)}")

    def restore(self, name="default"):
        """Returns the default account to a snapshot."""
        self.manage(f"restore?name={urllib.parse.quote(name)}")

    def boto3_arguments(self, key="any"):
        """Returns the arguments of boto3.client and boto3.resource for this server."""
        return {"endpoint_url": self.endpoint, "region_name": REGION,
                "aws_access_key_id": key, "aws_secret_access_key": "any"}

    def stop(self):
        """Ends the server, if it was started here. Requests that have begun are answered first."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Account:
    """An account of its own, with tables of its own, on a server with --isolate=access-key (the setting stator_flags)."""

    def __init__(self, server, key):
        self.server = server
        self.endpoint = server.endpoint
        self.key = key
        self._path = f"accounts/{urllib.parse.quote(key, safe='')}"

    def boto3_arguments(self):
        """Returns the arguments of boto3.client and boto3.resource for this account."""
        return self.server.boto3_arguments(self.key)

    def snapshot(self, name="default"):
        """Remembers the account's state under a name: tables, items, indexes, streams."""
        self.server.manage(f"{self._path}/snapshot?name={urllib.parse.quote(name)}")

    def restore(self, name="default"):
        """Returns to a snapshot."""
        self.server.manage(f"{self._path}/restore?name={urllib.parse.quote(name)}")

    def drop(self):
        """Drops the account with all that it has."""
        self.server.manage(self._path, method="DELETE")


def start(binary, *flags, ready_seconds=READY_SECONDS):
    """Starts a server in memory on a free port and returns it once it accepts requests. Raises StatorError otherwise."""
    command = [binary, "serve", "--in-memory", "--port", "0", *flags]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as error:
        raise StatorError(f"{binary} does not start: {error}") from error
    output = collections.deque(maxlen=200)
    port = []
    answered = threading.Event()

    def read():
        for line in process.stdout:
            output.append(line)
            found = re.search(r" serving port=(\d+)", line)
            if found:
                port.append(int(found.group(1)))
                answered.set()
        answered.set()

    threading.Thread(target=read, daemon=True).start()
    answered.wait(ready_seconds)
    if not port:
        process.kill()
        process.wait()
        raise StatorError(f"{' '.join(command)} was not ready within {ready_seconds} s:\n{''.join(output)}")
    return Server(f"http://127.0.0.1:{port[0]}", process)


def pytest_addoption(parser):
    group = parser.getgroup("stator")
    group.addoption("--stator", metavar="PATH", default=None, help="binary of Stator (default: STATOR_BIN, or stator of the PATH)")
    parser.addini("stator_flags", "flags of `stator serve`", type="args", default=[])


def _binary(config):
    binary = config.getoption("--stator") or os.environ.get("STATOR_BIN") or shutil.which("stator")
    if not binary:
        raise StatorError("there is no binary of Stator: install its package, or name it by --stator or STATOR_BIN")
    return binary


@pytest.fixture(scope="session")
def stator_server(request):
    """The server of the session, with the flags of the setting stator_flags."""
    if os.environ.get("STATOR_ENDPOINT"):
        yield Server(os.environ["STATOR_ENDPOINT"].rstrip("/"))
        return
    server = start(_binary(request.config), *request.config.getini("stator_flags"))
    yield server
    server.stop()


@pytest.fixture
def stator(stator_server):
    """The server of the session without tables."""
    stator_server.reset()
    return stator_server


def _account(server, name):
    account = Account(server, f"{name[:80]}-{uuid.uuid4()}")
    account.snapshot("empty")
    return account


@pytest.fixture(scope="module")
def stator_module_account(stator_server, request):
    """An account for the tests of a module, empty at first; dropped behind the last one."""
    account = _account(stator_server, request.module.__name__)
    yield account
    account.drop()


@pytest.fixture
def stator_account(stator_server, request):
    """An account for one test, empty."""
    account = _account(stator_server, request.node.name)
    yield account
    account.drop()


@pytest.fixture
def dynamodb_client(stator):
    """A client of boto3, on a server without tables."""
    import boto3

    return boto3.client("dynamodb", **stator.boto3_arguments())


@pytest.fixture
def dynamodb(stator):
    """A resource of boto3, on a server without tables."""
    import boto3

    return boto3.resource("dynamodb", **stator.boto3_arguments())
