// Follows a stream: from where it is told, through the children of shards that end. The number
// of shards in a round and the number of records kept are bounded.
import { dynamodb } from '../../api/dynamodb.ts';
import { ApiError } from '../../api/errors.ts';
import { heirs, isOpen, type Shard } from '../../model/shards.ts';
import type { Item } from '../../model/value.ts';

export interface StreamRecord {
  eventID: string;
  eventName: 'INSERT' | 'MODIFY' | 'REMOVE';
  userIdentity?: { PrincipalId?: string; Type?: string };
  dynamodb: {
    ApproximateCreationDateTime?: number;
    Keys: Item;
    NewImage?: Item;
    OldImage?: Item;
    SequenceNumber: string;
    SizeBytes?: number;
  };
}

export interface Described {
  StreamArn: string;
  StreamLabel?: string;
  StreamStatus: string;
  StreamViewType: string;
  CreationRequestDateTime?: number;
  Shards: Shard[];
}

const kMostPages = 40; // of 100 shards
const kMostShards = 24; // asked in one round

export async function describeStream(arn: string, signal?: AbortSignal): Promise<Described> {
  let all: Described | null = null;
  let start: string | undefined;
  for (let page = 0; page < kMostPages; ++page) {
    const { StreamDescription: part } = await dynamodb<{
      StreamDescription: Described & { LastEvaluatedShardId?: string };
    }>(
      'DescribeStream',
      { StreamArn: arn, ...(start === undefined ? {} : { ExclusiveStartShardId: start }) },
      { signal, background: true },
      'DynamoDBStreams',
    );
    if (all) all.Shards.push(...part.Shards);
    else all = part;
    start = part.LastEvaluatedShardId;
    if (start === undefined) break;
  }
  return all as Described;
}

export type From = 'LATEST' | 'TRIM_HORIZON';

export class Follower {
  // By shard: the next iterator; null: it has to be asked for.
  private readonly iterators = new Map<string, { iterator: string | null; from: From }>();
  private readonly ended = new Set<string>();

  constructor(
    private readonly arn: string,
    private readonly from: From,
  ) {}

  // The records since the last round, and whether there may be more at once.
  async round(
    shards: readonly Shard[],
    signal: AbortSignal,
  ): Promise<{ records: StreamRecord[]; more: boolean }> {
    this.adopt(shards);
    const records: StreamRecord[] = [];
    let more = false;
    for (const [id, place] of [...this.iterators].slice(0, kMostShards)) {
      place.iterator ??= await this.ask(id, place.from, signal);
      if (place.iterator === null) {
        this.end(id, shards);
        continue;
      }
      const reply = await this.read(place, signal);
      if (!reply) continue;
      records.push(...reply.Records);
      if (reply.NextShardIterator) {
        place.iterator = reply.NextShardIterator;
        if (reply.Records.length > 0) more = true;
        // Those that had nothing go to the end of the line.
        this.iterators.delete(id);
        this.iterators.set(id, place);
      } else {
        this.end(id, shards);
        more = true;
      }
    }
    records.sort(
      (a, b) =>
        (a.dynamodb.ApproximateCreationDateTime ?? 0) -
          (b.dynamodb.ApproximateCreationDateTime ?? 0) ||
        (BigInt(a.dynamodb.SequenceNumber) < BigInt(b.dynamodb.SequenceNumber) ? -1 : 1),
    );
    return { records, more };
  }

  // Shards that this has not seen: at the start as told, later ones from their beginning.
  private adopt(shards: readonly Shard[]): void {
    const first = this.iterators.size === 0 && this.ended.size === 0;
    const known = new Set(shards.map((one) => one.ShardId));
    for (const shard of shards) {
      const id = shard.ShardId;
      if (this.iterators.has(id) || this.ended.has(id)) continue;
      const parent = shard.ParentShardId;
      const waits = parent !== undefined && known.has(parent) && !this.ended.has(parent);
      if (first && this.from === 'LATEST') {
        if (isOpen(shard)) this.iterators.set(id, { iterator: null, from: 'LATEST' });
        else this.ended.add(id);
      } else if (!waits) this.iterators.set(id, { iterator: null, from: 'TRIM_HORIZON' });
    }
  }

  private end(id: string, shards: readonly Shard[]): void {
    this.iterators.delete(id);
    this.ended.add(id);
    for (const child of heirs(shards, id)) {
      if (!this.ended.has(child.ShardId) && !this.iterators.has(child.ShardId))
        this.iterators.set(child.ShardId, { iterator: null, from: 'TRIM_HORIZON' });
    }
  }

  private async ask(id: string, from: From, signal: AbortSignal): Promise<string | null> {
    try {
      const { ShardIterator } = await dynamodb<{ ShardIterator: string }>(
        'GetShardIterator',
        { StreamArn: this.arn, ShardId: id, ShardIteratorType: from },
        { signal, background: true },
        'DynamoDBStreams',
      );
      return ShardIterator;
    } catch (error) {
      // The shard was trimmed away meanwhile.
      if (error instanceof ApiError && error.type === 'ResourceNotFoundException') return null;
      throw error;
    }
  }

  private async read(place: { iterator: string | null }, signal: AbortSignal) {
    try {
      return await dynamodb<{ Records: StreamRecord[]; NextShardIterator?: string }>(
        'GetRecords',
        { ShardIterator: place.iterator, Limit: 200 },
        { signal, background: true },
        'DynamoDBStreams',
      );
    } catch (error) {
      // A tab that slept: the place is lost, and reading goes on with what is there.
      const lost =
        error instanceof ApiError && /ExpiredIterator|TrimmedDataAccess/.test(error.type);
      if (!lost) throw error;
      place.iterator = null;
      return null;
    }
  }
}
