// Opens a PTX program of nvcc, launches it with the reader's arguments, searches it for races and steps through it; a link keeps the
// launch.
import { equal, native, ok, root, setText, settled, test } from "./browser.mjs";

const file = root + "kernels/cuda/block_sum.ptx";

await test(async ({ open }) => {
  const page = await open();
  await page.getByLabel("File to open").setInputFiles(file);
  const launch = page.getByRole("form", { name: "Launch" });
  await launch.waitFor();
  await launch.getByRole("textbox", { name: "grid" }).fill("4");
  await page.keyboard.press("Tab");
  await launch.getByRole("textbox", { name: "block" }).fill("256");
  await page.keyboard.press("Tab");
  await launch.locator("summary").click();
  for (const [i, arg] of ["f32[1000]:ones", "f32[4]:none", "i32:1000"].entries()) {
    await launch.locator(".arg input").nth(i).fill(arg);
    await page.keyboard.press("Tab");
  }
  await settled(page);
  const said = native(
    "run",
    file,
    "--grid",
    "4",
    "--block",
    "256",
    "--arg",
    "f32[1000]:ones",
    "--arg",
    "f32[4]:none",
    "--arg",
    "i32:1000",
    "--seed",
    "1",
    "--counters",
  );
  await page.waitForFunction(
    (n) => document.querySelector(".state").textContent.includes(n),
    said.warp_instructions.toLocaleString("en-US"),
  );
  const launched = ["--grid", "4", "--block", "256", "--arg", "f32[1000]:ones", "--arg", "f32[4]:none", "--arg", "i32:1000"];
  const verdict = native("explain", file, ...launched, "--device", "h200").kernels[0].verdict;
  await page.locator("#roofline .verdict", { hasText: verdict }).waitFor();
  const events = await page.locator("#step").innerText();
  ok("Step has the block's events", /event 1 of \d+/.test(events), events);
  await page.getByLabel("heat").selectOption("warp_instructions");
  // The first line with an instruction may be out of view, so the test scrolls to it.
  await page.locator(".cm-scroller").evaluate((e) => (e.scrollTop = e.scrollHeight));
  await page.locator(".cm-heat .heat[title*='instructions of warps']").nth(3).waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Share", exact: true }).click();
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await settled(page);
  equal("the link's grid", await page.getByRole("form", { name: "Launch" }).getByRole("textbox", { name: "grid" }).inputValue(), "4");

  // The page offers the kernels that the compiler lists: `.entry` in a comment does not count, and parameters may have an alignment.
  const two = `// .entry none(.param .u32 x)
.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 .ptr .global .align 16 out, .param .align 4 .b8 pair[8])
.reqntid 64, 2, 1
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [pair + 4];
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry second() { ret; }
`;
  await page.getByLabel("File to open").setInputFiles({ name: "two.ptx", mimeType: "text/plain", buffer: Buffer.from(two) });
  await settled(page);
  const form = page.getByRole("form", { name: "Launch" });
  equal("kernels", await form.getByLabel("kernel").locator("option").allInnerTexts(), ["first", "second"]);
  equal("threads that it asks for", await form.getByRole("textbox", { name: "block" }).inputValue(), "64,2,1");
  await form.locator("summary").click();
  equal("parameters", await form.locator(".arg span").allInnerTexts(), ["0: .u64", "1: .b8[8]"]);
  ok("it runs", /ran \d+ instructions/.test(await page.locator(".state").innerText()), await page.locator(".state").innerText());
  await form.getByLabel("kernel").selectOption("second");
  await settled(page);
  ok("the other", (await form.innerText()).includes("0 arguments"));
  await setText(page, two.replace("{ ret; }", "{ ret }"));
  await page.locator("section[aria-label=Messages]", { hasText: "expected" }).waitFor();
  equal("stays chosen", await form.getByLabel("kernel").inputValue(), "second");
});
