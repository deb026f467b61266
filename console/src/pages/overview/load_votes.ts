// Writes to the table sample-votes from this page, so that there is heat to look at, and a cure that
// is seen to work.
import { dynamodb } from '../../api/dynamodb.ts';
import { ApiError } from '../../api/errors.ts';
import { unitsOf } from '../../api/log.ts';
import { partitionsOf } from '../../api/partitions.ts';
import { waitFor, write } from '../../api/tables.ts';
import { tables } from '../../app/state.ts';
import {
  kFavourite,
  kVotesPerSecond,
  kVotesTable,
  SampleLoad,
  suffixesIn,
  suffixItem,
  voteItems,
} from '../../model/sample_load.ts';
import type { TableDescription } from '../../model/table.ts';
import type { Item } from '../../model/value.ts';
import { runLoad } from '../../ui/jobs.ts';

const kSeconds = 300;
const kName = kVotesTable.TableName;
// Where the server advises none, because nothing was refused for long.
const kSuffixes = 20;
const kMostSuffixes = 100;

async function fill(table: TableDescription, items: readonly Item[]): Promise<void> {
  const outcome = await write(
    table,
    items.map((item) => ({ kind: 'put', key: item, item })),
  );
  if (outcome.error) throw outcome.error;
}

async function advisedSuffixes(): Promise<number> {
  const { resources } = await partitionsOf(kName);
  const found = resources
    .filter((one) => one.type === 'table')
    .flatMap((one) => one.refused)
    .map((one) => suffixesIn(one.advice))
    .find((one) => one !== null);
  return Math.min(kMostSuffixes, found ?? kSuffixes);
}

// Makes the table if there is none, and begins the load; it goes on while the page is open. Throws
// as calls do.
export async function loadVotes(): Promise<void> {
  if (!tables.peek().has(kName)) {
    const { TableDescription } = await dynamodb<{ TableDescription: TableDescription }>(
      'CreateTable',
      kVotesTable,
    );
    await waitFor(kName, 'ACTIVE');
    await fill(TableDescription, voteItems());
  }
  runLoad(
    `Sample load on ${kName}`,
    kSeconds * kVotesPerSecond,
    (report) =>
      new SampleLoad({
        seconds: kSeconds,
        report,
        isThrottled: (error) => error instanceof ApiError && error.isThrottle,
        send: async (candidate, first) => {
          if (first) {
            const put = await dynamodb(
              'PutItem',
              { TableName: kName, Item: suffixItem(candidate), ReturnConsumedCapacity: 'TOTAL' },
              { background: true },
            );
            return unitsOf(put, 'PutItem').write;
          }
          const reply = await dynamodb(
            'UpdateItem',
            {
              TableName: kName,
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
    {
      table: kName,
      label: `Try the cure: spread ${kFavourite}`,
      flip: async (load, tried) => {
        if (tried) {
          load.spreadOver(1);
          return null;
        }
        const suffixes = await advisedSuffixes();
        load.spreadOver(suffixes);
        return `${kFavourite} is spread over ${suffixes} keys now, ${kFavourite}.1 to ${kFavourite}.${suffixes}`;
      },
    },
  );
}
