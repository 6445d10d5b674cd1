// Tests the view of asynchronous copies: its depth is the simulator's counter; if one wait is missing, the view marks the reads that come
// too early.
import { readFileSync } from "node:fs";
import { equal, ok, root, setText, settled, test, violations } from "./browser.mjs";

const card = (page) => page.locator("#async");
const readout = (page, name) => card(page).locator(".readouts div", { hasText: name }).first().locator("dd").innerText();

await test(async ({ open, native }) => {
  const page = await open({ path: "#kernel=stages&set=m:64,n:64,k:64" });
  for (const stages of [3, 4]) {
    await card(page)
      .getByRole("button", { name: `STAGES=${stages}` })
      .click();
    await settled(page);
    const args = ["kernels/matmul/stages.tile", "--set", "m=64,n=64,k=64", "--tune", `STAGES=${stages}`];
    const { counters } = native("run", ...args, "--device", "sim", "--fill", "rand", "--seed", "1", "--counters");
    equal(`depth of ${stages} stages`, Number(await readout(page, "depth")), counters.async_depth);
    equal("stages", await card(page).locator(".ring li").count(), stages);
  }
  // The slider moves the time at which copies land, between their issue and the wait for them.
  const landing = card(page).getByRole("slider", { name: "copies land" });
  const landed = async (says) => {
    await settled(page);
    equal("copies land", await landing.getAttribute("aria-valuetext"), says);
    await card(page).getByRole("button", { name: "Table" }).click();
    const row = await card(page)
      .locator("tbody tr")
      .nth(2)
      .evaluate((r) => [...r.children].map((c) => Number(c.textContent)));
    await card(page).getByRole("button", { name: "Table" }).click();
    const [issue, commit, land, wait] = row.slice(5, 9);
    return { issue, commit, land, wait };
  };
  const early = await landed("when issued");
  ok("early copies land before the commit", early.land < early.commit, JSON.stringify(early));
  await landing.press("End");
  const late = await landed("when waited for");
  ok("late copies land at the wait", late.commit < late.land && late.land <= late.wait, JSON.stringify(late));
  for (let i = 0; i < 3; i++) await landing.press("ArrowLeft");
  const between = await landed(/\d+/.exec(await landing.getAttribute("aria-valuetext"))[0] + " instructions later");
  ok("or between the two", between.commit < between.land && between.wait - between.land > late.wait - late.land, JSON.stringify([between, late]));
  equal("no read is too early", await card(page).locator(".early").count(), 0);
  equal(
    "axe",
    (await violations(page))
      .split("\n")
      .filter((v) => !v.includes("cm-"))
      .join("\n"),
    "",
  );

  const text = readFileSync(root + "kernels/matmul/stages.tile", "utf8");
  await setText(page, text.replace("async_wait(STAGES - 2)", "async_wait(STAGES - 1)"));
  await card(page).locator(".early").first().waitFor({ state: "attached" }); // the view marks the reads before the wait
  await card(page)
    .getByRole("button", { name: /^event/ })
    .click();
  const line = text.split("\n").findIndex((l) => l.includes("dot(sa[s]")) + 1;
  equal(
    "its line",
    Number(
      await page
        .locator("#step")
        .locator("p.now")
        .innerText()
        .then((t) => (/sa|sb/.test(t) ? line : 0)),
    ),
    line,
  );

  const other = await open({ path: "#kernel=async", width: 320 });
  equal("depth of async.tile", await readout(other, "depth"), "0");
});
