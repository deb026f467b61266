// CreateTable requests: from a table that exists, and checked before they are sent.
import type { TableDescription } from './table.ts';

export interface Tag {
  Key: string;
  Value: string;
}

// The request that makes such a table, as NAME.table.json has it.
export function createInputOf(table: TableDescription, tags: Tag[] = []): Record<string, unknown> {
  const onDemand = table.BillingModeSummary?.BillingMode === 'PAY_PER_REQUEST';
  const throughput = (of: { ReadCapacityUnits: number; WriteCapacityUnits: number } | undefined) =>
    !onDemand && of
      ? {
          ProvisionedThroughput: {
            ReadCapacityUnits: of.ReadCapacityUnits,
            WriteCapacityUnits: of.WriteCapacityUnits,
          },
        }
      : {};
  const maxima = (of: object | undefined) => (of ? { OnDemandThroughput: of } : {});
  const input: Record<string, unknown> = {
    TableName: table.TableName,
    BillingMode: onDemand ? 'PAY_PER_REQUEST' : 'PROVISIONED',
    AttributeDefinitions: table.AttributeDefinitions,
    KeySchema: table.KeySchema,
    ...throughput(table.ProvisionedThroughput),
    ...maxima(table.OnDemandThroughput),
  };
  if (table.GlobalSecondaryIndexes?.length) {
    input.GlobalSecondaryIndexes = table.GlobalSecondaryIndexes.map((index) => ({
      IndexName: index.IndexName,
      KeySchema: index.KeySchema,
      Projection: index.Projection,
      ...throughput(index.ProvisionedThroughput),
      ...maxima(index.OnDemandThroughput),
    }));
  }
  if (table.LocalSecondaryIndexes?.length) {
    input.LocalSecondaryIndexes = table.LocalSecondaryIndexes.map((index) => ({
      IndexName: index.IndexName,
      KeySchema: index.KeySchema,
      Projection: index.Projection,
    }));
  }
  if (table.StreamSpecification?.StreamEnabled)
    input.StreamSpecification = table.StreamSpecification;
  if (table.TableClassSummary?.TableClass && table.TableClassSummary.TableClass !== 'STANDARD')
    input.TableClass = table.TableClassSummary.TableClass;
  if (table.DeletionProtectionEnabled) input.DeletionProtectionEnabled = true;
  if (tags.length > 0) input.Tags = tags;
  return input;
}

export interface KeyField {
  name: string;
  type: 'S' | 'N' | 'B';
}

export interface IndexForm {
  kind: 'global' | 'local';
  name: string;
  partition: KeyField[]; // of global indexes
  sort: KeyField[];
  projection: 'ALL' | 'KEYS_ONLY' | 'INCLUDE';
  include: string; // names, separated by commas
  read: string;
  write: string;
  maxRead: string;
  maxWrite: string;
  // The size of an entry that the design was played with.
  entryBytes?: string;
}

export interface ScalingForm {
  min: string;
  max: string;
  target: string; // percent
}

// The form of a new table. Numbers are text while they are typed.
export interface CreateForm {
  name: string;
  partition: KeyField;
  sort: KeyField | null;
  billing: 'PAY_PER_REQUEST' | 'PROVISIONED';
  read: string;
  write: string;
  maxRead: string;
  maxWrite: string;
  warmRead: string;
  warmWrite: string;
  scaleRead: ScalingForm | null;
  scaleWrite: ScalingForm | null;
  indexes: IndexForm[];
  stream: '' | 'KEYS_ONLY' | 'NEW_IMAGE' | 'OLD_IMAGE' | 'NEW_AND_OLD_IMAGES';
  ttl: string;
  tableClass: 'STANDARD' | 'STANDARD_INFREQUENT_ACCESS';
  isProtected: boolean;
  insights: boolean;
  tags: Tag[];
}

export const emptyForm = (): CreateForm => ({
  name: '',
  partition: { name: '', type: 'S' },
  sort: null,
  billing: 'PAY_PER_REQUEST',
  read: '5',
  write: '5',
  maxRead: '',
  maxWrite: '',
  warmRead: '',
  warmWrite: '',
  scaleRead: null,
  scaleWrite: null,
  indexes: [],
  stream: '',
  ttl: '',
  tableClass: 'STANDARD',
  isProtected: false,
  insights: false,
  tags: [],
});

