// Rebuilds a table from its stream: every record must follow from the records before it.
import assert from 'node:assert/strict';

const textOf = (item) =>
  item && JSON.stringify(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));

export class Replay {
  constructor(machine, StreamArn) {
    Object.assign(this, { machine, StreamArn });
    this.images = new Map(); // by the text of the key
    this.shards = new Map(); // id -> {sequence, ended}
    this.records = 0;
  }

  items() {
    return [...this.images.values()];
  }

  call(operation, body) {
    const headers = { 'X-Amz-Target': `DynamoDBStreams_20120810.${operation}` };
    return this.machine.must(operation, body, headers);
  }

  /** Applies what is new, a shard's records after those of its parent. */
  async catchUp() {
    const { StreamArn } = this;
    const shards = [];
    let ExclusiveStartShardId;
    do {
      const page = await this.call('DescribeStream', { StreamArn, ExclusiveStartShardId });
      shards.push(...page.StreamDescription.Shards);
      ExclusiveStartShardId = page.StreamDescription.LastEvaluatedShardId;
    } while (ExclusiveStartShardId);
    const left = new Map(shards.map((shard) => [shard.ShardId, shard]));
    const read = async (shard) => {
      left.delete(shard.ShardId);
      if (left.has(shard.ParentShardId)) await read(left.get(shard.ParentShardId));
      await this.readShard(shard.ShardId);
    };
    for (const shard of shards) if (left.has(shard.ShardId)) await read(shard);
  }

  async readShard(ShardId) {
    const shard = this.shards.get(ShardId) ?? { sequence: undefined, ended: false };
    this.shards.set(ShardId, shard);
    if (shard.ended) return;
    const from = shard.sequence
      ? { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: shard.sequence }
      : { ShardIteratorType: 'TRIM_HORIZON' };
    const where = { StreamArn: this.StreamArn, ShardId, ...from };
    let { ShardIterator } = await this.call('GetShardIterator', where);
    while (ShardIterator) {
      const { Records, NextShardIterator } = await this.call('GetRecords', { ShardIterator });
      for (const record of Records) this.apply(record, shard);
      if (Records.length === 0 && NextShardIterator) return;
      ShardIterator = NextShardIterator;
    }
    shard.ended = true;
  }

  apply({ eventName, dynamodb: { Keys, OldImage, NewImage, SequenceNumber } }, shard) {
    const key = textOf(Keys);
    const what = `record ${SequenceNumber}, ${eventName} of ${key}`;
    const { sequence } = shard;
    assert.ok(!sequence || BigInt(sequence) < BigInt(SequenceNumber), `${what} after ${sequence}`);
    shard.sequence = SequenceNumber;
    assert.equal(
      textOf(OldImage),
      textOf(this.images.get(key)),
      `${what} is not of what was there`,
    );
    const name = !OldImage ? 'INSERT' : NewImage ? 'MODIFY' : 'REMOVE';
    assert.equal(eventName, name, what);
    if (NewImage) this.images.set(key, NewImage);
    else this.images.delete(key);
    this.records++;
  }
}
