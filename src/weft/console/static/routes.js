/* Where one is: #/page/federation/item, each part escaped.  So every place has an address, and the way back works. */

export const href = (page, federation, item) => {
  const parts = [
    page,
    ...(federation === undefined && item === undefined ? [] : [federation ?? ""]),
    ...(item === undefined ? [] : [item]),
  ];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
};

const readable = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

export function here() {
  const [page, federation, item] = location.hash.replace(/^#\/?/, "").split("/").map(readable);
  return { page: page || undefined, federation: federation || undefined, item: item || undefined };
}
