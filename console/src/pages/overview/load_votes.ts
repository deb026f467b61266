// Writes to the table sample-votes from this page, so that there is heat to look at.
import { dynamodb } from '../../api/dynamodb.ts';
import { ApiError } from '../../api/errors.ts';
import { unitsOf } from '../../api/log.ts';
import { waitFor, write } from '../../api/tables.ts';
import { tables } from '../../app/state.ts';
import { kVotesPerSecond, kVotesTable, SampleLoad, voteItems } from '../../model/sample_load.ts';
import type { TableDescription } from '../../model/table.ts';
import { runLoad } from '../../ui/jobs.ts';

const kSeconds = 120;

// Makes the table if there is none, and begins the load; it goes on while the page is open. Throws
// as calls do.
export async function loadVotes(): Promise<void> {
  const name = kVotesTable.TableName;
  if (!tables.peek().has(name)) {
    const { TableDescription } = await dynamodb<{ TableDescription: TableDescription }>(
      'CreateTable',
      kVotesTable,
    );
    await waitFor(name, 'ACTIVE');
    const outcome = await write(
      TableDescription,
      voteItems().map((item) => ({ kind: 'put', key: item, item })),
    );
    if (outcome.error) throw outcome.error;
  }
  runLoad(
    `Sample load on ${name}`,
    kSeconds * kVotesPerSecond,
    (report) =>
      new SampleLoad({
        seconds: kSeconds,
        report,
        isThrottled: (error) => error instanceof ApiError && /Throughput|Throttl/.test(error.type),
        send: async (candidate) => {
          const reply = await dynamodb(
            'UpdateItem',
            {
              TableName: name,
              Key: { candidate: { S: candidate } },
              UpdateExpression: 'ADD votes :one',
              ExpressionAttributeValues: { ':one': { N: '1' } },
              ReturnConsumedCapacity: 'TOTAL',
            },
            { background: true },
          );
          return unitsOf(reply, 'UpdateItem').write;
        },
      }),
  );
}
