/** Asks the engine anew whenever the program has changed. Called while a component that shows results is set up. */
import { untrack } from "svelte";
import { program } from "./program.svelte.ts";

export function keepUp(): void {
  $effect(() => {
    void [program.source, program.file];
    program.diagnose();
  });
  $effect(() => {
    void program.runKey;
    if (!program.known) return;
    const timer = setTimeout(() => program.simulate(), 20);
    return () => clearTimeout(timer);
  });
  $effect(() => {
    void [program.simulated.value, program.simulated.stale];
    untrack(() => program.keepGood());
  });
  $effect(() => {
    void [program.explainArgs, program.errors.length];
    if (!program.known) return;
    const timer = setTimeout(() => {
      program.explain();
      program.sweep();
    }, 20);
    return () => clearTimeout(timer);
  });
}
