// Takes the three tours as a reader does.
import { ok, settled, test } from "./browser.mjs";

await test(async ({ open }) => {
  const page = await open();
  const tour = page.getByLabel("Tour");
  const says = async (what) => {
    await settled(page);
    ok(`the tour says "${what}"`, (await tour.innerText()).includes(what), await tour.innerText());
  };
  ok("the invitation", (await tour.innerText()).includes("Delete line 16"));

  await tour.getByRole("button", { name: "The missing barrier" }).click();
  await says("1 of 3");
  await page.locator(".left .cm-line").nth(15).click();
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Delete");
  await says("2 of 3");
  await page.getByLabel("Messages").getByRole("button", { name: "Fix", exact: true }).first().click();
  await says("3 of 3");
  await tour.getByRole("button", { name: "Done" }).click();
  ok("the tour ends", !(await tour.count()));

  const second = await open();
  const next = second.getByLabel("Tour");
  await next.getByRole("button", { name: "The 32-way conflict" }).click();
  await settled(second);
  const cards = second.getByRole("navigation", { name: "Cards" });
  await cards.getByText("bank conflicts").waitFor({ state: "attached" });
  await second.getByRole("combobox", { name: "PAD" }).selectOption("1");
  await settled(second);
  await next.getByText("2 of 2").waitFor();
  ok("no conflict is left", !(await cards.getByText("bank conflicts").count()));

  const third = await open();
  const last = third.getByLabel("Tour");
  await last.getByRole("button", { name: "The walking point" }).click();
  for (const [value, step] of [
    ["T=8", "2 of 4"],
    ["T=64", "3 of 4"],
    ["T=32", "4 of 4"],
  ]) {
    await settled(third);
    await third.locator("#roofline").getByRole("button", { name: value, exact: true }).click();
    await settled(third);
    ok(`after ${value}: ${step}`, (await last.innerText()).includes(step), await last.innerText());
  }
});
