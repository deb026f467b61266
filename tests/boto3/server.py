"""The server under test: the one at STATOR_ENDPOINT, or one started here on a free port with a fresh data directory."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("STATOR_BIN", str(REPOSITORY / "build/release/stator"))
PATIENCE = 120  # seconds that a server may take to start, to log a line or to stop, on a busy machine


class Server:
    def __init__(self, args=()):
        self.process = None
        self.endpoint = os.environ.get("STATOR_ENDPOINT")
        if self.endpoint:
            return
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.directory = tempfile.mkdtemp(prefix="stator-test-")
        self.log = open(os.path.join(self.directory, "log"), "w+")
        self.process = subprocess.Popen(
            [BINARY, "serve", "--port", str(port), "--data-dir", os.path.join(self.directory, "data")]
            + os.environ.get("STATOR_ARGS", "").split() + list(args),
            stdout=self.log, stderr=subprocess.STDOUT)
        self.endpoint = f"http://127.0.0.1:{port}"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                urllib.request.urlopen(self.endpoint + "/health/ready", timeout=1).close()
                return
            except OSError:
                time.sleep(0.01)
        self.process.kill()
        self.process.wait()
        self.log.seek(0)
        output = self.log.read()
        self._remove()
        raise RuntimeError(f"{BINARY} was not ready within {PATIENCE} s:\n{output}")

    def logged(self, pattern):
        """Waits until the pattern matches in the log, and returns what its group matches."""
        end = time.monotonic() + PATIENCE
        while True:
            text = pathlib.Path(self.log.name).read_text()
            found = re.search(pattern, text)
            if found:
                return found.group(1)
            if time.monotonic() > end:
                raise RuntimeError(f"no {pattern} in\n{text}")
            time.sleep(0.01)

    def stop(self):
        """SIGTERM; fails unless the server drains and ends with 0."""
        if not self.process:
            return
        self.process.terminate()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._remove()
        if code != 0:
            raise RuntimeError(f"the server ended with {code} on SIGTERM")

    def _remove(self):
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
