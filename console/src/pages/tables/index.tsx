// Tables: the list, or below it one table, or the form for a new one.
import { Lazy } from '../../app/lazy.tsx';
import { route } from '../../app/router.ts';
import { TableList } from './list.tsx';

const loadCreate = () => import('../create/index.tsx');
const loadImport = () => import('../create/import.tsx');
const loadTable = () => import('../table/index.tsx');

export default function Tables() {
  const [, name] = route.value.path;
  if (name === undefined) return <TableList />;
  // No table is called that: names have three characters at least, and "new" and "import" are told
  // apart by having no tab behind them.
  if (name === 'new' && route.value.path.length === 2) return <Lazy load={loadCreate} props={{}} />;
  if (name === 'import' && route.value.path.length === 2)
    return <Lazy load={loadImport} props={{}} />;
  return <Lazy key={name} load={loadTable} props={{ name }} />;
}
