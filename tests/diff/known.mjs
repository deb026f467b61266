// Differences that are known and wanted. The reference outranks DynamoDB Local, so a rule does not excuse a difference: it
// demands of Stator what the reference says, and names what DynamoDB Local does instead. A rule that fires in no long run
// is to be removed.
//
// A rule is { id, reason, source, explains(difference, context) }. The difference is one of compare.mjs; the context is
// { step, stator, local, reasons }: the two outcomes as text, 'success' or 'ErrorName: message', and Stator's CancellationReasons.
// A subject has its rules in a file
// of known/.
import { CAPACITY } from './known/capacity.mjs';
import { EXPRESSIONS } from './known/expressions.mjs';
import { INDEXES } from './known/indexes.mjs';
import { LEGACY_PARAMETERS } from './known/legacy.mjs';
import { PARTIQL } from './known/partiql.mjs';
import { READS } from './known/reads.mjs';
import { REQUESTS } from './known/requests.mjs';
import { SEVERAL } from './known/several.mjs';
import { TABLES } from './known/tables.mjs';
import { TRANSACTIONS } from './known/transactions.mjs';
import { UPDATES } from './known/updates.mjs';
import { VALUES } from './known/values.mjs';

export const RULES = [
  ...REQUESTS, ...VALUES, ...EXPRESSIONS, ...UPDATES, ...READS, ...CAPACITY, ...TABLES, ...INDEXES, ...TRANSACTIONS,
  ...LEGACY_PARAMETERS, ...PARTIQL, ...SEVERAL,
];
