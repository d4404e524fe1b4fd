// One page, one file: the built script and style are written into index.html, and nothing else is left over.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const root = dirname(fileURLToPath(import.meta.url));

// A fingerprint of what was built: of the page with this line as it is here, and the licences after it. An
// edit by hand is found by the same test.
const BUILT = '<meta name="nucleate-built" content="">';

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules" || entry.name === "dist") return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? sources(path) : [path];
  });
}

/**
 * A fingerprint of everything the page is made from; a Python test computes it anew, so a stale page is found
 * without Node.
 */
function sourceHash() {
  const files = sources(root).map((path) => [relative(root, path).split(sep).join("/"), path]);
  files.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return sha256(files.map(([name, path]) => `${name}\t${sha256(readFileSync(path))}\n`).join(""));
}

/** The licences of the packages whose code is really in the bundle, from their own files. */
function licences(chunks) {
  const inside = new Set();
  for (const chunk of chunks) {
    for (const id of Object.keys(chunk.modules)) {
      const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id.split(sep).join("/"));
      if (found) inside.add(found[1]);
    }
  }
  const texts = [...inside].sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[sc]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file of its own`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `The page index.html contains code of these packages.\n\n${texts.join("\n---\n\n")}`;
}

function onePage() {
  return {
    name: "one-page",
    enforce: "post",
    transformIndexHtml(html) {
      return html.replace(
        'name="nucleate-source" content=""',
        `name="nucleate-source" content="${sourceHash()}"`,
      );
    },
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
      const styles = Object.values(bundle).filter(
        (file) => file.type === "asset" && file.fileName.endsWith(".css"),
      );
      const page = bundle["index.html"];
      const script = chunks
        .map((chunk) => chunk.code.trim())
        .join("\n")
        .replaceAll("</script", "<\\/script");
      const style = styles.map((file) => String(file.source).trim()).join("\n");
      const bare = String(page.source)
        .replace(/\s*<script type="module"[^>]*src=[^>]*><\/script>/g, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/g, "");
      // Replacement by function: the code is full of "$", which a replacement text would interpret.
      page.source = bare
        .replace("</head>", () => `<style>${style}</style>\n</head>`)
        .replace("</body>", () => `<script type="module">${script}</script>\n</body>`);
      for (const file of [...chunks, ...styles]) delete bundle[file.fileName];
      const texts = licences(chunks);
      page.source = page.source.replace(BUILT, () => BUILT.replace('""', `"${sha256(page.source + texts)}"`));
      this.emitFile({ type: "asset", fileName: "LICENSES.txt", source: texts });
    },
  };
}

export default defineConfig({
  root,
  base: "./",
  logLevel: "warn",
  plugins: [onePage()],
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1e9,
    chunkSizeWarningLimit: 4000,
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
});