export const emptyScaling = (): ScalingForm => ({ min: '5', max: '100', target: '70' });

export const emptyIndex = (kind: IndexForm['kind']): IndexForm => ({
  kind,
  name: '',
  partition: kind === 'global' ? [{ name: '', type: 'S' }] : [],
  sort: kind === 'local' ? [{ name: '', type: 'S' }] : [],
  projection: 'ALL',
  include: '',
  read: '5',
  write: '5',
  maxRead: '',
  maxWrite: '',
});

export interface CreateRequests {
  create: Record<string, unknown>;
  // What no CreateTable can say, done right after it.
  ttl: { TableName: string; TimeToLiveSpecification: object } | null;
  insights: { TableName: string; ContributorInsightsAction: 'ENABLE' } | null;
  scaling: Record<string, unknown> | null;
  // By field: `name`, `partition`, `index.0.name`.
  errors: Map<string, string>;
}

export const kNamePattern = /^[A-Za-z0-9_.-]{3,255}$/;
const kNameRule = '3 to 255 letters, digits, _ . or -';

export function requestsOf(form: CreateForm): CreateRequests {
  return new Builder(form).build();
}

class Builder {
  private readonly errors = new Map<string, string>();
  private readonly types = new Map<string, 'S' | 'N' | 'B'>();

  constructor(private readonly form: CreateForm) {}

  build(): CreateRequests {
    const { form } = this;
    if (!kNamePattern.test(form.name)) this.errors.set('name', kNameRule);
    const schema = [this.key(form.partition, 'HASH', 'partition')];
    if (form.sort) {
      schema.push(this.key(form.sort, 'RANGE', 'sort'));
      if (form.sort.name === form.partition.name && form.sort.name !== '')
        this.errors.set('sort', 'The sort key is another attribute than the partition key');
    }
    const indexes = form.indexes.map((index, i) => this.index(index, i));
    const create: Record<string, unknown> = {
      TableName: form.name,
      BillingMode: form.billing,
      AttributeDefinitions: [],
      KeySchema: schema,
      ...this.capacity(form, 'read', 'write'),
    };
    const of = (kind: IndexForm['kind']) =>
      indexes.filter((_, i) => form.indexes[i]?.kind === kind);
    if (of('global').length > 0) create.GlobalSecondaryIndexes = of('global');
    if (of('local').length > 0) {
      create.LocalSecondaryIndexes = of('local');
      if (!form.sort) this.errors.set('sort', 'A table with local indexes needs a sort key');
    }
    create.AttributeDefinitions = [...this.types].map(([AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType,
    }));
    const warm = this.pair('warmRead', 'warmWrite', 'ReadUnitsPerSecond', 'WriteUnitsPerSecond');
    if (warm) create.WarmThroughput = warm;
    if (form.stream !== '')
      create.StreamSpecification = { StreamEnabled: true, StreamViewType: form.stream };
    if (form.tableClass !== 'STANDARD') create.TableClass = form.tableClass;
    if (form.isProtected) create.DeletionProtectionEnabled = true;
    const tags = form.tags.filter((tag) => tag.Key !== '' || tag.Value !== '');
    if (tags.some((tag) => tag.Key === '')) this.errors.set('tags', 'A tag needs a name');
    if (tags.length > 0) create.Tags = tags;
    return {
      create,
      ttl:
        form.ttl.trim() === ''
          ? null
          : {
              TableName: form.name,
              TimeToLiveSpecification: { Enabled: true, AttributeName: form.ttl.trim() },
            },
      insights: form.insights
        ? { TableName: form.name, ContributorInsightsAction: 'ENABLE' }
        : null,
      scaling: this.scaling(),
      errors: this.errors,
    };
  }

  private key(field: KeyField, KeyType: 'HASH' | 'RANGE', at: string) {
    const AttributeName = field.name;
    if (AttributeName === '') this.errors.set(at, 'Which attribute?');
    else if (new TextEncoder().encode(AttributeName).length > 255)
      this.errors.set(at, 'Names of key attributes have 255 bytes at most');
    const known = this.types.get(AttributeName);
    if (known !== undefined && known !== field.type)
      this.errors.set(
        at,
        `${AttributeName} is ${known} elsewhere: an attribute has one type in all keys`,
      );
    if (AttributeName !== '' && known === undefined) this.types.set(AttributeName, field.type);
    return { AttributeName, KeyType };
  }

