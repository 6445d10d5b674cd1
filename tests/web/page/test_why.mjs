// Tests "Why this number": a click on an element of C in Step shows the path of its value, equal to `run --why`; each step of the path
// leads to an event of Step.
import { equal, ok, settled, test, violations } from "./browser.mjs";

const step = (page) => page.locator("#step");
const card = (page) => page.locator("#why");

await test(async ({ open, native }) => {
  const page = await open({ path: "#kernel=tiled&set=m:64,n:64,k:64&tune=T:16" });
  const box = await step(page).getByRole("button", { name: /^C 64 × 64/ }).locator(".frame").boundingBox();
  // The click is on row 3, column 5: the picture has 64 × 64 elements.
  await page.mouse.click(box.x + (5.5 / 64) * box.width, box.y + (3.5 / 64) * box.height);
  await card(page).scrollIntoViewIfNeeded();
  await settled(page);
  const { why } = native("run", "kernels/sgemm/tiled.tile", "--device", "sim", "--set", "m=64,n=64,k=64", "--tune", "T=16", "--fill", "rand", "--seed", "1", "--why", "c[3][5]");
  const sentence = await card(page).locator("p.sum").innerText();
  ok("the sentence", sentence.includes(`by thread ${why.thread} of block 0, 0: ${why.products} products, ${why.shared_reads} elements`), sentence);
  equal("a row a turn", await card(page).getByRole("button", { name: /^16 products/ }).count(), 4);
  await card(page).locator("summary", { hasText: "steps, in order" }).click();
  equal("steps", await card(page).locator(".steps li").count(), Math.min(400, why.path.length));

  await card(page).getByRole("button", { name: /^a\[3\]\[16…31\]: to its event/ }).press("Enter");
  const event = Number(await step(page).getByRole("slider").getAttribute("aria-valuenow"));
  equal("the event is the first read of the second turn", event, why.path.filter((s) => s.elements.includes("a[3][16]"))[0].event);
  equal("its line is marked", (await page.locator(".cm-marked").innerText()).trim().slice(0, 10), "as[ty][tx]");
  ok("Step marks the way", (await step(page).locator("path.why").count()) >= 3);

  // The same by keyboard: while the output has the focus, arrow keys choose elements and do not step.
  await step(page).getByRole("button", { name: /^C 64 × 64/ }).focus();
  await page.keyboard.press("ArrowRight");
  equal("the next column", await card(page).getByLabel(/^Index 1 of c/).inputValue(), "6");
  equal("the event stays", Number(await step(page).getByRole("slider").getAttribute("aria-valuenow")), event);
  await settled(page);

  await card(page).getByLabel(/^Index 1 of c/).fill("40");
  await card(page).getByLabel(/^Index 1 of c/).press("Enter");
  await settled(page);
  ok("an element of another block is explained, too", (await card(page).locator("p.sum").innerText()).includes("of block 2, 0"));
  await card(page).getByRole("button", { name: /^a\[3\]\[0…15\]: to its event/ }).click();
  await settled(page);
  equal("a jump goes to its block", await step(page).getByLabel("block.x, of 4").inputValue(), "2");

  // If another block wrote a value, the path names that block and leads to its event.
  const split = await open({ path: "#kernel=split_k&set=m:64,n:64,k:128" });
  const z = step(split).getByLabel(/^block\.z/);
  await z.fill(String((await z.getAttribute("max")) ?? 1));
  await z.press("Enter");
  await settled(split);
  await card(split).scrollIntoViewIfNeeded();
  await settled(split);
  await card(split).getByRole("button", { name: /^block 0, 0, \d+, line 30$/ }).last().click();
  await settled(split);
  await step(split).locator("p.now", { hasText: "writes sum" }).waitFor();
  await split.locator(".cm-marked", { hasText: "sum[i +: BM][j +: BN] = " }).waitFor();
  await split.close();
  equal("axe", (await violations(page)).split("\n").filter((v) => !v.includes("cm-")).join("\n"), "");
});
