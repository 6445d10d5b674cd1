/** Counts what the page has begun and does not show yet: questions to the engine, files that are read, pauses after which it asks.
 * While there is any, the document's element has the attribute `data-busy`, by which a test waits. */
let count = 0;

function add(change: number): void {
  count += change;
  document.documentElement.toggleAttribute("data-busy", count > 0);
}

/** Counts until `work` ends, and returns its result. */
export async function underWay<T>(work: Promise<T>): Promise<T> {
  add(1);
  try {
    return await work;
  } finally {
    add(-1);
  }
}

/** Calls `act` after a pause, which counts until then. Returns a function that ends the pause without the call. */
export function afterPause(milliseconds: number, act: () => void): () => void {
  let waits = true;
  const end = () => {
    if (waits) add(-1);
    waits = false;
    clearTimeout(timer);
  };
  add(1);
  const timer = setTimeout(() => {
    try {
      act();
    } finally {
      end();
    }
  }, milliseconds);
  return end;
}
