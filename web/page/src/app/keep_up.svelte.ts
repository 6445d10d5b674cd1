/** Asks the engine anew whenever the program has changed. Called while a component that shows results is set up. */
import { untrack } from "svelte";
import { program } from "./program.svelte.ts";
import { afterPause } from "./under_way.ts";

export function keepUp(): void {
  $effect(() => {
    void [program.source, program.file];
    program.diagnose();
  });
  $effect(() => {
    void program.runKey;
    if (!program.known) return;
    return afterPause(20, () => program.simulate());
  });
  $effect(() => {
    void [program.simulated.value, program.simulated.stale];
    untrack(() => program.keepGood());
  });
  $effect(() => {
    void [program.explainArgs, program.errors.length];
    if (!program.known) return;
    return afterPause(20, () => {
      program.explain();
      program.sweep();
    });
  });
}
