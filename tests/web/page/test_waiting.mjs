// Tests long waits: each card names what it waits for, one Stop ends all work at once, and the model stops after its time limit. The page
// announces changes of the messages when the reader pauses, and announces nothing else.
import { readFileSync } from "node:fs";
import { equal, ok, root, setText, settled, test } from "./browser.mjs";

const scale = (body) => `kernel scale(i32 n, const f32 *x, f32 *y)
    grid(cdiv(n, 256)) threads(256)
{
    global f32 X[n] = x, Y[n] = y;
    i32 i = block.x * 256 + thread.x;
    ${body}
}
`;
const right = scale("if (i < n) Y[i] = 2 * X[i];");
const endless = scale("for (;;) Y[i % n] = X[0];");
const stop = (page) => page.getByRole("button", { name: "Stop", exact: true });
const busy = (page) => page.locator("[aria-busy=true]").count();

async function type(page, text) {
  await page.getByLabel("Kernel source", { exact: true }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

await test(async ({ open }) => {
  const page = await open();
  await setText(page, right);
  equal("nothing waits", await stop(page).count(), 0);

  await type(page, endless);
  await stop(page).waitFor();
  equal("one Stop", await stop(page).count(), 1);
  for (const [card, what] of [
    ["roofline", "the model"], // stops after its time limit
    ["traffic", "the model"],
    ["step", "the run in the simulator"],
    ["counters", "the run in the simulator"],
  ])
    await page.locator(`#${card} .wait`, { hasText: `Waiting for ${what}, ` }).waitFor();
  await stop(page).click();
  await settled(page); // without Stop, the run would not end, and the model would end with a message of its own
  equal("no card waits", await page.locator(".wait").count(), 0);
  const messages = page.getByLabel("Messages");
  await messages.getByText("Stopped before its end.").first().waitFor();
  ok("the roofline says that it stopped", /Stopped (before its end|after 10 seconds)\./.test(await page.locator("#roofline").innerText()));

  // The messages give a reason for the long wait, and the model stops after its time limit.
  await type(page, endless.replace("X[0]", "X[1]"));
  await messages.getByText("It still runs after 8 seconds. Is a loop endless?").waitFor();
  await page.locator("#roofline", { hasText: "Stopped after 10 seconds. Is a loop endless?" }).waitFor();
  await stop(page).click();
  await setText(page, right);
  equal("a right kernel after it", await busy(page), 0);
  ok("and its messages", (await messages.innerText()).includes("No mistakes found"));

  // Stop is in sight also at a width of 320 pixels, and if another page embeds a card.
  for (const [what, options] of [
    ["narrow", { width: 320, path: "#kernel=tiled&set=m:512,n:512,k:512" }],
    ["embedded", { width: 900, path: "#kernel=tiled&embed=step&set=m:512,n:512,k:512" }],
  ]) {
    const other = await open({ ...options, settle: false });
    await stop(other).waitFor();
    const box = await stop(other).boundingBox();
    ok(`${what}: Stop is in sight`, box.y >= 0 && box.y + box.height <= 900 && box.x + box.width <= options.width, JSON.stringify(box));
    await stop(other).click();
    await other.getByText("Stopped before its end.").first().waitFor();
    await other.context().close();
  }

  // The announced messages: the page announces each change once, in a pause.
  const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
  const listener = await open({ path: "#kernel=tiled" });
  await listener.evaluate(() => {
    const heard = (globalThis.heard = []);
    const region = document.querySelector(".left [role=status]");
    new MutationObserver(() => heard.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
  });
  const heard = () => listener.evaluate(() => globalThis.heard);
  /** Waits for the pause that follows the latest change of the messages. */
  const told = async () => {
    await settled(listener);
    await listener.locator(".left [role=status]:not([data-pause])").first().waitFor({ state: "attached" });
  };
  equal("the messages themselves are not live", await listener.getByLabel("Messages").getAttribute("aria-live"), null);
  const racy = tiled
    .split("\n")
    .filter((_, i) => i !== 15)
    .join("\n");
  await setText(listener, racy);
  await listener.waitForFunction(() => globalThis.heard.length > 0);
  await told();
  const before = await heard();
  ok("the race is told", /^\d messages?\. New: line 17: as is read here/.test(before[0]), before);
  await listener.keyboard.press("Control+Home");
  await listener.keyboard.type("// a comment, key by key\n", { delay: 30 });
  await told();
  equal("a comment changes nothing", await heard(), before);
  await setText(listener, tiled);
  await listener.waitForFunction(() => globalThis.heard.at(-1) === "No mistakes found.");
  equal("they are told to be gone", (await heard()).length, before.length + 1);
});
