import { svelte } from "@sveltejs/vite-plugin-svelte";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { content, engine } from "./content.ts";

export default defineConfig({
  base: "./", // the page works from any folder of any server
  plugins: [svelte(), content(), engine()],
  resolve: { alias: { $engine: fileURLToPath(new URL("../engine", import.meta.url)) } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000, // kB
    // One script, because `tilewright play --export PAGE.html` puts it into the page (tools/play/page_files.c).
    rolldownOptions: {
      output: { codeSplitting: false, entryFileNames: "assets/page-[hash].js" },
      checks: { bundlerTimings: false, pluginTimings: false },
    },
  },
  worker: { format: "iife" },
});
