// A table, an item, a read and a query through the AWS SDK for JavaScript.
//   npm install @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb && node first.mjs
import { CreateTableCommand, DynamoDBClient, ResourceInUseException, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';

const client = new DynamoDBClient({
  endpoint: process.env.STATOR_ENDPOINT ?? 'http://localhost:8000',
  region: 'us-east-1',
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
});
try {
  await client.send(new CreateTableCommand({
    TableName: 'films', BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'director', AttributeType: 'S' }, { AttributeName: 'year', AttributeType: 'N' }],
    KeySchema: [{ AttributeName: 'director', KeyType: 'HASH' }, { AttributeName: 'year', KeyType: 'RANGE' }],
  }));
} catch (error) {
  if (!(error instanceof ResourceInUseException)) throw error; // the table is there from an earlier run
}
await waitUntilTableExists({ client, maxWaitTime: 30 }, { TableName: 'films' });

const documents = DynamoDBDocumentClient.from(client);
await documents.send(new PutCommand({ TableName: 'films', Item: { director: 'Varda', year: 1962, title: 'Cléo de 5 à 7' } }));
const { Item } = await documents.send(new GetCommand({ TableName: 'films', Key: { director: 'Varda', year: 1962 } }));
const { Items } = await documents.send(new QueryCommand({
  TableName: 'films', KeyConditionExpression: 'director = :d AND #year < :y',
  ExpressionAttributeNames: { '#year': 'year' }, ExpressionAttributeValues: { ':d': 'Varda', ':y': 1970 },
}));
console.log(Item.title, Items.length);
