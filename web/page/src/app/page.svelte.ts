/** The state of the page itself: mode, theme, links. The program is in program.svelte.ts. */
import { program } from "./program.svelte.ts";
import { store, stored } from "./storage.ts";
import { fromFragment, fromGiven, longest, toFragment, type Mode, type Shared } from "./share.ts";

const themeKey = "tilewright.theme";

class Page {
  mode = $state<Mode>("bench");
  lesson = $state(0);
  puzzle = $state(1);
  /** The answer to a puzzle from a link; null: the page shows the reader's own. */
  linked = $state.raw<{ puzzle: number; text: string } | null>(null);
  /** The only card that is shown, for other people's pages; null: the whole page. */
  embed = $state<string | null>(null);
  /** The card to scroll to when the page opens. */
  card = $state<string | null>(null);
  /** The opening demonstration is over, because the state came from a link or the reader has begun. */
  begun = $state(false);
  #theme = $state(stored(themeKey));
  dark = $derived(this.#theme ? this.#theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

  toggleTheme(): void {
    this.#theme = this.dark ? "light" : "dark";
    store(themeKey, this.#theme);
  }

  /** Takes the initial state: from `tilewright play`, from the link, or from words after a "?". */
  open(): void {
    this.#take({ ...fromGiven(), ...(fromFragment(location.hash.slice(1)) ?? fromFragment(location.search.slice(1))) });
  }

  /** Takes the state of a link that the reader follows in the page. */
  follow(): void {
    this.#take(fromFragment(location.hash.slice(1)) ?? {});
  }

  #take(state: Partial<Shared>): void {
    if (!Object.keys(state).length) return;
    this.begun = true;
    this.mode = state.mode ?? "bench";
    this.lesson = state.lesson ?? this.lesson;
    this.puzzle = state.puzzle ?? this.puzzle;
    if (state.answer !== undefined) this.linked = { puzzle: this.puzzle, text: state.answer };
    this.embed = state.embed ?? null;
    this.card = state.card ?? null;
    // A link between lessons does not change the reader's program.
    if (state.file !== undefined || this.mode === "bench") program.fromShared(state);
  }

  /** Returns the state for a link. A puzzle's link has no state of the bench, so its receiver keeps the program there. */
  shared(extra: Partial<Shared> = {}): Partial<Shared> {
    if (this.mode === "puzzle") return { mode: this.mode, puzzle: this.puzzle, ...extra };
    return { ...program.toShared(), mode: this.mode, lesson: this.lesson, ...extra };
  }

  /** Returns a link to the present state; null: the link is longer than some programs allow that pass links on. */
  link(extra: Partial<Shared> = {}): string | null {
    const url = new URL("#" + toFragment(this.shared(extra)), location.href.replace(/#.*/, "")).href;
    return url.length <= longest ? url : null;
  }
}

export const page = new Page();
