// What the browser keeps for the user: settings, favourites, columns. Never data of items.

const kPrefix = 'stator.';

// The stored value, or `otherwise` if there is none of its type.
export function stored<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(kPrefix + name);
    if (text === null) return otherwise;
    const value: unknown = JSON.parse(text);
    return typeof value === typeof otherwise && Array.isArray(value) === Array.isArray(otherwise)
      ? (value as T)
      : otherwise;
  } catch {
    return otherwise;
  }
}

export function store(name: string, value: unknown): void {
  try {
    localStorage.setItem(kPrefix + name, JSON.stringify(value));
  } catch {
    // Storage is full or switched off: the setting lasts as long as the page.
  }
}
