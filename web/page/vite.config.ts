import { svelte } from "@sveltejs/vite-plugin-svelte";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { content, engine } from "./content.ts";

export default defineConfig({
  base: "./", // the page works from any folder of any server
  plugins: [svelte(), content(), engine()],
  resolve: { alias: { $engine: fileURLToPath(new URL("../engine", import.meta.url)) } },
  build: { outDir: "dist", emptyOutDir: true, target: "es2022", chunkSizeWarningLimit: 400, assetsInlineLimit: 0 },
  worker: { format: "es" },
});
