"""The samples of docs/samples.md run as they are."""
import os
import pathlib
import subprocess
import sys
import unittest

from server import REPOSITORY, Server


class Samples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_python_sample_prints_the_film_twice_in_a_row(self):
        sample = pathlib.Path(REPOSITORY) / "examples/clients/python/first.py"
        for _ in range(2):
            out = subprocess.run(
                [sys.executable, sample],
                env={**os.environ, "STATOR_ENDPOINT": self.server.endpoint, "PYTHONIOENCODING": "utf-8"},
                capture_output=True, text=True, encoding="utf-8", check=False)
            self.assertEqual((out.returncode, out.stdout), (0, "Cléo de 5 à 7 1\n"), out.stderr)


if __name__ == "__main__":
    unittest.main()
