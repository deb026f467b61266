// Update expressions and what UpdateItem answers.
import { onlyRemoves, outcomes, UPDATE_ERRORS, updateOf, validation, within } from './patterns.mjs';

const EQUAL_OPERANDS = /Invalid UpdateExpression: The first operand must be distinct from the remaining operands for this operator or function; operator: \w+, first operand: (\[.*\])/;

export const UPDATES = [
  outcomes({
    id: 'arithmetic-range',
    reason: 'Local reports arithmetic that needs more than 38 digits as a lack of precision',
    source: 'limits-and-capacity.md, numbers: 1e50 + 1 reports "Number overflow"',
    stator: validation(/Number (over|under)flow\. .*/),
    local: validation('DynamoDB only supports precision up to 38 digits'),
    when: ({ op }) => op === 'UpdateItem',
  }),
  outcomes({
    id: 'default-of-existing',
    reason: 'Local wants the default of if_not_exists to exist even where it is not needed',
    source: 'expressions.md, update expressions: not said; open question',
    stator: /^success$/,
    local: validation('The provided expression refers to an attribute that does not exist in the item'),
    when: (step) => /if_not_exists/.test(updateOf(step)),
  }),
  outcomes({
    id: 'key-update-before-condition',
    reason: 'Local evaluates the condition before it looks for key attributes in the update',
    source: 'expressions.md, condition and filter: checks happen before any item is read',
    stator: validation(/One or more parameter values were invalid: Cannot update attribute \w+\. This attribute is part of the key/),
    local: /^ConditionalCheckFailedException: /,
  }),
  outcomes({
    id: 'update-error-order',
    reason: 'an update that fails for two reasons: which of them is reported is not known of the service',
    source: 'expressions.md, update expressions, names no order',
    stator: UPDATE_ERRORS,
    local: UPDATE_ERRORS,
    when: (step) => updateOf(step) !== '',
  }),
  outcomes({
    id: 'two-equal-operands',
    reason: 'an update with two functions that have equal operands: which of them is reported is not known of the service',
    source: 'expressions.md, update expressions, names no order',
    stator: validation(EQUAL_OPERANDS),
    local: validation(EQUAL_OPERANDS),
    when: (step, { stator, local }) => (updateOf(step).match(/if_not_exists|list_append/gi) ?? []).length > 1 &&
      new RegExp(EQUAL_OPERANDS).exec(stator)[1] !== new RegExp(EQUAL_OPERANDS).exec(local)[1],
  }),
  outcomes({
    id: 'overlap-beside-undefined',
    reason: 'an update with paths that overlap and a name that is not defined: which is reported first is not known of the service',
    source: 'expressions.md, update expressions, names no order',
    stator: validation(/Invalid UpdateExpression: An expression attribute name used in the document path is not defined.*/),
    local: validation(/Invalid UpdateExpression: Two document paths overlap.*/),
    when: (step) => updateOf(step) !== '',
  }),
  outcomes({
    id: 'remove-on-missing-item',
    reason: 'Local refuses REMOVE of a nested path on a missing item; for the service it is a no-op',
    source: 'expressions.md, update expressions: REMOVE x.y on a missing item is a no-op',
    stator: /^(success|ValidationException: The update expression attempted to update the secondary index key .*)$/,
    local: validation('The document path provided in the update expression is invalid for update'),
    when: (step) => /\bREMOVE\b/i.test(updateOf(step)),
  }),
  {
    id: 'remove-creates-nothing',
    reason: 'Local creates an item of its key when there is nothing to remove; the service creates nothing',
    source: 'expressions.md, update expressions: REMOVE-only on a missing item creates nothing',
    explains: ({ path, stator, local }, { step }) => onlyRemoves(step) && stator === undefined &&
      ((path === 'after.Item' && Object.keys(local).sort().join() === Object.keys(step.request.Key).sort().join()) ||
       (path === 'body.Attributes' && step.request.ReturnValues === 'ALL_NEW')),
  },
  {
    id: 'touched-paths',
    reason: 'Local returns whole attributes for UPDATED_OLD and UPDATED_NEW; the service returns the touched paths',
    source: 'expressions.md, update expressions, ReturnValues',
    explains: ({ path, stator, local }, { step }) => /^UPDATED_/.test(step.request.ReturnValues ?? '') && path.startsWith('body.Attributes') &&
      /[.[]/.test(updateOf(step)) && within(stator, local),
  },
  outcomes({
    id: 'two-key-attributes',
    reason: 'of two key attributes that an update names Local reports the other one',
    source: 'expressions.md, update expressions, names no order',
    stator: validation(/One or more parameter values were invalid: Cannot update attribute [pk]\. This attribute is part of the key/),
    local: validation(/One or more parameter values were invalid: Cannot update attribute [pk]\. This attribute is part of the key/),
  }),
];
