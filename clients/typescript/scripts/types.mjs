// Writes src/openapi.ts from docs/openapi.json. With --check it writes nothing, and fails if the file differs.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const contract = join(home, "..", "..", "docs", "openapi.json");
const target = join(home, "src", "openapi.ts");

// Only the documents: the client's methods stand for the paths.
const { openapi, info, components } = JSON.parse(readFileSync(contract, "utf8"));
const types = astToString(await openapiTS({ openapi, info, components, paths: {} }, { alphabetize: true }));
const text = `// Made from docs/openapi.json by \`npm run types\`. Do not edit.\n${types}`;
if (!process.argv.includes("--check")) {
  writeFileSync(target, text);
} else if (readFileSync(target, "utf8") !== text) {
  console.error("src/openapi.ts: expected the types of docs/openapi.json, got others; run npm run types");
  process.exitCode = 1;
}
