import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completed, completionAt, type KnownTable } from '../src/model/complete.ts';

const kTables: KnownTable[] = [
  {
    name: 'music',
    attributes: ['artist', 'song', 'year', 'my name'],
    keys: new Set(['artist', 'song']),
    indexes: ['by-year'],
  },
  { name: 'votes-2026', attributes: ['candidate'], keys: new Set(['candidate']), indexes: [] },
];

// The caret stands at |.
const at = (marked: string) => {
  const caret = marked.indexOf('|');
  const text = marked.replace('|', '');
  return { text, completion: completionAt(text, caret, kTables) };
};
const offered = (marked: string) => at(marked).completion?.options.map((one) => one.text) ?? [];

test('tables follow FROM, INTO and UPDATE, quoted where they must be', () => {
  assert.deepEqual(offered('SELECT * FROM |'), ['music', '"votes-2026"']);
  assert.deepEqual(offered('select * from vo|'), ['"votes-2026"']);
  assert.deepEqual(offered('SELECT * FROM "mu|'), ['"music"']);
  assert.deepEqual(offered('UPDATE m|'), ['music']);
  assert.deepEqual(offered('INSERT INTO m|'), ['music']);
});

test('an index follows the table and a dot', () => {
  assert.deepEqual(offered('SELECT * FROM "music".|'), ['"by-year"']);
  assert.deepEqual(offered('SELECT * FROM "music"."by|'), ['"by-year"']);
});

test('attributes are of the table of the statement, keys first, reserved names quoted', () => {
  const found = at('SELECT * FROM music WHERE |').completion?.options ?? [];
  assert.deepEqual(
    found.slice(0, 4).map((one) => [one.text, one.kind]),
    [
      ['artist', 'key'],
      ['song', 'key'],
      ['"year"', 'attribute'],
      ['"my name"', 'attribute'],
    ],
  );
  assert.deepEqual(offered('SELECT * FROM music WHERE ar|'), ['artist']);
  assert.deepEqual(offered('SELECT | FROM music').slice(0, 2), ['artist', 'song']);
  assert.deepEqual(offered('SELECT 1 FROM music; UPDATE "votes-2026" SET ca|'), ['candidate']);
});

test('words of the language follow where they belong', () => {
  assert.deepEqual(offered('sel|'), ['SELECT']);
  assert.deepEqual(offered('SELECT * FROM music wh|'), ['WHERE']);
  assert.deepEqual(offered("DELETE FROM music WHERE artist = 'x' re|"), ['RETURNING ALL OLD *']);
  assert.deepEqual(offered('SELECT * FROM music WHERE be|'), ['begins_with(', 'BETWEEN']);
});

test('nothing is offered in texts, comments and on an empty page', () => {
  for (const text of ["SELECT * FROM music WHERE artist = 'ar|", '-- sel|', '|', "SELECT 'ar|'"])
    assert.deepEqual(offered(text), [], text);
  assert.notDeepEqual(offered("SELECT 'x' FROM mu|"), []);
});

test('an option takes the place of what was typed', () => {
  const put = (marked: string) => {
    const { text, completion } = at(marked);
    assert.ok(completion?.options[0]);
    const { text: result, caret } = completed(text, completion, completion.options[0]);
    return `${result.slice(0, caret)}|${result.slice(caret)}`;
  };
  assert.equal(put('SELECT * FROM mu|'), 'SELECT * FROM music|');
  assert.equal(put('SELECT * FROM "mu|"'), 'SELECT * FROM "music"|');
  assert.equal(put('sel|'), 'SELECT |');
  assert.equal(put('SELECT * FROM music wh| x'), 'SELECT * FROM music WHERE| x');
});
