/** The browser's storage for this page's address. A page in a sandboxed frame has none, and a full one refuses; then values last as long
 * as the page. */
export function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps the text; an empty one is removed. */
export function store(key: string, text: string): void {
  try {
    if (text) localStorage.setItem(key, text);
    else localStorage.removeItem(key);
  } catch {
    // as above
  }
}
