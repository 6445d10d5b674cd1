/** What the page shows: mode, theme, links. The program itself is in program.svelte.ts. */
import { program } from "./program.svelte.ts";
import { store, stored } from "./storage.ts";
import { fromFragment, fromGiven, longest, toFragment, type Mode, type Shared } from "./share.ts";

const themeKey = "tilewright.theme";

class Page {
  mode = $state<Mode>("bench");
  lesson = $state(0);
  puzzle = $state(1);
  /** The answer to a puzzle that came with a link; null: the reader's own is shown. */
  linked = $state.raw<{ puzzle: number; text: string } | null>(null);
  /** The card that is shown alone, for other people's pages; null: the whole page. */
  embed = $state<string | null>(null);
  /** The card to scroll to when the page opens. */
  card = $state<string | null>(null);
  /** The state came from a link or the reader has begun: the opening demonstration is over. */
  begun = $state(false);
  #theme = $state(stored(themeKey));
  dark = $derived(this.#theme ? this.#theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

  toggleTheme(): void {
    this.#theme = this.dark ? "light" : "dark";
    store(themeKey, this.#theme);
  }

  /** Takes the state that the page opens with: of `tilewright play`, of the link, or words after a "?". */
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
    // A link between lessons leaves the reader's program as it is.
    if (state.file !== undefined || this.mode === "bench") program.fromShared(state);
  }

  /** A puzzle's link has nothing of the bench, whose program stays as its receiver left it. */
  shared(extra: Partial<Shared> = {}): Partial<Shared> {
    if (this.mode === "puzzle") return { mode: this.mode, puzzle: this.puzzle, ...extra };
    return { ...program.toShared(), mode: this.mode, lesson: this.lesson, ...extra };
  }

  /** The link to what is shown; null: it would be longer than programs that pass links on allow. */
  link(extra: Partial<Shared> = {}): string | null {
    const url = new URL("#" + toFragment(this.shared(extra)), location.href.replace(/#.*/, "")).href;
    return url.length <= longest ? url : null;
  }
}

export const page = new Page();
