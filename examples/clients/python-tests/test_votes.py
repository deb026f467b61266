def test_counts_votes(dynamodb):
    dynamodb.create_table(
        TableName="votes",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "candidate", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "candidate", "KeyType": "HASH"}],
    )
    for _ in range(3):
        dynamodb.update_item(
            TableName="votes",
            Key={"candidate": {"S": "A"}},
            UpdateExpression="ADD votes :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
    item = dynamodb.get_item(TableName="votes", Key={"candidate": {"S": "A"}})["Item"]
    assert item["votes"] == {"N": "3"}
