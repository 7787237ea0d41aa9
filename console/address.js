// The address of a view: #/COLLECTION/VIEW?what=is&shown. Behind the #, so any prefix and any proxy will do.
import { useCallback, useLayoutEffect, useState } from "./vendor/preact-htm.js";

export function link(collection, view, params = {}) {
  const path = collection ? `/${encodeURIComponent(collection)}/${view}` : "/";
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return `#${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  let parts;
  try {
    parts = path.split("/").map(decodeURIComponent);
  } catch {
    parts = [""]; // no address that this page has written
  }
  return { collection: parts[0] || null, view: parts[1] || null, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function useAddress() {
  const [address, setAddress] = useState(read);
  // at once: an effect after the first painting would miss an address that changes before
  useLayoutEffect(() => {
    const changed = () => setAddress(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return address;
}

/** The parameters of the view, and a function that changes some of them; `back` makes an entry in the history. */
export function useParams({ collection, view, params }) {
  const change = useCallback(
    (changed, back = false) => {
      const to = link(collection, view ?? "search", { ...read().params, ...changed });
      history[back ? "pushState" : "replaceState"](null, "", to);
      dispatchEvent(new HashChangeEvent("hashchange"));
    },
    [collection, view],
  );
  return [params, change];
}
