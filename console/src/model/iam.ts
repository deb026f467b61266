// Users and policies as IAM answers them, and documents to begin with.
import { childOf, type Element, membersOf, textAt } from './xml.ts';

export interface User {
  name: string;
  arn: string;
  created: string;
}

export const userOf = (element: Element | undefined): User => ({
  name: textAt(element, 'UserName'),
  arn: textAt(element, 'Arn'),
  created: textAt(element, 'CreateDate'),
});

// What has policies.
export interface Owner {
  kind: 'User' | 'Group' | 'Role';
  name: string;
  arn: string;
}

export interface Named {
  name: string;
  arn: string;
  created: string;
}

export const namedOf = (element: Element | undefined, nameOf: string): Named => ({
  name: textAt(element, nameOf),
  arn: textAt(element, 'Arn'),
  created: textAt(element, 'CreateDate'),
});

// Says what is wrong with the name of a user, group or role; null: nothing.
export const wrongIamName = (name: string, most = 64): string | null =>
  new RegExp(`^[\\w+=,.@-]{1,${most}}$`).test(name)
    ? null
    : `At most ${most} letters, digits and + = , . @ _ -`;

// A policy that lets a principal take a role.
export const trustOf = (principal: string): string =>
  document({ Effect: 'Allow', Principal: { AWS: principal }, Action: 'sts:AssumeRole' });

export interface AccessKey {
  id: string;
  active: boolean;
  created: string;
}

export const keyOf = (element: Element): AccessKey => ({
  id: textAt(element, 'AccessKeyId'),
  active: textAt(element, 'Status') === 'Active',
  created: textAt(element, 'CreateDate'),
});

export interface NamedPolicy {
  name: string;
  arn: string;
}

export const attachedOf = (element: Element | undefined): NamedPolicy[] =>
  membersOf(element, 'AttachedPolicies').map((one) => ({
    name: textAt(one, 'PolicyName'),
    arn: textAt(one, 'PolicyArn'),
  }));

export const listedOf = (element: Element | undefined): NamedPolicy[] =>
  membersOf(element, 'Policies').map((one) => ({
    name: textAt(one, 'PolicyName'),
    arn: textAt(one, 'Arn'),
  }));

export const namesOf = (element: Element | undefined, list: string): string[] =>
  (childOf(element, list)?.children ?? []).map((one) => one.text);

// IAM answers documents percent-encoded. Returns the text with JSON laid out.
export function documentOf(encoded: string): string {
  const text = decodeURIComponent(encoded);
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export interface Decision {
  action: string;
  resource: string;
  decision: 'allowed' | 'explicitDeny' | 'implicitDeny';
  // Names of the policies that decided.
  by: string[];
  // In a sentence, with the statement; null: the server does not say.
  reason: string | null;
  // Condition keys that policies read and the question has no value for.
  missing: string[];
}

// The answer of POST /_stator/access/why.
export interface Why {
  decision: Decision['decision'];
  action: string;
  resource: string;
  policy?: string;
  reason: string;
  keysMissing: string[];
}

export const decisionOfWhy = (why: Why): Decision => ({
  action: why.action,
  resource: why.resource,
  decision: why.decision,
  by: why.policy === undefined ? [] : [why.policy],
  reason: why.reason,
  missing: why.keysMissing,
});

export const decisionsOf = (element: Element | undefined): Decision[] =>
  membersOf(element, 'EvaluationResults').map((one) => ({
    action: textAt(one, 'EvalActionName'),
    resource: textAt(one, 'EvalResourceName'),
    decision: textAt(one, 'EvalDecision') as Decision['decision'],
    by: membersOf(one, 'MatchedStatements')
      .map((each) => textAt(each, 'SourcePolicyId'))
      .filter((name) => name !== ''),
    reason: null,
    missing: [],
  }));

export const kDecisionWords: Record<Decision['decision'], string> = {
  allowed: 'Yes, it is allowed',
  explicitDeny: 'No, it is denied',
  implicitDeny: 'No, nothing allows it',
};

const document = (...statements: object[]): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: statements }, null, 2);

const tableArns = (region: string, account: string, table: string): string[] => {
  const arn = `arn:aws:dynamodb:${region}:${account}:table/${table}`;
  return table === '*' ? [arn] : [arn, `${arn}/index/*`];
};

export interface Template {
  id: string;
  name: string;
  says: string;
  make: (region: string, account: string, table: string) => string;
}

const kReads = [
  'dynamodb:GetItem',
  'dynamodb:BatchGetItem',
  'dynamodb:Query',
  'dynamodb:Scan',
  'dynamodb:DescribeTable',
];
const kWrites = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
];

export const kTemplates: readonly Template[] = [
  {
    id: 'read',
    name: 'Read a table',
    says: 'items of the table and of its indexes',
    make: (region, account, table) =>
      document({ Effect: 'Allow', Action: kReads, Resource: tableArns(region, account, table) }),
  },
  {
    id: 'write',
    name: 'Read and write a table',
    says: 'items, not the table itself',
    make: (region, account, table) =>
      document({
        Effect: 'Allow',
        Action: [...kReads, ...kWrites],
        Resource: tableArns(region, account, table),
      }),
  },
  {
    id: 'own',
    name: 'Own items alone',
    says: 'those whose partition key is the name of the user',
    make: (region, account, table) =>
      document({
        Effect: 'Allow',
        Action: ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'],
        Resource: tableArns(region, account, table),
        Condition: {
          'ForAllValues:StringEquals': {
            // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of policies.
            'dynamodb:LeadingKeys': ['${aws:username}'],
          },
        },
      }),
  },
  {
    id: 'console',
    name: 'Look at the console',
    says: 'tables, traffic, heat and throttling, without items',
    make: () =>
      document({
        Effect: 'Allow',
        Action: ['stator:Get*', 'dynamodb:ListTables', 'dynamodb:DescribeTable'],
        Resource: '*',
      }),
  },
  {
    id: 'all',
    name: 'Everything',
    says: 'as the root user',
    make: () => document({ Effect: 'Allow', Action: '*', Resource: '*' }),
  },
];

// Returns the error of a document before it is sent; null: it is JSON with statements.
export function documentError(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('Statement' in value))
      return 'A policy is an object with Version and Statement';
    return null;
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
