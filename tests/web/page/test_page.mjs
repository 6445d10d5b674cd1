// Tests the page as a whole: the kernel of `play`, links, messages and their place, both themes, accessibility, narrow screens.
import { readFileSync } from "node:fs";
import { equal, looksRight, ok, root, setText, settled, test } from "./browser.mjs";

const tiled = readFileSync(root + "kernels/sgemm/tiled.tile", "utf8");
const text = (page) => page.$$eval(".left .cm-line", (lines) => lines.map((l) => l.textContent).join("\n"));

await test(async ({ open }) => {
  const page = await open();
  equal("the first kernel", await text(page), tiled);
  const policies = await page.evaluate(async () => [
    (await fetch("./")).headers.get("content-security-policy"),
    document.querySelector("meta[http-equiv=Content-Security-Policy]").content,
  ]);
  equal("the policy of the server", policies[0], policies[1]);
  const racy = tiled
    .split("\n")
    .filter((_, i) => i !== 15)
    .join("\n");
  await setText(page, racy);
  const messages = await page.getByLabel("Messages").textContent();
  ok(
    "the missing barrier is found",
    messages.includes("17:20") && messages.includes("as is read here while other threads may still be writing it"),
    messages,
  );

  await page.getByRole("button", { name: "Share", exact: true }).click();
  const link = page.url();
  ok("the link has the state", /#1/.test(link), link);
  await page.goto("about:blank");
  await page.goto(link);
  await settled(page);
  equal("the text of a link", await text(page), racy.replace(/\n$/, "\n"));

  const given = await open({ args: ["kernels/sgemm/naive.tile#line=7", "--set", "m=32,n=48,k=16"] });
  equal("the kernel of play", await text(given), readFileSync(root + "kernels/sgemm/naive.tile", "utf8"));
  equal("its sizes", await given.getByLabel("n", { exact: true }).inputValue(), "48");
  equal("its line", await given.$$eval(".cm-marked", (l) => l.length), 1);

  await looksRight(open);
});
