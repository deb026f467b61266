// Differences that are known and wanted. The reference outranks DynamoDB Local, so a rule does not excuse a difference: it
// demands of Stator what the reference says, and names what DynamoDB Local does instead. A rule that fired in no long run
// is to be removed.
//
// { id, reason, source, explains(difference, step) }: explains() gets { path, stator, local } of compare.mjs.

export const RULES = [];
