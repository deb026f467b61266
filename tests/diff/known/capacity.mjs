// ConsumedCapacity.
import {  } from './patterns.mjs';

export const CAPACITY = [
  {
    id: 'unasked-capacity',
    reason: 'Local answers ConsumedCapacity although nobody asked',
    source: 'limits-and-capacity.md, ReturnConsumedCapacity: NONE is the default',
    explains: ({ path, stator, local }, { step }) => path === 'body.ConsumedCapacity' && stator === undefined && local !== undefined &&
      [undefined, null, 'NONE'].includes(step.request.ReturnConsumedCapacity),
  },
  {
    id: 'batch-delete-capacity',
    reason: 'Local counts 2 for each delete of a missing item in a batch; the service counts 1',
    source: 'limits-and-capacity.md, writes: missing item 1, a batch is the sum',
    explains: ({ path, stator, local }, { step }) => step.op === 'BatchWriteItem' && /CapacityUnits$/.test(path) && stator >= 1 &&
      local > stator && local - stator <= Object.values(step.request.RequestItems).flat().filter((write) => write.DeleteRequest).length,
  },
  {
    id: 'empty-read-capacity',
    reason: 'Local counts nothing for a Query that reads nothing; the service counts its minimum',
    source: 'limits-and-capacity.md, reads: at least 1 x factor when nothing matches',
    explains: ({ path, stator, local }, { step }) => step.op === 'Query' && /CapacityUnits$/.test(path) && local === 0 &&
      stator === (step.request.ConsistentRead ? 1 : 0.5),
  },
  {
    id: 'missing-item-capacity',
    reason: 'Local counts nothing for missing items of BatchGetItem; the service counts them like GetItem',
    source: 'limits-and-capacity.md, reads: sum of per-item GetItem costs',
    explains: ({ path, stator, local }, { step }) => step.op === 'BatchGetItem' && /CapacityUnits$/.test(path) &&
      stator > local && (stator - local) * 2 % 1 === 0,
  },
  {
    id: 'scan-capacity',
    reason: 'Local rounds a Scan once; the service rounds it for each partition it touches',
    source: 'limits-and-capacity.md, reads: a fresh on-demand table with one tiny item reports 2 (eventual) / 4 (consistent)',
    explains: ({ path, stator, local }, { step }) => step.op === 'Scan' && /CapacityUnits$/.test(path) && stator > local &&
      stator >= (step.request.ConsistentRead ? 1 : 0.5),
  },
];
