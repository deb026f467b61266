// Several errors in one request: the most general rules, so they come last.
import { familyOf, messageKind, NEEDS_TABLE, outcomes, SCHEMA_ERRORS, validation, VALUE_ERRORS, within } from './patterns.mjs';

export const SEVERAL = [
  outcomes({
    id: 'two-parameters',
    reason: 'a request with errors in two parameters: which is reported first is not known of the service',
    source: 'wire-protocol.md, order of request checks, names no order between parameters',
    stator: /^ValidationException: /,
    local: /^ValidationException: /,
    when: (step, { stator, local }) => familyOf(stator) >= 0 && familyOf(local) >= 0 && familyOf(stator) !== familyOf(local),
  }),
  outcomes({
    id: 'two-values',
    reason: 'two values that cannot be: which is reported first is not known of the service',
    source: 'wire-protocol.md, order of request checks, names no order between attributes',
    stator: validation(...VALUE_ERRORS),
    local: validation(...VALUE_ERRORS),
    when: (step, { stator, local }) => messageKind(stator) !== messageKind(local),
  }),
  outcomes({
    id: 'two-schema-errors',
    reason: 'a request that the schema refuses for two reasons: which is reported first is not known of the service',
    source: 'wire-protocol.md, order of request checks, names no order within key and item validation',
    stator: SCHEMA_ERRORS,
    local: NEEDS_TABLE,
    when: (step, { stator, local }) => messageKind(stator) !== messageKind(local),
  }),
];
