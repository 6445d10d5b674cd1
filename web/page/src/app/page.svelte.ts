/** What the page shows: mode, theme, links. The program itself is in program.svelte.ts. */
import type { ShippedKernel } from "./content_types.ts";
import { program } from "./program.svelte.ts";
import { fromFragment, longest, toFragment, type Mode, type Shared } from "./share.ts";

const themeKey = "tilewright.theme";

class Page {
  mode = $state<Mode>("bench");
  lesson = $state(0);
  puzzle = $state(1);
  /** The card that is shown alone, for other people's pages; null: the whole page. */
  embed = $state<string | null>(null);
  /** The state came from a link or the reader has begun: the opening demonstration is over. */
  begun = $state(false);
  #theme = $state(stored(themeKey));
  dark = $derived(this.#theme ? this.#theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

  toggleTheme(): void {
    this.#theme = this.dark ? "light" : "dark";
    localStorage.setItem(themeKey, this.#theme);
  }

  /** Takes the state of the link that the page was opened with. */
  read(shipped: ShippedKernel[]): void {
    const fragment = location.hash.slice(1);
    const state = fromFragment(fragment);
    if (state) {
      this.begun = true;
      this.mode = state.mode;
      this.lesson = state.lesson ?? 0;
      this.puzzle = state.puzzle ?? 1;
      this.embed = state.embed ?? null;
      program.fromShared(state);
      return;
    }
    const query = new URLSearchParams(fragment || location.search);
    const kernel = shipped.find((k) => k.path === query.get("kernel") || k.name === query.get("kernel"));
    if (kernel) program.open(kernel.path, kernel.text);
    this.embed = query.get("embed");
    if (query.get("lesson")) [this.mode, this.lesson] = ["lesson", Number(query.get("lesson")) - 1];
    if (query.get("puzzle")) [this.mode, this.puzzle] = ["puzzle", Number(query.get("puzzle"))];
  }

  shared(extra: Partial<Shared> = {}): Shared {
    return { ...program.toShared(), mode: this.mode, lesson: this.lesson, puzzle: this.puzzle, ...extra };
  }

  /** The link to what is shown; null: it would be longer than programs that pass links on allow. */
  link(extra: Partial<Shared> = {}): string | null {
    const url = new URL("#" + toFragment(this.shared(extra)), location.href.replace(/#.*/, "")).href;
    return url.length <= longest ? url : null;
  }
}

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // a page in a sandboxed frame has no storage
  }
}

export const page = new Page();
