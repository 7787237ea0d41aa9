// The request on the screen as a call to copy, with curl and in Python.
import { BASE, of, stringify } from "./api.js";

const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function curl(collection, body, keys) {
  const url = new URL(of(collection, "query"), BASE);
  const key = keys ? ' \\\n    --header "X-API-Key: $HUBLESS_KEY"' : "";
  if (body.image) {
    const sent = stringify({ ...body, image: "IMAGE" }).replace("IMAGE", `'"$(base64 -w 0 picture.jpg)"'`);
    return `curl ${url}${key} \\\n    --json '${sent}'`;
  }
  return `curl ${url}${key} \\\n    --json ${quoted(stringify(body))}`;
}

/** A JSON value as Python writes it. */
function python(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, inner]) => `${python(name)}: ${python(inner)}`).join(", ")}}`;
  // JSON's strings are Python's, but for surrogates, which JSON.stringify escapes where they stand alone
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

export function pythonCall(collection, body, keys) {
  const { vector, image, with: extras, ...rest } = body;
  const columns = (extras ?? []).filter((each) => each.startsWith("payload.")).map((each) => each.slice(8));
  const given = [python(collection)];
  if (vector) given.push(python(vector));
  if (image) given.push('image="picture.jpg"');
  for (const [name, value] of Object.entries(rest)) given.push(`${name}=${python(value)}`);
  if (extras?.length) given.push(`with_payload=${columns.length ? python(columns) : "True"}`);
  const key = keys ? ', api_key=os.environ["HUBLESS_KEY"]' : "";
  return `${keys ? "import os\n\n" : ""}from hubless_client import Client

with Client(${python(BASE.href.replace(/\/$/, ""))}${key}) as client:
    for hit in client.query(${given.join(", ")}):
        print(hit.id, hit.score, hit.payload)`;
}
