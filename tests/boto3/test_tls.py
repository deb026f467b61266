"""boto3 over https, with a CA that `stator cert` made and AWS_CA_BUNDLE names."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import boto3
from botocore.config import Config
from botocore.exceptions import SSLError

from server import BINARY, Server

ARGUMENTS = dict(region_name="us-east-1", aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret",
                 config=Config(retries={"max_attempts": 1}, read_timeout=20))


@unittest.skipIf(os.environ.get("STATOR_ENDPOINT"), "needs a server of its own")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="stator-tls-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        subprocess.run([BINARY, "cert", "--out", cls.directory], check=True, stdout=subprocess.DEVNULL)
        cls.server = Server(["--tls-port=0", f"--tls-cert={cls.directory}/server.pem", f"--tls-key={cls.directory}/server.key"])
        cls.addClassCleanup(cls.server.stop)
        cls.url = f"https://localhost:{cls.server.logged(r'tls_port=([0-9]+)')}"

    def client(self):
        return boto3.session.Session().client("dynamodb", endpoint_url=self.url, **ARGUMENTS)

    def test_trusts_the_bundle(self):
        with mock.patch.dict(os.environ, AWS_CA_BUNDLE=str(self.directory / "ca.pem")):
            client = self.client()
            client.create_table(
                TableName="tls", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}])
            client.get_waiter("table_exists").wait(TableName="tls", WaiterConfig={"Delay": 1, "MaxAttempts": 20})
            item = {"pk": {"S": "a"}, "v": {"B": b"x" * 100000}}
            client.put_item(TableName="tls", Item=item)
            self.assertEqual(client.get_item(TableName="tls", Key={"pk": {"S": "a"}})["Item"], item)

    def test_refuses_an_authority_that_it_does_not_know(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("AWS_CA_BUNDLE", None)
            with self.assertRaises(SSLError):
                self.client().list_tables()
