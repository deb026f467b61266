#!/usr/bin/env python3
"""Writes a month of messages that live for 30 days, and lets two months pass.

Users delete some messages themselves: those are gone for good. The others expire, and the trigger of
stator.toml archives them. Needs nothing but Python.
"""
import argparse
import json
import urllib.request

DAY = 86400
ROOMS = ["general", "random", "help", "music"]
MESSAGES_A_DAY = 40

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--endpoint", default="http://localhost:8000")
endpoint = parser.parse_args().endpoint


def post(path, body, headers):
    request = urllib.request.Request(endpoint + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def call(operation, **body):
    return post("/", body, {"X-Amz-Target": "DynamoDB_20120810." + operation,
                            "Content-Type": "application/x-amz-json-1.0"})


def advance(days):
    return post("/_stator/clock", {"advance": f"{days}d"}, {"X-Stator-Management": "true"})


call("CreateTable", TableName="Messages", BillingMode="PAY_PER_REQUEST",
     AttributeDefinitions=[{"AttributeName": "room", "AttributeType": "S"},
                           {"AttributeName": "id", "AttributeType": "N"}],
     KeySchema=[{"AttributeName": "room", "KeyType": "HASH"},
                {"AttributeName": "id", "KeyType": "RANGE"}],
     StreamSpecification={"StreamEnabled": True, "StreamViewType": "OLD_IMAGE"})
call("UpdateTimeToLive", TableName="Messages",
     TimeToLiveSpecification={"AttributeName": "expires", "Enabled": True})

now = 1767225600  # 2026-01-01T00:00:00Z, as in stator.toml
written = deleted = 0
for day in range(30):
    for number in range(MESSAGES_A_DAY):
        written += 1
        key = {"room": {"S": ROOMS[written % len(ROOMS)]}, "id": {"N": str(written)}}
        call("PutItem", TableName="Messages", Item={
            **key, "text": {"S": f"message {written}"}, "sent": {"N": str(now)},
            "expires": {"N": str(now + 30 * DAY)}})
        if written % 10 == 0:
            call("DeleteItem", TableName="Messages", Key=key)
            deleted += 1
    advance(1)
    now += DAY
for day in range(31):
    advance(1)
left = call("Scan", TableName="Messages", Select="COUNT")["Count"]
print(f"{written} messages written, {deleted} deleted by users, {left} left in the table")
