// Compiles src/ twice: to ES modules, and to CommonJS for `require`. npm runs it when somebody installs this folder.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const typescript = () => dirname(createRequire(import.meta.url).resolve("typescript/package.json"));

try {
  typescript();
} catch {
  // npm installs what builds a folder only if that lies in the project
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--no-save"];
  execFileSync("npm", ["install", ...options], { stdio: "inherit", cwd: home });
}
const compiler = join(typescript(), "bin", "tsc");

function compile(...options) {
  execFileSync(process.execPath, [compiler, "--project", home, ...options], { stdio: "inherit", cwd: home });
}

rmSync(join(home, "dist"), { recursive: true, force: true });
compile();
// The compiler takes the kind of module from the nearest package.json.
compile("--module", "commonjs", "--moduleResolution", "node10", "--outDir", join(home, "dist", "cjs"));
for (const [folder, type] of [["esm", "module"], ["cjs", "commonjs"]]) {
  mkdirSync(join(home, "dist", folder), { recursive: true });
  writeFileSync(join(home, "dist", folder, "package.json"), `${JSON.stringify({ type })}\n`);
}
