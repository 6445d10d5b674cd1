/** The arrays of a puzzle's case, for runs on the bench. `tilewright learn N --inputs FOLDER` writes them. */
import { caseArgs, type CaseSizes, type PuzzleCase } from "./asks.ts";
import { ask, Refused, type Files } from "./engine.ts";

export interface CaseInputs {
  /** The file of each array, by the name of its parameter. */
  paths: Record<string, string>;
  files: Files;
}

export async function inputsOf(c: PuzzleCase, sizes: CaseSizes): Promise<CaseInputs> {
  const args = caseArgs(c, sizes);
  const named = await ask("keys", args, {});
  if (named.status !== 0) throw new Refused(named.status, named.err.trim(), named.out);
  const paths = (JSON.parse(named.out) as { inputs: Record<string, string> }).inputs;
  const { files } = await ask("keys", args, {}, { wants: Object.values(paths) });
  return { paths, files };
}
