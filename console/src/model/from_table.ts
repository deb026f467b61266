// A table as it is, with the load that it had, as a design to change. Pure.
import type { PartitionedResource, PartitionReport } from '../api/partitions.ts';
import type { HeatRange, HeatReply, HeatResource } from './heat.ts';
import {
  type Design,
  emptyDesign,
  type IndexDesign,
  indexDesign,
  type KeyDesign,
  keysDesign,
  type TrafficDesign,
  trafficDesign,
} from './scenario.ts';
import { isOnDemand, type TableDescription } from './table.ts';

type Access = 'read' | 'write';

// A key with a smaller part of the table's load is not hot by itself.
const kHotShare = 0.05;
const kMostHot = 4;
// Index keys that have all but this part are taken for all of them.
const kFewKeys = 0.9;

const shortName = (name: string): string => name.split('/').at(-1) ?? name;

// Units a second that were asked for, served or not, while something was.
function askedOf(ranges: readonly HeatRange[], access: Access, columns: readonly number[]): number {
  let sum = 0;
  for (const column of columns)
    for (const range of ranges)
      sum += (range.consumed[access][column] ?? 0) + (range.refused[access][column] ?? 0);
  return sum / Math.max(1, columns.length);
}

const busyColumns = (resource: HeatResource, access: Access): number[] =>
  Array.from({ length: resource.columns }, (_, column) => column).filter((column) =>
    resource.ranges.some(
      (range) => (range.consumed[access][column] ?? 0) + (range.refused[access][column] ?? 0) > 0,
    ),
  );

interface Hot {
  key: string;
  // A part of what the table was asked for.
  share: number;
}

// The hottest keys of a resource, of each partition by its part of the load.
function hotKeys(
  resource: HeatResource,
  known: PartitionedResource,
  access: Access,
  columns: readonly number[],
): Hot[] {
  const all = askedOf(resource.ranges, access, columns);
  if (all === 0) return [];
  const found = new Map<string, number>();
  for (const partition of known.partitions) {
    const end = partition.to?.hash ?? null;
    const inside = resource.ranges.filter(
      (range) =>
        (end === null || range.from.hash < end) &&
        (range.to === null || range.to.hash > partition.from.hash),
    );
    const part = askedOf(inside, access, columns);
    for (const one of partition.hottest)
      found.set(one.partitionKey, (found.get(one.partitionKey) ?? 0) + one.share * part);
  }
  return [...found]
    .map(([key, units]) => ({ key, share: Math.min(1, units / all) }))
    .filter((one) => one.share >= kHotShare)
    .sort((a, b) => b.share - a.share)
    .slice(0, kMostHot);
}

const bytesText = (bytes: number): string =>
  bytes >= 1024 ? `${Math.max(1, Math.round(bytes / 102.4) / 10)}KB` : `${Math.max(1, bytes)}B`;

const kUnitBytes = { read: 4096, write: 1024 } as const;

// A rate with the digits that matter; 0 is not played.
const rateText = (rate: number): string =>
  rate >= 100 ? String(Math.round(rate)) : String(Math.max(0.01, Number(rate.toFixed(2))));

function trafficOf(
  table: TableDescription,
  resource: HeatResource,
  known: PartitionedResource,
  index: string,
): TrafficDesign[] {
  const traffic: TrafficDesign[] = [];
  const items = Math.max(1, table.ItemCount ?? 0);
  const bytes = Math.min(400 * 1024, Math.max(1, Math.round((table.TableSizeBytes ?? 0) / items)));
  for (const access of ['write', 'read'] as const) {
    const columns = busyColumns(resource, access);
    const asked = askedOf(resource.ranges, access, columns);
    if (asked < 0.01) continue;
    const units = Math.ceil(bytes / kUnitBytes[access]) * (access === 'read' ? 0.5 : 1);
    const hot = hotKeys(resource, known, access, columns);
    const rest = Math.max(0, 1 - hot.reduce((sum, one) => sum + one.share, 0));
    const add = (name: string, share: number, keys: Partial<KeyDesign>) => {
      if (asked * share < 0.01) return;
      traffic.push(
        trafficDesign({
          name,
          operation: access,
          index,
          rate: rateText((asked * share) / units),
          itemBytes: bytesText(bytes),
          keys: keysDesign(keys),
        }),
      );
    };
    const where = index === '' ? '' : ` of ${index}`;
    for (const one of hot)
      add(`${access}s of ${one.key}${where}`, one.share, { kind: 'single', key: one.key });
    if (rest > 0.005)
      add(hot.length > 0 ? `other ${access}s${where}` : `${access}s${where}`, rest, {
        kind: 'uniform',
        count: String(Math.max(items, 1000)),
      });
  }
  return traffic;
}

function indexOf(
  table: TableDescription,
  name: string,
  known: PartitionedResource | undefined,
): IndexDesign {
  const described = table.GlobalSecondaryIndexes?.find((one) => one.IndexName === name);
  const entries = Math.max(1, described?.ItemCount ?? 0);
  const hot = (known?.hottest ?? []).filter((one) => one.share >= 0.01);
  const covered = hot.reduce((sum, one) => sum + one.share, 0);
  const keys =
    hot.length > 0 && covered >= kFewKeys && hot.every((one) => !/[,\n]/.test(one.partitionKey))
      ? keysDesign({
          kind: 'weighted',
          weights: hot
            .map((one) => `${one.partitionKey} ${Number((one.share * 100).toFixed(2))}`)
            .join(', '),
        })
      : keysDesign({ count: String(Math.max(1000, entries)) });
  const given = described?.ProvisionedThroughput;
  return indexDesign({
    name,
    read: String(given?.ReadCapacityUnits || 100),
    write: String(given?.WriteCapacityUnits || 1000),
    entryBytes: bytesText(Math.round((described?.IndexSizeBytes ?? 200 * entries) / entries)),
    keys,
  });
}

// The design that plays what the table was asked for in the time of `heat`.
export function designOf(
  table: TableDescription,
  heat: HeatReply,
  report: PartitionReport,
): Design {
  const onDemand = isOnDemand(table);
  const known = (one: HeatResource) =>
    report.resources.find((each) => each.name === one.name && each.type === one.type);
  const indexes = (table.GlobalSecondaryIndexes ?? []).map((one) =>
    indexOf(
      table,
      one.IndexName,
      report.resources.find(
        (each) => each.type === 'index' && shortName(each.name) === one.IndexName,
      ),
    ),
  );
  const traffic = heat.resources.flatMap((one) => {
    const resource = known(one);
    if (!resource) return [];
    const all = trafficOf(table, one, resource, one.type === 'index' ? shortName(one.name) : '');
    // Writes reach an index through its table.
    return one.type === 'index' ? all.filter((each) => each.operation === 'read') : all;
  });
  const warm = report.resources.find((one) => one.type === 'table')?.warm;
  const size = table.TableSizeBytes ?? 0;
  return emptyDesign({
    table: table.TableName,
    billing: onDemand ? 'on-demand' : 'provisioned',
    read: String(table.ProvisionedThroughput?.ReadCapacityUnits || 5),
    write: String(table.ProvisionedThroughput?.WriteCapacityUnits || 5),
    warmWrite: onDemand && warm && warm.write > 4000 ? String(Math.round(warm.write)) : '',
    size: size >= 2 ** 20 ? `${Math.round(size / 2 ** 20)}MB` : '',
    minutes: '30',
    indexes,
    traffic: traffic.length > 0 ? traffic : [trafficDesign({ rate: '1' })],
  });
}
