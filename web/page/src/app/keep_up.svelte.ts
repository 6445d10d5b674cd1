/** Asks the engine again whenever the program has changed. Call it in the setup of a component that shows results. */
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
