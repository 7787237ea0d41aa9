// Pictures of targets, which the service makes small, and a picture to ask with. Both stay in this tab.
import { html, useEffect, useState } from "./vendor/preact-htm.js";
import { blob, of } from "./api.js";

const KEPT = 300; // of those that were shown
const LONGEST = 768; // pixels of a side that is sent: more than an encoder looks at
const QUALITY = 0.9;
const shown = new Map(); // path -> promise of the address of a picture, null for none
const asked = new Map(); // name -> base64 of a picture that was given

function addressOf(path) {
  if (!shown.has(path)) {
    shown.set(path, blob(path).then((found) => found && URL.createObjectURL(found), () => null));
    if (shown.size > KEPT) {
      const [oldest, address] = shown.entries().next().value;
      shown.delete(oldest);
      address.then((url) => url && URL.revokeObjectURL(url));
    }
  }
  return shown.get(path);
}

/** The picture of a target; nothing where it has none. */
export function Picture({ collection, id, title, pixels = 256 }) {
  const [address, setAddress] = useState(null);
  useEffect(() => {
    let gone = false;
    setAddress(null);
    addressOf(`${of(collection, "pictures", id)}?pixels=${pixels}`).then((found) => gone || setAddress(found));
    return () => (gone = true);
  }, [collection, id, pixels]);
  return html`<span class="picture">${address && html`<img src=${address} alt=${title} title=${title} />`}</span>`;
}

/** Keep a picture, made small, to ask with. Returns the name under which `givenPicture` has it. */
export async function keepPicture(file) {
  const read = await createImageBitmap(file);
  const scale = Math.min(1, LONGEST / Math.max(read.width, read.height));
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(read.width * scale)), Math.max(1, Math.round(read.height * scale)));
  canvas.getContext("2d").drawImage(read, 0, 0, canvas.width, canvas.height);
  read.close();
  const small = await canvas.convertToBlob({ type: "image/jpeg", quality: QUALITY });
  const bytes = new Uint8Array(await small.arrayBuffer());
  const name = `${file.name || "picture"} ${asked.size + 1}`;
  asked.set(name, { base64: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")), url: URL.createObjectURL(small) });
  return name;
}

/** The picture of this name; undefined after the page was loaded anew, which forgets them. */
export const givenPicture = (name) => asked.get(name);

/** The file of what was dropped or pasted; undefined if it is no picture. */
export const pictureOf = (transfer) => [...(transfer?.files ?? [])].find((file) => file.type.startsWith("image/"));