  private index(index: IndexForm, i: number): Record<string, unknown> {
    const at = `index.${i}`;
    if (!kNamePattern.test(index.name)) this.errors.set(`${at}.name`, kNameRule);
    else if (this.form.indexes.some((one, j) => j < i && one.name === index.name))
      this.errors.set(`${at}.name`, 'Another index is called that');
    const KeySchema =
      index.kind === 'global'
        ? index.partition.map((key, k) => this.key(key, 'HASH', `${at}.partition.${k}`))
        : [{ AttributeName: this.form.partition.name, KeyType: 'HASH' as const }];
    KeySchema.push(...index.sort.map((key, k) => this.key(key, 'RANGE', `${at}.sort.${k}`)));
    const Projection: Record<string, unknown> = { ProjectionType: index.projection };
    if (index.projection === 'INCLUDE') {
      const names = index.include
        .split(',')
        .map((name) => name.trim())
        .filter(Boolean);
      if (names.length === 0) this.errors.set(`${at}.include`, 'Which attributes?');
      Projection.NonKeyAttributes = names;
    }
    const out: Record<string, unknown> = { IndexName: index.name, KeySchema, Projection };
    if (index.kind === 'global')
      Object.assign(out, this.capacity(index, `${at}.read`, `${at}.write`));
    return out;
  }

  private capacity(
    of: { read: string; write: string; maxRead: string; maxWrite: string },
    readField: string,
    writeField: string,
  ): Record<string, unknown> {
    if (this.form.billing === 'PROVISIONED') {
      return {
        ProvisionedThroughput: {
          ReadCapacityUnits: this.units(of.read, readField) ?? 1,
          WriteCapacityUnits: this.units(of.write, writeField) ?? 1,
        },
      };
    }
    const maxima: Record<string, number> = {};
    const read = of.maxRead === '' ? null : this.units(of.maxRead, readField);
    const write = of.maxWrite === '' ? null : this.units(of.maxWrite, writeField);
    if (read !== null) maxima.MaxReadRequestUnits = read;
    if (write !== null) maxima.MaxWriteRequestUnits = write;
    return Object.keys(maxima).length > 0 ? { OnDemandThroughput: maxima } : {};
  }

  private units(text: string, field: string): number | null {
    if (/^[1-9]\d{0,8}$/.test(text.trim())) return Number(text);
    this.errors.set(field, 'A whole number, from 1');
    return null;
  }

  private pair(
    read: 'warmRead',
    write: 'warmWrite',
    readName: string,
    writeName: string,
  ): Record<string, number> | null {
    const out: Record<string, number> = {};
    const r = this.form[read] === '' ? null : this.units(this.form[read], read);
    const w = this.form[write] === '' ? null : this.units(this.form[write], write);
    if (r !== null) out[readName] = r;
    if (w !== null) out[writeName] = w;
    return Object.keys(out).length > 0 ? out : null;
  }

  private scaling(): Record<string, unknown> | null {
    if (this.form.billing !== 'PROVISIONED') return null;
    const of = (rule: ScalingForm | null, field: string) => {
      if (!rule) return undefined;
      const min = this.units(rule.min, field) ?? 1;
      const max = this.units(rule.max, field) ?? 1;
      const target = Number(rule.target);
      if (!(target >= 20 && target <= 90)) this.errors.set(field, 'The target is 20 to 90 percent');
      if (max < min) this.errors.set(field, 'The maximum is below the minimum');
      return { min, max, target: target / 100 };
    };
    const read = of(this.form.scaleRead, 'scaleRead');
    const write = of(this.form.scaleWrite, 'scaleWrite');
    if (!read && !write) return null;
    return { ...(read ? { read } : {}), ...(write ? { write } : {}) };
  }
}

