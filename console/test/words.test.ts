import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHot } from '../src/model/heat.ts';
import { inUnits } from '../src/model/reason.ts';
import { unitRate } from '../src/ui/format.ts';

test('rates are of units, also where the server writes of reads and writes', () => {
  assert.equal(unitRate(1822, 'write'), '1,822 write units/s');
  assert.equal(unitRate(1, 'read'), '1 read unit/s');
  assert.equal(unitRate(0.5), '0.5 units/s');
  assert.equal(
    inUnits('Table t: 50 of 5 provisioned writes/s, 2 of 1 reads/s.'),
    'Table t: 50 of 5 provisioned write units/s, 2 of 1 read units/s.',
  );
});

test('a range with 1% of what it can do is not hot', () => {
  const spot = { range: 0, column: 0, heat: 0.013, refused: 0 };
  assert.equal(isHot(spot), false);
  assert.equal(isHot({ ...spot, refused: 1 }), true);
  assert.equal(isHot({ ...spot, heat: 0.5 }), true);
});
