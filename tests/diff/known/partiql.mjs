// PartiQL statements.
import { canonical, withCanonicalNumbers } from '../compare.mjs';
import { outcomes, validation } from './patterns.mjs';

const MALFORMED = validation(/(Validation failed in TransactStatements\[\d\]: )?Statement wasn't well formed, can't be processed: .*/);
const isPartiQl = (step) => /^(ExecuteStatement|BatchExecuteStatement|ExecuteTransaction)$/.test(step.op);
const textOf = (step) => JSON.stringify(step.request);

export const PARTIQL = [
  outcomes({
    id: 'malformed-detail',
    reason: 'Local repeats the statement as the detail; Stator names the token and where it is',
    source: 'expressions.md, PartiQL: the reference leaves the detail open',
    stator: MALFORMED,
    local: validation(/.*/),
    when: isPartiQl,
  }),
];