// The form that makes such a request. Members that the form has no field for are listed.
export function formOf(input: Record<string, unknown>): { form: CreateForm; unknown: string[] } {
  const form = emptyForm();
  const text = (value: unknown) => (value === undefined || value === null ? '' : String(value));
  const definitions = (input.AttributeDefinitions ?? []) as {
    AttributeName: string;
    AttributeType: 'S' | 'N' | 'B';
  }[];
  const typeOf = (name: string) =>
    definitions.find((one) => one.AttributeName === name)?.AttributeType ?? 'S';
  const keys = (schema: unknown, kind: 'HASH' | 'RANGE'): KeyField[] =>
    ((schema ?? []) as { AttributeName: string; KeyType: string }[])
      .filter((one) => one.KeyType === kind)
      .map((one) => ({ name: one.AttributeName, type: typeOf(one.AttributeName) }));
  const capacity = (of: Record<string, unknown>) => {
    const provisioned = of.ProvisionedThroughput as Record<string, unknown> | undefined;
    const maxima = of.OnDemandThroughput as Record<string, unknown> | undefined;
    return {
      ...(provisioned
        ? {
            read: text(provisioned.ReadCapacityUnits),
            write: text(provisioned.WriteCapacityUnits),
          }
        : {}),
      maxRead: text(maxima?.MaxReadRequestUnits),
      maxWrite: text(maxima?.MaxWriteRequestUnits),
    };
  };
  const index =
    (kind: IndexForm['kind']) =>
    (of: Record<string, unknown>): IndexForm => {
      const projection = (of.Projection ?? {}) as Record<string, unknown>;
      return {
        ...emptyIndex(kind),
        name: text(of.IndexName),
        partition: kind === 'global' ? keys(of.KeySchema, 'HASH') : [],
        sort: keys(of.KeySchema, 'RANGE'),
        projection: (projection.ProjectionType as IndexForm['projection']) ?? 'ALL',
        include: ((projection.NonKeyAttributes ?? []) as string[]).join(', '),
        ...capacity(of),
      };
    };
  form.name = text(input.TableName);
  form.partition = keys(input.KeySchema, 'HASH')[0] ?? form.partition;
  form.sort = keys(input.KeySchema, 'RANGE')[0] ?? null;
  form.billing = input.BillingMode === 'PAY_PER_REQUEST' ? 'PAY_PER_REQUEST' : 'PROVISIONED';
  Object.assign(form, capacity(input));
  const list = (name: string) => (input[name] ?? []) as Record<string, unknown>[];
  form.indexes = [
    ...list('GlobalSecondaryIndexes').map(index('global')),
    ...list('LocalSecondaryIndexes').map(index('local')),
  ];
  const stream = input.StreamSpecification as Record<string, unknown> | undefined;
  if (stream?.StreamEnabled) form.stream = text(stream.StreamViewType) as CreateForm['stream'];
  const warm = input.WarmThroughput as Record<string, unknown> | undefined;
  form.warmRead = text(warm?.ReadUnitsPerSecond);
  form.warmWrite = text(warm?.WriteUnitsPerSecond);
  if (input.TableClass === 'STANDARD_INFREQUENT_ACCESS')
    form.tableClass = 'STANDARD_INFREQUENT_ACCESS';
  form.isProtected = input.DeletionProtectionEnabled === true;
  form.tags = (input.Tags ?? []) as Tag[];
  const known = new Set([
    'TableName',
    'KeySchema',
    'AttributeDefinitions',
    'BillingMode',
    'ProvisionedThroughput',
    'OnDemandThroughput',
    'GlobalSecondaryIndexes',
    'LocalSecondaryIndexes',
    'StreamSpecification',
    'WarmThroughput',
    'TableClass',
    'DeletionProtectionEnabled',
    'Tags',
  ]);
  return { form, unknown: Object.keys(input).filter((name) => !known.has(name)) };
}

// The partitions that the table begins with, by the rules of docs/throughput.md.
export function firstPartitions(
  form: CreateForm,
  partition: { read: number; write: number },
): { count: number; read: number; write: number } {
  const number = (text: string) => Math.max(0, Number(text) || 0);
  const warm = Math.ceil(
    Math.max(number(form.warmRead) / partition.read, number(form.warmWrite) / partition.write),
  );
  if (form.billing === 'PAY_PER_REQUEST') {
    const count = Math.max(4, warm);
    return { count, read: count * partition.read, write: count * partition.write };
  }
  const count = Math.max(
    1,
    warm,
    Math.ceil(number(form.read) / partition.read + number(form.write) / partition.write),
  );
  return { count, read: number(form.read), write: number(form.write) };
}
