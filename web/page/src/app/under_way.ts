/** Counts the work that the page has begun but does not show yet: questions to the engine, files being read, pauses before a question.
 * While the count is above 0, the document's element has the attribute `data-busy`; tests wait for its end. */
let count = 0;

function add(change: number): void {
  count += change;
  document.documentElement.toggleAttribute("data-busy", count > 0);
}

/** Counts `work` until it ends, and returns its result. */
export async function underWay<T>(work: Promise<T>): Promise<T> {
  add(1);
  try {
    return await work;
  } finally {
    add(-1);
  }
}

/** Calls `act` after a pause; the pause counts as work. Returns a function that ends the pause without the call. */
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
