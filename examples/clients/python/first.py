"""A table, an item, a read and a query through boto3: pip install boto3 && python3 first.py"""
import os

import boto3
from boto3.dynamodb.conditions import Key

dynamodb = boto3.resource(
    "dynamodb",
    endpoint_url=os.environ.get("STATOR_ENDPOINT", "http://localhost:8000"),
    region_name="us-east-1",
    aws_access_key_id="any",
    aws_secret_access_key="any",
)
films = dynamodb.Table("films")
try:
    films = dynamodb.create_table(
        TableName="films",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "director", "AttributeType": "S"},
            {"AttributeName": "year", "AttributeType": "N"},
        ],
        KeySchema=[
            {"AttributeName": "director", "KeyType": "HASH"},
            {"AttributeName": "year", "KeyType": "RANGE"},
        ],
    )
except dynamodb.meta.client.exceptions.ResourceInUseException:
    pass  # the table is there from an earlier run
films.wait_until_exists()

films.put_item(Item={"director": "Varda", "year": 1962, "title": "Cléo de 5 à 7"})
item = films.get_item(Key={"director": "Varda", "year": 1962})["Item"]
found = films.query(KeyConditionExpression=Key("director").eq("Varda") & Key("year").lt(1970))["Items"]
print(item["title"], len(found))
