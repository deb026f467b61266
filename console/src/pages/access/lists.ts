// Users, groups and roles of the server, page by page.
import { iam } from '../../api/iam.ts';
import { type Named, namedOf, type User, userOf } from '../../model/iam.ts';
import { type Element, membersOf } from '../../model/xml.ts';

async function all<T>(action: string, list: string, make: (element: Element) => T): Promise<T[]> {
  const found: T[] = [];
  let marker: string | undefined;
  do {
    const page = await iam(action, { Marker: marker }, { background: true });
    found.push(...membersOf(page, list).map(make));
    marker = page?.children.find((one) => one.name === 'Marker')?.text;
  } while (marker);
  return found;
}

export const listUsers = (): Promise<User[]> => all('ListUsers', 'Users', userOf);
export const listGroups = (): Promise<Named[]> =>
  all('ListGroups', 'Groups', (one) => namedOf(one, 'GroupName'));
export const listRoles = (): Promise<Named[]> =>
  all('ListRoles', 'Roles', (one) => namedOf(one, 'RoleName'));
