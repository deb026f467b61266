import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, difference } from '../src/model/difference.ts';
import { equal, equalItems } from '../src/model/equal.ts';
import { TooManyChanges, updateFor } from '../src/model/expression.ts';
import { meetings, merged } from '../src/model/merge.ts';
import { printPath } from '../src/model/path.ts';
import { saveRequest } from '../src/model/save.ts';
import { printTyped } from '../src/model/typed.ts';
import { type AttributeValue, itemOf } from '../src/model/value.ts';
import { changed, Random, randomItem } from './random.ts';
import { kMusic } from './tables.ts';

test('a difference makes the one item out of the other, and its paths are disjoint', () => {
  const random = new Random(4);
  for (let i = 0; i < 2000; ++i) {
    const before = randomItem(random);
    const after = changed(random, before);
    const changes = difference(before, after);
    assert.ok(equalItems(apply(before, changes), after), printTyped(before) + printTyped(after));
    const paths = changes.map((one) => JSON.stringify(one.path).slice(0, -1));
    for (const a of paths)
      for (const b of paths) assert.ok(a === b || !b.startsWith(`${a},`), `${a} ${b}`);
    assert.deepEqual(difference(before, before), []);
  }
});

test('an update touches what was changed, on the condition that it is as it was seen', () => {
  const loaded = itemOf([
    ['artist', { S: 'a' }],
    ['song', { S: 's' }],
    ['plays', { N: '1' }],
    ['year', { N: '1965' }],
  ] as [string, AttributeValue][]);
  const mine = itemOf([
    ['artist', { S: 'a' }],
    ['song', { S: 's' }],
    ['plays', { N: '2' }],
    ['label', { S: 'Verve' }],
  ] as [string, AttributeValue][]);
  const update = updateFor(difference(loaded, mine), ['artist', 'song']);
  assert.equal(update.UpdateExpression, 'SET #plays = :plays, #label = :label REMOVE #year');
  assert.equal(
    update.ConditionExpression,
    'attribute_exists(#artist) AND #plays = :old_plays AND #year = :old_year AND attribute_not_exists(#label)',
  );
});

test('more changes than one expression holds are refused, never divided', () => {
  const after = itemOf(
    Array.from({ length: 400 }, (_, i): [string, AttributeValue] => [`a${i}`, { S: 'x' }]),
  );
  assert.throws(() => updateFor(difference(itemOf([]), after), ['id']), TooManyChanges);
});

test('a save is a conditional Put, a conditional Update, or a transaction for another key', () => {
  const item = itemOf([
    ['artist', { S: 'a' }],
    ['song', { S: 's' }],
  ] as [string, AttributeValue][]);
  const operation = (loaded: typeof item | null, mine: typeof item) =>
    saveRequest(kMusic, { loaded, mine, strict: false })?.operation ?? null;
  assert.equal(operation(null, item), 'PutItem');
  assert.equal(operation(item, item), null);
  assert.equal(operation(item, itemOf([...Object.entries(item), ['x', { N: '1' }]])), 'UpdateItem');
  assert.equal(
    operation(
      item,
      itemOf([
        ['artist', { S: 'b' }],
        ['song', { S: 's' }],
      ]),
    ),
    'TransactWriteItems',
  );
  assert.throws(() => operation(null, itemOf([['artist', { S: 'b' }]])), /artist and song/);
});

test('a merge keeps what either side changed, and asks only at conflicts', () => {
  const random = new Random(5);
  for (let i = 0; i < 2000; ++i) {
    const loaded = randomItem(random);
    const theirs = changed(random, loaded);
    const mine = changed(random, loaded);
    const met = meetings(loaded, theirs, mine);
    const asked: string[] = [];
    const result = merged(loaded, theirs, mine, (path) => {
      asked.push(printPath(path));
      return 'mine';
    });
    assert.deepEqual(
      new Set(asked),
      new Set(met.filter((one) => one.conflict).map((one) => printPath(one.path))),
    );
    for (const one of met) {
      const wanted = one.conflict || equal(one.loaded, one.theirs) ? one.mine : one.theirs;
      let found: AttributeValue | undefined = { M: result };
      for (const name of one.path)
        found =
          found && 'M' in found && Object.hasOwn(found.M, name)
            ? found.M[name as string]
            : undefined;
      assert.ok(equal(found, wanted), printPath(one.path));
    }
    // Without my changes the result is theirs.
    assert.ok(
      equalItems(
        merged(loaded, theirs, loaded, () => 'mine'),
        theirs,
      ),
    );
  }
});
