"""Sends a few requests with the boto3 of this interpreter, for capture.mjs.

Usage: clients.py ENDPOINT KEY_ID SECRET TOKEN   (TOKEN may be empty)
"""
import sys

import boto3
from botocore.config import Config

endpoint, key_id, secret, token = sys.argv[1:5]
config = Config(retries={"max_attempts": 0, "mode": "standard"}, read_timeout=5)


def client(service, region):
    return boto3.client(service, endpoint_url=endpoint, region_name=region, aws_access_key_id=key_id,
                        aws_secret_access_key=secret, aws_session_token=token or None, config=config)


def quietly(call, **arguments):
    try:
        call(**arguments)
    except Exception:  # the capturing server answers nothing useful
        pass


dynamodb = client("dynamodb", "eu-central-1")
quietly(dynamodb.get_item, TableName="Music", Key={"pk": {"S": "a b\u00e9"}}, ConsistentRead=True)
quietly(dynamodb.list_tables)
quietly(client("dynamodbstreams", "eu-central-1").list_streams)
quietly(client("iam", "eu-central-1").create_user, UserName="alice", Tags=[{"Key": "team", "Value": "a+b c"}])
quietly(client("sts", "eu-central-1").get_caller_identity)
print(client("sts", "eu-central-1").generate_presigned_url("get_caller_identity", ExpiresIn=900, HttpMethod="GET"))
