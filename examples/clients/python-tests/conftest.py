"""A fresh Stator for a test run: put `stator` on the PATH, or name it in STATOR_BIN."""
import os
import socket
import subprocess
import time
import urllib.request

import boto3
import pytest


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def endpoint():
    """The URL of a server in memory whose clock only the tests move."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [os.environ.get("STATOR_BIN", "stator"), "serve", "--in-memory", f"--port={port}", "--clock=manual"]
    )
    for _ in range(100):
        try:
            urllib.request.urlopen(url + "/health/ready")
            break
        except OSError:
            assert server.poll() is None, "stator ended"
            time.sleep(0.05)
    yield url
    server.terminate()
    server.wait()


@pytest.fixture
def dynamodb(endpoint):
    """A client; the tables of the previous test are gone."""
    reset = urllib.request.Request(
        endpoint + "/_stator/reset", method="POST", headers={"X-Stator-Management": "true"}
    )
    urllib.request.urlopen(reset)
    return boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
