// The same request in other languages.
import { javascript, javascriptDocuments } from './javascript.ts';
import { partiql } from './partiql.ts';
import { python, pythonResource } from './python.ts';
import type { Language, Request, Where } from './request.ts';
import { cli, curl } from './shell.ts';

export { kLanguages, type Language, type Request, type Where } from './request.ts';
export { managementCurl } from './shell.ts';

// null: the language has no way to say it. `sort` is the sort key that a Query goes by.
export function codeFor(
  language: Language,
  request: Request,
  where: Where,
  sort?: string,
): string | null {
  switch (language) {
    case 'js':
      return javascript(request, where);
    case 'js-document':
      return javascriptDocuments(request, where);
    case 'boto3':
      return python(request, where);
    case 'boto3-resource':
      return pythonResource(request, where);
    case 'cli':
      return cli(request, where);
    case 'curl':
      return curl(request, where);
    case 'partiql':
      return partiql(request, sort);
  }
}
