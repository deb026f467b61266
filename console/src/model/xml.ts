// Reads the XML that IAM and STS answer: elements and text, without attributes that matter,
// comments or entities of its own. A parser of the browser would want a trusted type.

export interface Element {
  name: string;
  text: string;
  children: Element[];
}

const kEntities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

export const unescapeXml = (text: string): string =>
  text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return kEntities[name] ?? whole;
    const code = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });

// Returns the root element. Throws SyntaxError for anything but well-formed elements.
export function parseXml(text: string): Element {
  const top: Element = { name: '', text: '', children: [] };
  const open = [top];
  const token = /<(\/?)([A-Za-z][\w.-]*)[^<>]*?(\/?)>|<\?[^>]*\?>|([^<]+)/gy;
  while (token.lastIndex < text.length) {
    const at = token.lastIndex;
    const found = token.exec(text);
    if (!found) throw new SyntaxError(`No XML at character ${at}`);
    const [, closes, name, empty, between] = found;
    const inner = open.at(-1) as Element;
    if (between !== undefined) inner.text += unescapeXml(between);
    else if (name === undefined) continue;
    else if (closes) {
      if (inner.name !== name || open.length === 1)
        throw new SyntaxError(`</${name}> closes nothing`);
      open.pop();
    } else {
      const element = { name, text: '', children: [] };
      inner.children.push(element);
      if (!empty) open.push(element);
    }
  }
  const root = top.children[0];
  if (open.length !== 1 || !root) throw new SyntaxError('The XML ends too early');
  return root;
}

export const childOf = (element: Element | undefined, name: string): Element | undefined =>
  element?.children.find((one) => one.name === name);

// Text of the element behind a path of names; empty where there is none.
export const textAt = (element: Element | undefined, ...path: string[]): string =>
  path.reduce(childOf, element)?.text ?? '';

// The <member>s of a list.
export const membersOf = (element: Element | undefined, name: string): Element[] =>
  childOf(element, name)?.children.filter((one) => one.name === 'member') ?? [];
