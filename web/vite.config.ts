import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  build: {
    outDir: fileURLToPath(new URL("../dist/web", import.meta.url)),
    emptyOutDir: true,
    // The service's content policy allows files of its own origin and nothing inline.
    assetsInlineLimit: 0,
    modulePreload: false,
    // What is built in asks for its notice to be kept.
    license: { fileName: "licenses.md" },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
