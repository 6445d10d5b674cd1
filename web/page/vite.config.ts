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
    chunkSizeWarningLimit: 1000,
    // One script: `tilewright play --export PAGE.html` puts it into the page (tools/page_files.c).
    rollupOptions: { output: { inlineDynamicImports: true, entryFileNames: "assets/page-[hash].js" } },
  },
  worker: { format: "iife" },
});
