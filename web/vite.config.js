// SPDX-License-Identifier: Apache-2.0
// One file from all: script and style go into the page, which is what src/report/page/page.html is.
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

const licence = readFileSync("node_modules/uplot/LICENSE", "utf8").trim();

/** Puts every chunk and style sheet into the page, beside the licence of what is not ours. */
function oneFile() {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      let html = String(page.source);
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          html = html.replace(/<script[^>]*src="[^"]*"[^>]*><\/script>/, "");
          const code = file.code.replaceAll("</script", "<\\/script");
          html = html.replace("</body>", () => `<script>\n${code.trim()}\n</script>\n</body>`);
          delete bundle[name];
        } else if (name.endsWith(".css")) {
          html = html.replace(/<link[^>]*rel="stylesheet"[^>]*>/, () => `<style>\n${String(file.source).trim()}\n</style>`);
          delete bundle[name];
        }
      }
      html = html.replace("<html", () => `<!--\nCharts are drawn by uPlot:\n\n${licence}\n-->\n<html`);
      page.source = html.replace(/[ \t]+$/gm, "").trim() + "\n";
      page.fileName = "page.html";
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    outDir: process.env.PAGE_OUT ?? "../src/report/page",
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1 << 20,
    rollupOptions: { output: { format: "iife", inlineDynamicImports: true } },
  },
});
