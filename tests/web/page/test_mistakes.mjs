// Tests mistakes of kernels that compile: an access outside an array, wrong values. (test_waiting.mjs has an endless loop.)
import { ok, setText, test } from "./browser.mjs";

const scale = (
  body,
  more = "ensures Y == 2 * X;",
) => `kernel scale(i32 n, const f32 *x, f32 *y)
    grid(cdiv(n, 256)) threads(256)
{
    global f32 X[n] = x, Y[n] = y;
    i32 i = block.x * 256 + thread.x;
    ${body}

    ${more}
}
`;

await test(async ({ open }) => {
  const page = await open();
  const messages = page.getByLabel("Messages");
  const underlined = () =>
    page.locator(".left .cm-lintRange-error").allTextContents();
  const says = async (what, text) => {
    const found = await messages.innerText();
    ok(`${what}: ${text}`, found.includes(text), found);
  };

  await setText(page, "");
  await page.keyboard.type("kernel f()\n{\nif (1) {\nsync();\n}\n}");
  const typed = await page.$$eval(".left .cm-line", (lines) =>
    lines.map((l) => l.textContent).join("\n"),
  );
  ok(
    "typed lines are indented",
    typed === "kernel f()\n{\n    if (1) {\n        sync();\n    }\n}",
    typed,
  );

  await setText(page, scale("if (i < n) Y[i] = 2 * X[i];"));
  await says("a right kernel", "its values are those of ensures");
  ok(
    "a text of one's own ends the invitation",
    !(await page.getByLabel("Tour").count()),
  );

  await setText(page, scale("Y[i] = 2 * X[i];"));
  await says("outside of an array", "past the end of 'x'");
  await says("outside of an array", "guard it: if (i < n)");
  ok(
    "the place is underlined",
    (await underlined()).join() === "X[i]" || (await underlined()).length === 1,
    await underlined(),
  );

  // Step shows the run up to the fault, and marks the event of the fault.
  const step = page.locator("#step");
  const fault = step.locator("p.wrong");
  await fault.waitFor();
  ok(
    "what ends the run",
    /^✕ Warp 7, lane 0 ends the run: read of 4 bytes outside memory: .*past the end of 'x'/.test(
      await fault.innerText(),
    ),
    await fault.innerText(),
  );
  await fault.getByRole("button", { name: /^Go to event/ }).click();
  const now = await step.locator("p.now").innerText();
  ok(
    "its event",
    /faults at X\[i\]\.$/.test(now) &&
      /ends the run here/.test(await fault.innerText()),
    now,
  );
  ok(
    "the steps are those of this run",
    !(await step.locator(".body.stale").count()) &&
      (await step.locator("svg.figure").count()) === 1,
  );

  await setText(page, scale("if (i < n) Y[i] = 3 * X[i];"));
  await says("wrong values", "expected");
  ok("a run to its end has no fault", !(await fault.count()));
  await says("wrong values", "all 64 elements of Y are wrong");

  await setText(page, scale("if (i < n) Y[i] = 3 * X[i];", ""));
  await says("nothing to compare with", "has no ensures");

  await setText(
    page,
    scale("if (i < n) Y[i] = 2 * X[i];").replace("scale", "another"),
  );
  await says("another name of the kernel", "its values are those of ensures");
});
