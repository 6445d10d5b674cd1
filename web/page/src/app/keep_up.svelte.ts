/** Asks the engine anew whenever the program has changed. Called while a component that shows results is set up. */
import { program } from "./program.svelte.ts";

export function keepUp(): void {
  $effect(() => {
    void [program.source, program.file];
    program.diagnose();
  });
  $effect(() => {
    void program.runKey;
    const timer = setTimeout(() => program.simulate(), 20);
    return () => clearTimeout(timer);
  });
  $effect(() => {
    void [program.source, program.kernel, program.device, program.scale, program.tune, program.types];
    if (program.errors.length && program.explained.value) return;
    const timer = setTimeout(() => {
      program.explain();
      program.sweep();
    }, 40);
    return () => clearTimeout(timer);
  });
}
