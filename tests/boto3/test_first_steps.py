"""The first steps with boto3, as a user would take them. Run with Debian's python3 and python3-boto3:

    /usr/bin/python3 -m unittest discover -s tests/boto3
"""
import decimal
import os
import unittest

import boto3
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary
from botocore.config import Config
from botocore.exceptions import ClientError

from server import Server

CONFIG = Config(retries={"max_attempts": 1}, read_timeout=20)
ARGUMENTS = dict(region_name="us-east-1", aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret", config=CONFIG)
KEYS = dict(
    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
    BillingMode="PAY_PER_REQUEST")
WAIT = {"Delay": 1, "MaxAttempts": 20}


def setUpModule():
    global server
    server = Server()


def tearDownModule():
    server.stop()


class Steps(unittest.TestCase):
    def setUp(self):
        self.client = boto3.client("dynamodb", endpoint_url=server.endpoint, **ARGUMENTS)
        self.resource = boto3.resource("dynamodb", endpoint_url=server.endpoint, **ARGUMENTS)
        self.name = f"boto3.{os.getpid()}.{self._testMethodName}"

    def tearDown(self):
        try:
            self.client.delete_table(TableName=self.name)
        except ClientError:
            pass
        self.client.close()
        self.resource.meta.client.close()

    def table(self):
        table = self.resource.create_table(TableName=self.name, **KEYS)
        self.client.get_waiter("table_exists").wait(TableName=self.name, WaiterConfig=WAIT)
        return table

    def assert_fails(self, code, call, **arguments):
        with self.assertRaises(ClientError) as caught:
            call(**arguments)
        self.assertEqual(caught.exception.response["Error"]["Code"], code, caught.exception)
        return caught.exception.response["Error"]["Message"]


class ClientSteps(Steps):
    def test_life_of_a_table(self):
        created = self.client.create_table(TableName=self.name, **KEYS)["TableDescription"]
        self.assertEqual(created["TableName"], self.name)
        self.client.get_waiter("table_exists").wait(TableName=self.name, WaiterConfig=WAIT)
        described = self.client.describe_table(TableName=self.name)["Table"]
        self.assertEqual(described["TableStatus"], "ACTIVE")
        self.assertEqual(described["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        pages = self.client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
        self.assertIn(self.name, [name for page in pages for name in page["TableNames"]])
        self.assert_fails("ResourceInUseException", self.client.create_table, TableName=self.name, **KEYS)
        self.client.delete_table(TableName=self.name)
        self.client.get_waiter("table_not_exists").wait(TableName=self.name, WaiterConfig=WAIT)
        self.assert_fails("ResourceNotFoundException", self.client.describe_table, TableName=self.name)

    def test_put_get_update_delete(self):
        self.table()
        key = {"pk": {"S": "a"}, "sk": {"N": "1"}}
        item = {**key, "b": {"B": b"\x00\xff"}, "ss": {"SS": ["x"]}, "m": {"M": {"l": {"L": [{"NULL": True}, {"BOOL": False}]}}}}
        self.client.put_item(TableName=self.name, Item=item)
        self.assertEqual(self.client.get_item(TableName=self.name, Key=key, ConsistentRead=True)["Item"], item)
        self.assertNotIn("Item", self.client.get_item(TableName=self.name, Key={"pk": {"S": "b"}, "sk": {"N": "1"}}))
        updated = self.client.update_item(
            TableName=self.name, Key=key, UpdateExpression="SET n = if_not_exists(n, :z) + :one REMOVE b", ReturnValues="ALL_NEW",
            ExpressionAttributeValues={":z": {"N": "0"}, ":one": {"N": "1"}}, ReturnConsumedCapacity="TOTAL")
        self.assertEqual(updated["Attributes"]["n"], {"N": "1"})
        self.assertNotIn("b", updated["Attributes"])
        self.assertEqual(updated["ConsumedCapacity"], {"TableName": self.name, "CapacityUnits": 1.0})
        message = self.assert_fails("ConditionalCheckFailedException", self.client.put_item, TableName=self.name, Item=key,
                                    ConditionExpression="attribute_not_exists(pk)")
        self.assertEqual(message, "The conditional request failed")
        old = self.client.delete_item(TableName=self.name, Key=key, ReturnValues="ALL_OLD")["Attributes"]
        self.assertEqual(old["n"], {"N": "1"})
        self.assertNotIn("Item", self.client.get_item(TableName=self.name, Key=key))

    def test_paginators(self):
        self.table()
        with self.resource.Table(self.name).batch_writer() as batch:
            for i in range(60):
                batch.put_item({"pk": f"p{i % 2}", "sk": i})
        query = self.client.get_paginator("query").paginate(
            TableName=self.name, KeyConditionExpression="pk = :p AND sk > :n", ScanIndexForward=False, PaginationConfig={"PageSize": 7},
            ExpressionAttributeValues={":p": {"S": "p1"}, ":n": {"N": "10"}})
        self.assertEqual([int(item["sk"]["N"]) for page in query for item in page["Items"]], list(range(59, 10, -2)))
        scan = self.client.get_paginator("scan").paginate(TableName=self.name, PaginationConfig={"PageSize": 11})
        self.assertEqual(sorted(int(item["sk"]["N"]) for page in scan for item in page["Items"]), list(range(60)))
        whole = self.client.get_paginator("scan").paginate(TableName=self.name, FilterExpression="sk < :n", ExpressionAttributeValues={":n": {"N": "5"}}).build_full_result()
        self.assertEqual(whole["Count"], 5)
        self.assertEqual(whole["ScannedCount"], 60)

    def test_errors(self):
        self.table()
        message = self.assert_fails("ValidationException", self.client.get_item, TableName=self.name, Key={"pk": {"N": "1"}, "sk": {"N": "1"}})
        if os.environ.get("STATOR_TARGET") != "local":
            self.assertEqual(message, "The provided key element does not match the schema")
        self.assert_fails("ResourceNotFoundException", self.client.get_item, TableName=self.name + ".none", Key={"pk": {"S": "x"}})


class ResourceSteps(Steps):
    def test_python_values(self):
        table = self.table()
        item = {
            "pk": "values", "sk": decimal.Decimal(1), "exact": decimal.Decimal("12345678901234567890.123456789012345678"),
            "tiny": decimal.Decimal("1E-130"), "text": "ü😀", "bytes": Binary(bytes(range(256))), "none": None, "yes": True,
            "strings": {"a", "b"}, "numbers": {decimal.Decimal(1), decimal.Decimal("2.5")}, "binaries": {Binary(b"x"), Binary(b"y")},
            "list": [decimal.Decimal(1), "two", [None]], "map": {"deep": {"deeper": []}},
        }
        table.put_item(Item=item)
        self.assertEqual(table.get_item(Key={"pk": "values", "sk": 1})["Item"], item)

    def test_conditions(self):
        table = self.table()
        with table.batch_writer(overwrite_by_pkeys=["pk", "sk"]) as batch:
            for i in range(30):
                batch.put_item({"pk": "p", "sk": i, "mod": i % 3})
            batch.put_item({"pk": "p", "sk": 0, "mod": 0})
            batch.delete_item({"pk": "p", "sk": 29})
        found = table.query(KeyConditionExpression=Key("pk").eq("p") & Key("sk").between(3, 12), FilterExpression=Attr("mod").eq(0) | Attr("none").exists())
        self.assertEqual([int(item["sk"]) for item in found["Items"]], [3, 6, 9, 12])
        self.assertEqual(table.scan(FilterExpression=Attr("mod").is_in([1, 2]) & ~Attr("sk").lt(15), Select="COUNT")["Count"], 9)
        self.assertEqual(table.query(KeyConditionExpression=Key("pk").eq("p"), Select="COUNT")["Count"], 29)
        with self.assertRaises(self.client.exceptions.ConditionalCheckFailedException):
            self.client.delete_item(TableName=self.name, Key={"pk": {"S": "p"}, "sk": {"N": "1"}}, ConditionExpression="attribute_not_exists(pk)")

    def test_batch_get(self):
        table = self.table()
        for i in range(3):
            table.put_item(Item={"pk": "b", "sk": i})
        answer = self.resource.batch_get_item(RequestItems={self.name: {"Keys": [{"pk": "b", "sk": i} for i in range(5)]}})
        self.assertEqual(sorted(int(item["sk"]) for item in answer["Responses"][self.name]), [0, 1, 2])
        self.assertEqual(answer["UnprocessedKeys"], {})

    def test_table_attributes(self):
        table = self.table()
        table.put_item(Item={"pk": "a", "sk": 1})
        table.reload()
        self.assertEqual(table.table_status, "ACTIVE")
        self.assertEqual(table.item_count, 1)
        self.assertEqual([key["AttributeName"] for key in table.key_schema], ["pk", "sk"])
        table.delete()
        table.wait_until_not_exists()


if __name__ == "__main__":
    unittest.main()
